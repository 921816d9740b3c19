"""Resampled episodes, kept so that later stages need not decode a log again.

Each episode is one Zarr v3 group `SET/000012/KEY`: an array a channel, and one of all provenance codes, in shards of
whole chunks, a chunk as long as a training window. KEY stands for what the episode was made from; an episode appears
whole or not at all, and its arrays are compared with their digest when they are read. A damaged one counts as absent:
it can always be made anew.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gristmill.digest import values_digest
from gristmill.episode import Channel
from gristmill.errors import StoreError, UsageError
from gristmill.finding import Issue, Kind
from gristmill.resample import Featurized, Timeline
from gristmill.staging import Staged, clean_leftovers
from gristmill.timeline import is_companion

FOLDER = "featurized"  # within the store
_LAYOUT = 1  # raise it when what is kept changes its form
_MARK = "gristmill_featurized"
_CHUNKS_A_SHARD = 64


class Head(NamedTuple):
    """What is known of a kept episode without reading its arrays."""

    timeline: Timeline
    issues: tuple[Issue, ...]


class FeaturizedEpisodes:
    """The episodes of one corpus, resampled by one rule.

    Args:
        folder: of the set.
        chunk_frames: frames in a chunk.
        writable: whether episodes may be added.

    Raises:
        UsageError: zarr is not installed.
    """

    def __init__(self, folder: Path, chunk_frames: int, *, writable: bool) -> None:
        if find_spec("zarr") is None:
            raise UsageError(
                "resampled episodes are kept as Zarr, which is not installed; pip install 'gristmill[zarr]'"
            )
        self.folder = folder
        self.chunk_frames = chunk_frames
        self.writable = writable

    def head(self, index: int, key: str) -> Head | None:
        """Timeline and issues of a kept episode, None when it is not there."""
        told = _attributes(self._place(index, key))
        if told is None:
            return None
        try:
            timeline = Timeline(float(told["start_s"]), float(told["rate_hz"]), int(told["frames"]))
            issues = tuple(Issue(**{**issue, "kind": Kind(issue["kind"])}) for issue in told["issues"])
        except (KeyError, TypeError, ValueError):
            return None
        return Head(timeline, issues)

    def read(self, index: int, key: str) -> Featurized | None:
        """A kept episode; None when it is not there, or is not what was written."""
        place = self._place(index, key)
        told, head = _attributes(place), self.head(index, key)
        if told is None or head is None:
            return None
        try:
            made = _read(place, told, head)
        except Exception:  # noqa: BLE001 - whatever ails a damaged copy, it is made anew from the recording
            return None
        return made if _digest(made) == told.get("digest") else None

    def write(self, index: int, key: str, made: Featurized) -> None:
        """Keep an episode. It takes the place of what was kept of it before.

        Raises:
            StoreError: it cannot be written.
        """
        if not self.writable:
            return
        place = self._place(index, key)
        try:
            with Staged(place, replaces=lambda _: True) as staged:
                _write(staged.payload, made, self.chunk_frames)
                staged.commit()
            for other in place.parent.iterdir():
                if other != place and ".partial-" not in other.name:
                    shutil.rmtree(other, ignore_errors=True)
        except OSError as error:
            raise StoreError(
                f"{place}: a featurized episode cannot be written ({error.strerror or error}); make room and run again"
            ) from error

    def _place(self, index: int, key: str) -> Path:
        return self.folder / f"{index:06d}" / key


class Unused(NamedTuple):
    """Something kept that nobody needs."""

    what: str
    episodes: int
    bytes: int
    path: Path


def unused(store: Path, needed: Collection[str]) -> list[Unused]:
    """Sets that no corpus uses, and what killed runs left in the others.

    Args:
        store: its folder.
        needed: names of the sets that corpora use.
    """
    found = []
    for place in sorted((store / FOLDER).glob("*")):
        if place.name not in needed:
            found.append(Unused(f"resampled episodes {place.name}", len(list(place.iterdir())), _size(place), place))
        else:
            left = sorted(place.glob("*/*.partial-*"))
            found += [Unused(f"unfinished resampled episode {p.parent.name}", 0, _size(p), p) for p in left]
    return found


def remove(left: Unused) -> None:
    """Remove it; what a running process still writes stays."""
    if ".partial-" in left.path.name:
        clean_leftovers(left.path.with_name(left.path.name.partition(".partial-")[0]))
    else:
        shutil.rmtree(left.path, ignore_errors=True)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _write(folder: Path, made: Featurized, chunk_frames: int) -> None:
    group = _zarr().open_group(str(folder), mode="w", zarr_format=3)

    def put(name: str, values: np.ndarray) -> dict[str, Any]:
        if values.size:
            whole = -(-len(values) // chunk_frames)
            chunks = (chunk_frames, *values.shape[1:])
            shards = (chunk_frames * min(whole, _CHUNKS_A_SHARD), *values.shape[1:])
            group.create_array(name, data=np.ascontiguousarray(values), chunks=chunks, shards=shards)
        return {"array": name, "shape": list(values.shape), "dtype": values.dtype.str}

    channels = [
        {"key": c.key, "role": c.role, "names": list(c.names), **put(f"channel_{i}", c.values)}
        for i, c in enumerate(c for c in made.channels.values() if not is_companion(c))
    ]
    companions = [c for c in made.channels.values() if is_companion(c)]
    codes = np.concatenate([np.zeros((made.timeline.frames, 0), np.uint8), *(c.values for c in companions)], axis=1)
    clocks = [
        {"stream": stream, "clock": name, **put(f"clock_{i}", times_s)}
        for i, (stream, name, times_s) in enumerate((s, n, t) for s, of in made.clocks.items() for n, t in of.items())
    ]
    group.attrs.update(
        {
            _MARK: _LAYOUT,
            "start_s": made.timeline.start_s,
            "rate_hz": made.timeline.rate_hz,
            "frames": made.timeline.frames,
            "channels": channels,
            "provenance": {"keys": [c.key for c in companions], "of": [c.names[0] for c in companions]}
            | put("provenance", codes),
            "clocks": clocks,
            "rows": put("rows", made.rows),
            "issues": [asdict(issue) for issue in made.issues],
            "digest": _digest(made),
        }
    )


def _read(folder: Path, told: Mapping[str, Any], head: Head) -> Featurized:
    group = _zarr().open_group(str(folder), mode="r", zarr_format=3)

    def get(about: Mapping[str, Any]) -> np.ndarray:
        shape, dtype = tuple(about["shape"]), np.dtype(about["dtype"])
        return np.asarray(group[about["array"]][...]) if 0 not in shape else np.zeros(shape, dtype)

    times_s = head.timeline.times_s
    clocks: dict[str, dict[str, np.ndarray]] = {}
    for about in told["clocks"]:
        clocks.setdefault(about["stream"], {})[about["clock"]] = get(about)
    channels = {
        about["key"]: Channel(about["key"], about["role"], get(about), times_s, tuple(about["names"]))
        for about in told["channels"]
    }
    codes = np.ascontiguousarray(get(told["provenance"]).T)
    for i, (key, of) in enumerate(zip(told["provenance"]["keys"], told["provenance"]["of"], strict=True)):
        channels[key] = Channel(key, "other", codes[i][:, None], times_s, (of,))
    return Featurized(
        timeline=head.timeline,
        channels=channels,
        clocks=clocks,
        rows=get(told["rows"]),
        issues=head.issues,
    )


def _digest(made: Featurized) -> str:
    h = hashlib.blake2b(values_digest(made.channels, made.timeline.rate_hz).encode(), digest_size=16)
    h.update(repr((list(made.channels), made.timeline.start_s, made.timeline.frames, made.issues)).encode())
    for stream, of in made.clocks.items():
        for name, times_s in of.items():
            h.update(repr((stream, name, times_s.shape)).encode())
            h.update(np.ascontiguousarray(times_s, "<f8").tobytes())
    h.update(np.ascontiguousarray(made.rows, "<i8").tobytes())
    return h.hexdigest()


def _attributes(place: Path) -> dict[str, Any] | None:
    """The group's attributes; Zarr v3 keeps them as JSON, so that nothing has to be imported to look at them."""
    try:
        told = json.loads((place / "zarr.json").read_bytes())["attributes"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return told if isinstance(told, dict) and told.get(_MARK) == _LAYOUT else None


def _zarr() -> Any:
    import zarr

    return zarr
