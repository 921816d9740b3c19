"""Plants faults into a copy of a LeRobot corpus and writes down where they are.

Which episodes are chosen, and what happens in them, follows from hashes of the seed and the episode's number:
the same call gives the same faults, and a larger share holds the episodes of a smaller one.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gristmill.errors import RecordingError, UnknownNameError, UsageError
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot.info import read_info
from gristmill.outputs import keep_outside
from gristmill.staging import Staged
from gristmill.synth.edit.corpus import EditableCorpus
from gristmill.synth.edit.draft import Draft
from gristmill.synth.edit.episode_files import EpisodeFiles
from gristmill.synth.edit.footage import can_encode
from gristmill.synth.edit.packed_files import PackedFiles
from gristmill.synth.faults.catalog import FAULTS
from gristmill.synth.faults.fault import CannotHostError, Fault, Mark
from gristmill.synth.faults.signals import Signals

SCHEMA = 1

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Planted:
    """One fault in its place."""

    fault: Fault
    draft: Draft
    mark: Mark
    severity: float  # in the fault's unit

    def row(self) -> dict[str, Any]:
        """What the truth file says of it."""
        span = self.mark.span_s
        return {
            "episode": self.draft.index,
            "fault": self.fault.name,
            "check": self.fault.check,
            "kind": str(self.fault.kind),
            "channel": self.mark.channel,
            "camera": self.mark.camera,
            "span_s": None if span is None else [round(span[0], 6), round(span[1], 6)],
            "severity": self.severity,
            "unit": self.fault.unit,
            "copy_of": self.draft.copy_of,
        }


def inject(
    corpus: Path,
    out: Path,
    *,
    faults: Sequence[str] | None = None,
    severity: float | Mapping[str, float] | None = None,
    share: float = 0.3,
    seed: int = 0,
    truth: Path,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a copy of a corpus with faults in some of its episodes, one in each, and the truth about them.

    Everything that a fault does not touch stays true: lengths, pointers, statistics and videos follow a change of
    rows, and files that need not change keep their bytes.

    Args:
        corpus: a LeRobot corpus (v2.0, v2.1, v3.0); it is only read.
        out: the folder that shall appear.
        faults: names from the catalog; all by default. Each is planted about equally often.
        severity: a factor on each fault's default severity, for all faults or by name; 1 by default.
        share: of the episodes get a fault. A copy of an episode counts as one.
        seed: another seed chooses other episodes and places.
        truth: the JSON file to write, outside of both corpora.
        progress: called with "plan" or "write", episodes done and episodes in all.

    Returns:
        What the truth file holds: {"schema", "corpus", "seed", "share", "faults", "planted": [{"episode", "fault",
        "check", "kind", "channel", "camera", "span_s", "severity", "unit", "copy_of"}], "skipped": [{"fault",
        "reason"}]}. Faults that this corpus, or the episodes chosen, cannot host are listed under "skipped".

    Raises:
        UsageError: an unknown fault, a number out of range, a folder that is taken, a truth file inside a corpus,
            or no fault that the corpus can host.
        CorpusError: the corpus cannot be read soundly enough to be changed.
    """
    names = list(FAULTS) if faults is None else list(dict.fromkeys(faults))
    for name in names:
        if name not in FAULTS:
            raise UnknownNameError("inject", name, FAULTS)
    if not names or not 0 < share <= 1:
        raise UsageError(f"inject needs at least one fault and a share above 0 and up to 1; got {names} and {share}")
    factors = _factors(names, severity)
    keep_outside(truth, (corpus, out))
    keep_outside(out, (corpus,))
    opened = open_for_change(corpus)
    planted, skipped = _plan(opened, names, factors, share, seed, progress)
    if not planted:
        raise UsageError(f"{corpus}: nothing was planted; {'; '.join(f'{n}: {why}' for n, why in skipped.items())}")
    told = {
        "schema": SCHEMA,
        "corpus": opened.root.name,
        "seed": seed,
        "share": share,
        "faults": names,
        "planted": [p.row() for p in sorted(planted, key=lambda p: p.draft.index)],
        "skipped": [{"fault": n, "reason": why} for n, why in skipped.items()],
    }
    with Staged(out) as staged:
        opened.commit([p.draft for p in planted], staged.payload, progress=progress)
        staged.commit()
    truth.parent.mkdir(parents=True, exist_ok=True)
    truth.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    return told


def open_for_change(corpus: Path) -> EditableCorpus:
    """The corpus in whichever layout it has."""
    packed = read_info(CorpusFiles(corpus)).packed
    return PackedFiles(corpus) if packed else EpisodeFiles(corpus)


def _plan(
    corpus: EditableCorpus,
    names: Sequence[str],
    factors: Mapping[str, float],
    share: float,
    seed: int,
    progress: Progress | None,
) -> tuple[list[Planted], dict[str, str]]:
    """Faults for the chosen episodes: to each the one that was planted least often and that it can host."""
    signals = Signals(corpus)
    chosen = sorted(corpus.lengths, key=lambda index: _hash(seed, index))
    chosen = chosen[: max(1, round(share * len(chosen)))]
    planted: list[Planted] = []
    count = Counter(dict.fromkeys(names, 0))
    reasons: dict[str, str] = {}
    new = max(corpus.lengths) + 1
    for done, index in enumerate(chosen, start=1):
        for name in sorted(names, key=lambda n: (count[n], names.index(n))):
            try:
                found = _plant(corpus, signals, FAULTS[name], index, new, factors[name], seed)
            except (CannotHostError, RecordingError) as refusal:
                reasons[name] = f"episode {index}: {refusal}"
                continue
            planted.append(found)
            count[name] += 1
            new += FAULTS[name].adds_episode
            break
        if progress is not None:
            progress("plan", done, len(chosen))
    few = f"only {len(chosen)} of {len(corpus.lengths)} episodes were chosen, one fault each; raise the share"
    return planted, {n: reasons.get(n, few) for n in names if not count[n]}


def _plant(
    corpus: EditableCorpus, signals: Signals, fault: Fault, index: int, new: int, factor: float, seed: int
) -> Planted:
    draft = corpus.draft(index)
    if fault.adds_episode:
        draft.index, draft.copy_of = new, index
    severity = fault.severity * (factor if fault.scales else 1.0)
    rng = np.random.default_rng([seed, index, int(_hash(seed, index, fault.name)[:8], 16)])
    mark = fault.plant(draft, signals, rng, severity)
    for camera, reel in draft.reels.items():
        if reel.changed and not reel.gone:
            why = can_encode(corpus.files.path(reel.source.path))
            if why:
                raise CannotHostError(f"{camera}: {why}")
    return Planted(fault, draft, mark, severity)


def _factors(names: Iterable[str], severity: float | Mapping[str, float] | None) -> dict[str, float]:
    given = severity if isinstance(severity, Mapping) else {}
    factors = {n: float(given.get(n, 1.0) if severity is None or given else severity) for n in names}  # type: ignore[arg-type]
    for name in given:
        if name not in factors:
            raise UsageError(f"severity is given for {name!r}, which is not among the faults {', '.join(factors)}")
    for name, factor in factors.items():
        if not 0 < factor <= 100:
            raise UsageError(f"severity is a factor above 0 and up to 100, not {factor} (for {name})")
    return factors


def _hash(seed: int, index: int, what: str = "") -> str:
    return hashlib.blake2b(f"{seed}/{index}/{what}".encode(), digest_size=8).hexdigest()
