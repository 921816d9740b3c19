"""The shards of a data set: which files there are, which are missing, and what `dataset_info.json` says of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gristmill.errors import CorpusError
from gristmill.finding import Issue, Kind
from gristmill.formats.files import CorpusFiles, FileStamp
from gristmill.formats.tfrecord.declared import read_json
from gristmill.formats.tfrecord.framing import looks_framed

_NAME = re.compile(r"(?P<stem>.+)\.tfrecord(-(?P<number>\d{5,9})-of-(?P<total>\d{5,9}))?", re.DOTALL)
_MARKS = ("features.json", "dataset_info.json")
_DEEPEST = 2  # folders above the version's: of the data set, and of several data sets
_MOST_FOLDERS = 64
_MOST_EPISODES = 1 << 32  # of one shard; more is a lie
# Keys under which writers keep the rate; the format itself has none.
_RATES = ("rate_hz", "fps", "control_frequency", "control_freq", "control_hz")
RESTORE = "Restore the file from its source; its episodes are not among those that were read."


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One file of records."""

    name: str
    path: Path
    stamp: FileStamp
    split: str
    number: int
    expected: int | None  # episodes, by `dataset_info.json`
    first: int  # native number of its first episode, where the shards before it are known


@dataclass(frozen=True, kw_only=True)
class Found:
    """What lies in the folder."""

    root: Path
    shards: tuple[Shard, ...]
    issues: tuple[Issue, ...]
    info: Mapping[str, Any]  # dataset_info.json
    features: Mapping[str, Any] | None  # features.json
    rate_hz: float | None


def version_folder(path: Path) -> Path | None:
    """The folder that holds the shards: `path` itself, or the only one up to two levels below; None if there is none.

    Raises:
        CorpusError: there are several.
    """
    level = [path]
    for depth in range(_DEEPEST + 1):
        here = [folder for folder in level if _has_shards(folder)]
        if len(here) > 1:
            names = ", ".join(sorted(str(f.relative_to(path)) for f in here)[:6])
            raise CorpusError(f"{path} holds several RLDS data sets ({names}); give one of them")
        if here:
            return here[0]
        if depth < _DEEPEST:
            level = [inner for folder in level for inner in _folders(folder)][:_MOST_FOLDERS]
    return None


def is_shard(path: Path) -> bool:
    """Whether a file is called and begins like a shard."""
    return path.is_file() and _NAME.fullmatch(path.name) is not None and looks_framed(path)


def find(path: Path, split: str) -> Found:
    """List the shards of a folder, or take a single one.

    Args:
        path: the folder of a version (see `version_folder`), or one shard.
        split: read only this one; all of them when "".

    Raises:
        CorpusError: there is none, a metadata file is broken, or the data lies in another format.
        UnsafeCorpusError: a link leads outside.
    """
    root = path if path.is_dir() else path.parent
    files = CorpusFiles(root)
    info = _document(files, "dataset_info.json")
    if info.get("fileFormat", "tfrecord") not in ("tfrecord", "FILE_FORMAT_UNSPECIFIED"):
        raise CorpusError(f"dataset_info.json: the data lies in {info['fileFormat']!r} files; convert it to tfrecord")
    features = _document(files, "features.json") if files.stamp("features.json") else None
    declared = _splits(info)
    names = [path.name] if path.is_file() else sorted(entry.name for entry in root.iterdir())
    groups: dict[str, list[tuple[int, int | None, str]]] = {}
    for name in names:
        match = _NAME.fullmatch(name)
        if match is not None and files.stamp(name) is not None:
            total = int(match["total"]) if match["total"] else None
            key = match["stem"].rpartition("-")[2]
            groups.setdefault(key, []).append((int(match["number"] or 0), total, name))
    if split and split not in groups:
        raise CorpusError(f"options.split: there is no split {split!r}; known: {', '.join(sorted(groups)) or 'none'}")
    chosen = [split] if split else sorted(groups, key=lambda name: (_rank(name, declared), name))
    shards: list[Shard] = []
    issues: list[Issue] = []
    at = 0
    for name in chosen:
        at = _add(files, name, groups[name], declared.get(name), at, shards, issues, whole=path.is_dir())
    if path.is_dir() and not split:
        issues += [_absent_split(name) for name in declared if name not in groups]
    if not shards:
        raise CorpusError(f"{path} holds no file such as train.tfrecord-00000-of-00001; give the folder that does")
    return Found(
        root=root,
        shards=tuple(shards),
        issues=tuple(issues),
        info=info,
        features=features,
        rate_hz=_rate(info, _document(files, "metadata.json")),
    )


def _add(
    files: CorpusFiles,
    split: str,
    group: Sequence[tuple[int, int | None, str]],
    lengths: Sequence[int] | None,
    at: int,
    shards: list[Shard],
    issues: list[Issue],
    *,
    whole: bool,
) -> int:
    """Take over the shards of one split and tell the missing ones; returns the number of the next split's first."""
    totals = {total for _, total, _ in group if total is not None}
    if len(totals) > 1:
        raise CorpusError(
            f"split {split!r} lies here both as {' and as '.join(str(t) for t in sorted(totals))} shards; "
            "remove the files of one writing"
        )
    total = next(iter(totals), len(group))
    if lengths is not None and len(lengths) != total:
        lengths = None  # of another writing
    for number, _, name in sorted(group):
        stamp = files.stamp(name)
        assert stamp is not None
        first = at + sum(lengths[:number]) if lengths is not None else at
        expected = lengths[number] if lengths is not None and number < len(lengths) else None
        path = files.path(name)
        shards.append(
            Shard(name=name, path=path, stamp=stamp, split=split, number=number, expected=expected, first=first)
        )
    missing = sorted(set(range(total)) - {number for number, _, _ in group}) if whole and totals else []
    if missing:
        lost = f" with {sum(lengths[n] for n in missing)} episodes" if lengths is not None else ""
        shown = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
        message = f"split {split!r}: {len(missing)} of {total} shards are missing{lost}: {shown}."
        issues.append(
            Issue(
                check="files", code="shard_missing", kind=Kind.RISK, message=message, fix=RESTORE, subject=split,
                measured=len(missing), unit="shards",
            )
        )  # fmt: skip
    return at + sum(lengths) if lengths is not None else at


def _absent_split(name: str) -> Issue:
    message = f"dataset_info.json declares a split {name!r}, of which no shard is there."
    return Issue(check="files", code="shard_missing", kind=Kind.RISK, message=message, fix=RESTORE, subject=name)


def _splits(info: Mapping[str, Any]) -> dict[str, list[int] | None]:
    """Declared split -> episodes of each shard, None where that is not said in whole numbers."""
    found: dict[str, list[int] | None] = {}
    declared = info.get("splits", [])
    for split in declared if isinstance(declared, list) else []:
        if isinstance(split, Mapping) and isinstance(split.get("name"), str):
            try:
                lengths = [int(n) for n in split.get("shardLengths", [])]
            except (TypeError, ValueError, OverflowError):
                lengths = []
            found[split["name"]] = lengths if lengths and min(lengths) >= 0 and max(lengths) < _MOST_EPISODES else None
    return found


def _rank(split: str, declared: Mapping[str, Any]) -> int:
    return list(declared).index(split) if split in declared else len(declared)


def _rate(*documents: Mapping[str, Any]) -> float | None:
    for document in documents:
        for key in _RATES:
            value = document.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e6:
                return float(value)
    return None


def _document(files: CorpusFiles, name: str) -> dict[str, Any]:
    return read_json(files.path(name)) if files.stamp(name) else {}


def _has_shards(folder: Path) -> bool:
    try:
        entries = [entry for entry in folder.iterdir() if _NAME.fullmatch(entry.name) and entry.is_file()]
        # Beside its declaration, a file of this name is a shard however it begins: empty, or damaged.
        return bool(entries) and ((folder / "features.json").is_file() or any(map(is_shard, entries)))
    except OSError:
        return False


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(e for e in folder.iterdir() if e.is_dir() and not e.is_symlink())[:_MOST_FOLDERS]
    except OSError:
        return []
