"""The clocks of an episode's streams: rates, jitter, missing time, and how far clocks are from one another.

Everything is estimated from medians, so that a gap, a late message or a burst moves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gristmill import robust
from gristmill.clock import Clock
from gristmill.delays import best, correlations
from gristmill.interpolation import linear, neighbours, ordered
from gristmill.timeline import SAME, is_companion
from gristmill.types import FloatArray, TimesS

if TYPE_CHECKING:
    from gristmill.episode import Channel, Episode

LATE = 1.5  # periods from which on an interval lacks a sample (as the check `timestamps` has it)
# More intervals than this share that are no single period: messages that are sent when something happens.
_UNEVEN = 0.2
_POINTS = 200  # of a line fit: 19,900 pairs of points
_BESIDE = 9  # samples on either side of a jump whose medians are compared
_DIFFERENCE_S = 0.1  # velocities are taken over this time, so that sensor noise does not drown them
_REACH_S = 0.8  # delays that are tried


def own_clock(episode: Episode) -> str:
    """Why rows of the episode's channels cannot be paired by number: the first channel that has another clock, or "".

    Raises:
        RecordingError: it cannot be read.
    """
    frames_s = episode.times_s
    slack_s = SAME * Clock(frames_s, episode.rate_hz).period_s
    for channel in episode.channels.values():
        times_s = channel.times_s
        if times_s is frames_s or len(channel.values) == len(frames_s) == 0:
            continue
        if len(times_s) != len(frames_s):
            return f"channel {channel.key} has {len(times_s)} samples for {len(frames_s)} frames"
        with np.errstate(invalid="ignore"):
            apart = np.abs(times_s - frames_s)
        apart = apart[np.isfinite(apart)]
        if len(apart) and apart.max() > slack_s:
            return f"channel {channel.key} is up to {apart.max() * 1e3:.0f} ms beside the frames"
    return ""


def in_step(times_s: TimesS, frames_s: TimesS, rate_hz: float) -> bool:
    """Whether pictures (k,) stand one a frame (t,), each nearer to its own frame than to the next."""
    if len(times_s) != len(frames_s):
        return False
    apart = np.abs(times_s - frames_s)
    return bool((apart[np.isfinite(apart)] <= Clock(frames_s, rate_hz).period_s / 2).all())


def is_resampled(episode: Episode) -> bool:
    """Whether the episode's channels were brought to one timeline, so that their own clocks are in `clocks` alone."""
    return any(map(is_companion, episode.channels.values()))


def streams_of(episode: Episode) -> dict[str, Mapping[str, TimesS]]:
    """Stream -> name of a clock -> times (t,); of channels that share one clock, the first.

    The first clock of a stream is the one in use; "" where the recording does not name it.
    """
    streams: dict[str, Mapping[str, TimesS]] = {key: of for key, of in episode.clocks.items() if of}
    if is_resampled(episode):
        return streams
    used = [next(iter(of.values())) for of in streams.values()]
    for channel in episode.channels.values():
        times_s = channel.times_s
        known = any(times_s is u or np.array_equal(times_s, u, equal_nan=True) for u in used)
        if channel.key not in streams and len(times_s) and not known:
            used.append(times_s)
            streams[channel.key] = {"": times_s}
    return streams


class Pace(NamedTuple):
    """One series of times."""

    rate_hz: float  # from a line through time against sample number, missing samples counted
    jitter_s: float  # robust standard deviation around that line
    missing_s: float  # in all intervals that lack a sample
    start_s: float
    end_s: float
    samples: int
    even: bool  # false for messages that are sent when something happens: then only start and end mean anything


def pace_of(times_s: TimesS) -> Pace | None:
    """How a stream goes on; None of fewer than 3 samples at different times."""
    times_s = times_s[ordered(times_s)]
    if len(times_s) < 3:
        return None
    clock = Clock(times_s, 1.0)
    intervals, period_s = clock.intervals_s, clock.period_s
    steps = np.maximum(np.rint(intervals / period_s), 1)
    number = np.concatenate([[0.0], np.cumsum(steps)])
    slope, offset = line(number, times_s)
    late = intervals > LATE * period_s
    uneven = np.count_nonzero(late | (intervals < period_s / 2)) / len(intervals)
    return Pace(
        rate_hz=1 / slope if slope > 0 else np.nan,
        jitter_s=float(robust.NORMAL * np.median(np.abs(times_s - offset - slope * number))),
        missing_s=float((intervals[late] - period_s).sum()),
        start_s=float(times_s[0]),
        end_s=float(times_s[-1]),
        samples=len(times_s),
        even=bool(uneven <= _UNEVEN),
    )


def line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Slope and intercept of the line that the median of all pairs of points gives.

    Source: Theil 1950, Sen 1968 (Journal of the American Statistical Association 63); up to 29 % of the points may be
    anything. Of more than 200 points, 200 evenly spaced ones are paired.
    """
    at = np.unique(np.linspace(0, len(x) - 1, min(len(x), _POINTS)).astype(np.intp))
    i, j = np.triu_indices(len(at), 1)
    width = x[at[j]] - x[at[i]]
    slopes = (y[at[j]] - y[at[i]])[width > 0] / width[width > 0]
    slope = float(np.median(slopes)) if len(slopes) else 0.0
    return slope, float(np.median(y - slope * x))


class Relation(NamedTuple):
    """How one clock of a stream stands to another."""

    offset_s: float  # median of the first clock's times minus the other's
    drift: float  # seconds a second by which that grows
    jumps: tuple[tuple[float, float], ...]  # (time in s, size in s): where it changed at once and stayed


def relation_of(used_s: TimesS, other_s: TimesS, least_s: float) -> Relation | None:
    """Offset, drift and jumps between two clocks of one stream; None of fewer than 3 common samples.

    Args:
        used_s: (t,) times by the clock in use.
        other_s: (t,) times of the same samples by another one.
        least_s: smaller jumps are not looked for.
    """
    count = min(len(used_s), len(other_s))
    known = np.isfinite(used_s[:count]) & np.isfinite(other_s[:count])
    used_s, other_s = used_s[:count][known], other_s[:count][known]
    if len(used_s) < 3:
        return None
    offset = used_s - other_s
    jumps = _jumps(used_s, offset, least_s)
    # What jumped is put back before the drift is estimated, else a jump would look like one.
    level = np.sum([size * (used_s >= at) for at, size in jumps], axis=0) if jumps else np.zeros(len(offset))
    slope, _ = line(used_s - used_s[0], offset - level)
    return Relation(float(np.median(offset)), slope, jumps)


def _jumps(times_s: TimesS, offset: FloatArray, least_s: float) -> tuple[tuple[float, float], ...]:
    """Where the median of the next samples differs from that of the last ones; single late messages are no jump."""
    if len(offset) < 2 * _BESIDE:
        return ()
    windows = np.lib.stride_tricks.sliding_window_view(offset, _BESIDE)
    middle = np.median(windows, axis=1)
    change = middle[_BESIDE:] - middle[:-_BESIDE]  # at sample i + _BESIDE: after it against before it
    noise = robust.NORMAL * float(np.median(np.abs(np.diff(offset) - np.median(np.diff(offset)))))
    found = []
    big = np.abs(change) > max(least_s, 10 * noise)
    at = 0
    while at < len(change):
        if not big[at]:
            at += 1
            continue
        stop = at
        while stop < len(change) and big[stop]:
            stop += 1
        # The change is whole as long as both medians lie on their sides of the jump: in the middle, it is between them.
        size = np.abs(change[at:stop])
        whole = at + np.flatnonzero(size >= 0.9 * size.max())
        place = round(float(whole.mean()))
        found.append((float(times_s[place + _BESIDE]), float(change[place])))
        at = stop
    return tuple(found)


def signal_delay_s(early: Channel, late: Channel, pairs: list[tuple[int, int]]) -> tuple[float, float] | None:
    """How much later one channel shows what another shows, by cross-correlation, and the correlation at that delay.

    Args:
        early: such as commands.
        late: such as the positions that follow them; of another clock.
        pairs: dimensions of `early` and `late` that correspond.

    Returns:
        Seconds (positive when `late` is later) and correlation of velocities; None when they are too short, or the
        best delay lies at the end of what is tried.

    Source: see `gristmill.delays`.
    """
    a, b = ordered(early.times_s), ordered(late.times_s)
    if len(a) < 3 or len(b) < 3 or not pairs:
        return None
    step_s = min(Clock(early.times_s[a], 1.0).period_s, Clock(late.times_s[b], 1.0).period_s)
    start_s = max(float(early.times_s[a[0]]), float(late.times_s[b[0]]))
    end_s = min(float(early.times_s[a[-1]]), float(late.times_s[b[-1]]))
    hop, reach = max(1, round(_DIFFERENCE_S / step_s)), round(_REACH_S / step_s)
    at = np.arange(start_s, end_s, step_s)
    if len(at) < 3 * reach or not 2 <= reach < 100_000:
        return None
    one, two = (
        linear(c.values[order][:, dims].astype(np.float64), neighbours(c.times_s[order], at, SAME * step_s))
        for c, order, dims in ((early, a, [i for i, _ in pairs]), (late, b, [j for _, j in pairs]))
    )
    known = np.isfinite(one).all(axis=0) & np.isfinite(two).all(axis=0)
    slow, fast = (values[hop:, known] - values[:-hop, known] for values in (two, one))
    curves = [correlations(slow[:, i], fast[:, i], reach) for i in range(slow.shape[1])]
    if not curves:
        return None
    curve = np.mean(curves, axis=0)
    delay, place = best(curve)
    return (delay * step_s, float(curve[place])) if np.isfinite(delay) else None
