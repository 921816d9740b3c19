"""What resampling filled in, and what it could not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.clock import Clock
from gristmill.episode import Channel, Episode
from gristmill.finding import Event, Finding, Kind, Span
from gristmill.manifest import Manifest, finding
from gristmill.runs import runs_of
from gristmill.timeline import OF_CAMERAS, PREFIX, Provenance, is_companion
from gristmill.types import FloatArray

_LATE = 1.5  # usual distances between observed frames; a longer one is a hole in the stream
# Spans that are kept of an episode, longest first, their number shared out among its streams; and the fewest of one.
_MOST, _FEWEST = 1024, 16
_REST = ":rest"  # behind the detail of the event that stands for all further spans together
_SHARES = (Provenance.INTERPOLATED, Provenance.HELD, Provenance.MISSING)


@dataclass(frozen=True, kw_only=True)
class Resampled:
    """How many values were not observed but interpolated, held or missing?

    Resampling streams with clocks of their own to one timeline marks every value: observed when a sample lies within
    half a period, interpolated or held when the next one is further away, missing beyond `max_gap_s`; a recorded NaN is
    no sample. A slow stream has regular values in between, which is a trait. A hole in a stream that was filled is a
    risk, because nobody saw what happened there, and so is what was filled before a stream began or after it ended; its
    spans can be cut (`"resampled.filled_gap" = "trim"`) or masked by the channel `provenance.KEY` in training. Missing
    values are defects of their channel, missing pictures of their camera.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(channels=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("interpolated", per="dim", about="share of values between two samples", metric=True),
        Column("held", per="dim", about="share of values that repeat a sample", metric=True),
        Column("missing", per="dim", about="share of values without a sample in reach", metric=True),
        Column("pictures_held", per="camera", about="share of frames that repeat a picture", metric=True),
        Column("pictures_missing", per="camera", about="share of frames without a picture in reach", metric=True),
        Column("unobserved", about="share of frames in which a state or action was not observed", metric=True),
        Column("others", about="largest share of unobserved values in a channel that is neither state nor action"),
    )
    fix: ClassVar[str] = (
        "Cut the spans by a gate rule (`trim`), mask them in training by the channel provenance.KEY, or change "
        "`max_gap_s` and the methods in [resample]."
    )
    source: ClassVar[str] = (
        "Shares are counted, not estimated. 0.1 s is the gap from which on `timestamps` calls a recording defective."
    )

    min_gap_s: float = 0.1  # filled time from which on a hole is told

    def measure(self, episode: Episode) -> Measured:
        """Shares of each dimension and camera; events are holes that were filled and stretches that are missing."""
        for key in episode.channels:  # a plain loop: most episodes are as recorded
            if key.startswith(PREFIX):
                break
        else:
            return Measured()  # nothing was filled in
        codes = _companions(episode, of_cameras=False)
        cameras = _companions(episode, of_cameras=True)
        if not codes:
            return Measured()
        most = max(_FEWEST, _MOST // (len(codes) + len(cameras)))
        events: list[Event] = []
        for key, companion in codes.items():
            events += _events(Clock(companion.times_s, episode.rate_hz), companion.values[:, 0], key, None, most)
        for key, companion in cameras.items():
            events += _events(Clock(companion.times_s, episode.rate_hz), companion.values[:, 0], None, key, most)
        shares = {key: _share(companion) for key, companion in codes.items()}
        dims = np.array([shares.get(d.channel, np.full(3, np.nan)) for d in episode.dims]).reshape(-1, 3)
        pictures = np.array([_share(companion) for companion in cameras.values()]).reshape(-1, 3)
        others = [share.sum() for key, share in shares.items() if not _moves(episode.channels[key])]
        values = dict(zip(("interpolated", "held", "missing"), dims.T, strict=True))
        values |= {"pictures_held": pictures[:, 1], "pictures_missing": pictures[:, 2]}
        moving = [c.values[:, 0] for key, c in codes.items() if _moves(episode.channels[key])]
        unobserved = np.any([c != Provenance.OBSERVED for c in moving], axis=0) if moving else np.zeros(0, bool)
        return Measured(
            {
                **values,
                "unobserved": float(unobserved.mean()) if len(unobserved) else np.nan,
                "others": float(max(others)) if others else np.nan,
            },
            events,
        )

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Missing values, holes that were filled, and once a channel how many of its values were not observed."""
        yield from self._traits(manifest)
        events = manifest.events
        groups: dict[tuple[int, str, str | None, str | None], list[int]] = {}
        rest: dict[tuple[int, str, str | None, str | None], float] = {}
        for i, detail in enumerate(events.detail):
            key = (int(events.row[i]), detail.removesuffix(_REST), events.channel[i], events.camera[i])
            if detail.endswith(_REST):
                rest[key] = float(events.strength[i])
            else:
                groups.setdefault(key, []).append(i)
        for (row, detail, channel, camera), every in groups.items():
            members = [i for i in every if detail == "missing" or events.strength[i] >= self.min_gap_s]
            if not members:
                continue
            # Where some of the longest are too short to be told, so is the rest.
            short = rest.get((row, detail, channel, camera), 0.0) if len(members) == len(every) else 0.0
            total = float(events.strength[members].sum()) + short
            spans = sorted(Span(float(events.start_s[i]), float(events.end_s[i])) for i in members)
            what = f"camera {camera}" if camera else str(channel)
            if detail == "missing":
                said = (
                    f"{total:.2f} s of {what} are missing in {manifest.where(row)}, first at {spans[0].start_s:.2f} s: "
                    f"no sample is near enough (`max_gap_s`); training on {'old pictures' if camera else 'NaN'} fails"
                )
            else:
                said = (
                    f"{total:.2f} s of {what} in {manifest.where(row)} were filled in, first at "
                    f"{spans[0].start_s:.2f} s (told from {self.min_gap_s:g} s on); nobody saw what happened there"
                )
            if short:
                said += f"; {short:.2f} s of it in stretches that are not among the spans, which are the longest"
            yield finding(
                self,
                Kind.DEFECT if detail == "missing" else Kind.RISK,
                row,
                said,
                channel=channel,
                camera=camera,
                spans_s=spans,
                code="missing" if detail == "missing" else "filled_gap",
                measured=total,
                threshold=0.0 if detail == "missing" else self.min_gap_s,
                unit="s",
            )

    def _traits(self, manifest: Manifest) -> Iterator[Finding]:
        weight = manifest.length.astype(np.float64)
        channels: Mapping[str, int] = {d.channel: i for i, d in reversed(list(enumerate(manifest.dims)))}
        names = ("interpolated", "held", "missing")
        for channel, at in reversed(list(channels.items())):
            shares = [_pooled(manifest[name], at, weight) for name in names]
            if sum(shares) > 0:
                yield self._trait(channel, None, zip(names, shares, strict=True), sum(shares))
        for at, camera in enumerate(manifest.cameras):
            held, missing = (_pooled(manifest[f"pictures_{name}"], at, weight) for name in names[1:])
            if held + missing > 0:
                shown = zip(("repeated", "missing"), (held, missing), strict=True)
                yield self._trait(None, camera, shown, held + missing)

    def _trait(
        self, channel: str | None, camera: str | None, shares: Iterator[tuple[str, float]], total: float
    ) -> Finding:
        parts = ", ".join(f"{share:.2%} {name}" for name, share in shares)
        what = f"pictures of {camera}" if camera else f"values of {channel}"
        return finding(
            self,
            Kind.TRAIT,
            None,
            f"of the {what}, {parts}; the others were observed within half a period of the timeline",
            channel=channel,
            camera=camera,
            code="filled",
            measured=total,
            unit="share of frames",
        )


def _companions(episode: Episode, *, of_cameras: bool) -> dict[str, Channel]:
    """Key of a channel, or of a camera -> the channel of its codes, in the order of the episode."""
    found = {
        c.names[0]: c
        for key, c in episode.channels.items()
        if is_companion(c) and key.endswith(OF_CAMERAS) == of_cameras
    }
    return found if of_cameras else {key: c for key, c in found.items() if key in episode.channels}


def _moves(channel: Channel) -> bool:
    return channel.role in ("state", "action")


def _share(companion: Channel) -> FloatArray:
    """(3,) shares of interpolated, held and missing values."""
    codes = companion.values[:, 0]
    return np.array([np.count_nonzero(codes == code) / max(len(codes), 1) for code in _SHARES])


def _events(clock: Clock, codes: np.ndarray, channel: str | None, camera: str | None, most: int) -> Iterator[Event]:
    """Stretches that are missing, and holes that were filled; strength is their length in s.

    Of more than `most` stretches of a sort, the shortest are one event together, whose span reaches from the first
    of them to the last.
    """
    missing = codes == Provenance.MISSING
    yield from _told(clock, "missing", runs_of(missing), channel, camera, most)
    observed = np.flatnonzero(codes == Provenance.OBSERVED)
    usual = float(np.median(np.diff(observed))) if len(observed) > 1 else 1.0
    filled: list[tuple[int, int]] = []
    # Before the first observed frame and after the last one, nobody saw what happened either.
    edges = np.concatenate([[-1], observed, [len(codes)]])
    for at in np.flatnonzero(np.diff(edges) > _LATE * usual).tolist():
        first, stop = int(edges[at]) + 1, int(edges[at + 1])
        filled += [(first + a, first + b) for a, b in runs_of(~missing[first:stop])]
    yield from _told(clock, "filled", filled, channel, camera, most)


def _told(
    clock: Clock, detail: str, runs: Sequence[tuple[int, int]], channel: str | None, camera: str | None, most: int
) -> Iterator[Event]:
    spans = sorted((clock.span_s(start, stop) for start, stop in runs), key=lambda span: span[0] - span[1])
    for begin, end in spans[:most]:
        yield Event(begin, end, end - begin, channel, camera, detail)
    if rest := spans[most:]:
        begin, end = min(a for a, _ in rest), max(b for _, b in rest)
        yield Event(begin, end, sum(b - a for a, b in rest), channel, camera, detail + _REST)


def _pooled(cells: FloatArray, at: int, weight: FloatArray) -> float:
    """A share over all episodes' frames; 0 where nothing is known."""
    if at >= cells.shape[1]:
        return 0.0
    known = ~np.isnan(cells[:, at])
    total = weight[known].sum()
    return float((cells[known, at] * weight[known]).sum() / total) if total > 0 else 0.0
