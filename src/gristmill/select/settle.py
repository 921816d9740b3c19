"""What only the data can tell of an episode that may stay: gaps, usable cameras, cuts that packets allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gristmill.audit import Verdict
from gristmill.digest import episode_digest, text_digest
from gristmill.episode import Corpus, Digests, Episode
from gristmill.errors import RecordingError, SnapshotError, VideoError
from gristmill.kept import Fill
from gristmill.select.align import Align, Cuttable, cuttable
from gristmill.select.dropped_frames import DroppedFrames, Handled
from gristmill.select.one_clock import require_one_clock
from gristmill.select.plan import Decision, Plan
from gristmill.select.trim import Stretch


@dataclass(frozen=True, slots=True)
class Piece:
    """One stretch that stays, with its edits and the cameras whose packets cannot be copied there."""

    stretch: Stretch
    fills: tuple[Fill, ...] = ()
    reencode: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """What becomes of one episode. `pieces` is empty when it does not stay after all."""

    verdict: Verdict
    usable_for: tuple[str, ...]
    rules: tuple[str, ...]
    pieces: tuple[Piece, ...]
    cameras: tuple[str, ...]  # that go along
    digests: Digests


_UNREAD = Digests("", "", "", {})


def cameras_of(corpus: Corpus, plan: Plan) -> list[str]:
    """Cameras that have files in this corpus at all, and are not in trouble in every episode."""
    stamps = corpus.table.camera_stamps
    return [key for key in stamps if any(stamps[key]) and key not in plan.left_out]


def settle(
    episode: Episode,
    decision: Decision,
    known: Digests,
    cameras: Sequence[str],
    *,
    dropped_frames: DroppedFrames,
    align: Align,
) -> Settled:
    """Settle one episode.

    Args:
        episode: the recording.
        decision: what its audit said.
        known: its content digests when it was audited, "" where they are not known.
        cameras: from `cameras_of`.
        dropped_frames: what missing time steps do.
        align: how far cuts may move.

    Raises:
        SnapshotError: the recording changed since it was audited.
        UsageError: its channels have clocks of their own.
    """
    settled = Settled(decision.verdict, decision.usable_for, decision.rules, (), (), _UNREAD)
    try:
        _ = episode.channels
    except RecordingError as error:
        return replace(_set_aside(settled, f"unreadable: {error}"), verdict=Verdict.DROP)
    require_one_clock(episode)
    task = text_digest(episode.tasks)
    digests = Digests(episode_digest(episode), task, known.meta, {})
    _same(episode, "its values", known.values, digests.values)
    settled = replace(settled, digests=digests)
    stretches = _within(decision.stretches, episode)
    gaps = [
        dropped_frames.handle(episode.times_s[a:b], episode.rate_hz, start=a, accused=decision.only_gaps)
        for a, b in stretches
    ]
    settled = replace(settled, rules=_with(settled.rules, *(g.rule for g in gaps)))
    if not stretches or any(g.outcome == "quarantine" for g in gaps):
        return _set_aside(settled)
    if decision.only_gaps:
        whole = stretches == [(0, episode.frames)] and not any(g.fills for g in gaps)
        settled = replace(settled, verdict=Verdict.KEEP if whole else Verdict.TRIM)
    return _with_cameras(settled, episode, stretches, gaps, known, cameras, align)


def _with_cameras(
    settled: Settled,
    episode: Episode,
    stretches: Sequence[Stretch],
    gaps: Sequence[Handled],
    known: Digests,
    cameras: Sequence[str],
    align: Align,
) -> Settled:
    """Align the stretches to the cameras that go along; without usable ones the episode is blind."""
    cuts: dict[str, Cuttable] = {}
    found: dict[str, str] = {}
    for key in cameras if "vision" in settled.usable_for else ():
        try:
            cuts[key], found[key] = _look(episode, key, any(g.missing for g in gaps))
        except VideoError as error:
            settled = replace(settled, rules=_with(settled.rules, f"camera_left_out: {error}"))
    for key, digest in found.items():
        _same(episode, f"camera {key}", known.cameras.get(key, ""), digest)
    if not cuts:
        settled = replace(settled, usable_for=tuple(u for u in settled.usable_for if u != "vision"))
    pieces, rules = [], []
    for stretch, gap in zip(stretches, gaps, strict=True):
        if gap.fills:
            # A filled step repeats a frame, which copied packets cannot do.
            pieces.append(Piece(stretch, gap.fills, tuple(sorted(cuts))))
            continue
        aligned = align.apply(stretch, episode.frames, cuts)
        pieces.append(Piece(aligned.stretch, (), aligned.reencode))
        rules += ["align.moved"] if aligned.moved else []
        rules += ["align.reencode"] if aligned.reencode else []
    return replace(
        settled,
        rules=_with(settled.rules, *rules),
        pieces=tuple(pieces),
        cameras=tuple(cuts),
        digests=settled.digests._replace(cameras=found),
    )


def _look(episode: Episode, key: str, gaps: bool) -> tuple[Cuttable, str]:
    """Where a camera can be cut, and its digest.

    Raises:
        VideoError: it cannot go along.
    """
    if key not in episode.cameras:
        raise VideoError(f"camera {key} is absent from this episode")
    camera = episode.cameras[key]
    packets = camera.packets()
    if len(packets) < episode.frames:
        raise VideoError(f"camera {key} has {len(packets)} frames for {episode.frames} rows")
    if gaps and len(packets) + packets.surplus > episode.frames:
        # Rows and frames are paired by number; here the rows lost steps that the camera kept.
        raise VideoError(f"camera {key} kept frames whose rows are missing")
    return cuttable(camera, episode.frames), packets.digest


def _within(stretches: Sequence[Stretch], episode: Episode) -> list[Stretch]:
    """The planned stretches, which follow the declared length, within the frames that there are."""
    frames = episode.frames
    clipped = [Stretch(a, frames if b == episode.length else min(b, frames)) for a, b in stretches]
    return [s for s in clipped if s.stop > s.start]


def _same(episode: Episode, what: str, before: str, now: str) -> None:
    if before and before != now:
        raise SnapshotError(f"episode {episode.id}: {what} changed since the audit; run `gristmill audit` again")


def _set_aside(settled: Settled, *rules: str) -> Settled:
    return replace(settled, verdict=Verdict.QUARANTINE, usable_for=(), rules=_with(settled.rules, *rules), pieces=())


def _with(rules: tuple[str, ...], *more: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*rules, *(r for r in more if r))))
