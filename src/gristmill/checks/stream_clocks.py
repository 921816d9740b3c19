"""Streams of one episode whose clocks part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.clock import Clock
from gristmill.episode import Channel, Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grouping import strongest
from gristmill.layout import layout_of
from gristmill.manifest import Manifest, finding
from gristmill.streams import LATE, Pace, Relation, is_resampled, pace_of, relation_of, signal_delay_s, streams_of
from gristmill.types import TimesS

_SHARED = "all channels share one clock, and no other times are recorded"
_LEAST = 0.3  # correlation below which a delay between signals means nothing (as in the check `lag`)


class _Sort(NamedTuple):
    """One sort of trouble: how it is told, its unit, and its kind before and after resampling."""

    said: str
    unit: str
    kind: Kind
    resampled: Kind


_SORTS = {
    "starts_late": _Sort("begins {x:.2f} s after the first stream does", "s", Kind.RISK, Kind.TRAIT),
    "ends_early": _Sort("ends {x:.2f} s before the last stream does", "s", Kind.RISK, Kind.TRAIT),
    "rates_apart": _Sort("slips by {x:.1f} samples against {other}", "samples", Kind.RISK, Kind.TRAIT),
    "clock_drift": _Sort("drifts by {x:.3f} s against its {other} time", "s", Kind.RISK, Kind.RISK),
    "clock_jump": _Sort("jumps by up to {x:.3f} s against its {other} time", "s", Kind.RISK, Kind.RISK),
    "clocks_apart": _Sort("stands {x:.1f} periods beside {other} time", "periods", Kind.RISK, Kind.RISK),
    "stream_gap": _Sort("lacks {x:.2f} s", "s", Kind.RISK, Kind.TRAIT),
}
_WHY = {
    "starts_late": "before that, its first value stands for what nobody saw",
    "ends_early": "after that, its last value stands for what nobody saw",
    "rates_apart": "their rows, paired by number, are of different moments",
    "clock_drift": "values placed by one clock are not where the other puts them",
    "clock_jump": "values before and after it do not belong to one timeline",
    "clocks_apart": "what one clock puts into one moment, the other does not (periods of the slower stream)",
    "stream_gap": "there, an old sample stands for what nobody saw",
}


@dataclass(frozen=True, kw_only=True)
class StreamClocks:
    """Do the clocks of an episode's streams agree?

    Each stream (a channel, or the pictures of a camera, with times of its own) is fitted by a line through time
    against sample number, missing samples counted, which gives its rate and jitter whatever single messages do.
    Streams of one nominal rate that slip against each other, streams that begin late or end early, and, where the
    recording kept several times of a stream (log, header, device), clocks that drift or jump against one another are
    told. So is how far each such clock stands from the one in use, and where two streams stand apart by a period of
    the slower one, so that frames that look simultaneous are not. Gaps of channels are told by `timestamps`; those of
    other streams here. Where a command and the state that follows it have clocks of their own, the delay between them
    is estimated from the signals. Log, header and device times are never mixed: the one in use is the one that the
    recording's reader was told to use.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(channels=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("clocks", "int", about="streams with times of their own", metric=True),
        Column("slowest_hz", unit="Hz", about="rate of the slowest even stream", metric=True),
        Column("fastest_hz", unit="Hz", about="rate of the fastest one"),
        Column("jitter_s", unit="s", about="largest jitter of an even stream", metric=True),
        Column("missing_s", unit="s", about="most time that one even stream lacks in all its gaps", metric=True),
        Column("offset_s", unit="s", about="largest offset of a stream's time in use from another", metric=True),
        Column("drift", unit="s/s", about="largest drift between two times of one stream"),
        Column("apart_s", unit="s", about="largest difference of that offset between two streams", metric=True),
        Column("signal_delay_s", unit="s", about="delay from command to state by their signals", metric=True),
        Column("resampled", "bool", about="whether the episode was resampled since"),
    )
    fix: ClassVar[str] = (
        "Resample the episode ([resample] in the recipe), choose the clock that is right when the log is opened, or "
        "record with synchronized clocks (PTP, hardware time stamps)."
    )
    source: ClassVar[str] = (
        "Theil-Sen lines (Sen 1968) and medians, which single late messages do not move. A training row is a moment: "
        "half a period apart is the nearest wrong row, one sample of slip a wrong one. 0.1 s is the gap from which on "
        "`timestamps` calls a recording defective; 2 % apart is another nominal rate, as in the check `rate`."
    )

    same_rate: float = measuring(0.02)  # rates that differ by less are meant to be equal
    min_late_s: float = 0.1  # a stream that begins later, or ends earlier
    min_slip: float = 1.0  # samples of slip between two streams of one rate
    min_drift_periods: float = 0.5  # drift over the episode, in periods of the declared rate
    min_jump_periods: float = 0.5  # and jumps
    min_apart_periods: float = 1.0  # two streams' offsets, in periods of the slower one
    min_gap_s: float = 0.1
    always: float = 0.9  # share of the episodes from which on it is said once, of the corpus

    def measure(self, episode: Episode) -> Measured:
        """Paces and relations of all clocks; events are what parts, with its size as strength."""
        if not episode.clocks and _share_times(episode.channels):
            return Measured(unknown=_SHARED)
        streams = streams_of(episode)
        several = {key: of for key, of in streams.items() if len(of) > 1}
        if not several and len(streams) < 2:
            return Measured(unknown=_SHARED)
        paces = {key: p for key, of in streams.items() if (p := pace_of(next(iter(of.values())))) is not None}
        if not paces:
            return Measured(unknown="no stream has 3 samples at different times")
        resampled = is_resampled(episode)
        even = [p for p in paces.values() if p.even]
        events = [*_ends(episode, paces), *self._slips(paces)]
        events += _gaps({k: of for k, of in streams.items() if k not in episode.channels and paces.get(k)}, paces)
        offsets, drifts = [0.0], [0.0]
        told: list[Event] = []
        by_clock: dict[str, dict[str, float]] = {}
        for key, of in several.items():
            for name, event, found in _relations(key, of, episode.rate_hz):
                events += event
                offsets.append(found.offset_s)
                drifts.append(found.drift)
                by_clock.setdefault(name, {})[key] = found.offset_s
                told.append(_offset(key, of, name, found))
        apart = {name: list(_apart(name, of, paces)) for name, of in by_clock.items()}
        events += [event for pairs in apart.values() for _, event in pairs]
        return Measured(
            {
                "clocks": len(streams),
                "slowest_hz": min((p.rate_hz for p in even), default=None),
                "fastest_hz": max((p.rate_hz for p in even), default=None),
                "jitter_s": max((p.jitter_s for p in even), default=None),
                "missing_s": max((p.missing_s for p in even), default=None),
                "offset_s": max(offsets, key=abs) if several else None,
                "drift": max(drifts, key=abs) if several else None,
                "apart_s": max((size for pairs in apart.values() for size, _ in pairs), default=None),
                "signal_delay_s": None if resampled else _delay(episode),
                "resampled": resampled,
            },
            [*_streams(paces), *told, *strongest(events)],
        )

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """What parts by more than its threshold, once for the corpus where nearly all share it; and each stream."""
        yield from self._traits(manifest)
        rate = manifest.facts.rate_hz
        period_s = 1 / rate if rate > 0 else np.inf
        least = {
            "starts_late": max(self.min_late_s, 0.0),
            "ends_early": max(self.min_late_s, 0.0),
            "rates_apart": self.min_slip,
            "clock_drift": self.min_drift_periods * period_s,
            "clock_jump": self.min_jump_periods * period_s,
            "clocks_apart": self.min_apart_periods,
            "stream_gap": self.min_gap_s,
        }
        groups: dict[tuple[str, str | None, str | None], dict[int, list[int]]] = {}
        events = manifest.events
        for i, detail in enumerate(events.detail):
            code = detail.partition(":")[0]
            if code in least and events.strength[i] >= least[code]:
                rows = groups.setdefault((detail, events.channel[i], events.camera[i]), {})
                rows.setdefault(int(events.row[i]), []).append(i)
        measured = int(np.count_nonzero(~np.isnan(manifest["clocks"])))
        for (detail, channel, camera), rows in groups.items():
            code, _, other = detail.partition(":")
            if len(rows) >= max(3, self.always * measured):
                sizes = [max(float(events.strength[i]) for i in members) for members in rows.values()]
                size = float(np.median(sizes))
                whole = f"{channel or camera} {_said(code, size, other)} in {len(rows)} of {measured} episodes"
                yield self._finding(manifest, None, code, channel, camera, whole, size, least[code])
                continue
            for row, members in rows.items():
                size = max(float(events.strength[i]) for i in members)
                said = f"{channel or camera} in {manifest.where(row)} {_said(code, size, other)}"
                spans = sorted((float(events.start_s[i]), float(events.end_s[i])) for i in members)
                yield self._finding(manifest, row, code, channel, camera, said, size, least[code], spans)

    def _traits(self, manifest: Manifest) -> Iterator[Finding]:
        """Rate, jitter and gaps of each stream, over all episodes."""
        events = manifest.events
        streams: dict[str, list[tuple[float, float, float]]] = {}
        for i, detail in enumerate(events.detail):
            if detail.startswith("stream:"):
                _, jitter, missing = detail.split(":")
                streams.setdefault(str(events.channel[i]), []).append(
                    (float(events.strength[i]), float(jitter), float(missing))
                )
        for key, told in streams.items():
            rate, jitter, _ = np.median(told, axis=0)
            gaps = sum(missing > 0 for _, _, missing in told)
            yield finding(
                self,
                Kind.TRAIT,
                None,
                f"{key} comes at {rate:.2f} Hz by its own clock, with {jitter * 1e3:.1f} ms of jitter; {gaps} of "
                f"{len(told)} episodes have gaps in it, {sum(m for _, _, m in told):.2f} s in all",
                channel=key,
                code="stream",
                measured=rate,
                unit="Hz",
            )

        yield from self._offsets(manifest)

    def _offsets(self, manifest: Manifest) -> Iterator[Finding]:
        """How each further clock of a stream stands to the one in use, over all episodes."""
        events = manifest.events
        clocks: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
        for i, detail in enumerate(events.detail):
            if detail.startswith("offset:"):
                _, used, name, drift = detail.split(":")
                told = clocks.setdefault((str(events.channel[i]), used, name), [])
                told.append((float(events.strength[i]), float(drift)))
        for (key, used, name), told in clocks.items():
            offset_s, drift = np.median(told, axis=0)
            low, high = np.min(told, axis=0)[0], np.max(told, axis=0)[0]
            yield finding(
                self,
                Kind.TRAIT,
                None,
                f"{key}'s {name} time stands {offset_s * 1e3:+.1f} ms from its {used or 'recorded'} time and drifts by "
                f"{drift * 1e6:+.0f} us a second (medians of {len(told)} episodes, {low * 1e3:+.1f} to "
                f"{high * 1e3:+.1f} ms)",
                channel=key,
                code="clock_offset",
                measured=offset_s,
                unit="s",
            )

    def _finding(
        self,
        manifest: Manifest,
        row: int | None,
        code: str,
        channel: str | None,
        camera: str | None,
        said: str,
        size: float,
        threshold: float,
        spans: list[tuple[float, float]] | None = None,
    ) -> Finding:
        sort = _SORTS[code]
        flags = manifest["resampled"] if row is None else manifest["resampled"][row : row + 1]
        return finding(
            self,
            sort.resampled if np.nanmin(flags) == 1 else sort.kind,
            row,
            f"{said} (told from {threshold:.3g} {sort.unit} on); {_WHY[code]}",
            channel=channel,
            camera=camera,
            spans_s=spans or (),
            code=code,
            measured=size,
            threshold=threshold,
            unit=sort.unit,
        )

    def _slips(self, paces: Mapping[str, Pace]) -> Iterator[Event]:
        """Pairs of even streams that are meant to have one rate: samples by which they part until the end."""
        for (a, one), (b, two) in combinations(sorted((k, p) for k, p in paces.items() if p.even), 2):
            apart = abs(one.rate_hz / two.rate_hz - 1)
            if apart < self.same_rate:
                span_s = min(one.end_s, two.end_s) - max(one.start_s, two.start_s)
                slip = apart * span_s * two.rate_hz
                if span_s > 0 and slip >= 0.01:
                    yield Event(0.0, 0.0, slip, b, None, f"rates_apart:{a}")


def _share_times(channels: Mapping[str, Channel]) -> bool:
    """Whether all channels have the very same array of times, as those of nearly all corpora; others are compared."""
    times_s = None
    for channel in channels.values():
        if times_s is None:
            times_s = channel.times_s
        elif channel.times_s is not times_s:
            return False
    return True


def _streams(paces: Mapping[str, Pace]) -> Iterator[Event]:
    """One event a stream that goes on evenly; strength is its rate in Hz."""
    for key, pace in paces.items():
        if pace.even and np.isfinite(pace.rate_hz):
            detail = f"stream:{pace.jitter_s:.3g}:{pace.missing_s:.4g}"
            yield Event(pace.start_s, pace.end_s, pace.rate_hz, key, None, detail)


def _said(code: str, size: float, other: str) -> str:
    return _SORTS[code].said.format(x=size, other=other or "other")


def _is_part(episode: Episode, key: str) -> bool:
    """Whether a stream belongs to every frame: states, actions and pictures; rewards and events come when they come."""
    channel = episode.channels.get(key)
    return channel is None or channel.role in ("state", "action")


def _ends(episode: Episode, paces: Mapping[str, Pace]) -> Iterator[Event]:
    """Streams that begin later than the first one, or end before the last one; strength in s."""
    parts = {key: pace for key, pace in paces.items() if _is_part(episode, key)}
    if len(parts) < 2:
        return
    first, last = min(p.start_s for p in parts.values()), max(p.end_s for p in parts.values())
    for key, pace in parts.items():
        period_s = 1 / pace.rate_hz if pace.even and pace.rate_hz > 0 else 0.0
        # A slow stream may begin up to a period later without lacking anything.
        if pace.start_s - first > LATE * period_s:
            yield Event(first, pace.start_s, pace.start_s - first, key, None, "starts_late")
        if last - pace.end_s > LATE * period_s:
            yield Event(pace.end_s, last, last - pace.end_s, key, None, "ends_early")


def _gaps(streams: Mapping[str, Mapping[str, TimesS]], paces: Mapping[str, Pace]) -> Iterator[Event]:
    """Intervals that lack samples, of even streams; strength is the missing time in s."""
    for key, of in streams.items():
        if not paces[key].even:
            continue
        times_s = next(iter(of.values()))
        clock = Clock(times_s[np.isfinite(times_s)], 1.0)
        for i in np.flatnonzero(clock.intervals_s > LATE * clock.period_s).tolist():
            begin, end = float(clock.times_s[i]), float(clock.times_s[i + 1])
            yield Event(begin, end, end - begin - clock.period_s, key, None, "stream_gap")


def _offset(key: str, of: Mapping[str, TimesS], name: str, found: Relation) -> Event:
    """How a stream's other clock stands to the one in use; strength is its offset in s, which may be negative."""
    used, used_s = next(iter(of.items()))
    begin, end = float(np.nanmin(used_s)), float(np.nanmax(used_s))
    return Event(begin, end, -found.offset_s, key, None, f"offset:{used}:{name}:{-found.drift:.3g}")


def _apart(name: str, offsets: Mapping[str, float], paces: Mapping[str, Pace]) -> Iterator[tuple[float, Event]]:
    """Pairs of even streams whose offsets from one clock differ: in s, and as event in periods of the slower one."""
    even = [key for key in offsets if (pace := paces.get(key)) is not None and pace.even and pace.rate_hz > 0]
    for pair in combinations(even, 2):
        near, far = sorted(pair, key=lambda key: abs(offsets[key]))
        size = abs(offsets[far] - offsets[near])
        periods = size * min(paces[key].rate_hz for key in pair)
        yield size, Event(0.0, 0.0, periods, far, None, f"clocks_apart:{near} by {name}")


def _relations(key: str, of: Mapping[str, TimesS], rate_hz: float) -> Iterator[tuple[str, list[Event], Relation]]:
    """The clock in use against each other one: its name, events, and how the two stand to each other."""
    (_, used_s), *others = of.items()
    period_s = 1 / rate_hz if rate_hz > 0 else 0.0
    for name, other_s in others:
        found = relation_of(used_s, other_s, least_s=period_s / 4)
        if found is None:
            continue
        known = used_s[np.isfinite(used_s)]
        begin, end = float(known.min()), float(known.max())
        events = [Event(begin, end, abs(found.drift) * (end - begin), key, None, f"clock_drift:{name}")]
        events += [Event(at, at, abs(size), key, None, f"clock_jump:{name}") for at, size in found.jumps]
        yield name, events, found


def _delay(episode: Episode) -> float | None:
    """Delay of states behind the commands of the same joints, where the two have clocks of their own."""
    states = [c for c in episode.channels.values() if c.role == "state"]
    actions = [c for c in episode.channels.values() if c.role == "action"]
    if len(states) != 1 or len(actions) != 1 or states[0].times_s is actions[0].times_s:
        return None
    layout = layout_of([*states, *actions], episode.embodiment)
    pairs = [
        (int(a) - layout.states, int(s))
        for s, a in zip(layout.index[layout.arm_pairs.state], layout.index[layout.arm_pairs.action], strict=True)
    ]
    found = signal_delay_s(actions[0], states[0], pairs)
    return found[0] if found is not None and found[1] >= _LEAST else None
