"""Opens an RLDS data set: every episode's header is read from its record, nothing of its data is decoded."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gristmill.digest import text_digest
from gristmill.embodiment import Embodiment
from gristmill.errors import CorpusError, RecordingError
from gristmill.finding import Issue, Kind
from gristmill.formats.recorded import Header, RecordedCorpus
from gristmill.formats.stated import named
from gristmill.formats.tfrecord import example, framing
from gristmill.formats.tfrecord.declared import STEPS, Entry, declared, shown
from gristmill.formats.tfrecord.layout import Layout, column, layout_of
from gristmill.formats.tfrecord.reader import RldsReader
from gristmill.formats.tfrecord.shards import RESTORE, Found, Shard, find, version_folder

# Entries that tell how many steps an episode has, the surest first: RLDS demands the first two.
_COUNTED = ("is_first", "is_last", "is_terminal", "reward", "discount")


class Place(NamedTuple):
    """Where an episode lies."""

    path: Path
    record: framing.Record
    broken: str  # why its record is no Example, or ""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one look at a record tells."""

    steps: int = 0
    tasks: tuple[str, ...] = ()
    about: str = ""
    ends: bool = False  # the last step is marked as such
    odd: str = ""  # marks of an episode's ends that stand in its middle
    broken: str = ""


def open_dataset(path: Path, *, key: str, card: Embodiment | None, options: Any, locator: Any) -> RecordedCorpus:
    """Open the data set in a folder, or one shard.

    Args:
        path: the folder of a version, one above it, or one shard.
        key: the corpus's key.
        card: the embodiment card.
        options: `gristmill.sources.rlds.Rlds.Options`.
        locator: what reopens the corpus.

    Raises:
        CorpusError: nothing can be read, or the rate is not stated.
        UnsafeCorpusError: a link leads outside.
    """
    place = path if path.is_file() else version_folder(path)
    if place is None:
        raise CorpusError(f"{path} holds no file such as train.tfrecord-00000-of-00001; give the folder that does")
    found = find(place, options.split)
    rate_hz = options.rate_hz or found.rate_hz
    if rate_hz is None:
        raise CorpusError(
            f"{path}: RLDS does not say how many steps a second were recorded; state it, such as --option rate_hz=10"
        )
    scans = [framing.scan(shard.path) for shard in found.shards]
    entries, absent = _entries(found, scans)
    layout = layout_of(entries, rate_hz=rate_hz, state=options.state, action=options.action)
    if not layout.numbers and not layout.cameras:
        raise CorpusError(f"{path}: the records hold no numbers and no pictures under `steps/`; this is no RLDS")
    layout = replace(layout, numbers=named(layout.numbers, options.names))
    headers: list[Header] = []
    seen: list[_Seen] = []
    issues = [*found.issues, *absent]
    for shard, scan in zip(found.shards, scans, strict=True):
        issues += _losses(shard, scan)
        first = max(shard.first, len(headers) and headers[-1].index + 1)
        for each, record in zip(_look(shard, scan.records, layout), scan.records, strict=True):
            seen.append(each)
            headers.append(_header(shard, record, first + record.number, each, options.task))
    if not headers:
        raise CorpusError(f"{path} holds no episode: {issues[0].message if issues else 'its shards are empty'}")
    ended = sum(s.ends for s in seen)
    if ended and any(spec.role == "action" for _, spec in layout.numbers.values()):
        issues.append(_last_action(ended, len(seen)))
    if found.features is None:
        issues.append(_undeclared())
    return RecordedCorpus(
        key=key,
        root=path,
        format="RLDS",
        rate_hz=rate_hz,
        headers=headers,
        channels=[spec for _, spec in layout.numbers.values()],
        cameras={name: info for name, (_, info) in layout.cameras.items()},
        reader=RldsReader(layout, rate_hz),
        locator=locator,
        card=card,
        issues=tuple(issues),
        info=_info(found, headers),
        unread=layout.unread,
    )


def _entries(found: Found, scans: Sequence[framing.Scan]) -> tuple[list[Entry], list[Issue]]:
    """What episodes hold: as declared, less what the first readable one lacks, or what that one shows."""
    for shard, scan in zip(found.shards, scans, strict=True):
        for record in scan.records:
            try:
                data = framing.read(shard.path, record, f"record {record.number} of {shard.name}")
                present = example.features(data, 0, len(data))
                if not any(name.startswith(STEPS) for name in present):
                    raise CorpusError(f"{shard.name}: record {record.number} holds no `steps/...`; this is no RLDS")
                if found.features is None:
                    return shown(data, present, _steps(data, present)), []
            except (example.MalformedError, RecordingError):
                continue  # told when the episode is read
            entries = declared(found.features)
            lacking = [e for e in entries if e.key not in present and e.kind in ("numbers", "image")]
            return [e for e in entries if e not in lacking], [_lacking(e) for e in lacking]
    raise CorpusError(f"{found.shards[0].name}: no record can be read; restore the file")


def _look(shard: Shard, records: Sequence[framing.Record], layout: Layout) -> list[_Seen]:
    """Look at each record without reading its pictures: the file is mapped, and pages not looked at stay on disk."""
    if not records:
        return []
    with shard.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return [_see(data, record, layout) for record in records]


def _see(data: Any, record: framing.Record, layout: Layout) -> _Seen:
    try:
        found = example.features(data, record.offset, record.offset + record.size)
        steps = _steps(data, found)
        flags = {
            name: example.ints(data, found[f"{STEPS}{name}"]) for name in _COUNTED[:2] if f"{STEPS}{name}" in found
        }
        last = flags.get("is_last")
        return _Seen(
            steps=steps,
            tasks=_tasks(data, found, layout.instructions),
            about=_about(data, found, layout.about),
            ends=last is not None and len(last) > 0 and bool(last[-1]),
            odd=_odd(flags),
        )
    except example.MalformedError as error:
        return _Seen(broken=str(error))


def _steps(data: Any, found: dict[str, example.Feature]) -> int:
    for name in _COUNTED:
        feature = found.get(f"{STEPS}{name}")
        if feature is not None and feature.kind in ("int", "float"):
            return example.count(data, feature)
    for key, feature in found.items():
        if key.startswith(STEPS) and feature.kind == "bytes":
            return example.count(data, feature)
    raise example.MalformedError("nothing in it tells how many steps it has")


def _tasks(data: Any, found: dict[str, example.Feature], keys: Sequence[str]) -> tuple[str, ...]:
    """The distinct instructions of the best key that has any, in the order of their first step."""
    for key in keys:
        if key in found:
            raw = dict.fromkeys(bytes(data[a:b]) for a, b in example.entries(data, found[key]))
            texts = [text.decode("utf-8", "replace").strip() for text in raw]
            if any(texts):
                return tuple(dict.fromkeys(filter(None, texts)))
    return ()


def _about(data: Any, found: dict[str, example.Feature], entries: Sequence[Entry]) -> str:
    told = []
    for entry in sorted(entries, key=lambda e: e.key):
        feature = found.get(entry.key)
        if feature is None:
            continue
        if feature.kind == "bytes":
            value: Any = [bytes(data[a:b]).decode("utf-8", "replace") for a, b in example.entries(data, feature)]
        else:
            value = (example.ints if feature.kind == "int" else example.floats)(data, feature).tolist()
        told.append(f"{column(entry.key)}={value!r}")
    return text_digest(told)


def _odd(flags: dict[str, np.ndarray]) -> str:
    first, last = flags.get("is_first"), flags.get("is_last")
    if first is not None and np.count_nonzero(first[1:]):
        return f"step {1 + int(np.flatnonzero(first[1:])[0])} is marked as the first of an episode"
    if last is not None and np.count_nonzero(last[:-1]):
        return f"step {int(np.flatnonzero(last[:-1])[0])} is marked as the last of an episode"
    return ""


def _header(shard: Shard, record: framing.Record, index: int, seen: _Seen, task: str) -> Header:
    where = f"episode {index} (record {record.number} of {shard.name})"
    issues = ()
    if seen.odd:
        message = f"{where}: {seen.odd}, but the record goes on; two episodes may have been joined."
        fix = "Cut the recording there, or correct the marks."
        issues = (Issue(check="schema", code="step_marks", kind=Kind.RISK, message=message, fix=fix, episode=index),)
    return Header(
        index=index,
        length=seen.steps,
        stamp=f"{shard.name}:{shard.stamp.size}:{shard.stamp.mtime_ns}:{shard.stamp.identity}:{record.offset}",
        where=where,
        tasks=seen.tasks or ((task,) if task else ()),
        meta=f"{shard.split};{seen.about}",
        issues=issues,
        place=Place(shard.path, record, seen.broken),
    )


def _losses(shard: Shard, scan: framing.Scan) -> list[Issue]:
    """What of a shard cannot be read."""
    count, expected = len(scan.records), shard.expected
    if scan.lost:
        kept = f"{count} of {expected} episodes" if expected is not None else f"{count} episodes"
        message = f"{shard.name}: {scan.lost}; the {kept} before it are read, those from there on are lost."
        code, kind = "shard_cut", Kind.DEFECT
    elif expected is not None and count != expected:
        message = f"{shard.name}: holds {count} records, dataset_info.json promises {expected}."
        code, kind = "record_count", Kind.RISK
    else:
        return []
    return [Issue(check="files", code=code, kind=kind, message=message, fix=RESTORE, subject=shard.name)]


def _lacking(entry: Entry) -> Issue:
    message = f"features.json declares {entry.key}, which the records do not hold."
    fix = "Correct features.json, or write the data set anew."
    return Issue(check="schema", code="feature_absent", kind=Kind.RISK, message=message, fix=fix, subject=entry.key)


def _last_action(ended: int, total: int) -> Issue:
    message = (
        f"{ended} of {total} episodes end with a step marked is_last, whose action, reward and discount mean nothing "
        "by the format's definition; the frame is kept."
    )
    fix = "Cut the last frame if the recorder padded its action; many recorders do store a real one."
    return Issue(check="schema", code="last_action", kind=Kind.TRAIT, message=message, fix=fix, measured=ended)


def _undeclared() -> Issue:
    message = "there is no features.json; shapes and types were taken from the first episode's record."
    fix = "Restore features.json beside the shards, so that types and sizes of pictures are certain."
    return Issue(check="schema", code="declaration_absent", kind=Kind.TRAIT, message=message, fix=fix)


def _info(found: Found, headers: Sequence[Header]) -> dict[str, Any]:
    known = {k: found.info[k] for k in ("name", "version") if isinstance(found.info.get(k), str)}
    splits: dict[str, list[int]] = {}
    for header in headers:
        splits.setdefault(header.meta.partition(";")[0], []).append(header.index)
    return {"rlds": known, "splits": {name: f"{rows[0]}:{rows[-1] + 1}" for name, rows in splits.items()}}
