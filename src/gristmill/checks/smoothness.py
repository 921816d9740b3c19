"""How smooth the robot's motion is, by the arc length of its speed's spectrum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of
from gristmill.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class Smoothness:
    """How smooth is the motion?

    Spectral arc length: the negative length of the curve that the normalized amplitude spectrum of the robot's
    speed draws up to an adaptive cut-off frequency. A single smooth reach scores about -1.4 to -1.6; every stop,
    reversal and tremble makes it lower. It does not depend on speed or amplitude. Long episodes contain more
    reaches and so score lower: compare episodes of like length only. Episodes far below a robust line through their
    corpus over length are named as a trait.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("sparc", about="spectral arc length of the robot's speed, negative, 0 is smoothest", metric=True),
        Column("duration_s", unit="s", about="samples times the median interval"),
    )
    fix: ClassVar[str] = "Look at the episode; prefer smoother ones when choosing among many."
    source: ClassVar[str] = (
        "Balasubramanian, Melendez-Calderon, Roby-Brami and Burdet, On the analysis of movement smoothness, "
        "J. NeuroEngineering and Rehabilitation 12:112 (2015); cut-off 10 Hz, amplitude threshold 0.05."
    )

    max_hz: float = measuring(10.0)
    min_amplitude: float = measuring(0.05)
    padding: int = measuring(2)  # powers of two by which the spectrum is refined
    min_deviations: float = 6.0  # robust standard deviations below what is usual at this length
    min_ratio: float = 1.5  # and times as long an arc
    min_episodes: int = 12

    def measure(self, episode: Episode) -> Measured:
        """Spectral arc length of the norm of relative speeds."""
        motion = motion_of(episode)
        if motion.frames < 8 or not len(motion.layout.dims):
            return Measured(unknown="no state or action, or fewer than 8 samples")
        arc = spectral_arc_length(
            motion.activity, 1 / motion.clock.period_s, self.max_hz, self.min_amplitude, self.padding
        )
        if arc is None:
            return Measured(unknown="the robot does not move")
        return Measured({"sparc": arc, "duration_s": motion.frames * motion.clock.period_s})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Episodes far less smooth than others of their length."""
        arc, duration = manifest["sparc"], manifest["duration_s"]
        known = np.flatnonzero(~np.isnan(arc))
        if len(known) < self.min_episodes:
            return
        slope, intercept = robust.resistant_line(duration[known], arc[known])
        usual = intercept + slope * duration
        deviation = float(robust.deviation(arc - usual))
        limit = np.minimum(usual - self.min_deviations * deviation, usual * self.min_ratio)
        for row in np.flatnonzero(arc < limit).tolist():
            yield finding(
                self,
                Kind.TRAIT,
                row,
                f"the motion of {manifest.where(row)} scores {arc[row]:.2f} in spectral arc length, below "
                f"{limit[row]:.2f} for its {duration[row]:.1f} s; halting motion is hard to imitate",
                measured=arc[row],
                threshold=limit[row],
            )


def spectral_arc_length(
    speed: FloatArray, rate_hz: float, max_hz: float = 10.0, min_amplitude: float = 0.05, padding: int = 4
) -> float | None:
    """SPARC of a speed profile (t,), t > 1, or None when it is zero throughout.

    Args:
        speed: speed at `rate_hz`, in any unit.
        rate_hz: samples a second.
        max_hz: highest frequency that can belong to voluntary motion.
        min_amplitude: share of the spectrum's peak below which its tail is cut.
        padding: the transform has 2 ** (ceil(log2 t) + padding) points.
    """
    points = 1 << ((len(speed) - 1).bit_length() + padding)
    # Beyond the cut-off nothing is read; speed is nowhere negative, so the peak stands at 0 Hz.
    kept = min(points // 2, int(max_hz * points / rate_hz)) + 1
    spectrum = np.fft.rfft(speed, points)[:kept]
    peak = float(spectrum[0].real)
    if not peak > 0:
        return None
    power = np.square(spectrum.real)
    power += np.square(spectrum.imag)
    last = int((power >= (min_amplitude * peak) ** 2).nonzero()[0][-1])
    if last < 1:
        return 0.0
    amplitude = np.sqrt(power[: last + 1])
    rises = np.square((amplitude[1:] - amplitude[:-1]) / peak)
    rises += (1.0 / last) ** 2
    return -float(np.add.reduce(np.sqrt(rises, out=rises)))
