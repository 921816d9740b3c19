"""How right an audit is about planted faults: hits, misses and false alarms, against the ground truth.

A hit needs the right check in the right episode, the right channel or camera where the truth names one, and
spans that overlap the true one by an intersection over union of at least one half. A false alarm is a defect
or risk in an episode without a fault, or by a check that the episode's fault does not explain.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

IOU_MIN = 0.5


@dataclass
class Tally:
    """Counts of one fault or one check."""

    planted: int = 0
    hits: int = 0
    false_alarms: int = 0
    missed: list[int] = field(default_factory=list)  # episodes

    @property
    def recall(self) -> float:
        """Share of planted faults that were hit; NaN when none was planted."""
        return self.hits / self.planted if self.planted else float("nan")

    @property
    def precision(self) -> float:
        """Share of flagged episodes that were flagged rightly; NaN when none was."""
        flagged = self.hits + self.false_alarms
        return self.hits / flagged if flagged else float("nan")


@dataclass
class Score:
    """One audit against one truth."""

    episodes: int
    by_fault: dict[str, Tally]
    by_check: dict[str, Tally]
    faulty_flagged: int  # faulty episodes with a defect or risk of any kind
    clean_flagged: list[int]  # episodes without a fault that carry a defect or risk
    collateral: Counter[tuple[str, str]]  # (fault, other check that fired in its episode)

    @property
    def recall(self) -> float:
        """Hits among all planted faults."""
        planted = sum(t.planted for t in self.by_fault.values())
        return sum(t.hits for t in self.by_fault.values()) / planted if planted else float("nan")

    @property
    def precision(self) -> float:
        """Episodes flagged rightly among all flagged episodes."""
        flagged = self.faulty_flagged + len(self.clean_flagged)
        return self.faulty_flagged / flagged if flagged else float("nan")


def score(audit: Mapping[str, Any], truth: Sequence[Mapping[str, Any]]) -> Score:
    """Compare an audit (its JSON) with planted faults.

    Args:
        audit: as `gristmill audit --json` writes it.
        truth: `planted` of a truth file: entries with `episode`, `fault`, `check`, and `channel`, `camera`,
            `span_s`, null where there is none. An entry without a check is left to selection: it counts neither
            as missed nor as clean.
    """
    by_fault: dict[str, Tally] = defaultdict(Tally)
    by_check: dict[str, Tally] = defaultdict(Tally)
    planted: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for entry in truth:
        planted[entry["episode"]].append(entry)
    clean_flagged: list[int] = []
    faulty_flagged = 0
    collateral: Counter[tuple[str, str]] = Counter()
    for episode in audit["episodes"]:
        index = episode["episode_index"]
        alarms = [f for f in episode["findings"] if f["kind"] in ("defect", "risk")]
        entries = planted.get(index, [])
        for entry in entries:
            if entry["check"] is None:
                continue
            hit = any(_explains(f, entry) for f in alarms)
            for tally in (by_fault[entry["fault"]], by_check[entry["check"]]):
                tally.planted += 1
                tally.hits += hit
                if not hit:
                    tally.missed.append(index)
        expected = {entry["check"] for entry in entries}
        for check in {f["check"] for f in alarms} - expected:
            by_check[check].false_alarms += 1
            for entry in entries:
                collateral[entry["fault"], check] += 1
        if alarms and entries:
            faulty_flagged += 1
        elif alarms:
            clean_flagged.append(index)
    return Score(
        episodes=len(audit["episodes"]),
        by_fault=dict(sorted(by_fault.items())),
        by_check=dict(sorted(by_check.items())),
        faulty_flagged=faulty_flagged,
        clean_flagged=clean_flagged,
        collateral=collateral,
    )


def iou(found: Sequence[Sequence[float]], true: Sequence[float]) -> float:
    """Intersection over union of a set of spans with one true span, in seconds."""
    start, end = true
    inside = sum(max(0.0, min(b, end) - max(a, start)) for a, b in found)
    outside = sum(b - a for a, b in found) - inside
    union = (end - start) + outside
    return inside / union if union > 0 else 0.0


def _explains(finding: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    if finding["check"] != entry["check"]:
        return False
    for name in ("channel", "camera"):
        if entry.get(name) is not None and finding[name] is not None and finding[name] != entry[name]:
            return False
        if entry.get(name) is not None and finding[name] is None:
            return False
    span = entry.get("span_s")
    return span is None or iou(finding["spans_s"], span) >= IOU_MIN
