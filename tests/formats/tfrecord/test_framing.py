"""TFRecord framing: lengths, checksums, and where a damaged shard ends."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import made_rlds as made
import pytest

from gristmill.errors import CorpusError, RecordingError
from gristmill.formats.tfrecord import framing

DATA = (b"first", b"", b"the third record" * 50)


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(map(made.framed, DATA)))
    return path


def test_the_masked_checksum_is_castagnolis() -> None:
    # RFC 3720, appendix B.4: 32 zero bytes give 0x8A9136AA; masking rotates by 15 bits and adds a constant.
    crc = 0x8A9136AA
    expected = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    assert framing.checksum()(bytes(32)) == expected == made.masked(bytes(32))


def test_records_are_found_and_read(shard: Path) -> None:
    found = framing.scan(shard)
    assert found.lost == ""
    assert [(r.number, r.offset, r.size) for r in found.records] == [(0, 12, 5), (1, 33, 0), (2, 49, 800)]
    assert tuple(framing.read(shard, r, "here") for r in found.records) == DATA


@pytest.mark.parametrize(
    ("keep", "records", "says"),
    [
        (33 + 4 + 12 + 800 + 3, 2, "the file ends 1 bytes before the end of record 2"),
        (33 + 4 + 12, 2, "the file ends 804 bytes before the end of record 2"),
        (33 + 4 + 5, 2, "the file ends within the length of record 2"),
        (3, 0, "the file ends within the length of record 0"),
        (0, 0, ""),
    ],
)
def test_a_cut_shard_gives_the_records_before_the_cut(shard: Path, keep: int, records: int, says: str) -> None:
    shard.write_bytes(shard.read_bytes()[:keep])
    found = framing.scan(shard)
    assert (len(found.records), found.lost) == (records, says)


def test_a_damaged_length_ends_the_shard(shard: Path) -> None:
    data = bytearray(shard.read_bytes())
    struct.pack_into("<Q", data, 21, 1 << 62)
    shard.write_bytes(data)
    found = framing.scan(shard)
    assert len(found.records) == 1
    assert found.lost == "the length of record 1 does not match its checksum"


def test_damaged_data_is_told_when_it_is_read(shard: Path) -> None:
    data = bytearray(shard.read_bytes())
    data[14] ^= 1
    shard.write_bytes(data)
    first, _, third = framing.scan(shard).records
    with pytest.raises(RecordingError, match="episode 0 does not match its checksum"):
        framing.read(shard, first, "episode 0")
    assert framing.read(shard, third, "episode 2") == DATA[2]


def test_a_file_that_shrank_is_told(shard: Path) -> None:
    third = framing.scan(shard).records[2]
    shard.write_bytes(shard.read_bytes()[:100])
    with pytest.raises(RecordingError, match="became shorter"):
        framing.read(shard, third, "episode 2")


def test_a_compressed_shard_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.tfrecord").write_bytes(b"\x1f\x8b" + bytes(20))
    with pytest.raises(CorpusError, match="gunzip"):
        framing.scan(tmp_path / "a.tfrecord")


def test_without_the_library_it_says_what_to_install(shard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    with pytest.raises(CorpusError, match=r"pip install 'gristmill\[rlds\]'"):
        framing.scan(shard)
