"""The video files of one camera of a LeRobot v3.0 dataset: many episodes a file, copied or encoded.

Packets are copied as they are. Pictures are encoded into a temporary file, whose packets are then copied, so
that every episode begins with a keyframe. Frame k of a file stands at exactly k / rate, which makes the
timestamps in the metadata exact. Parts that cannot share a file's parameter sets (another codec, size or
encoder setting) go to files of their own.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from gristmill.errors import UsageError, VideoError
from gristmill.formats.lerobot.image_statistics import PixelHistogram
from gristmill.formats.lerobot.write_rows import Place
from gristmill.types import Rgb
from gristmill.video.encode import encode
from gristmill.video.mux import Part, copy_packets
from gristmill.video.packets import FileIndex, file_key, index_file


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketRange:
    """Frames `start_frame` .. `start_frame + frames` of an existing file, to be copied without decoding.

    The first one must be a keyframe. `stats` are this episode's image statistics (see `image_statistics`);
    without them, the camera's statistics are left out of the dataset.
    """

    path: Path
    start_frame: int
    frames: int
    stats: PixelHistogram | Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Frames to encode: chunks (n, h, w, 3) of uint8, `frames` in all. Statistics are taken on the way.

    `encoding` are options of `gristmill.video.encode.encode`, by default those of the dataset.
    """

    chunks: Iterable[Rgb]
    frames: int
    encoding: Mapping[str, Any] | None = None


VideoPart: TypeAlias = PacketRange | Pictures


@dataclass(slots=True)
class Written:
    """Where an episode's frames went, and their statistics."""

    place: Place
    from_timestamp: float
    to_timestamp: float
    stats: PixelHistogram | Mapping[str, np.ndarray] | None

    def columns(self, key: str) -> dict[str, int | float]:
        """The camera's columns in the episodes table."""
        return {
            f"videos/{key}/chunk_index": self.place.chunk,
            f"videos/{key}/file_index": self.place.file,
            f"videos/{key}/from_timestamp": self.from_timestamp,
            f"videos/{key}/to_timestamp": self.to_timestamp,
        }


@dataclass(slots=True)
class _Open:
    """A file being collected: the stretches that it will hold."""

    place: Place
    parts: list[Part] = field(default_factory=list)
    seen: dict[Path, tuple] = field(default_factory=dict)  # each file's state when its part was added
    frames: int = 0
    size: int = 0

    def append(self, part: Part) -> None:
        """Add a stretch; what is contiguous in the source is copied in one go."""
        self.seen.setdefault(part.path, file_key(part.path))
        last = self.parts[-1] if self.parts else None
        if last is not None and last.path == part.path and last.stop == part.first:
            part = Part(part.path, self.parts.pop().first, part.stop)
        self.parts.append(part)


class VideoWriter:
    """Collects one camera's episodes and writes them file by file.

    Args:
        folder: `videos/{key}`.
        rate_hz: frames a second.
        max_bytes: a new file begins when the next part would make it larger.
        scratch: a folder for encoded parts that wait for their file.
        encoding: options of `gristmill.video.encode.encode`.
    """

    def __init__(
        self, folder: Path, rate_hz: float, max_bytes: int, scratch: Path, encoding: Mapping[str, Any]
    ) -> None:
        self._folder = folder
        self._rate_hz = rate_hz
        self._max_bytes = max_bytes
        self._scratch = scratch
        self._encoding = encoding
        self._open: dict[Hashable, _Open] = {}
        self._files = 0
        self._encoded = 0
        self._kinds: Counter[tuple] = Counter()  # frames by signature
        self._examples: dict[tuple, FileIndex] = {}
        self.codecs: Counter[str] = Counter()  # frames in each codec
        self.encoded: Counter[str] = Counter()  # those of them that were encoded here

    def add(self, part: VideoPart) -> Written:
        """Add one episode's frames.

        Raises:
            UsageError: another number of pictures than announced.
            VideoError: the source is unreadable or does not begin with a keyframe.
        """
        made_here = isinstance(part, Pictures)
        if isinstance(part, Pictures):
            part = self._encode(part)
        index = index_file(part.path)
        stop = part.start_frame + part.frames
        if not 0 <= part.start_frame < stop <= len(index):
            raise VideoError(f"{part.path}: has no frames {part.start_frame} to {stop}; it holds {len(index)}")
        size = int(index.sizes[index.order[part.start_frame : stop]].sum())
        like = index.signature
        self._kinds[like] += part.frames
        self._examples.setdefault(like, index)
        self.codecs[index.codec] += part.frames
        if made_here:
            self.encoded[index.codec] += part.frames
        target = self._open.get(like)
        if target is not None and target.size + size > self._max_bytes:
            self._write(self._open.pop(like))
            target = None
        if target is None:
            target = self._open[like] = _Open(Place.number(self._files))
            self._files += 1
        start = target.frames
        target.append(Part(part.path, part.start_frame, stop))
        target.frames += part.frames
        target.size += size
        return Written(target.place, start / self._rate_hz, target.frames / self._rate_hz, part.stats)

    def declared(self) -> dict[str, Any]:
        """What `info` has to say of the camera: the properties that most of its frames have."""
        if not self._kinds:
            return {}
        like = self._examples[self._kinds.most_common(1)[0][0]]
        return {
            "video.height": like.height,
            "video.width": like.width,
            "video.codec": like.codec,
            "video.pix_fmt": like.pix_fmt,
            "video.fps": int(self._rate_hz) if float(self._rate_hz).is_integer() else self._rate_hz,
            "video.channels": 3,
            "has_audio": False,
        }

    def close(self) -> None:
        """Write the files that are still collected."""
        while self._open:
            self._write(self._open.pop(next(iter(self._open))))

    def _write(self, target: _Open) -> None:
        path = self._folder / target.place.path(".mp4")
        path.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(path.parent).free < target.size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        copied = copy_packets(path, target.parts, self._rate_hz)
        for part, digest in zip(target.parts, copied.digests, strict=True):
            same = file_key(part.path) == target.seen[part.path]
            if not same or digest != index_file(part.path).slice(part.first, part.stop, 0.0).digest:
                raise VideoError(f"{part.path}: changed while it was copied; run again")
        for source in {p.path for p in target.parts}:
            if source.parent == self._scratch:
                source.unlink()

    def _encode(self, part: Pictures) -> PacketRange:
        path = self._scratch / f"{self._folder.name}-{self._encoded}.mp4"
        self._encoded += 1
        histogram = PixelHistogram()
        encode(path, _seen(part.chunks, histogram.add), self._rate_hz, **(part.encoding or self._encoding))
        if histogram.frames != part.frames:
            raise UsageError(f"{self._folder.name}: {histogram.frames} pictures came, {part.frames} were announced")
        return PacketRange(path=path, start_frame=0, frames=part.frames, stats=histogram)


def _seen(chunks: Iterable[Rgb], look: Callable[[Rgb], None]) -> Iterator[Rgb]:
    for chunk in chunks:
        look(chunk)
        yield chunk
