"""Damaged heaps of texts, which HDF5 would walk through without an end."""

from __future__ import annotations

from pathlib import Path

import made_hdf5 as made
import pytest

from gristmill.errors import CorpusError
from gristmill.formats.hdf5.heaps import endless, stuck
from gristmill.sources import open_path


def heap(*objects: tuple[int, int], size: int = 256) -> bytes:
    """A heap with objects of these numbers and lengths."""
    out = b"GCOL\x01\0\0\0" + size.to_bytes(8, "little")
    for index, length in objects:
        out += index.to_bytes(2, "little") + bytes(6) + length.to_bytes(8, "little")
        out += bytes((length + 7) // 8 * 8 if index and length < size else 0)
    return out.ljust(size, b"\xff")


def test_steps_that_lead_nowhere() -> None:
    # 16 for the heap's header, 16 + 16 and 16 + 8 for two objects, and the rest is free.
    assert not stuck(heap((1, 10), (2, 8), (0, 256 - 16 - 32 - 24)), 0)
    assert stuck(heap((1, 10), (0, 0)), 0)
    assert stuck(heap((1, (1 << 64) - 16)), 0)  # the step wraps to nothing
    assert stuck(heap((1, (1 << 64) - 64)), 0)  # and here to a step back
    assert not stuck(heap((1, 10_000)), 0)  # beyond the end: the library notices that
    assert not stuck(b"GCOL\x01\0\0\0", 0)
    assert not stuck(b"\0" * 300, 0)
    assert stuck(b"\0" * 40 + heap((0, 0)), 40)


def test_a_file_whose_texts_have_no_end_is_refused(tmp_path: Path) -> None:
    path = made.robomimic(tmp_path / "file.hdf5")
    assert endless(path) is None
    data = bytearray(path.read_bytes())
    at = data.index(b"GCOL")
    data[at + 16 : at + 400] = bytes(384)
    path.write_bytes(data)
    assert endless(path) == at
    with pytest.raises(CorpusError, match=rf"file\.hdf5 is damaged: the texts kept at byte {at:,} have no end"):
        open_path(path)
