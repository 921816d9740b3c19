"""Faults of cameras: files gone or cut, frames frozen, black, blurred, burnt out, or late."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from gristmill.finding import Kind
from gristmill.synth.edit.draft import Draft, Touch
from gristmill.synth.faults.fault import CannotHostError, Fault, Mark, Plant, filmed_span, frames_of
from gristmill.synth.faults.places import any_stretch, moving_stretch
from gristmill.synth.faults.signals import Signals

_SPOILT_S = 2.0  # how long a view is blurred or overexposed
_LEAST_LEFT_S = 0.5  # of a truncated video
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601
_WHITE = 252  # grey levels; compression pulls a clipped pixel down by one or two

# Spoils one picture, given the severity.
Spoil = Callable[[np.ndarray, float], np.ndarray]


def video_missing(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The file is gone; the metadata still names it."""
    camera = _camera(draft, rng)
    draft.reels[camera].gone = True
    return Mark(camera=camera)


def video_truncated(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The last frames are gone; the metadata and the rows still promise them."""
    camera = _camera(draft, rng)
    reel = draft.reels[camera]
    left = min(len(reel.order), len(draft)) - frames_of(severity, draft.rate_hz)
    if left < _LEAST_LEFT_S * draft.rate_hz:
        raise CannotHostError(f"the episode of {len(draft) / draft.rate_hz:.1f} s is too short to lose {severity:g} s")
    reel.cut_to = left
    return Mark(camera=camera, span_s=filmed_span(draft, left, len(draft)))


def video_frozen(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """One frame is repeated while the arm moves."""
    camera = _camera(draft, rng)
    frames = frames_of(severity, draft.rate_hz)
    first = _filmed(draft, camera, moving_stretch(draft, signals, rng, frames), frames)
    order = draft.reels[camera].order
    order[first : first + frames] = order[first]
    return Mark(camera=camera, span_s=filmed_span(draft, first, first + frames))


def video_black(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """Frames are black while the arm moves."""
    camera = _camera(draft, rng)
    frames = frames_of(severity, draft.rate_hz)
    first = _filmed(draft, camera, moving_stretch(draft, signals, rng, frames), frames)
    draft.reels[camera].touch = _between(first, first + frames, lambda picture, _: np.zeros_like(picture), severity)
    return Mark(camera=camera, span_s=filmed_span(draft, first, first + frames))


def spoilt(spoil: Spoil) -> Plant:
    """Two seconds of one camera go through `spoil`."""

    def plant(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
        camera = _camera(draft, rng)
        frames = frames_of(_SPOILT_S, draft.rate_hz)
        first = _filmed(draft, camera, any_stretch(draft, rng, frames), frames)
        draft.reels[camera].touch = _between(first, first + frames, spoil, severity)
        return Mark(camera=camera, span_s=filmed_span(draft, first, first + frames))

    return plant


def view_desync(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """One of several views shows everything late; its first frame is repeated until then."""
    if len(draft.reels) < 2:
        raise CannotHostError("a view is late against others, and the episode has fewer than two videos")
    camera = _camera(draft, rng)
    frames = frames_of(severity, draft.rate_hz)
    reel = draft.reels[camera]
    if len(reel.order) < 4 * frames:
        raise CannotHostError(
            f"the episode of {len(draft) / draft.rate_hz:.1f} s is too short for {severity:g} s of delay"
        )
    reel.order = np.concatenate([np.repeat(reel.order[:1], frames), reel.order[:-frames]])
    return Mark(camera=camera)


def blurred(picture: np.ndarray, severity: float) -> np.ndarray:
    """A picture (h, w, 3) through a Gaussian whose standard deviation is this share of the height."""
    height, width, _ = picture.shape
    rows, columns = _gaussian(height, severity * height), _gaussian(width, severity * height)
    soft = (rows @ picture.reshape(height, -1).astype(np.float32)).reshape(picture.shape)
    sideways = columns @ soft.transpose(1, 0, 2).reshape(width, -1)
    soft = sideways.reshape(width, height, -1).transpose(1, 0, 2)
    return np.clip(np.round(soft), 0, 255).astype(np.uint8)


def overexposed(picture: np.ndarray, severity: float) -> np.ndarray:
    """A picture (h, w, 3) through a gain at which this share of its pixels is as good as white."""
    sample = picture[::2, ::2].astype(np.float32)
    low, high = 1.0, 256.0
    for _ in range(14):  # the share grows with the gain
        gain = (low + high) / 2
        white = (np.minimum(sample * gain, 255) @ _LUMA >= _WHITE).mean()
        low, high = (low, gain) if white >= severity else (gain, high)
    return np.clip(np.round(picture * np.float32(high)), 0, 255).astype(np.uint8)


@lru_cache(maxsize=4)
def _gaussian(size: int, sigma: float) -> np.ndarray:
    """Weights (size, size) that blur along one axis; what lies outside takes the edge's weight."""
    at = np.arange(size)
    weights = np.exp(-0.5 * ((at[:, None] - at) / max(sigma, 1e-3)) ** 2)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def _between(first: int, stop: int, spoil: Spoil, severity: float) -> Touch:
    return lambda number, picture: spoil(picture, severity) if first <= number < stop else picture


def _camera(draft: Draft, rng: np.random.Generator) -> str:
    if not draft.reels:
        raise CannotHostError("the episode has no video file")
    return str(rng.choice(sorted(draft.reels)))


def _filmed(draft: Draft, camera: str, first: int, frames: int) -> int:
    if first + frames > len(draft.reels[camera].order):
        raise CannotHostError(f"{camera} ends before its rows do")
    return first


FAULTS = (
    Fault(
        name="video_missing",
        check="files",
        kind=Kind.DEFECT,
        severity=1,
        unit="files",
        about="one camera's file",
        plant=video_missing,
        scales=False,
    ),
    Fault(
        name="video_truncated",
        check="camera_frames",
        kind=Kind.DEFECT,
        severity=1.0,
        unit="s",
        about="how much is missing at the end",
        plant=video_truncated,
    ),
    Fault(
        name="video_frozen",
        check="frozen_frames",
        kind=Kind.DEFECT,
        severity=1.0,
        unit="s",
        about="for how long one frame is repeated while the arm moves",
        plant=video_frozen,
    ),
    Fault(
        name="video_black",
        check="black_frames",
        kind=Kind.DEFECT,
        severity=1.0,
        unit="s",
        about="for how long frames are black while the arm moves",
        plant=video_black,
    ),
    Fault(
        name="blur",
        check="blur",
        kind=Kind.RISK,
        severity=0.03,
        unit="share of the height",
        about="standard deviation of a Gaussian blur that lasts 2 s",
        plant=spoilt(blurred),
    ),
    Fault(
        name="overexposed",
        check="exposure",
        kind=Kind.RISK,
        severity=0.3,
        unit="share of the pixels",
        about="pixels clipped to white for 2 s",
        plant=spoilt(overexposed),
    ),
    Fault(
        name="view_desync",
        check="view_sync",
        kind=Kind.DEFECT,
        severity=0.2,
        unit="s",
        about="by how much one view is late",
        plant=view_desync,
    ),
)
