"""What the dimensions of a corpus look like over some of its episodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from gristmill.command_lag import lag_of
from gristmill.conventions.contact import contact_of
from gristmill.conventions.grips import Grips, grips
from gristmill.conventions.holds import period_of_changes
from gristmill.conventions.steps import Reading, reading
from gristmill.episode import Dim, Episode
from gristmill.errors import RecordingError
from gristmill.layout import Layout, layout_of_dims
from gristmill.motion import Motion, motion_of
from gristmill.types import FloatArray, Mask

_KEPT = 5  # episodes whose states are kept
_MIN_DELAY_S, _MAX_DELAY_S = -0.2, 0.8


@dataclass(eq=False)
class Evidence:
    """Figures over the episodes that could be read; arrays have one entry a dimension.

    Attributes:
        layout: of all episodes that count; names and roles of the D dimensions.
        episodes: how many count.
        skipped: why others do not.
        low: smallest value, stray samples left out.
        high: largest value.
        fastest: largest speed that a hundredth of the samples exceeds, in units per second.
        whole: whether all values are whole numbers.
        rates_hz: true rate of each episode.
        changes: samples between changes of the action, and how many keep to it, of each episode.
        readings: actions read as places and as steps, of each episode.
        lags_s: delay of the state behind its commands, of each episode.
        grips: row -> how a gripper moved around contacts, if its low end were closed; of each episode.
        signals: the channel that told contacts, of each episode that has one.
        unit_length: row at which four neighbours of one channel begin -> largest error of their length from 1.
        states: states (d, t) of the first episodes, for questions that need guesses first.
    """

    layout: Layout
    episodes: int = 0
    skipped: list[str] = field(default_factory=list)
    low: FloatArray = field(default_factory=lambda: np.empty(0))
    high: FloatArray = field(default_factory=lambda: np.empty(0))
    fastest: FloatArray = field(default_factory=lambda: np.empty(0))
    whole: Mask = field(default_factory=lambda: np.empty(0, bool))
    rates_hz: list[float] = field(default_factory=list)
    changes: list[tuple[int, float]] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    lags_s: list[float] = field(default_factory=list)
    grips: dict[int, list[Grips]] = field(default_factory=dict)
    signals: list[str] = field(default_factory=list)
    unit_length: dict[int, float] = field(default_factory=dict)
    states: list[FloatArray] = field(default_factory=list)


def collect(dims: Iterable[Dim], episodes: Iterable[Episode]) -> Evidence:
    """Looks at every episode whose dimensions are these; others are skipped, with the reason."""
    found: Evidence | None = None
    declared = tuple(dims)
    skipped: list[str] = []
    for episode in episodes:
        try:
            motion = motion_of(episode)
        except RecordingError as error:
            skipped.append(str(error))
            continue
        if motion.layout.dims != declared or motion.frames < 3:
            skipped.append(f"{episode.id} has other dimensions, or fewer than 3 samples")
            continue
        if found is None:
            found = Evidence(layout_of_dims(declared, episode.embodiment))
        _add(found, episode, motion)
    found = found or Evidence(layout_of_dims(declared, _nobody()))
    found.skipped = skipped
    return found


def _add(found: Evidence, episode: Episode, motion: Motion) -> None:
    values = motion.values.astype(np.float64)
    step_s = motion.clock.period_s
    fastest = np.quantile(np.abs(np.diff(values, axis=1)), 0.99, axis=1) / step_s
    whole = (np.rint(values) == values).all(axis=1)
    low, high = motion.low.astype(np.float64), motion.high.astype(np.float64)
    if found.episodes:
        found.low, found.high = np.minimum(found.low, low), np.maximum(found.high, high)
        found.fastest, found.whole = np.maximum(found.fastest, fastest), found.whole & whole
    else:
        found.low, found.high, found.fastest, found.whole = low, high, fastest, whole
    found.episodes += 1
    if motion.clock.median_s is not None:
        found.rates_hz.append(1 / motion.clock.median_s)
    action = motion.layout.action
    if action.start < action.stop:
        changes = period_of_changes(np.maximum.reduce(motion.step_sizes[action], axis=0) == 0)
        found.changes += [changes] if changes else []
    pairs = motion.layout.arm_pairs
    if pairs.count:
        read = reading(values[pairs.state], values[pairs.action], step_s)
        found.readings += [read] if read else []
        lag = lag_of(motion, _MIN_DELAY_S, _MAX_DELAY_S)
        if not isinstance(lag, str) and lag.match > 0.8:
            found.lags_s.append(lag.lag_s)
    if len(found.states) < _KEPT:
        found.states.append(values[motion.layout.state])
    _add_grips(found, episode, motion)
    _add_lengths(found, values)


def _add_grips(found: Evidence, episode: Episode, motion: Motion) -> None:
    rows = motion.layout.grippers
    contact = contact_of(episode, motion.clock.times_s) if len(rows) else None
    if contact is None:
        return
    found.signals.append(contact.channel)
    for row in rows.tolist():
        low, high = float(motion.low[row]), float(motion.high[row])
        if low < high:
            found.grips.setdefault(row, []).append(grips(motion.values[row], contact, low, high, motion.clock.period_s))


def _add_lengths(found: Evidence, values: FloatArray) -> None:
    """Groups of four neighbouring numbers of one channel whose length is 1 in every sample."""
    dims = found.layout.dims
    for row in range(len(dims) - 3):
        group = dims[row : row + 4]
        if len({d.channel for d in group}) == 1:
            error = float(np.abs(np.sqrt(np.square(values[row : row + 4]).sum(axis=0)) - 1).max())
            found.unit_length[row] = max(error, found.unit_length.get(row, 0.0))


def _nobody():
    from gristmill.embodiment import Embodiment

    return Embodiment(key="nobody", title="no robot", inferred=True)
