"""Audits and corpora made by hand for the report's tests: reproducible, of any size, with known trouble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gristmill.audit import Audit, NotChecked, Verdict
from gristmill.embodiment import Embodiment
from gristmill.episode import CameraInfo, CorpusFacts, Episode
from gristmill.errors import RecordingError, VideoError
from gristmill.finding import Finding, Kind, Span
from gristmill.testing import ArrayCamera, facts_of, reaching

RATE_HZ = 30.0
TOP = "observation.images.top"
PAN = "observation.state[joint_0]"


class MadeCorpus:
    """Episodes made on demand; remembers in which order they were asked for."""

    issues = ()

    def __init__(self, facts: CorpusFacts, *, cameras: bool = True, frames: int = 150) -> None:
        self.facts = facts
        self.embodiment = Embodiment(key="made", title="A robot made for a test", inferred=True)
        self.asked: list[int] = []
        self._cameras, self._frames = cameras, frames

    def episodes(self, rows: Sequence[int]) -> Iterator[Episode]:
        for row in rows:
            self.asked.append(row)
            cameras = {TOP: ArrayCamera(pictures(self._frames, row))} if self._cameras else {}
            yield reaching(row, frames=self._frames, cameras=cameras)


class BrokenCorpus(MadeCorpus):
    """Opens, but neither channels nor frames can be read."""

    def episodes(self, rows: Sequence[int]) -> Iterator[Episode]:
        for row in rows:
            episode = reaching(row, cameras={TOP: _BrokenCamera(pictures(2, row))})

            def fail() -> Any:
                raise RecordingError("data/file-000.parquet: no footer; copy the file again")

            episode.load_channels = fail
            yield episode


class _BrokenCamera(ArrayCamera):
    def rgb(self, frames: Sequence[int]) -> np.ndarray:
        raise VideoError("videos/top.mp4: not a video; record it again")


def pictures(frames: int, seed: int) -> np.ndarray:
    """(t, 48, 64) grey: a bright square that moves over a ramp."""
    ramp = np.broadcast_to(np.linspace(20, 120, 64).astype(np.uint8), (frames, 48, 64)).copy()
    for i in range(frames):
        x = (seed * 7 + i) % 48
        ramp[i, 16:32, x : x + 16] = 240
    return ramp


def finding(row: int | None, check: str = "spike", kind: Kind = Kind.DEFECT, **more: Any) -> Finding:
    given: dict[str, Any] = {
        "message": f"{check} was found in {PAN} at 1.2 s",
        "fix": f"do something about {check}",
        "channel": PAN,
        "spans_s": (Span(1.2, 1.5),),
        "measured": 0.5,
        "threshold": 0.1,
        "unit": "rad",
    }
    return Finding(check=check, kind=kind, row=row, **(given | more))


def camera_finding(row: int, **more: Any) -> Finding:
    given = {"check": "frozen_frames", "channel": None, "camera": TOP, "spans_s": (Span(2.0, 3.0),), "unit": "s"}
    return finding(row, **(given | more))


def made_audit(
    n: int = 12,
    findings: Sequence[Finding] | None = None,
    *,
    verdicts: Sequence[Verdict] | None = None,
    tasks: Sequence[tuple[str, ...]] | None = None,
    facts: dict[str, Any] | None = None,
    **more: Any,
) -> Audit:
    """An audit of n episodes; by default episode 2 has a spike and episode 5 a frozen camera and a lag."""
    if findings is None:
        findings = [finding(2), camera_finding(5), finding(5, "lag", Kind.RISK, spans_s=())] if n > 5 else []
    bad = {f.row for f in findings if f.kind is not Kind.TRAIT}
    made: dict[str, Any] = {
        "facts": facts_of(
            [reaching(0)],
            **({"cameras": {TOP: CameraInfo(key=TOP, height=48, width=64, rate_hz=RATE_HZ)}} | (facts or {})),
        ),
        "embodiment": Embodiment(key="made", title="A robot made for a test", inferred=True),
        "rows": np.arange(n),
        "index": np.arange(n),
        "ids": [f"made/{i}" for i in range(n)],
        "length": 120 + 7 * (np.arange(n) % 13),
        "tasks": tasks or [("pick the cube",)] * n,
        "verdict": verdicts or [Verdict.DROP if i in bad else Verdict.KEEP for i in range(n)],
        "usable_for": [("low_dim", "vision")] * n,
        "reasons": {row: ("gate.spike",) for row in bad if row is not None},
        "findings": findings,
        "corpus_findings": [],
        "not_checked": [NotChecked("depth", "camera observation.depth", "no check reads depth")],
        "metrics": {"roughness.mean_rad": np.linspace(0.1, 0.9, n)},
    }
    return Audit(**(made | more))


def large_audit(n: int, share: float = 0.3) -> Audit:
    """n episodes of which a share has two findings each, with texts as long as real ones."""
    findings = []
    for row in range(n):
        if (row * 37) % 100 < share * 100:
            joint = f"observation.state[joint_{row % 6}]"
            where = f"episode {row}, {joint}: jumps by {0.3 + row % 7 / 10:.2f} rad within one frame at 1.2 s"
            jump = f"{where}, against 0.10 rad; a policy learns the jump as a motion"
            late = f"{where} and follows its action 0.2 s later than in other episodes"
            findings.append(finding(row, channel=joint, message=jump))
            findings.append(finding(row, "lag", Kind.RISK, channel=joint, message=late))
    verdicts = [Verdict.KEEP] * n
    for f in findings:
        verdicts[f.row or 0] = Verdict.DROP
    return made_audit(
        n,
        findings,
        verdicts=verdicts,
        tasks=[(f"put object {i % 40} into the box on the left",) for i in range(n)],
        metrics={f"check_{k}.metric": np.random.default_rng(k).normal(size=n) for k in range(12)},
    )
