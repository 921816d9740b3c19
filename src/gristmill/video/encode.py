"""Encoding RGB frames as LeRobot does by default, for generated data and for cuts that copying cannot make."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from gristmill.errors import VideoError
from gristmill.types import Rgb

# Encoders that write the same codec, best first: builds of FFmpeg differ in what they carry.
_INSTEAD = {
    "libsvtav1": ("libaom-av1", "librav1e"),
    "libx264": ("h264", "libopenh264"),
    "h264": ("libx264", "libopenh264"),
    "libx265": ("hevc",),
    "hevc": ("libx265",),
}


@dataclass(frozen=True, slots=True)
class Encoded:
    """What was written."""

    frames: int
    duration_s: float
    encoder: str  # the one used, which may stand in for the one asked for


def encode(
    path: Path,
    frames: Iterable[Rgb],
    rate_hz: float,
    *,
    codec: str = "libsvtav1",
    gop: int = 2,
    crf: int = 30,
    preset: int | str | None = 12,
    pix_fmt: str = "yuv420p",
) -> Encoded:
    """Write chunks of RGB frames (n, h, w, 3) as one MP4 file; frame k is at k / rate_hz.

    The defaults are those of LeRobot's recorder. `preset` takes the encoder's own scale (a number for
    SVT-AV1, a word for x264); None leaves it to the encoder.

    Raises:
        VideoError: no such encoder, no frames, frames of different or odd sizes, or a disk that is full.
            The unfinished file is removed.
    """
    encoder = available_encoder(codec)
    # SVT-AV1 writes its settings straight to stderr unless told otherwise.
    os.environ.setdefault("SVT_LOG", "1")
    options = {"g": str(gop), "crf": str(crf)}
    if preset is not None:
        options["preset"] = str(preset)
    rate = Fraction(rate_hz).limit_denominator(1001)
    done = 0
    try:
        with av.open(str(path), "w", format="mp4") as target:
            stream = cast(VideoStream, target.add_stream(encoder, rate=rate, options=options))
            stream.pix_fmt = pix_fmt
            for chunk in frames:
                for image in chunk:
                    if not done:
                        stream.height, stream.width = _even(path, image.shape[:2])
                    elif image.shape[:2] != (stream.height, stream.width):
                        raise VideoError(
                            f"{path}: frame {done} is {image.shape[:2]}, not {stream.height, stream.width}"
                        )
                    frame = VideoFrame.from_ndarray(image, format="rgb24")
                    frame.pts, frame.time_base = done, 1 / rate
                    target.mux(stream.encode(frame))
                    done += 1
            if not done:
                raise VideoError(f"{path}: there are no frames to write")
            target.mux(stream.encode())
    except (FFmpegError, OSError) as error:
        path.unlink(missing_ok=True)
        raise VideoError(f"{path}: cannot be written with {encoder} ({error.strerror or error})") from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return Encoded(done, float(done / rate), encoder)


def _even(path: Path, size: tuple[int, int]) -> tuple[int, int]:
    if size[0] % 2 or size[1] % 2:
        raise VideoError(f"{path}: frames of {size[1]} x {size[0]} cannot be encoded; crop or pad them to even sizes")
    return size


def available_encoder(codec: str) -> str:
    """The encoder asked for, or one that writes the same codec.

    Raises:
        VideoError: this build of FFmpeg has none.
    """
    for name in (codec, *_INSTEAD.get(codec, ())):
        try:
            av.Codec(name, "w")
        except ValueError:
            continue
        return name
    raise VideoError(f"no encoder for {codec} in this build of PyAV; install the `av` wheel or choose another codec")
