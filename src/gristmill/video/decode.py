"""Decoding in order: a file is opened once and read on, also from one episode to the next.

Reopening a file or seeking for every episode halves the speed, so a few open readers stay at hand in
each process and continue where they stopped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np
from av.error import FFmpegError
from av.video.frame import VideoFrame

from gristmill.errors import VideoError
from gristmill.types import Luma, Rgb
from gristmill.video.packets import FileIndex, file_key, index_file, open_video

_OPEN_READERS = 8


class SequentialReader:
    """Frames of one file by number. Reading on is free; going elsewhere seeks to the keyframe before."""

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        """Open a file.

        Args:
            path: a video file.
            threads: decoder threads; 1 by default, since the engine runs one process a core.

        Raises:
            VideoError: the file cannot be opened or has no video.
        """
        self.index: FileIndex = index_file(path)
        self._container, self._stream = open_video(path)
        self._stream.codec_context.thread_count = threads
        self._decoder = self._container.decode(self._stream)
        self._next = 0  # the frame that the decoder gives next

    def close(self) -> None:
        """Release the file and the decoder."""
        self._container.close()

    def frames(self, first: int, stop: int) -> Iterator[VideoFrame]:
        """The frames first..stop, numbered by presentation in the file.

        Raises:
            VideoError: after the last frame that decodes, when the promised ones do not all come.
        """
        if first >= stop:
            return
        self._go_to(first)
        got = 0
        reason = "the file ends"
        try:
            for frame in self._decoder:
                number = self._number(frame)
                self._next = number + 1
                if frame.is_corrupt:
                    reason = "damaged data"
                    break
                if number >= first:
                    got += 1
                    yield frame
                if number >= stop - 1:
                    return
        except FFmpegError as error:
            reason = str(error.strerror)
        self._next = len(self.index) + 1  # the decoder's state is of no use any more: seek next time
        raise VideoError(
            f"{self.index.path}: {stop - first - got} of {stop - first} frames do not decode, from frame "
            f"{got} on ({reason}); restore the file or cut the episode there"
        )

    def _go_to(self, first: int) -> None:
        index = self.index
        keyframes = np.flatnonzero(index.keyframe)
        ranks = index.rank[keyframes]
        before = np.flatnonzero(ranks <= first)
        start = before[np.argmax(ranks[before])] if len(before) else None
        ahead = start is not None and ranks[start] > self._next
        if first >= self._next and not ahead:
            return
        # The demuxer looks for decoding times, which B-frames set apart from presentation times.
        ticks = int(index.dts[keyframes[start]]) if start is not None else int(index.dts[0])
        self._container.seek(ticks, stream=self._stream, backward=True)
        self._decoder = self._container.decode(self._stream)

    def _number(self, frame: VideoFrame) -> int:
        times = self.index.frame_pts
        if frame.pts is None or (self._next < len(times) and frame.pts == times[self._next]):
            return self._next
        return int(np.searchsorted(times, frame.pts))


def frames(path: Path, first: int, stop: int, *, threads: int = 1) -> Generator[VideoFrame, None, None]:
    """Decoded frames first..stop of a file, from a reader that stays open for the next caller.

    Raises:
        VideoError: the file cannot be opened, or fewer frames decode (after those that do).
    """
    key = (file_key(path), threads)
    reader = _readers.pop(key, None) or SequentialReader(path, threads=threads)
    try:
        yield from reader.frames(first, stop)
    finally:
        # A reader is out of the pool while it is in use, so two cameras' loops never share a position.
        previous = _readers.pop(key, None)
        if previous is not None:
            previous.close()
        _readers[key] = reader
        while len(_readers) > _OPEN_READERS:
            _readers.popitem(last=False)[1].close()


_readers: OrderedDict[tuple[tuple[str, int, int], int], SequentialReader] = OrderedDict()


def planes(path: Path, first: int, stop: int, *, threads: int = 1) -> Generator[np.ndarray, None, None]:
    """Luma (h, w) uint8 of the frames first..stop, one by one, as views of the decoder's memory.

    Levels are as coded: black is 16 and white 235, unless the file's index says `full_range`.

    Raises:
        VideoError: as `frames`, after what decoded before; also when the frame size changes.
    """
    shape, as_coded = None, True
    with closing(frames(path, first, stop, threads=threads)) as source:
        for frame in source:
            if shape is None:
                as_coded = has_luma_plane(frame)
            plane = luma_plane(frame, as_coded=as_coded)
            if shape is not None and plane.shape != shape:
                raise VideoError(f"{path}: the frame size changes within the file; split it into one file a size")
            shape = plane.shape
            yield plane


def stacked(images: Sequence[np.ndarray], where: str) -> Rgb:
    """Frames (h, w, 3) as one array (n, h, w, 3).

    Raises:
        VideoError: they differ in size.
    """
    if any(image.shape != images[0].shape for image in images):
        sizes = " and ".join(sorted({f"{image.shape[1]} x {image.shape[0]}" for image in images}))
        raise VideoError(f"{where}: the frame size changes between {sizes}; cut the episode there")
    return np.stack(images)


def luma(path: Path, first: int, stop: int, *, chunk: int = 64, threads: int = 1) -> Iterator[Luma]:
    """The same in chunks (n, h, w) of at most `chunk` frames, copied.

    Raises:
        VideoError: as `planes`, after what decoded before.
    """
    trouble = None
    with closing(planes(path, first, stop, threads=threads)) as source:
        while first < stop and trouble is None:
            block, trouble = _block(source, min(chunk, stop - first))
            first += len(block)
            if len(block):
                yield block
    if trouble is not None:
        raise trouble


def _block(source: Iterator[np.ndarray], size: int) -> tuple[Luma, VideoError | None]:
    """The next `size` frames, or those before the trouble and the trouble."""
    block = np.empty((0, 0, 0), np.uint8)
    filled = 0
    try:
        for plane in islice(source, size):
            if not filled:
                block = np.empty((size, *plane.shape), np.uint8)
            block[filled] = plane
            filled += 1
    except VideoError as error:
        return block[:filled], error
    return block[:filled], None


def has_luma_plane(frame: VideoFrame) -> bool:
    """Whether the frame's first plane is its 8-bit luma."""
    form = frame.format
    return not form.is_rgb and (form.is_planar or form.name == "gray") and form.components[0].bits == 8


def luma_plane(frame: VideoFrame, *, as_coded: bool = True) -> np.ndarray:
    """Grey levels (h, w) uint8, a view of the frame's memory.

    Args:
        frame: a decoded frame.
        as_coded: `has_luma_plane(frame)`; it is asked once a file, as it costs more than the view. Other
            formats are converted: deeper YUV keeps its range, RGB becomes full-range grey.
    """
    if not as_coded:
        deep_yuv = not frame.format.is_rgb and not frame.format.name.startswith("gray")
        frame = frame.reformat(format="yuv420p" if deep_yuv else "gray")
    plane = frame.planes[0]
    levels = np.frombuffer(memoryview(plane), np.uint8)  # pyright: ignore[reportArgumentType]  planes are buffers
    return levels.reshape(plane.height, plane.line_size)[:, : plane.width]
