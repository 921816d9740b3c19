"""Which logs a file or folder holds: single files, folders of them, rosbag2 folders with their metadata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from gristmill.errors import CorpusError, UnsafeCorpusError
from gristmill.formats.files import CorpusFiles, FileStamp
from gristmill.formats.logs import metadata
from gristmill.formats.logs.metadata import Metadata, read_metadata
from gristmill.formats.logs.stream import Log

Kind = Literal["mcap", "bag", "sqlite3"]

_STARTS: dict[Kind, bytes] = {"mcap": b"\x89MCAP0\r\n", "bag": b"#ROSBAG V", "sqlite3": b"SQLite format 3\0"}
_ENDINGS: dict[str, Kind] = {".mcap": "mcap", ".bag": "bag", ".db3": "sqlite3"}
ENDING_OF: dict[Kind, str] = {kind: ending for ending, kind in _ENDINGS.items()}
_MOST_LOOKED_AT = 64  # entries of a folder, to recognize it


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One log of a corpus: its files, relative to the corpus's folder, in order."""

    name: str  # "run_3.mcap", or a rosbag2 folder's name
    kind: Kind
    files: tuple[str, ...]
    metadata: Metadata | None = None
    trouble: str = ""  # why it cannot be opened, where that is known without looking into its files


def kind_of(path: Path) -> Kind | None:
    """What sort of log a file is, by its first bytes; None when it is none."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError:
        return None
    for kind, magic in _STARTS.items():
        if start.startswith(magic):
            # SQLite serves many: rosbag2's files carry their own ending.
            return None if kind == "sqlite3" and path.suffix != ".db3" else kind
    return None


def recognizes(path: Path, kind: Kind) -> bool:
    """Whether a file or folder holds logs of this kind: by first bytes, in the folder and those right below."""
    if path.is_file():
        return kind_of(path) == kind
    if not path.is_dir():
        return False
    return any(kind_of(file) == kind for file in _candidates(path, kind))


def _candidates(folder: Path, kind: Kind) -> Iterable[Path]:
    ending = ENDING_OF[kind]
    try:
        inner = sorted(folder.iterdir())[:_MOST_LOOKED_AT]
        yield from (p for p in inner if p.suffix == ending and p.is_file())
        for below in inner:
            if below.is_dir() and not below.is_symlink():
                yield from (p for p in sorted(below.iterdir())[:_MOST_LOOKED_AT] if p.suffix == ending and p.is_file())
    except OSError:
        return  # a folder that cannot be listed holds nothing that could be read


def places(path: Path, kind: Kind) -> tuple[CorpusFiles, list[Place]]:
    """The logs of a file or folder, sorted by name.

    A folder with `metadata.yaml` is one log, whatever it was split into; other folders hold one log a file, and one
    log a rosbag2 folder.

    Raises:
        CorpusError: there is none, or a file that the metadata names is missing.
        UnsafeCorpusError: a link or a name leads outside the corpus.
    """
    if path.is_file():
        files = CorpusFiles(path.parent)
        beside = read_metadata(files, metadata.NAME) if files.stamp(metadata.NAME) else None
        listed = beside is not None and path.name in beside.files
        return files, [Place(name=path.name, kind=kind, files=(path.name,), metadata=beside if listed else None)]
    files = CorpusFiles(path)
    found = list(_in_folder(files, "", kind))
    for below in sorted(p.name for p in files.root.iterdir() if p.is_dir()):
        files.path(f"{below}/x")  # refuses a link that leaves the corpus
        try:
            found += _in_folder(files, below, kind)
        except UnsafeCorpusError:
            raise
        except CorpusError as error:  # told when it is opened; it does not stand in the others' way
            found.append(Place(name=below, kind=kind, files=(), trouble=str(error)))
    if not found:
        raise CorpusError(f"{path} holds no {ENDING_OF[kind]} file; give the file, or the folder that holds it")
    return files, found


def _in_folder(files: CorpusFiles, folder: str, kind: Kind) -> Iterable[Place]:
    prefix = f"{folder}/" if folder else ""
    if files.stamp(f"{prefix}{metadata.NAME}") is not None:
        described = read_metadata(files, f"{prefix}{metadata.NAME}")
        if described.storage in ("", kind):
            yield _bag2(files, prefix, folder or files.root.name, described, kind)
            return
    names = sorted(
        n for n in (p.name for p in files.path(f"{prefix}x").parent.iterdir()) if n.endswith(ENDING_OF[kind])
    )
    for name in names:
        stamp = files.stamp(f"{prefix}{name}")
        if stamp is not None:
            trouble = "" if kind_of(files.path(f"{prefix}{name}")) == kind else _strange(files, f"{prefix}{name}")
            yield Place(name=f"{prefix}{name}", kind=kind, files=(f"{prefix}{name}",), trouble=trouble)


def _strange(files: CorpusFiles, name: str) -> str:
    """Why a file is no log of the kind that its ending promises: recorders that crash leave such."""
    try:
        with files.path(name).open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        return f"{name}: cannot be opened ({error.strerror})"
    if not start:
        return f"{name} is empty; its recorder has written nothing"
    if not any(start):
        return f"{name} begins with zeros alone; its recorder has reserved room and written nothing"
    return f"{name} does not begin as its ending promises; it is a file of another kind, or cut off or overwritten"


def _bag2(files: CorpusFiles, prefix: str, name: str, described: Metadata, kind: Kind) -> Place:
    listed = []
    for relative in described.files:
        if PurePosixPath(relative).is_absolute() or ".." in PurePosixPath(relative).parts:
            raise UnsafeCorpusError(f"{prefix}{metadata.NAME} names {relative!r}, which leaves the corpus; correct it")
        if files.stamp(f"{prefix}{relative}") is None:
            raise CorpusError(
                f"{prefix}{metadata.NAME} names {relative}, which is missing; restore it or run ros2 bag reindex"
            )
        if relative.endswith(".zstd"):
            raise CorpusError(f"{prefix}{relative} is compressed as a whole; decompress it and run ros2 bag reindex")
        listed.append(f"{prefix}{relative}")
    return Place(name=name, kind=kind, files=tuple(listed), metadata=described)


def open_log(files: CorpusFiles, place: Place) -> Log:
    """Open a log.

    Raises:
        CorpusError: nothing of it can be read.
        UnsafeCorpusError: a link leads outside the corpus.
    """
    if place.trouble:
        raise CorpusError(place.trouble)
    logs = []
    try:
        for relative in place.files:
            logs.append(_open_file(files.path(relative), place))
    except BaseException:
        for log in logs:
            log.close()
        raise
    return logs[0] if len(logs) == 1 else _split(files, place, logs)


def _split(files: CorpusFiles, place: Place, logs: Sequence[Log]) -> Log:
    from gristmill.formats.logs.split import SplitLog

    return SplitLog(files.path(place.files[0]).parent, logs)


def _open_file(path: Path, place: Place) -> Log:
    if place.kind == "mcap":
        try:
            import mcap  # noqa: F401 - told before anything is read
        except ModuleNotFoundError:
            raise CorpusError(f"{path}: mcap is not installed; run pip install 'gristmill[logs]'") from None
        from gristmill.formats.logs.mcap_log import McapLog

        return McapLog(path)
    if place.kind == "bag":
        from gristmill.formats.logs.bag_log import BagLog

        return BagLog(path)
    from gristmill.formats.logs.sqlite_log import SqliteLog

    described = place.metadata
    per_message = described is not None and described.compression_mode == "message"
    if per_message and described is not None and described.compression_format != "zstd":
        raise CorpusError(f"{path}: its messages are compressed as {described.compression_format!r}; zstd is known")
    return SqliteLog(path, encodings=described.encodings if described else None, compressed=per_message)


def stamp_of(files: CorpusFiles, place: Place) -> str:
    """What changes when a log's bytes change; "" when a file is missing."""
    stamps: list[FileStamp | None] = [files.stamp(f) for f in place.files]
    if None in stamps:
        return ""
    # The metadata says how messages are written; what else it says changes nothing.
    written = place.metadata.writing if place.metadata else ""
    return ";".join([*(f"{n}:{s}" for n, s in zip(place.files, stamps, strict=True)), *filter(None, [written])])
