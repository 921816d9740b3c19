"""What changed between two snapshots, episode by episode, and by which rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gristmill.snapshot import Snapshot

Change = Literal["entered", "left", "changed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeChange:
    """One recording whose place in the training set differs."""

    episode_id: str
    change: Change
    what: str  # "frames 0-180 -> 12-180", "quarantine", "values"
    rules: tuple[str, ...]  # that decided in the later snapshot; for a new recording none


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """From one snapshot to another."""

    episodes: tuple[EpisodeChange, ...]
    recipe: tuple[tuple[str, Any, Any], ...]  # (key's full path, before, after)
    lineage: tuple[tuple[str, Any, Any], ...]

    @property
    def same_data(self) -> bool:
        """Whether both hold the same frames."""
        return not self.episodes


def difference(before: Snapshot, after: Snapshot) -> Difference:
    """Compare two snapshots.

    A recording is followed by its episode id; when its content changed under the same id, that is told too.
    """
    old, new = _episodes(before), _episodes(after)
    changes = []
    for episode_id in sorted(old.keys() | new.keys()):
        change = _change(episode_id, old.get(episode_id), new.get(episode_id))
        if change is not None:
            changes.append(change)
    return Difference(
        episodes=tuple(changes),
        recipe=tuple(_flat_difference(before.recipe, after.recipe)),
        lineage=tuple(_flat_difference(before.lineage, after.lineage)),
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    verdict: str
    rules: tuple[str, ...]
    content: tuple[Any, ...]
    spans: tuple[tuple[Any, ...], ...]


def _episodes(snapshot: Snapshot) -> dict[str, _Entry]:
    spans: dict[str, list[tuple[Any, ...]]] = {}
    for s in snapshot.spans.to_pylist():
        edits = tuple((f["frame"], f["missing"]) for f in s["fills"])
        entry = (s["start_frame"], s["stop_frame"], s["split"], s["weight"], edits, tuple(s["cameras"]))
        spans.setdefault(s["episode_id"], []).append(entry)
    return {
        e["episode_id"]: _Entry(
            verdict=e["verdict"],
            rules=tuple(e["rules"]),
            content=(e["values_digest"], e["task_digest"]),
            spans=tuple(spans.get(e["episode_id"], ())),
        )
        for e in snapshot.episodes.to_pylist()
    }


def _change(episode_id: str, old: _Entry | None, new: _Entry | None) -> EpisodeChange | None:
    had, has = bool(old and old.spans), bool(new and new.spans)
    if not had and not has:
        return None
    rules = new.rules if new else ()
    if has and not had:
        what = "new recording" if old is None else f"was {old.verdict}"
        return EpisodeChange(episode_id=episode_id, change="entered", what=what, rules=rules)
    assert old is not None
    if not has:
        what = "not among its recordings: not selected, or gone" if new is None else f"now {new.verdict}"
        return EpisodeChange(episode_id=episode_id, change="left", what=what, rules=rules)
    assert new is not None
    what = []
    if old.content[0] != new.content[0]:
        what.append("values")
    if old.content[1] != new.content[1]:
        what.append("task")
    if old.spans != new.spans:
        what.append(f"{_say(old.spans)} -> {_say(new.spans)}")
    if not what:
        return None
    return EpisodeChange(episode_id=episode_id, change="changed", what=", ".join(what), rules=rules)


def _say(spans: tuple[tuple[Any, ...], ...]) -> str:
    """Frames, and what else can differ where it is not the usual."""
    parts = []
    for start, stop, split, weight, edits, cameras in spans:
        text = f"frames {start}-{stop}"
        text += "" if split == "train" else f" {split}"
        text += "" if weight == 1 else f" x{weight:g}"
        text += f" {len(edits)} fills" if edits else ""
        text += f" {len(cameras)} cameras" if cameras else ""
        parts.append(text)
    return " + ".join(parts)


def _flat_difference(before: Any, after: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for key in sorted(before.keys() | after.keys()):
            inner = f"{path}.{key}" if path else str(key)
            found += _flat_difference(before.get(key), after.get(key), inner)
        return found
    return [] if before == after else [(path, before, after)]
