"""Encoding RGB frames as LeRobot does by default, for generated data and for cuts that copying cannot make."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from queue import Full, Queue
from threading import Thread
from typing import cast

import av
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from gristmill.errors import VideoError
from gristmill.types import Rgb
from gristmill.video.unwritten import unwritten

# Encoders that write the same codec, best first: builds of FFmpeg differ in what they carry.
_INSTEAD = {
    "libsvtav1": ("libaom-av1", "librav1e"),
    "libx264": ("h264", "libopenh264"),
    "h264": ("libx264", "libopenh264"),
}


# An encoder that takes no frame for so long is not slow: it hangs.
STUCK_S = 120.0
_POLL_S = 0.2


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
        VideoError: no such encoder, one that hangs, no frames, or frames of different or odd sizes.
        OSError: the disk is full. After any error the unfinished file is removed.
    """
    encoder = available_encoder(codec)
    # SVT-AV1 writes its settings straight to stderr unless told otherwise.
    os.environ.setdefault("SVT_LOG", "1")
    options = {"g": str(gop), "crf": str(crf)}
    if preset is not None:
        options["preset"] = str(preset)
    rate = Fraction(rate_hz).limit_denominator(1001)
    writing = _Writing(path, encoder, rate, options, pix_fmt)
    try:
        for chunk in frames:
            writing.add(chunk)
        return writing.finish()
    except BaseException:
        writing.abandon()
        path.unlink(missing_ok=True)
        raise


class _Writing:
    """An encoder in a thread of its own, so that one that never returns can be told from one that is slow.

    SVT-AV1 4.1 deadlocks about once in some thousand small videos, on a machine with more work than cores. Nothing
    can wake it; the thread is left behind, and the caller is told.
    """

    def __init__(self, path: Path, encoder: str, rate: Fraction, options: dict[str, str], pix_fmt: str) -> None:
        self._path, self._encoder, self._rate = path, encoder, rate
        self._options, self._pix_fmt = options, pix_fmt
        self._chunks: Queue[Rgb | None] = Queue(maxsize=1)
        self._done = 0
        self._error: BaseException | None = None
        self._abandoned = False
        self._thread = Thread(target=self._run, daemon=True, name=f"encode {path.name}")
        self._thread.start()

    def add(self, chunk: Rgb) -> None:
        """Hand over frames; returns when the encoder has room for more."""
        self._wait(lambda: self._put(chunk))

    def finish(self) -> Encoded:
        """Wait for the end of the file."""
        self._wait(lambda: self._put(None))
        self._wait(lambda: self._thread.join(_POLL_S) or not self._thread.is_alive())
        if self._error is not None:
            raise self._error
        return Encoded(self._done, float(self._done / self._rate), self._encoder)

    def abandon(self) -> None:
        """Let the thread end when it can; it is not waited for."""
        self._abandoned = True
        try:
            self._chunks.put_nowait(None)
        except Full:
            return  # the thread looks at `_abandoned` after each frame

    def _put(self, chunk: Rgb | None) -> bool:
        try:
            self._chunks.put(chunk, timeout=_POLL_S)
        except Full:
            return False
        return True

    def _wait(self, attempt: Callable[[], bool]) -> None:
        seen, since = self._done, time.monotonic()
        while not attempt():
            if self._error is not None:
                raise self._error
            if self._done != seen:
                seen, since = self._done, time.monotonic()
            elif time.monotonic() - since > STUCK_S:
                raise VideoError(
                    f"{self._path}: {self._encoder} has not taken a frame for {STUCK_S:.0f} s and seems to hang; "
                    "run the same command again, or choose another encoder"
                )

    def _run(self) -> None:
        try:
            self._write()
        except (FFmpegError, OSError) as error:
            self._error = unwritten(self._path, f"writing with {self._encoder}", error)
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            self._error = error

    def _write(self) -> None:
        with av.open(str(self._path), "w", format="mp4") as target:
            stream = cast(VideoStream, target.add_stream(self._encoder, rate=self._rate, options=self._options))
            stream.pix_fmt = self._pix_fmt
            while (chunk := self._chunks.get()) is not None:
                for image in chunk:
                    if self._abandoned:
                        return
                    if not self._done:
                        stream.height, stream.width = _even(self._path, image.shape[:2])
                    elif image.shape[:2] != (stream.height, stream.width):
                        raise VideoError(
                            f"{self._path}: frame {self._done} is {image.shape[:2]}, not {stream.height, stream.width}"
                        )
                    frame = VideoFrame.from_ndarray(image, format="rgb24")
                    frame.pts, frame.time_base = self._done, 1 / self._rate
                    target.mux(stream.encode(frame))
                    self._done += 1
            if self._abandoned:
                return
            if not self._done:
                raise VideoError(f"{self._path}: there are no frames to write")
            target.mux(stream.encode())


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
