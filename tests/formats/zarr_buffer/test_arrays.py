"""Rows of arrays: which chunks are there, each decoded once, damage told by its chunk."""

from __future__ import annotations

from pathlib import Path

import made_buffers as made
import numpy as np
import pytest
import zarr
import zarr.storage

from gristmill.errors import RecordingError
from gristmill.formats.zarr_buffer import places
from gristmill.formats.zarr_buffer.arrays import StoredArray
from gristmill.formats.zarr_buffer.metadata import arrays

VALUES = np.random.default_rng(2).normal(size=(made.ROWS, 4)).astype(np.float32)


def stored(folder: Path) -> StoredArray:
    """The array data/a, as the corpus makes it."""
    place = places.place_of(folder)
    members = place.members()
    (meta,) = [m for m in arrays(places.documents(place, members)) if m.name == "data/a"]
    below = {n.removeprefix("data/a/"): m for n, m in members.items() if n.startswith("data/a/")}
    return StoredArray(meta, place, below)


MADE = {
    "v2": {"version": 2},
    "v2, cut both ways": {"version": 2, "chunks": {"a": (10, 3)}},
    "v3": {"version": 3},
    "v3, cut both ways": {"version": 3, "chunks": {"a": (10, 3)}},
    "v3, shards": {"version": 3, "chunks": {"a": (8, 2)}, "shards": 3},
    "v3, plain": {"version": 3, "codecs": {"a": {"compressors": None}}},
    "v2, plain": {"version": 2, "codecs": {"a": {"compressors": None}}},
}


@pytest.mark.parametrize("case", MADE)
def test_any_rows_in_any_order(tmp_path: Path, case: str) -> None:
    array = stored(made.make(tmp_path / "b", {"a": VALUES}, **MADE[case]))
    assert array.complete.all()
    rng = np.random.default_rng(5)
    for ahead in (0, 200, 1 << 20):
        for _ in range(60):
            start, stop = sorted(rng.integers(0, made.ROWS + 1, 2).tolist())
            np.testing.assert_array_equal(array.read(start, stop, "here", ahead_bytes=ahead), VALUES[start:stop])
    with pytest.raises(ValueError, match="read-only"):
        array.read(0, 5, "here")[0] = 1
    with pytest.raises(RecordingError, match="episode 9: data/a ends at row 94 and the episode at row 95"):
        array.read(90, 95, "episode 9")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The chunks that Zarr asked the folder for."""
    found: list[str] = []
    get = zarr.storage.LocalStore.get

    async def counted(self, key, prototype=None, byte_range=None):
        if not key.endswith((".zarray", ".zattrs", "zarr.json")):
            found.append(key)
        return await get(self, key, prototype, byte_range)

    monkeypatch.setattr(zarr.storage.LocalStore, "get", counted)
    return found


@pytest.mark.parametrize("ahead", [0, 100, 1000, 1 << 20])
def test_each_chunk_is_decoded_once_in_reading_order(tmp_path: Path, asked: list[str], ahead: int) -> None:
    array = stored(made.make(tmp_path / "b", {"a": VALUES}))
    asked.clear()
    for number in range(4):
        start, stop = made.bounds(number)
        for part in range(start, stop, 7):
            array.read(part, min(part + 7, stop), "here", ahead_bytes=ahead)
    assert asked == [f"data/a/{n}.0" for n in range(4)]


@pytest.mark.parametrize("case", ["v2, cut both ways", "v3, cut both ways"])
def test_rows_of_a_missing_chunk_are_known(tmp_path: Path, case: str) -> None:
    folder = made.make(tmp_path / "b", {"a": VALUES}, **MADE[case])
    (folder / "data" / "a" / ("2.1" if case.startswith("v2") else "c/2/1")).unlink()
    array = stored(folder)
    assert np.flatnonzero(~array.complete).tolist() == [2]
    assert np.flatnonzero(array.absent(0, made.ROWS)).tolist() == list(range(20, 30))
    assert array.absent(15, 25).tolist() == [False] * 5 + [True] * 5


def test_chunks_missing_from_a_shard_are_known(tmp_path: Path) -> None:
    values = VALUES.copy()
    values[16:32, 2:] = 0  # Zarr leaves out what holds nothing but the fill value
    array = stored(made.make(tmp_path / "b", {"a": values}, **MADE["v3, shards"]))
    assert np.flatnonzero(array.absent(0, made.ROWS)).tolist() == list(range(16, 32))
    gone = made.make(tmp_path / "c", {"a": VALUES}, **MADE["v3, shards"])
    (gone / "data" / "a" / "c" / "1" / "0").unlink()
    assert np.flatnonzero(stored(gone).absent(0, made.ROWS)).tolist() == list(range(24, 48))


@pytest.mark.parametrize("case", MADE)
@pytest.mark.parametrize("keep", [0, 9, 40])
def test_a_truncated_chunk_is_told_and_the_others_are_read(tmp_path: Path, case: str, keep: int) -> None:
    folder = made.make(tmp_path / "b", {"a": VALUES}, **MADE[case])
    meta = stored(folder).meta
    name = {2: "2.0", 3: "c/2/0"}[meta.version]
    chunk = folder / "data" / "a" / name
    chunk.write_bytes(chunk.read_bytes()[:keep])
    array = stored(folder)
    first, last = 2 * meta.stored[0], 3 * meta.stored[0]
    np.testing.assert_array_equal(array.read(0, first, "here", ahead_bytes=1 << 20), VALUES[:first])
    np.testing.assert_array_equal(array.read(last, made.ROWS, "here", ahead_bytes=1 << 20), VALUES[last:])
    with pytest.raises(RecordingError) as caught:
        array.read(first - 5, first + 5, "episode 1 of b", ahead_bytes=1 << 20)
    message = str(caught.value)
    assert message.startswith("episode 1 of b: data/a, chunk ")
    assert f"rows {first} to " in message
    assert "\n" not in message
    assert len(message) < 400


def test_damage_within_a_shard_is_told(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "b", {"a": VALUES}, **MADE["v3, shards"])
    shard = folder / "data" / "a" / "c" / "1" / "0"
    data = bytearray(shard.read_bytes())
    data[-10] ^= 0xFF  # in the index
    shard.write_bytes(data)
    array = stored(folder)
    np.testing.assert_array_equal(array.read(0, 24, "here"), VALUES[:24])
    with pytest.raises(RecordingError, match="rows 24 to 32"):
        array.read(24, 48, "here")


def test_a_chunk_that_is_too_large_is_not_even_read(tmp_path: Path, asked: list[str]) -> None:
    folder = made.make(tmp_path / "b", {"a": VALUES})
    (folder / "data" / "a" / "1.0").write_bytes(bytes(1 << 20))
    array = stored(folder)
    asked.clear()
    with pytest.raises(RecordingError, match=r"rows 24 to 48.*larger than its declared shape allows"):
        array.read(20, 30, "here")
    assert "data/a/1.0" not in asked


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from numcodecs import Zstd

    for case, name in (("v2", "1.0"), ("v3", "c/1/0")):
        codec = {"compressors": Zstd(level=1) if case == "v2" else zarr.codecs.ZstdCodec(level=1)}
        folder = made.make(tmp_path / case, {"a": VALUES}, version=int(case[1]), codecs={"a": codec})
        (folder / "data" / "a" / name).write_bytes(bytes(Zstd(level=1).encode(np.zeros(1 << 26, np.uint8))))
        array = stored(folder)
        np.testing.assert_array_equal(array.read(0, 24, "here"), VALUES[:24])
        with pytest.raises(RecordingError, match="claims 67,108,864 bytes where 384 are expected"):
            array.read(20, 30, "here")


def test_stamps_change_with_the_files_of_the_rows(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "b", {"a": VALUES})
    before = stored(folder)
    chunk = folder / "data" / "a" / "1.0"
    chunk.write_bytes(chunk.read_bytes())
    after = stored(folder)
    assert before.stamp(0, 24) == after.stamp(0, 24)
    assert before.stamp(48, 94) == after.stamp(48, 94)
    assert before.stamp(20, 30) != after.stamp(20, 30)
