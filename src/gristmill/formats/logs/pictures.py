"""Messages that hold a picture: which layout it has, its bytes, its pixels.

sensor_msgs/Image, sensor_msgs/CompressedImage, foxglove's RawImage, CompressedImage and CompressedVideo, and
ffmpeg_image_transport's packets. Encodings by REP 118 and sensor_msgs/image_encodings.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gristmill.formats.logs.ros_bytes import Group, MessageError
from gristmill.formats.logs.stream import Format
from gristmill.formats.logs.trees import unpacked_base64
from gristmill.types import Rgb

# Encoding -> channels, and where among them red, green and blue stand; None for grey. Slices, since they copy nothing.
_RGB, _BGR = slice(0, 3), slice(2, None, -1)
_PIXELS: dict[str, tuple[int, slice | None]] = {
    "rgb8": (3, _RGB),
    "8uc3": (3, _BGR),  # OpenCV's order
    "bgr8": (3, _BGR),
    "rgba8": (4, _RGB),
    "bgra8": (4, _BGR),
    "8uc4": (4, _BGR),
    "mono8": (1, None),
    "8uc1": (1, None),
}
_MOST_SIDE = 1 << 16  # pixels; what JPEG can hold
_MOST_STEP = _MOST_SIDE * 16  # bytes of a row
_DEPTH = ("16uc1", "mono16", "32fc1", "compresseddepth")
_VIDEO = {"h264": "h264", "h265": "hevc", "hevc": "hevc", "av1": "av1", "vp9": "vp9"}

PictureSort = Literal["raw", "image", "video", "depth", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What a topic's first picture is like."""

    sort: PictureSort
    encoding: str  # as the message says: "rgb8", "jpeg", "h264"
    codec: str | None = None
    height: int | None = None
    width: int | None = None


def picture_of(form: Format, group: Group) -> Picture:
    """The layout of a message's picture.

    Raises:
        MessageError: the message lacks a part that its type should have.
    """
    height, width = _size(group, "height"), _size(group, "width")
    if form.type.endswith(("CompressedVideo", "FFMPEGPacket")):
        named = _text(group, "format") or _text(group, "encoding")
        codec = _VIDEO.get(named.split(";")[0].lower().removeprefix("lib").replace("x264", "h264"))
        return Picture(sort="video" if codec else "unknown", encoding=named, codec=codec, height=height, width=width)
    if form.type.endswith("CompressedImage"):
        named = _text(group, "format").lower()
        if "compresseddepth" in named or named.startswith(_DEPTH):
            return Picture(sort="depth", encoding=named)
        codec = _VIDEO.get(named.strip())
        if codec:
            return Picture(sort="video", encoding=named, codec=codec)
        return Picture(sort="image", encoding=named)
    named = _text(group, "encoding").lower()
    sort: PictureSort = "depth" if named in _DEPTH else "raw" if named in _PIXELS else "unknown"
    return Picture(sort=sort, encoding=named, height=height, width=width)


def encoded_bytes(form: Format, group: Group) -> bytes | memoryview:
    """The compressed bytes of a message.

    Raises:
        MessageError: it has none.
    """
    if form.encoding == "json":
        return unpacked_base64(_text(group, "data"))
    data = group.numbers.get("data")
    if data is None or data.dtype.itemsize != 1:
        raise MessageError(f"a {form.type} message has no bytes in its field data")
    return data.reshape(-1).data


def pixels(form: Format, group: Group) -> Rgb:
    """(h, w, 3) RGB or (h, w) grey of an uncompressed picture.

    Raises:
        MessageError: its data is shorter than its size asks for, or its encoding is not known.
    """
    height, width = _size(group, "height") or 0, _size(group, "width") or 0
    encoding = _text(group, "encoding").lower()
    if encoding not in _PIXELS:
        raise MessageError(f"pictures of encoding {encoding!r} are not read; known: {', '.join(_PIXELS)}")
    channels, order = _PIXELS[encoding]
    step = _size(group, "step", _MOST_STEP) or width * channels
    data = np.frombuffer(encoded_bytes(form, group), np.uint8)
    if not height or not width or step < width * channels or step * height > len(data):
        raise MessageError(f"a picture of {width} x {height} {encoding} does not fit into {len(data)} bytes")
    rows = data[: step * height].reshape(height, step)[:, : width * channels]
    if order is None:
        return rows
    return rows.reshape(height, width, channels)[..., order]


def size_of_image(data: bytes | memoryview) -> tuple[int, int] | None:
    """(height, width) of an encoded image, or None when it does not decode."""
    import io

    import av

    try:
        with av.open(io.BytesIO(data), "r") as container:
            for frame in container.decode(video=0):
                return frame.height, frame.width
    except Exception:  # noqa: BLE001 - whatever the decoder says of damaged bytes, they tell no size
        return None
    return None


def _size(group: Group, path: str, most: int = _MOST_SIDE) -> int | None:
    value = group.numbers.get(path)
    if value is None or value.size != 1:
        return None
    number = value[0, 0]
    if not 0 <= number <= most:  # NaN included
        raise MessageError(f"a picture's {path} of {number:.6g} does not fit into a message")
    return int(number)


def _text(group: Group, path: str) -> str:
    value = group.texts.get(path, "")
    return value if isinstance(value, str) else ""
