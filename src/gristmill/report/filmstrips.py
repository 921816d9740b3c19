"""Filmstrips: small frames before, within and after a flagged span of a camera.

Frames are read by number, scaled down and stored in the page as JPEG. How many strips a page may hold is
bounded, for pictures are by far its largest part.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from gristmill.episode import Camera, Episode
from gristmill.errors import RecordingError
from gristmill.finding import Finding, Span
from gristmill.report import figures
from gristmill.types import Rgb

STRIPS = 60  # of a page
STRIPS_OF_EPISODE = 3
INSIDE = 5  # frames within the flagged span; one more on each side
WIDTH = 176  # pixels; shown smaller on a phone
QUALITY = 6  # of mjpeg, 2 (best) to 31


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One frame of a strip."""

    time: str
    flagged: bool
    source: str  # a data URI
    width: int
    height: int


@dataclass(frozen=True, kw_only=True)
class Filmstrip:
    """Frames around one flagged span, or why there are none."""

    number: int  # of the finding
    kind: str
    camera: str
    span: str  # "" for the whole episode
    pictures: tuple[Picture, ...] = ()
    trouble: str = ""


@dataclass(kw_only=True)
class Allowance:
    """How many strips the page may still hold."""

    left: int = STRIPS
    refused: int = field(default=0)


def filmstrips(episode: Episode, findings: Sequence[Finding], allowance: Allowance) -> list[Filmstrip]:
    """Strips of an episode's camera findings, worst first; `findings` are numbered from 1."""
    wanted: list[tuple[int, Finding, Span | None]] = []
    for number, finding in enumerate(findings, 1):
        spans = [span for span in finding.spans_s if math.isfinite(span.start_s + span.end_s)]
        if finding.camera in episode.cameras:
            longest = max(spans, key=lambda span: span.end_s - span.start_s, default=None)
            wanted.append((number, finding, longest))
    wanted = wanted[:STRIPS_OF_EPISODE]
    allowed = min(len(wanted), allowance.left)
    allowance.left -= allowed
    allowance.refused += len(wanted) - allowed
    return [_strip(episode, *item) for item in wanted[:allowed]]


def frame_numbers(span: Span | None, rate_hz: float, frames: int) -> list[tuple[int, bool]]:
    """Frames to show as (number, lies within the span): one before, `INSIDE` within, one after.

    Without a span they are spread over the episode, and none is flagged.
    """
    if span is None:
        spread = np.unique(np.rint(np.linspace(0, frames - 1, min(INSIDE + 2, frames))).astype(int))
        return [(int(i), False) for i in spread]
    first = min(max(0, int(np.ceil(span.start_s * rate_hz - 1e-6))), frames - 1)
    last = min(max(first, int(np.ceil(span.end_s * rate_hz - 1e-6)) - 1), frames - 1)
    inside = np.unique(np.rint(np.linspace(first, last, min(INSIDE, last - first + 1))).astype(int))
    # Half a second away, or a quarter of the span: near enough to compare, far enough to differ.
    away = max(1, round(min(0.5, max(0.1, (span.end_s - span.start_s) / 4)) * rate_hz))
    before, after = first - away, last + away
    chosen = [(max(0, before), False)] if first > 0 else []
    chosen += [(int(i), True) for i in inside]
    chosen += [(min(frames - 1, after), False)] if last < frames - 1 else []
    return chosen


def jpeg(frame: Rgb, width: int = WIDTH) -> tuple[bytes, int, int]:
    """One RGB frame (h, w, 3) scaled to at most `width` pixels, as JPEG bytes with its width and height."""
    import av

    height, full = frame.shape[:2]
    small = min(width, full)
    # 4:2:0 chroma wants even sides.
    w, h = max(2, small // 2 * 2), max(2, round(height * small / full) // 2 * 2)
    picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
    picture = picture.reformat(width=w, height=h, format="yuvj420p", interpolation="AREA")
    codec = av.CodecContext.create("mjpeg", "w")
    codec.width, codec.height, codec.pix_fmt = w, h, "yuvj420p"  # type: ignore[attr-defined]
    codec.time_base = picture.time_base = Fraction(1, 25)  # a still has no rate, but the encoder asks for one
    codec.options = {"qmin": str(QUALITY), "qmax": str(QUALITY)}
    packets = [*codec.encode(picture), *codec.encode(None)]  # type: ignore[attr-defined]
    return b"".join(bytes(p) for p in packets), w, h


def _strip(episode: Episode, number: int, finding: Finding, span: Span | None) -> Filmstrip:
    camera = episode.cameras[str(finding.camera)]
    about = {
        "number": number,
        "kind": finding.kind.value,
        "camera": str(finding.camera),
        "span": figures.spans((span,)) if span else "",
    }
    try:
        return Filmstrip(**about, pictures=_pictures(camera, span, camera.info.rate_hz or episode.rate_hz))
    except RecordingError as error:
        return Filmstrip(**about, trouble=str(error))


def _pictures(camera: Camera, span: Span | None, rate_hz: float) -> tuple[Picture, ...]:
    if camera.frames <= 0:
        return ()
    chosen = frame_numbers(span, rate_hz, camera.frames)
    pictures = []
    for (number, flagged), frame in zip(chosen, camera.rgb([n for n, _ in chosen]), strict=True):
        data, width, height = jpeg(frame)
        pictures.append(
            Picture(
                time=figures.at(number / rate_hz),
                flagged=flagged,
                source="data:image/jpeg;base64," + base64.b64encode(data).decode(),
                width=width,
                height=height,
            )
        )
    return tuple(pictures)
