"""Where a buffer's files lie: in a folder, or in a zip archive that is read in place and never unpacked."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from gristmill.errors import CorpusError, RecordingError, UnsafeCorpusError
from gristmill.formats.files import CorpusFiles

ENDS = "meta/episode_ends"
_METADATA = (".zarray", "zarr.json")
_MAX_METADATA_BYTES = 4 << 20
_ZIP = b"PK\x03\x04"
# Members of an archive: a million frames of three cameras. Their table is held in memory.
_MAX_MEMBERS = 4_000_000
_DEFLATE_AT_MOST = 1032  # deflate cannot make more bytes of one (https://zlib.net/zlib_tech.html)
_SLACK = 1 << 16
_END = struct.Struct("<4s4H2LH")  # end of central directory, 4.3.16 of the zip specification
_END64 = struct.Struct("<4sQ2H2L4Q")  # its 64-bit form, 4.3.14
_ENCRYPTED = 1
# What the standard library raises on archives that are damaged or of a later version.
_DAMAGED = (zipfile.BadZipFile, OSError, EOFError, ValueError, OverflowError, RuntimeError, struct.error)


class Member(NamedTuple):
    """One file."""

    size: int
    stamp: str  # changes when its bytes change


@dataclass(frozen=True)
class Folder:
    """A buffer in a folder."""

    path: Path

    @property
    def label(self) -> str:
        """How errors name it."""
        return self.path.name

    prefix = ""  # of the buffer's names among the store's

    def members(self) -> dict[str, Member]:
        """All files below `data` and `meta`.

        Raises:
            UnsafeCorpusError: a link leads outside.
        """
        files = CorpusFiles(self.path)
        found = files.under("meta") | files.under("data")
        return {name: Member(s.size, f"{s.size}:{s.mtime_ns}:{s.identity}") for name, s in found.items()}

    def read(self, name: str, start: int = 0, size: int | None = None) -> bytes:
        """Bytes of a file, all of it by default.

        Raises:
            RecordingError: it cannot be read.
        """
        try:
            with (self.path / name).open("rb") as file:
                file.seek(start)
                return file.read(-1 if size is None else size)
        except OSError as error:
            raise RecordingError(f"{name} of {self.label} cannot be read ({error.strerror}); restore it") from None

    def store(self) -> Any:
        """The store that Zarr reads from."""
        from zarr.storage import LocalStore

        return LocalStore(self.path, read_only=True)


class Archive:
    """A buffer in a zip archive.

    Raises:
        CorpusError: it is no archive, is damaged, encrypted, or holds no buffer.
        UnsafeCorpusError: names lead outside, or sizes are not possible.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._store: Any = None
        try:
            count = _member_count(path)
            if count > _MAX_MEMBERS:
                raise UnsafeCorpusError(f"{path.name}: claims {count:,} members, more than {_MAX_MEMBERS:,}")
            self._zip = zipfile.ZipFile(path)
        except _DAMAGED as error:
            raise CorpusError(f"{path.name}: is no readable zip archive ({_line(error)}); restore it") from None
        infos = self._zip.infolist()
        _checked(path, infos)
        tops = [i.filename.removesuffix(f"{ENDS}/{m}") for i in infos for m in _METADATA if _ends(i.filename, m)]
        if len(set(tops)) != 1:
            what = f"holds {len(set(tops))} buffers; give one of them alone" if tops else f"holds no {ENDS}"
            raise CorpusError(f"{path.name}: {what}")
        self.prefix = tops[0]

    @property
    def label(self) -> str:
        """How errors name it."""
        return self.path.name

    def members(self) -> dict[str, Member]:
        """All files below the buffer's `data` and `meta`."""
        found = {}
        for info in self._zip.infolist():
            name = info.filename
            inner = name[len(self.prefix) :] if name.startswith(self.prefix) else ""
            if inner.startswith(("data/", "meta/")) and not info.is_dir():
                found[inner] = Member(info.file_size, f"{info.file_size}:{info.CRC:x}")
        return found

    def read(self, name: str, start: int = 0, size: int | None = None) -> bytes:
        """Bytes of a member, all of it by default.

        Raises:
            RecordingError: it cannot be read.
        """
        try:
            with self._zip.open(self.prefix + name) as file:
                file.seek(start)
                return file.read(-1 if size is None else size)
        except (*_DAMAGED, KeyError) as error:
            raise RecordingError(f"{name} of {self.label} cannot be read ({_line(error)}); restore it") from None

    def store(self) -> Any:
        """The store that Zarr reads from, one for all arrays: it lists the archive anew."""
        if self._store is None:
            from zarr.storage import ZipStore

            self._store = ZipStore(self.path, mode="r")
        return self._store


def place_of(path: Path) -> Folder | Archive:
    """Where the buffer at `path` lies.

    Raises:
        CorpusError: it is no buffer.
        UnsafeCorpusError: an archive is made to harm.
    """
    return Folder(Path(os.path.realpath(path))) if path.is_dir() else Archive(path)


def is_buffer(path: Path) -> bool:
    """Whether a folder or an archive holds `meta/episode_ends`."""
    if path.is_dir():
        return any((path / ENDS / name).is_file() for name in _METADATA)
    try:
        with path.open("rb") as file:
            if file.read(4) != _ZIP:
                return False
        if _member_count(path) > _MAX_MEMBERS:
            return False
        with zipfile.ZipFile(path) as archive:
            return any(_ends(name, m) for name in archive.namelist() for m in _METADATA)
    except _DAMAGED:
        return False


def documents(place: Folder | Archive, members: dict[str, Member]) -> dict[str, bytes]:
    """The metadata of every array and group: name of its folder -> content.

    Raises:
        CorpusError: one is too large to be one, or cannot be read.
    """
    return dict(_documents(place, members))


def _documents(place: Folder | Archive, members: dict[str, Member]) -> Iterator[tuple[str, bytes]]:
    for name, member in members.items():
        folder, _, last = name.rpartition("/")
        if last not in _METADATA:
            continue
        if member.size > _MAX_METADATA_BYTES:
            raise CorpusError(f"{name} of {place.label}: {member.size:,} bytes are no metadata; restore the file")
        try:
            yield folder, place.read(name)
        except RecordingError as error:
            raise CorpusError(str(error)) from None


def _ends(name: str, metadata: str) -> bool:
    return name == f"{ENDS}/{metadata}" or name.endswith(f"/{ENDS}/{metadata}")


def _checked(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    total, size = 0, path.stat().st_size
    for info in infos:
        name = info.filename
        if name.startswith(("/", "\\")) or ".." in PurePosixPath(name.replace("\\", "/")).parts or "\0" in name:
            raise UnsafeCorpusError(f"{path.name}: the member {name[:80]!r} leads outside; nothing was read")
        if info.flag_bits & _ENCRYPTED:
            raise CorpusError(f"{path.name}: {name[:80]!r} is encrypted; write the archive without a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise CorpusError(
                f"{path.name}: {name[:80]!r} is packed by method {info.compress_type}; use deflate or none"
            )
        if info.file_size > _DEFLATE_AT_MOST * info.compress_size + _SLACK:
            raise UnsafeCorpusError(
                f"{path.name}: {name[:80]!r} claims to unpack {info.compress_size:,} bytes into {info.file_size:,}"
            )
        total += info.compress_size
    if total > size:
        raise UnsafeCorpusError(f"{path.name}: its members overlap ({total:,} bytes in a file of {size:,})")


def _member_count(path: Path) -> int:
    """How many members the end of an archive claims, before any of them is looked at.

    Raises:
        ValueError: there is no such end.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - _END.size - 0xFFFF)  # a comment may follow
        file.seek(start)
        tail = file.read()
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or len(tail) - at < _END.size:
            raise ValueError("it has no table of members")
        found = _END.unpack_from(tail, at)
        if found[4] != 0xFFFF:
            # 16 bits, and a member takes 46 bytes of the table, so a lie is found by its size.
            return max(found[4], found[5] // 46)
        locator = tail.rfind(b"PK\x06\x07", 0, at)
        if locator < 0:
            return max(found[4], found[5] // 46)
        file.seek(struct.unpack_from("<Q", tail, locator + 8)[0])
        end = file.read(_END64.size)
        if len(end) < _END64.size or end[:4] != b"PK\x06\x06":
            raise ValueError("its table of members is damaged")
        whole = _END64.unpack(end)
        return max(whole[7], whole[8] // 46)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
