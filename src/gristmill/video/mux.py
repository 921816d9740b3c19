"""Cutting and joining video without re-encoding: packets are copied, so kept frames stay bit-identical."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.container import OutputContainer
from av.error import FFmpegError
from av.video.stream import VideoStream

from gristmill.errors import VideoError
from gristmill.types import IntArray
from gristmill.video.packets import CONTENT_HASH_BYTES, FileIndex, digest_of, index_file, open_video, payloads
from gristmill.video.unwritten import unwritten


@dataclass(frozen=True, slots=True)
class Part:
    """Frames first..stop of a file, numbered by presentation."""

    path: Path
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class Copied:
    """What was written, part by part."""

    frames: int
    duration_s: float
    starts_s: tuple[float, ...]  # of each part in the new file
    digests: tuple[str, ...]  # of each part's packets as they were copied; equals `Packets.digest` of the same frames


def keyframes(path: Path) -> IntArray:
    """Frame numbers at which a copy of this file can begin, ascending.

    Raises:
        VideoError: the file cannot be opened or has no video.
    """
    return index_file(path).starts


def copy_packets(out: Path, parts: Sequence[Part], rate_hz: float) -> Copied:
    """Write the parts one after another into a new MP4 file, at a constant rate from time 0.

    Args:
        out: the file to write; it is removed again when anything fails.
        parts: each begins at one of its file's `keyframes` and ends where nothing is torn apart.
        rate_hz: frames a second of the new file.

    Raises:
        VideoError: a part cannot be cut there (the text names the nearest frames where it can), the parts'
            codecs or sizes differ, or a file cannot be read.
        OSError: the disk is full.
    """
    if not parts:
        raise VideoError(f"{out}: there are no frames to write")
    indexes = [index_file(part.path) for part in parts]
    for part, index in zip(parts, indexes, strict=True):
        _check_cut(part, index)
        if index.signature != indexes[0].signature:
            raise VideoError(
                f"{part.path} cannot follow {parts[0].path} in one file: codec, size or parameter sets differ; "
                "write them to two files"
            )
    # A packet is sent out `delay` frames before it is shown, the same for all parts, so that times only rise.
    delay = max(_delay(part, index) for part, index in zip(parts, indexes, strict=True))
    clock = _Clock.of(rate_hz)
    starts, digests, done = [], [], 0
    try:
        with av.open(str(out), "w", format="mp4") as target:
            stream: VideoStream | None = None
            for part, index in zip(parts, indexes, strict=True):
                container, source = open_video(part.path)
                with container:
                    if stream is None:
                        # `opaque` takes the codec parameters as they are; without it an AV1 encoder would be opened.
                        stream = target.add_stream_from_template(source, opaque=True)
                        stream.time_base = clock.time_base
                    hashes = []
                    for at, packet in _select(container, source, part, index):
                        hashes.append(hashlib.blake2b(packet, digest_size=CONTENT_HASH_BYTES).digest())
                        shown = done + int(index.rank[at]) - part.first
                        _send(target, stream, packet, clock, shown, done + len(hashes) - 1 - delay)
                if len(hashes) != part.stop - part.first:
                    raise VideoError(f"{part.path}: changed while it was copied; run again")
                starts.append(clock.seconds(done))
                digests.append(digest_of(b"".join(hashes)))
                done += len(hashes)
    except (FFmpegError, OSError) as error:
        out.unlink(missing_ok=True)
        raise unwritten(out, "copying", error) from None
    except BaseException:
        out.unlink(missing_ok=True)
        raise
    return Copied(done, clock.seconds(done), tuple(starts), tuple(digests))


@dataclass(frozen=True, slots=True)
class _Clock:
    """Whole ticks a frame, so that a frame's time is exact in the file."""

    time_base: Fraction
    ticks: int

    @classmethod
    def of(cls, rate_hz: float) -> _Clock:
        rate = Fraction(rate_hz).limit_denominator(1001)  # the rate that was meant, without its binary rounding
        fine = -(-15_360 // rate.numerator)  # MP4 wants some 10,000 ticks a second
        return cls(Fraction(1, rate.numerator * fine), rate.denominator * fine)

    def seconds(self, frame: int) -> float:
        return float(frame * self.ticks * self.time_base)


def _send(
    target: OutputContainer, stream: VideoStream, packet: av.Packet, clock: _Clock, shown: int, sent: int
) -> None:
    packet.stream = stream
    packet.time_base = clock.time_base
    packet.pts = shown * clock.ticks
    packet.dts = sent * clock.ticks
    packet.duration = clock.ticks
    target.mux(packet)


def _select(container, source: VideoStream, part: Part, index: FileIndex) -> Iterator[tuple[int, av.Packet]]:
    """The part's packets with their decode positions; reading begins at the part's keyframe."""
    container.seek(int(index.dts[part.first]), stream=source, backward=True)
    at = None
    for packet in payloads(container, source):
        if at is None:
            # The demuxer may land on an earlier keyframe; decoding times are unique and tell where.
            sent = packet.dts if packet.dts is not None else packet.pts
            at = int(np.searchsorted(index.dts, sent or 0))
        if at >= part.stop:
            return
        if at >= part.first:
            yield at, packet
        at += 1


def _delay(part: Part, index: FileIndex) -> int:
    rank = index.rank[part.first : part.stop]
    return int(max(0, (np.arange(part.first, part.stop) - rank).max(initial=0)))


def _check_cut(part: Part, index: FileIndex) -> None:
    if not 0 <= part.first < part.stop <= len(index):
        raise VideoError(f"{part.path}: has no frames {part.first} to {part.stop}; it holds {len(index)}")
    for what, at, allowed in (("begin", part.first, index.starts), ("end", part.stop, index.stops)):
        if at not in allowed:
            raise VideoError(
                f"{part.path}: a copy cannot {what} at frame {at}; the nearest frames where it can: "
                f"{_nearest(allowed.tolist(), at)}; cut there or re-encode the episode"
            )


def _nearest(allowed: list[int], at: int) -> str:
    place = bisect_right(allowed, at)
    return " and ".join(str(n) for n in allowed[max(0, place - 1) : place + 1]) or "none"
