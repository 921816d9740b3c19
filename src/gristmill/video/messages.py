"""A camera whose packets are a log's messages: one frame a message, as foxglove's CompressedVideo asks for.

Packets are Annex B (H.264, H.265) or low-overhead OBUs (AV1) with their parameter sets at every keyframe, and no
B-frames, so a window of them is decoded from the keyframe before it.
https://docs.foxglove.dev/docs/visualization/message-schemas/compressed-video
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from av.codec import CodecContext
from av.error import FFmpegError
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from gristmill.digest import packets_digest
from gristmill.episode import CameraInfo
from gristmill.errors import VideoError
from gristmill.types import Luma, Rgb, TimesS
from gristmill.video.decode import has_luma_plane, luma_plane, stacked
from gristmill.video.packets import CONTENT_HASH_BYTES, Packets

_BACKWARD = 32  # messages looked through at once for the keyframe before a window
_FULL_RANGE = 2  # AVCOL_RANGE_JPEG


@dataclass(kw_only=True, eq=False)
class MessageCamera:
    """Implements `gristmill.episode.Camera` on a window of a stream of packets.

    `read(start, stop)` gives the packets start..stop; the window's first is number 0, those before are negative.
    """

    info: CameraInfo
    codec: str  # FFmpeg's name: "h264", "hevc", "av1", "vp9"
    frames: int
    before: int  # packets before the window
    times_s: TimesS
    where: str  # how errors name it
    read: Callable[[int, int], Iterator[bytes]]
    path: Path | None = None

    def packets(self) -> Packets:
        """The window's packets, not decoded."""
        content, sizes, keys = [], [], []
        for data in self.read(0, self.frames):
            content.append(hashlib.blake2b(data, digest_size=CONTENT_HASH_BYTES).digest())
            sizes.append(len(data))
            keys.append(is_keyframe(data, self.codec))
        rows = np.frombuffer(b"".join(content), np.uint8).reshape(-1, CONTENT_HASH_BYTES)
        return Packets(
            times_s=self.times_s[: len(sizes)],
            sizes=np.array(sizes, np.int32),
            keyframe=np.array(keys, bool),
            hashes=np.ascontiguousarray(rows[:, :8]).view(np.uint64).reshape(-1),
            digest=packets_digest(content),
            full_range=self._full_range,
        )

    def luma(self, *, chunk: int = 64) -> Iterator[Luma]:
        """Grey levels as coded, in chunks of at most `chunk` frames, in order."""
        waiting: list[np.ndarray] = []
        for plane in self.planes():
            if waiting and plane.shape != waiting[0].shape:
                raise VideoError(f"{self.where}: the frame size changes; cut the episode there")
            waiting.append(plane.copy())
            if len(waiting) == chunk:
                yield np.stack(waiting)
                waiting = []
        if waiting:
            yield np.stack(waiting)

    def planes(self) -> Iterator[np.ndarray]:
        """The same frame by frame (h, w), each a view of the decoder's memory."""
        as_coded = None
        for _, frame in self._decoded(0, self.frames):
            as_coded = has_luma_plane(frame) if as_coded is None else as_coded
            yield luma_plane(frame, as_coded=as_coded)

    def rgb(self, frames: Sequence[int]) -> Rgb:
        """These frames in colour (n, h, w, 3). Frames in ascending order are decoded in one pass."""
        images: list[np.ndarray] = []
        running: Iterator[tuple[int, VideoFrame]] | None = None
        at = 0
        for number in frames:
            if not 0 <= number < self.frames:
                raise VideoError(f"{self.where}: there is no frame {number}; the episode has {self.frames}")
            if running is None or number < at:
                running = self._decoded(number, self.frames)
            for at, frame in running:
                if at == number:
                    images.append(frame.to_ndarray(format="rgb24"))
                    at += 1
                    break
        if not images:
            return np.empty((0, self.info.height or 0, self.info.width or 0, 3), np.uint8)
        return stacked(images, self.where)

    def from_first_keyframe(self) -> MessageCamera:
        """The camera without those first frames that no keyframe comes before: they cannot be decoded by anyone."""
        if not self.frames or self.keyframe_before(0) is not None:
            return self
        skipped = next((n for n, d in enumerate(self.read(0, self.frames)) if is_keyframe(d, self.codec)), 0)
        read = self.read
        return replace(
            self,
            frames=self.frames - skipped,
            before=0,
            times_s=self.times_s[skipped:],
            read=lambda start, stop: read(start + skipped, stop + skipped),
        )

    def keyframe_before(self, number: int) -> int | None:
        """The last keyframe at or before a packet, maybe one before the window; None where there is none."""
        stop = number + 1
        while stop > -self.before:
            start = max(stop - _BACKWARD, -self.before)
            keys = [is_keyframe(data, self.codec) for data in self.read(start, stop)]
            if True in keys:
                return start + len(keys) - 1 - keys[::-1].index(True)
            stop = start
        return None

    @cached_property
    def _full_range(self) -> bool:
        for _, frame in self._decoded(0, min(self.frames, 1), strict=False):
            name = frame.format.name
            return name.startswith(("yuvj", "gray")) or frame.format.is_rgb or int(frame.color_range) == _FULL_RANGE
        return True

    def _decoded(self, first: int, stop: int, *, strict: bool = True) -> Iterator[tuple[int, VideoFrame]]:
        """(number, frame) of the frames first..stop.

        Raises:
            VideoError: after those that decode, when not all do.
        """
        if first >= stop:
            return
        start = self.keyframe_before(first)
        if start is None:
            raise VideoError(f"{self.where}: no keyframe comes before frame {first}; cut the episode at the next one")
        expected, reason = first, "they give no picture"
        decoder = _decoder(self.codec, self.where)
        try:
            for number, data in enumerate(self._to_the_end(start, stop), start):
                for frame in _feed(decoder, number, data):
                    if frame.pts is None or frame.pts < expected:
                        continue
                    if frame.pts > expected or frame.is_corrupt:
                        raise VideoError(self._lost(expected, stop, "damaged data"))
                    yield expected, frame
                    expected += 1
        except FFmpegError as error:
            reason = str(error.strerror)
        if expected < stop and strict:
            raise VideoError(self._lost(expected, stop, reason))

    def _to_the_end(self, start: int, stop: int) -> Iterator[bytes | None]:
        yield from self.read(start, stop)
        yield None  # the decoder gives what it held back

    def _lost(self, first: int, stop: int, reason: str) -> str:
        return (
            f"{self.where}: {stop - first} of {self.frames} frames do not decode, from frame {first} on ({reason}); "
            "restore the log or cut the episode there"
        )


def size_of_frame(packets: Iterator[bytes | memoryview], codec: str, where: str) -> tuple[int, int] | None:
    """(height, width) of the first keyframe among some packets; None when none of them gives a picture."""
    for data in packets:
        if is_keyframe(data, codec):
            decoder = _decoder(codec, where)
            try:
                for frame in (*_feed(decoder, 0, bytes(data)), *_feed(decoder, 1, None)):
                    return frame.height, frame.width
            except FFmpegError:
                continue
    return None


def _decoder(codec: str, where: str) -> VideoCodecContext:
    for name in {"av1": ("libdav1d", "av1")}.get(codec, (codec,)):
        try:
            context = CodecContext.create(name, "r")
        except ValueError:  # this build of FFmpeg has no such decoder
            continue
        assert isinstance(context, VideoCodecContext)
        context.thread_count = 1
        return context
    raise VideoError(f"{where}: this build of PyAV has no decoder for {codec}; install the `av` wheel")


def _feed(decoder: VideoCodecContext, number: int, data: bytes | None) -> Iterator[VideoFrame]:
    packet = None
    if data is not None:
        packet = Packet(data)
        packet.pts = packet.dts = number
    for frame in decoder.decode(packet):
        if isinstance(frame, VideoFrame):
            yield frame


def is_keyframe(data: bytes | memoryview, codec: str) -> bool:
    """Whether decoding can begin at this packet."""
    data = bytes(data)
    if codec == "h264":
        return any(kind & 0x1F == 5 for kind in _units(data))  # ITU-T H.264, table 7-1: an IDR slice
    if codec == "hevc":
        return any(16 <= kind >> 1 & 0x3F <= 21 for kind in _units(data))  # ITU-T H.265, table 7-1: IRAP
    if codec == "av1":
        return 1 in _obus(data)  # a sequence header comes with every keyframe, and with nothing else
    # VP9, 6.2: frame marker, profile, show_existing_frame, frame_type.
    if not data or data[0] >> 6 != 2:
        return False
    bits = data[0] >> 2 if data[0] >> 4 & 3 != 3 else data[0] >> 1
    return not bits >> 1 & 1 and not bits & 1


def _units(data: bytes) -> Iterator[int]:
    """The first byte of every NAL unit in Annex B."""
    at = data.find(b"\0\0\1")
    while at >= 0 and at + 3 < len(data):
        yield data[at + 3]
        at = data.find(b"\0\0\1", at + 3)


def _obus(data: bytes) -> Iterator[int]:
    """The type of every open bitstream unit (AV1 specification, 5.3)."""
    at = 0
    while at < len(data):
        head = data[at]
        yield head >> 3 & 0xF
        at += 2 if head & 4 else 1
        if not head & 2:
            return  # it goes on to the end
        size = shift = 0
        while at < len(data) and shift < 56:
            size |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if not data[at - 1] & 0x80:
                break
        at += size
