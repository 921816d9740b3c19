"""Reads the data of a buffer's episodes: a slice of rows of each array."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from gristmill.episode import Camera, Channel
from gristmill.errors import RecordingError, VideoError
from gristmill.formats.recorded import ChannelSpec, Header, Reader
from gristmill.formats.zarr_buffer.arrays import StoredArray
from gristmill.formats.zarr_buffer.layout import Layout, channels_first
from gristmill.types import Table, TimesS
from gristmill.video.raw import RawCamera

# Numbers are decoded so much at once, because the next episode's rows follow.
_AHEAD_BYTES = 4 << 20
_LOOKED_AT = 16  # frames that tell the range of pictures stored as real numbers


class BufferReader(Reader):
    """Implements `gristmill.formats.recorded.Reader`. An episode's `place` is its first and last row.

    Args:
        layout: which array is what.
        arrays: the arrays, by the names of their declarations.
        rate_hz: frames a second, where there is no clock.
    """

    def __init__(self, layout: Layout, arrays: Mapping[str, StoredArray], rate_hz: float) -> None:
        self._layout = layout
        self._arrays = arrays
        self._rate_hz = rate_hz
        used = [*(meta for meta, _ in layout.numbers.values()), *(meta for meta, _ in layout.cameras.values())]
        self._numbers = [
            (key, arrays[meta.name], spec, spec.names or ("",) * spec.width)
            for key, (meta, spec) in layout.numbers.items()
        ]
        self._rows = max(arrays[meta.name].length for meta in used)
        self._scales: dict[str, float] = {}

    def channels(self, header: Header) -> Mapping[str, Channel]:
        """All numbers of an episode; rows whose chunk is missing are NaN in states and actions.

        Raises:
            RecordingError: a chunk cannot be decoded, or an array ends before the episode does.
        """
        times_s = self.times_s(header)
        return {
            key: Channel(
                key=key,
                role=spec.role,
                values=self._values(array, spec, header),
                times_s=times_s,
                names=names,
            )
            for key, array, spec, names in self._numbers
        }

    def camera(self, header: Header, key: str) -> Camera:
        """A camera whose frames are rows of an array."""
        meta, info = self._layout.cameras[key]
        where = f"{header.where}, camera {key}"
        read = partial(self._frames, self._arrays[meta.name], header.place[0], where)
        try:
            times_s = self.times_s(header)
        except RecordingError as error:
            # Frames without times are of no use; that is told when they are asked for.
            times_s, read = np.empty(0), partial(_refuse, f"{where}: {error}")
        return RawCamera(info=info, frames=header.length, times_s=times_s, where=where, read=read)

    def times_s(self, header: Header) -> TimesS:
        """(t,) times from the episode's start: the recorder's clock, or the stated rate.

        Raises:
            RecordingError: the clock cannot be read, or no array has that many rows.
        """
        start, stop = header.place
        if stop > self._rows:
            # Said before memory is taken for so many times.
            raise RecordingError(
                f"{header.where}: every array ends at row {self._rows} and the episode at row {stop}; leave it out"
            )
        if self._layout.clock is None:
            return np.arange(header.length) / self._rate_hz
        array = self._arrays[self._layout.clock.name]
        clock = array.read(start, stop, header.where, ahead_bytes=_AHEAD_BYTES).reshape(-1).astype(np.float64)
        if not array.whole:
            clock[array.absent(start, stop)] = np.nan
        return clock - clock[0] if len(clock) else clock

    def _values(self, array: StoredArray, spec: ChannelSpec, header: Header) -> Table:
        start, stop = header.place
        values = array.read(start, stop, header.where, ahead_bytes=_AHEAD_BYTES).reshape(stop - start, spec.width)
        if not array.whole and spec.role in ("state", "action"):
            absent = array.absent(start, stop)
            if absent.any():
                # Zarr gave the fill value, which nobody recorded.
                values = values.astype(values.dtype if values.dtype.kind == "f" else np.float64)
                values[absent] = np.nan
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))

    def _frames(self, array: StoredArray, first: int, where: str, start: int, stop: int) -> np.ndarray:
        """Frames start..stop of the episode that begins at row `first`, uint8: (n, h, w, 3) or (n, h, w)."""
        if not array.whole:
            absent = array.absent(first + start, min(first + stop, array.length))
            if absent.any():
                frame = start + int(np.flatnonzero(absent)[0])
                raise VideoError(
                    f"{where}: frame {frame} lies in a chunk that is missing; restore it or leave the episode out"
                )
        try:
            frames = array.read(first + start, first + stop, where)
            scale = self._scale(array)
        except RecordingError as error:
            raise VideoError(str(error)) from None
        if channels_first(array.meta):
            frames = frames.transpose(0, 2, 3, 1)
        if frames.dtype != np.uint8:
            with np.errstate(invalid="ignore"):
                levels = np.rint(frames.astype(np.float32) * scale)
            frames = np.clip(np.nan_to_num(levels, posinf=255), 0, 255).astype(np.uint8)
        if frames.ndim == 4:
            return frames[..., 0] if frames.shape[3] == 1 else frames[..., :3]
        return frames

    def _scale(self, array: StoredArray) -> float:
        """What real numbers are multiplied with to become levels 0..255: of the array as a whole, never of a frame."""
        name = array.meta.name
        if array.meta.dtype.kind != "f":
            return 1.0
        if name not in self._scales:
            whole = np.flatnonzero(~array.absent(0, array.length))
            looked = whole[np.linspace(0, len(whole) - 1, min(_LOOKED_AT, len(whole))).astype(int)]
            top = max((_top(array, int(row), name) for row in looked), default=0.0)
            self._scales[name] = 255.0 if top <= 1.0 else 1.0
        return self._scales[name]


def _refuse(message: str, start: int, stop: int) -> np.ndarray:
    raise VideoError(message)


def _top(array: StoredArray, row: int, where: str) -> float:
    """The brightest value of a row, 0 when it cannot be read: then it tells nothing of the range."""
    try:
        return float(np.nanmax(array.read(row, row + 1, where), initial=0))
    except RecordingError:
        return 0.0
