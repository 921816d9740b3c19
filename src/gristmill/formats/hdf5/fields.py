"""What a dataset of an episode becomes: a channel, a camera, or nothing, and then why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np

from gristmill.episode import CameraInfo, Role
from gristmill.finding import Issue, Kind
from gristmill.formats.hdf5.datasets import MAX_BYTES, MAX_FRAME_BYTES, Stored
from gristmill.formats.recorded import ChannelSpec

# Numbers a frame above which an array is a picture, a map or a cloud of points, and no channel.
_MAX_WIDTH = 4096
_LEAST_SIDE = 8  # pixels; a smaller array of bytes is no picture

Layout = Literal["numbers", "rgb", "grey", "planar", "encoded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One dataset of an episode, as it is read."""

    path: str  # below the episode's group
    key: str  # of the channel or camera
    role: Role
    layout: Layout
    width: int = 0  # numbers a frame
    dtype: str = ""
    names: tuple[str, ...] = ()
    height_px: int | None = None
    width_px: int | None = None

    @property
    def is_camera(self) -> bool:
        """Whether it becomes a camera."""
        return self.layout != "numbers"

    @property
    def spec(self) -> ChannelSpec:
        """The channel as a corpus declares it."""
        return ChannelSpec(key=self.key, role=self.role, width=self.width, names=self.names, dtype=self.dtype)

    def info(self, rate_hz: float) -> CameraInfo:
        """The camera as a corpus declares it."""
        codec = "image" if self.layout == "encoded" else "rawvideo"
        return CameraInfo(key=self.key, height=self.height_px, width=self.width_px, rate_hz=rate_hz, codec=codec)


class Found(NamedTuple):
    """A field of one episode with what only this episode knows of it."""

    field: Field
    rows: int
    written: bool


def numbers(path: str, key: str, role: Role, stored: Stored, names: Sequence[str] = ()) -> Field | str:
    """A dataset (t, ...) as a channel (t, d), or why it is none."""
    width = prod(stored.row_shape)
    if stored.why:
        return stored.why
    if stored.kind != "numbers":
        return "holds text or encoded data"
    if not stored.shape:
        return "is one value for the whole episode"
    if not 1 <= width <= _MAX_WIDTH:
        if stored.dtype.kind == "f" and len(stored.shape) >= 3:
            return "depth or another map of numbers, which is not decoded"
        return f"has {width:,} numbers a frame, of type {stored.dtype}"
    if prod(stored.shape) * stored.dtype.itemsize > MAX_BYTES:
        return f"has the shape {stored.shape}, more than {MAX_BYTES >> 30} GiB in one episode"
    named = tuple(names) if len(names) == width else ()
    return Field(
        path=path, key=key, role=role, layout="numbers", width=width, dtype=stored.dtype.name, names=named
    )  # fmt: skip


def camera(path: str, key: str, stored: Stored) -> Field | str | None:
    """A dataset of bytes (t, h, w, c), (t, c, h, w) or (t, h, w) as a camera, or why not; None for no picture."""
    if stored.kind != "numbers" or stored.dtype != np.uint8 or len(stored.shape) not in (3, 4):
        return None
    row = stored.row_shape
    layout: Layout
    if len(row) == 2:
        layout, (height, width) = "grey", row
    elif row[2] in (1, 3, 4):
        layout, (height, width) = "rgb", row[:2]
    elif row[0] in (1, 3):
        layout, (height, width) = "planar", row[1:]
    else:
        return None
    if min(height, width) < _LEAST_SIDE:
        return None
    if stored.why or stored.row_bytes > MAX_FRAME_BYTES:
        return stored.why or f"has frames of {stored.row_bytes:,} bytes, which no camera gives"
    return Field(path=path, key=key, role="other", layout=layout, height_px=height, width_px=width)


def issue(
    index: int | None, check: str, code: str, message: str, fix: str, field: Field | None = None, **more: Any
) -> Issue:
    """An issue, a defect unless `kind` says otherwise."""
    if field is not None:
        more |= {"camera" if field.is_camera else "channel": field.key, "subject": field.path}
    more = {"kind": Kind.DEFECT} | more
    return Issue(check=check, code=code, message=message, fix=fix, episode=index, **more)  # type: ignore[arg-type]
