"""The ALOHA source: the contract, values against h5py, raw and compressed images, damaged files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

import h5py
import made_hdf5 as made
import numpy as np
import pytest

from gristmill.errors import CorpusError, RecordingError, UnsafeCorpusError, VideoError
from gristmill.finding import Kind
from gristmill.sources import open_path, source_of
from gristmill.sources.aloha import Aloha
from gristmill.testing import SourceContract

CAMERA = "observation.images.cam_high"
NUMBERS = {0: 20, 2: 25, 11: 15}  # episode -> frames


def folder_of(folder: Path, **more: bool) -> dict[int, dict[str, np.ndarray]]:
    """A folder of episodes, and what was written into each."""
    return {n: made.aloha(folder / f"episode_{n}.hdf5", n, frames, **more) for n, frames in NUMBERS.items()}


class TestContract(SourceContract):
    source: ClassVar = Aloha

    def make_corpus(self, folder: Path) -> Path:
        folder_of(folder)
        return folder


@pytest.mark.parametrize("effort", [True, False])
def test_values_names_roles_and_times_are_those_written(tmp_path: Path, effort: bool) -> None:
    written = folder_of(tmp_path / "task", effort=effort)
    corpus = open_path(tmp_path / "task", options={"task": "fold the cloth"})
    assert source_of(tmp_path / "task") == "aloha"
    assert (corpus.facts.key, corpus.facts.format, corpus.facts.rate_hz) == ("task", "ALOHA HDF5", 50.0)
    assert (corpus.embodiment.key, corpus.embodiment.inferred) == ("aloha", False)
    assert corpus.issues == ()
    assert corpus.table.index.tolist() == [0, 2, 11]
    assert corpus.table.length.tolist() == [20, 25, 15]
    for episode in corpus.episodes(range(3)):
        content = written[episode.index]
        assert episode.issues == ()
        assert episode.tasks == ("fold the cloth",)
        assert set(episode.channels) == content.keys() - {CAMERA}
        for key, channel in episode.channels.items():
            np.testing.assert_array_equal(channel.values, content[key])
            assert channel.names == tuple(made.JOINTS)
            assert channel.role == {"action": "action", "observation.state": "state"}.get(key, "other")
            np.testing.assert_array_equal(channel.times_s, np.arange(len(content[key])) / 50)
        np.testing.assert_array_equal(episode.cameras[CAMERA].rgb(range(episode.frames)), content[CAMERA])


def test_one_file_is_a_corpus_too(tmp_path: Path) -> None:
    folder_of(tmp_path)
    corpus = open_path(tmp_path / "episode_11.hdf5", options={"rate_hz": 25})
    assert corpus.table.index.tolist() == [11]
    assert next(iter(corpus.episodes([0]))).times_s[-1] == 14 / 25


@pytest.mark.parametrize("kept", ["padded", "lists", "strings"])
def test_compressed_images_are_decoded_and_their_padding_ignored(tmp_path: Path, kept: str) -> None:
    path = tmp_path / "episode_0.hdf5"
    content = made.aloha(path, 0, 12, compress=True)
    packed = [made.jpeg(image) for image in content[CAMERA]]
    with h5py.File(path, "a") as file:
        if kept == "lists":
            del file["observations/images/cam_high"]
            images = file.create_dataset("observations/images/cam_high", shape=(12,), dtype=h5py.vlen_dtype(np.uint8))
            for i, data in enumerate(packed):
                images[i] = np.frombuffer(data, np.uint8)
        elif kept == "strings":
            del file["observations/images/cam_high"]
            file["observations/images/cam_high"] = np.array(packed)
    corpus = open_path(tmp_path)
    assert (corpus.facts.cameras[CAMERA].height, corpus.facts.cameras[CAMERA].width) == (48, 64)
    episode = next(iter(corpus.episodes([0])))
    assert episode.issues == ()
    camera = episode.cameras[CAMERA]
    # JPEG's chroma and quantization cost a few levels.
    assert np.abs(camera.rgb(range(12)).astype(int) - content[CAMERA]).mean() < 3
    assert camera.packets().sizes.tolist() == [len(data) for data in packed]
    luma = np.concatenate(list(camera.luma(chunk=5)))
    np.testing.assert_allclose(luma, content[CAMERA] @ [0.299, 0.587, 0.114], atol=8)


def test_images_written_with_red_and_blue_exchanged(tmp_path: Path) -> None:
    """The original recorder gives RGB to OpenCV's encoder, which takes it for BGR."""
    path = tmp_path / "episode_0.hdf5"
    content = made.aloha(path, 0, 6)
    with h5py.File(path, "a") as file:
        del file["observations/images/cam_high"]
        packed = [made.jpeg(image[..., ::-1]) for image in content[CAMERA]]
        rows = [np.frombuffer(p.ljust(20_000, b"\0"), np.uint8) for p in packed]
        file["observations/images/cam_high"] = np.stack(rows)
    camera = next(iter(open_path(tmp_path, options={"image_order": "bgr"}).episodes([0]))).cameras[CAMERA]
    assert np.abs(camera.rgb(range(6)).astype(int) - content[CAMERA]).mean() < 3
    luma = np.concatenate(list(camera.luma()))
    np.testing.assert_allclose(luma, content[CAMERA] @ [0.299, 0.587, 0.114], atol=8)
    plain = next(iter(open_path(tmp_path).episodes([0]))).cameras[CAMERA]
    # What was measured of the one must not pass for the other.
    assert plain.packets().digest != camera.packets().digest
    stamps = [open_path(tmp_path, options={"image_order": o}).table.camera_stamps[CAMERA] for o in ("rgb", "bgr")]
    assert stamps[0] != stamps[1]
    assert np.abs(plain.rgb(range(6)).astype(int) - content[CAMERA][..., ::-1]).mean() < 3


def test_a_broken_picture_is_named(tmp_path: Path) -> None:
    path = tmp_path / "episode_3.hdf5"
    made.aloha(path, 0, 6, compress=True)
    with h5py.File(path, "a") as file:
        file["observations/images/cam_high"][4] = 0
    camera = next(iter(open_path(tmp_path).episodes([0]))).cameras[CAMERA]
    with pytest.raises(
        VideoError, match=r"episode_3\.hdf5, camera observation\.images\.cam_high: frame 4 holds no image"
    ):
        camera.packets()


def test_damaged_files_lose_their_episode_only(tmp_path: Path) -> None:
    written = folder_of(tmp_path)
    made.aloha(tmp_path / "episode_3.hdf5", 3, 20)
    whole = (tmp_path / "episode_3.hdf5").read_bytes()
    (tmp_path / "episode_3.hdf5").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "episode_4.hdf5").write_bytes(b"")
    (tmp_path / "episode_5.hdf5").write_bytes(b"no HDF5 at all")
    made.aloha(tmp_path / "episode_02.hdf5", 3, 20)
    made.aloha(tmp_path / "rehearsal.hdf5", 3, 20)
    corpus = open_path(tmp_path)
    assert corpus.table.index.tolist() == [0, 2, 3, 4, 5, 11]
    assert [(i.code, i.kind) for i in corpus.issues] == [
        ("episode_numbers", Kind.DEFECT),
        ("orphan_file", Kind.TRAIT),
    ]
    says = {3: "is cut off", 4: "is empty", 5: "is no HDF5 file"}
    for episode in corpus.episodes(range(6)):
        if episode.index not in says:
            assert episode.issues == ()
            assert episode.frames == NUMBERS[episode.index]
            continue
        (issue,) = episode.issues
        assert (issue.check, issue.code, issue.kind) == ("files", "data_unreadable", Kind.DEFECT)
        with pytest.raises(RecordingError, match=says[episode.index]) as caught:
            _ = episode.channels
        assert f"episode_{episode.index}.hdf5" in str(caught.value)
        with pytest.raises(VideoError, match=says[episode.index]):
            episode.cameras[CAMERA].packets()
    assert written.keys() == {0, 2, 11}


def test_episodes_that_differ(tmp_path: Path) -> None:
    folder_of(tmp_path)
    with h5py.File(tmp_path / "episode_2.hdf5", "a") as file:
        del file["action"]
        del file["observations/images/cam_high"]
        del file["observations/effort"]
        file["observations/effort"] = np.zeros((25, 7), np.float32)
        del file["observations/qvel"]
        file["observations/qvel"] = np.zeros((24, 14), np.float32)
    episode = list(open_path(tmp_path).episodes(range(3)))[1]
    assert [(i.code, i.channel or i.camera) for i in episode.issues] == [
        ("lengths_differ", "observation.velocity"),
        ("camera_absent", CAMERA),
        ("column_absent", "action"),
        ("shape_differs", "observation.effort"),
    ]
    assert {len(c.values) for c in episode.channels.values()} == {24}
    with pytest.raises(VideoError, match=r"episode_2\.hdf5, camera .* is missing"):
        episode.cameras[CAMERA].packets()


def test_what_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    folder_of(tmp_path / "inside")
    made.aloha(tmp_path / "outside.hdf5", 0, 10)
    with h5py.File(tmp_path / "inside" / "episode_2.hdf5", "a") as file:
        file["observations/more"] = h5py.ExternalLink("../outside.hdf5", "/action")
    with pytest.raises(UnsafeCorpusError, match=r"episode_2\.hdf5: more is a link to another file"):
        open_path(tmp_path / "inside")
    (tmp_path / "inside" / "episode_2.hdf5").unlink()
    (tmp_path / "inside" / "episode_2.hdf5").symlink_to(tmp_path / "outside.hdf5")
    with pytest.raises(UnsafeCorpusError, match="leaves the corpus"):
        open_path(tmp_path / "inside")


def test_all_files_damaged_is_an_error(tmp_path: Path) -> None:
    made.aloha(tmp_path / "episode_0.hdf5", 0, 10)
    whole = (tmp_path / "episode_0.hdf5").read_bytes()
    (tmp_path / "episode_0.hdf5").write_bytes(whole[:-5000])
    with pytest.raises(CorpusError, match=r"episode_0\.hdf5 is cut off: it holds"):
        Aloha.open(tmp_path, key="k")


def test_without_h5py_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of(tmp_path / "task")
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert Aloha.recognizes(tmp_path / "task")
    with pytest.raises(CorpusError, match=r"pip install 'gristmill\[hdf5\]'"):
        open_path(tmp_path / "task")
