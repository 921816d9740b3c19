"""Images kept inside the tables are a camera like any other."""

from __future__ import annotations

import io
from pathlib import Path

import av
import made_datasets as made
import numpy as np
import pytest

from gristmill.episode import Camera, Episode
from gristmill.errors import VideoError
from gristmill.sources import open_path

KEY = "observation.images.front"


def picture(episode: int, frame: int) -> np.ndarray:
    """A plain picture whose colour says where it belongs."""
    return np.full((16, 24, 3), (10 * episode + 20, 5 * frame, 100), np.uint8)


def png(image: np.ndarray) -> bytes:
    """The image as a PNG file."""
    file = io.BytesIO()
    with av.open(file, "w", format="image2pipe") as target:
        stream = target.add_stream("png", rate=1)
        stream.width, stream.height, stream.pix_fmt = image.shape[1], image.shape[0], "rgb24"
        target.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        target.mux(stream.encode(None))
    return file.getvalue()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = made.make(tmp_path / "c", "v2.1")
    made.edit_feature(found, KEY, dtype="image", shape=[3, 16, 24], names=["channels", "height", "width"])
    for e, n in enumerate((5, 7, 6, 8)):
        cells = [{"bytes": png(picture(e, t)), "path": None} for t in range(n)]
        made.edit_table(
            found / f"data/chunk-000/episode_{e:06d}.parquet", lambda t, c=cells: made.with_column(t, KEY, c)
        )
    return found


def episodes(root: Path) -> list[Episode]:
    return list(open_path(root).episodes(range(4)))


def camera(root: Path, episode: int) -> Camera:
    return episodes(root)[episode].cameras[KEY]


def test_frames_sizes_and_pixels(root: Path) -> None:
    corpus = open_path(root)
    assert corpus.issues == ()
    info = corpus.facts.cameras[KEY]
    assert (info.height, info.width, info.rate_hz) == (16, 24, 10)
    assert KEY not in next(iter(corpus.episodes([0]))).channels
    one = camera(root, 2)
    assert one.frames == 6
    assert one.path is None
    colours = one.rgb([0, 5, 3])
    np.testing.assert_array_equal(colours, [picture(2, 0), picture(2, 5), picture(2, 3)])
    luma = np.concatenate(list(one.luma(chunk=4)))
    assert luma.shape == (6, 16, 24)
    weights = (0.299, 0.587, 0.114)
    for t in range(6):
        assert abs(float(luma[t].mean()) - float(picture(2, t)[0, 0] @ weights)) <= 2
    assert [len(c) for c in one.luma(chunk=4)] == [4, 2]


def test_packets_tell_copies_apart(root: Path) -> None:
    packets = camera(root, 1).packets()
    assert len(packets) == 7
    assert packets.keyframe.all()
    np.testing.assert_allclose(packets.times_s, np.arange(7) / 10)
    assert packets.sizes.tolist() == [len(png(picture(1, t))) for t in range(7)]
    assert len(set(packets.hashes.tolist())) == 7
    assert packets.digest == camera(root, 1).packets().digest
    assert packets.digest != camera(root, 0).packets().digest


def test_an_image_that_is_none_is_named(root: Path) -> None:
    path = root / "data/chunk-000/episode_000001.parquet"

    def spoil(table):
        cells = table.column(KEY).to_pylist()
        cells[3] = {"bytes": b"no image", "path": None}
        cells[5] = None
        return made.with_column(table, KEY, cells)

    made.edit_table(path, spoil)
    one = camera(root, 1)
    assert one.rgb([2]).shape == (1, 16, 24, 3)
    with pytest.raises(VideoError, match=r"episode 1, camera .*front: frame 3 is not a readable image"):
        list(one.luma())
    with pytest.raises(VideoError, match="frame 5 holds no image"):
        one.rgb([5])
    with pytest.raises(VideoError, match="there is no frame 7"):
        one.rgb([7])
    assert episodes(root)[1].channels["action"].values.shape == (7, 3)


@pytest.mark.parametrize("where", ["/etc/hostname", "../outside.png", "images/absent.png"])
def test_images_named_by_a_path_stay_within_the_corpus(root: Path, where: str) -> None:
    (root.parent / "outside.png").write_bytes(png(picture(0, 0)))
    (root / "images").mkdir()
    (root / "images" / "kept.png").write_bytes(png(picture(9, 9)))
    path = root / "data/chunk-000/episode_000000.parquet"
    cells = [{"bytes": None, "path": where}] + [{"bytes": None, "path": "images/kept.png"}] * 4
    made.edit_table(path, lambda t: made.with_column(t, KEY, cells))
    one = camera(root, 0)
    np.testing.assert_array_equal(one.rgb([1])[0], picture(9, 9))
    with pytest.raises(VideoError, match=r"frame 0|cannot be read"):
        one.rgb([0])


def test_a_camera_of_an_episode_that_is_lost(root: Path) -> None:
    (root / "data/chunk-000/episode_000002.parquet").unlink()
    with pytest.raises(VideoError, match="episode 2"):
        camera(root, 2).packets()
