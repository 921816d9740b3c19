"""Archives that are made to harm, and folders whose links lead out."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import made_buffers as made
import numpy as np
import pytest

from gristmill.errors import CorpusError, RecordingError, UnsafeCorpusError
from gristmill.formats.zarr_buffer import places


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return made.make_zip(tmp_path / "a.zarr.zip")


def test_folder_and_archive_list_the_same_files(tmp_path: Path, archive: Path) -> None:
    folder = made.make(tmp_path / "folder")
    listed = places.place_of(folder).members()
    packed = places.place_of(archive).members()
    chunks = {name: member.size for name, member in listed.items() if not name.endswith((".zattrs", ".zgroup"))}
    assert {n: m.size for n, m in packed.items() if not n.endswith((".zattrs", ".zgroup"))} == chunks
    name = "data/action/1.0"
    assert places.place_of(folder).read(name) == places.place_of(archive).read(name)
    assert places.place_of(folder).read(name, 3, 5) == places.place_of(archive).read(name, 3, 5)
    for place in (places.place_of(folder), places.place_of(archive)):
        with pytest.raises(RecordingError, match=r"data/no of .* cannot be read"):
            place.read("data/no")


def test_a_buffer_may_lie_below_a_folder_of_the_archive(tmp_path: Path, archive: Path) -> None:
    moved = tmp_path / "b.zip"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(moved, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(f"pusht/replay.zarr/{info.filename}", old.read(info))
    assert places.is_buffer(moved)
    place = places.Archive(moved)
    assert place.prefix == "pusht/replay.zarr/"
    # Contents are the same, so stamps are.
    assert place.members() == places.Archive(archive).members()


def test_other_archives_and_files_are_no_buffers(tmp_path: Path) -> None:
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as new:
        new.writestr("a.txt", "x")
    assert not places.is_buffer(other)
    with pytest.raises(CorpusError, match="holds no meta/episode_ends"):
        places.Archive(other)
    for content in (b"", b"PK\x03\x04", b"PK\x03\x04" + bytes(100), b"text"):
        other.write_bytes(content)
        assert not places.is_buffer(other)
        with pytest.raises(CorpusError, match="no readable zip archive"):
            places.Archive(other)
    assert not places.is_buffer(tmp_path / "absent")


def test_two_buffers_in_one_archive_are_told(tmp_path: Path, archive: Path) -> None:
    both = tmp_path / "both.zip"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(both, "w") as new:
        for top in ("a", "b"):
            for info in old.infolist():
                new.writestr(f"{top}/{info.filename}", old.read(info))
    with pytest.raises(CorpusError, match="holds 2 buffers"):
        places.Archive(both)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "data/../../x", "..\\x", "data\\..\\..\\x"])
def test_names_that_lead_outside_are_unsafe(archive: Path, name: str) -> None:
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr(name, b"x")
    with pytest.raises(UnsafeCorpusError, match="leads outside"):
        places.Archive(archive)


def central(path: Path, name: str) -> tuple[bytearray, int]:
    """The archive's bytes, and where a member's entry in the table of members begins."""
    data = bytearray(path.read_bytes())
    return data, data.rfind(name.encode()) - 46


def test_a_size_that_deflate_cannot_reach_is_unsafe(archive: Path) -> None:
    data, at = central(archive, "data/action/0.0")
    struct.pack_into("<I", data, at + 24, 0xFFFFFFF0)  # size when unpacked
    archive.write_bytes(data)
    with pytest.raises(UnsafeCorpusError, match=r"claims to unpack [\d,]+ bytes into 4,294,967,280"):
        places.Archive(archive)


def test_members_that_overlap_are_unsafe(archive: Path) -> None:
    data, at = central(archive, "data/action/0.0")
    size = archive.stat().st_size
    struct.pack_into("<II", data, at + 20, size, size)
    archive.write_bytes(data)
    with pytest.raises(UnsafeCorpusError, match="its members overlap"):
        places.Archive(archive)


def test_an_encrypted_member_is_told(archive: Path) -> None:
    data, at = central(archive, "data/action/0.0")
    data[at + 8] |= 1
    archive.write_bytes(data)
    with pytest.raises(CorpusError, match="is encrypted"):
        places.Archive(archive)


def test_a_packing_that_is_not_known_is_told(archive: Path) -> None:
    data, at = central(archive, "data/action/0.0")
    data[at + 10] = 99
    archive.write_bytes(data)
    with pytest.raises(CorpusError, match="is packed by method 99; use deflate or none"):
        places.Archive(archive)


def test_too_many_members_are_refused_before_they_are_listed(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_MAX_MEMBERS", 5)
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("listed"))
    with pytest.raises(UnsafeCorpusError, match="members, more than 5"):
        places.Archive(archive)
    assert not places.is_buffer(archive)


def test_the_table_of_a_large_archive_is_found(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as new:
        new.writestr("a", b"")
        new.filelist *= 66_000  # more than 16 bits count; the table is written from this list
    assert len(zipfile.ZipFile(path).infolist()) == 66_000
    assert places._member_count(path) >= 66_000


def test_links_that_leave_the_folder_are_unsafe(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "folder")
    for place in ("data/action/0.0", "data/state"):
        inside, outside = folder / place, tmp_path / "outside"
        inside.rename(outside)
        inside.symlink_to(outside)
        with pytest.raises(UnsafeCorpusError, match=place):
            places.place_of(folder).members()
        inside.unlink()
        outside.rename(inside)


def test_metadata_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = places.place_of(made.make(tmp_path / "folder", {"action": np.zeros((94, 2), np.float32)}))
    monkeypatch.setattr(places, "_MAX_METADATA_BYTES", 10)
    with pytest.raises(CorpusError, match="bytes are no metadata"):
        places.documents(place, place.members())
