"""What a finding does to its episode: nothing, cut its spans, set the episode aside, or drop it.

A recipe maps checks to actions; what it does not name follows the finding's kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gristmill.audit import Verdict
from gristmill.finding import Finding, Kind
from gristmill.select.trim import Trim
from gristmill.types import IntArray, TimesS

Action = Literal["keep", "trim", "quarantine", "drop"]

# Copies, what cannot be read and what is too short to learn from are of no use to anybody; idleness can be cut out.
DEFAULT_RULES: Mapping[str, Action] = {
    "duplicates": "drop",
    "files.unreadable": "drop",
    "idle": "trim",
    "length": "drop",
    # Told once of the corpus, true of every episode of it.
    "non_finite.always": "quarantine",
    "rate.rate_declared": "quarantine",
    "stats": "keep",  # the values are right, and an export takes its statistics anew
}

# What `schema` reports of a declared column of which nothing can be read.
_LOST = ("type", "column_absent", "cells", "image")

_WORSE = {"keep": Verdict.KEEP, "trim": Verdict.TRIM, "quarantine": Verdict.QUARANTINE, "drop": Verdict.DROP}
_ORDER = tuple(Verdict)


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Rules of the gate.

    `rules` maps a check, or `check.code` for one kind of trouble that it reports, to an action. They come on
    top of the built-in rules: copies, unreadable and too short episodes are dropped, idleness is trimmed.
    """

    rules: Mapping[str, Action] = field(default_factory=dict)
    defects: Action = "quarantine"  # for defects that no rule names
    risks: Action = "keep"
    cameras_required: bool = False  # whether trouble with a camera condemns the whole episode

    def rule(self, finding: Finding) -> tuple[str, Action]:
        """The rule that applies, by its name in the recipe, and its action."""
        for rules in (self.rules, DEFAULT_RULES):
            for name in (f"{finding.check}.{finding.code}", finding.check):
                # A trait is a fact, no trouble; only a recipe that names it may act on it.
                if name in rules and (finding.kind is not Kind.TRAIT or rules is self.rules):
                    return f"gate.{name}", rules[name]
        by_kind: dict[Kind, tuple[str, Action]] = {
            Kind.DEFECT: ("gate.defects", self.defects),
            Kind.RISK: ("gate.risks", self.risks),
        }
        name, action = by_kind.get(finding.kind, ("gate.traits", "keep"))
        return f"{name}.{finding.check}", action


@dataclass(frozen=True, slots=True)
class Verdicts:
    """One entry an episode."""

    verdict: tuple[Verdict, ...]
    usable_for: tuple[tuple[str, ...], ...]
    reasons: Mapping[int, tuple[str, ...]]  # row -> rules that made it other than keep, or cost it its cameras
    left_out: tuple[str, ...] = ()  # cameras in trouble in every episode: the others go without them


def verdicts(
    gate: Gate,
    episodes: int,
    findings: Sequence[Finding],
    *,
    cameras: Collection[str],
    whole: Sequence[Finding] = (),
    trim: Trim | None = None,
    length: IntArray | None = None,
    rate_hz: float = 1.0,
    times_s: Mapping[int, TimesS] | None = None,
) -> Verdicts:
    """What the gate says of each episode.

    Args:
        gate: the rules.
        episodes: their number.
        findings: of episodes; `row` is below `episodes`.
        cameras: keys of the corpus's cameras.
        whole: findings about the corpus as a whole; those that a rule names count for every episode.
        trim: with it, an episode whose idleness is short enough to stay is kept, not trimmed.
        length: (episodes,) frames; needed with `trim`.
        rate_hz: declared rate; needed with `trim`.
        times_s: row -> recorded times, of the rows whose frame k does not stand at k / rate.

    Trouble with a camera makes an episode unusable for vision and leaves its low-dimensional data alone, unless the
    gate requires cameras or a recipe's rule for that very trouble says "drop". A camera that is in trouble in every
    episode is left out, where there are others.
    """
    worst = [Verdict.KEEP] * episodes
    in_trouble: defaultdict[str, set[int]] = defaultdict(set)
    reasons: defaultdict[int, list[str]] = defaultdict(list)
    cut: defaultdict[int, list[tuple[str, Finding]]] = defaultdict(list)
    for finding in findings:
        if finding.row is None:
            continue
        rule, action = gate.rule(finding)
        if action == "trim" and finding.spans_s:
            cut[finding.row].append((rule, finding))
            continue
        verdict = Verdict.QUARANTINE if action == "trim" else _WORSE[action]  # where there is nothing to cut at
        if verdict in (Verdict.QUARANTINE, Verdict.DROP):
            reasons[finding.row].append(rule)
            # What a recipe drops by name goes, whatever it is that is in trouble.
            named = action == "drop" and rule.removeprefix("gate.") in gate.rules
            if finding.camera is not None and not gate.cameras_required and not named:
                in_trouble[finding.camera].add(finding.row)
                continue
        worst[finding.row] = max(worst[finding.row], verdict, key=_ORDER.index)
    for rule, verdict in _of_all(gate, whole):
        for row in range(episodes):
            reasons[row].append(rule)
            worst[row] = max(worst[row], verdict, key=_ORDER.index)
    for row, found in cut.items():
        if worst[row] is Verdict.KEEP and _cuts(trim, [f for _, f in found], length, row, rate_hz, times_s):
            worst[row] = Verdict.TRIM
            reasons[row].extend(rule for rule, _ in found)
    left_out = tuple(c for c in cameras if len(in_trouble[c]) == episodes)
    if len(left_out) == len(cameras):
        left_out = ()
    blind = {row for camera, rows in in_trouble.items() if camera not in left_out for row in rows}
    usable = tuple(
        ()
        if verdict in (Verdict.QUARANTINE, Verdict.DROP)
        else ("low_dim", "vision")
        if cameras and row not in blind
        else ("low_dim",)
        for row, verdict in enumerate(worst)
    )
    told = {row: tuple(dict.fromkeys(r)) for row, r in sorted(reasons.items())}
    return Verdicts(tuple(worst), usable, told, left_out)


def _of_all(gate: Gate, whole: Sequence[Finding]) -> list[tuple[str, Verdict]]:
    """Rules that set every episode aside, because of what was found about the corpus."""
    decided = []
    for finding in whole:
        rule, action = gate.rule(finding)
        named = rule in (f"gate.{finding.check}", f"gate.{finding.check}.{finding.code}")
        own = rule.removeprefix("gate.") in gate.rules
        # Unless a recipe says so, only defects count here: a risk of the corpus is no reason to empty it.
        named = named or _loses_motion(finding)
        if named and action in ("quarantine", "drop") and (own or finding.kind is Kind.DEFECT):
            decided.append((rule, _WORSE[action]))
    return decided


def _loses_motion(finding: Finding) -> bool:
    """Whether it says that a state or an action is declared and no episode holds it: there is nothing to imitate."""
    key = finding.channel or ""
    return finding.check == "schema" and finding.code in _LOST and key.startswith(("action", "observation.state"))


def trimming(gate: Gate, findings: Sequence[Finding]) -> list[Finding]:
    """Those of an episode's findings whose spans shall be cut."""
    return [f for f in findings if f.spans_s and gate.rule(f)[1] == "trim"]


def _cuts(
    trim: Trim | None,
    findings: Sequence[Finding],
    length: IntArray | None,
    row: int,
    rate_hz: float,
    times_s: Mapping[int, TimesS] | None,
) -> bool:
    if trim is None or length is None:
        return True
    frames = int(length[row])
    return trim.apply(findings, frames, rate_hz, (times_s or {}).get(row)).spans != ((0, frames),)
