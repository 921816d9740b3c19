"""What a file or folder is, told by its content, before anybody decides to audit it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from gristmill import plugins
from gristmill.errors import CorpusError, RecipeError
from gristmill.formats.lerobot.declaration import BOOKKEEPING
from gristmill.sources import open_path, source_of

# First bytes of files that are no corpus by themselves, and what to do with them.
_MAGIC = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file of a layout that no source knows"),
    (b"PAR1", "a Parquet file; give the folder of its dataset"),
    (b"SQLite format 3\x00", "an SQLite file that is no rosbag2"),
    (b"PK\x03\x04", "a zip archive that holds no replay buffer; unpack it first"),
    (b"\x1f\x8b", "a gzip file; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a zstd file; unpack it first"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
)


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What a place holds. Of what the user has to state first, `needs` says which and how."""

    path: str
    source: str  # the plug-in that reads it
    format: str = ""
    episodes: int = 0
    frames: int = 0
    rate_hz: float | None = None
    robot_type: str = ""
    card: str = ""
    card_inferred: bool = False
    tasks: tuple[str, ...] = ()
    channels: tuple[Mapping[str, Any], ...] = ()  # key, role, width, names
    cameras: tuple[Mapping[str, Any], ...] = ()  # key, height, width, codec, rate_hz
    unread: Mapping[str, str] = field(default_factory=dict)
    issues: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)  # name -> type and default
    proposal: Any = None  # of a log: its topics, and what each would become
    needs: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def inspect(path: str | Path, options: Mapping[str, Any] | None = None) -> Inspection:
    """Tell what a corpus is; only metadata is read.

    Args:
        path: a file, a folder or a hub id.
        options: what the user states of it.

    Raises:
        CorpusError: nothing is there, or nothing that can be read.
    """
    place = Path(path).expanduser()
    if not place.exists():
        corpus = open_path(path)
        return _of(corpus, str(path), "lerobot", {})
    try:
        name = source_of(place)
    except CorpusError as error:
        raise CorpusError(f"{place}: {looks_like(place)}" if place.is_file() else str(error)) from None
    source = plugins.load("sources", name)
    shared = {"path": str(place), "source": name, "options": _options(source)}
    propose = getattr(source, "propose", None)
    proposal = propose(place) if propose is not None else None
    try:
        corpus = open_path(place, options=options)
    except RecipeError:
        raise
    except CorpusError as error:
        # A format that leaves its rate unsaid can still be shown, and its reader says what it needs.
        empty = proposal is not None and not any(topic.messages for topic in proposal.topics)
        if empty or (proposal is None and "--option" not in str(error)):
            raise
        return Inspection(**shared, proposal=proposal, needs=str(error))
    return _of(corpus, shared["path"], name, shared["options"], proposal)


def looks_like(path: Path) -> str:
    """What a file is that no source knows."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not start:
        return "is empty"
    for magic, what in _MAGIC:
        if start.startswith(magic):
            return f"is {what}"
    if start[4:8] == b"ftyp":
        return "is an MP4 video; give the folder of its dataset"
    return f"is no recording that is known; sources are {', '.join(plugins.names('sources'))}"


def _options(source: Any) -> dict[str, str]:
    cls = getattr(source, "Options", None)
    if cls is None:
        return {}
    made = cls()
    defaults = {f.name: getattr(made, f.name) for f in fields(made)}
    return {f.name: f"{f.type}" + (f", default {defaults[f.name]!r}" if defaults[f.name] else "") for f in fields(made)}


def _of(corpus: Any, path: str, source: str, options: Mapping[str, str], proposal: Any = None) -> Inspection:
    facts, table = corpus.facts, corpus.table
    keys: dict[str, list[Any]] = {}
    for dim in facts.dims:
        keys.setdefault(dim.channel, []).append(dim)
    channels = [
        {"key": key, "role": dims[0].role, "width": len(dims), "names": [d.name for d in dims if d.name]}
        for key, dims in keys.items()
    ]
    told = {*keys, *facts.cameras, *facts.unread, *BOOKKEEPING}
    for key, feature in facts.features.items():
        if key not in told:
            shape = feature.get("shape") or [1]
            channels.append({"key": key, "role": "other", "width": int(shape[0]), "names": feature.get("names") or []})
    cameras = [
        {"key": c.key, "height": c.height, "width": c.width, "codec": c.codec, "rate_hz": c.rate_hz}
        for c in facts.cameras.values()
    ]
    return Inspection(
        path=path,
        source=source,
        format=facts.format,
        episodes=len(table),
        frames=int(table.length.sum()),
        rate_hz=facts.rate_hz,
        robot_type=facts.robot_type,
        card=corpus.embodiment.key,
        card_inferred=corpus.embodiment.inferred,
        tasks=tuple(facts.tasks.values()),
        channels=tuple(channels),
        cameras=tuple(cameras),
        unread=dict(facts.unread),
        issues=tuple(issue.message for issue in corpus.issues),
        options=options,
        proposal=proposal,
    )
