"""Demuxing without decoding: times, sizes, keyframes and content hashes of a video's packets.

Frame counts, gaps, truncation and copies of footage follow from packets alone. A file is indexed once
a process and sliced by episode, because packed files hold many episodes.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.video.stream import VideoStream

from gristmill.digest import packets_digest
from gristmill.errors import MissingVideoError, VideoError
from gristmill.types import IntArray, Mask, TimesS

# About 50 bytes a packet: a 200 MB file of AV1 has some 100,000, so 16 files stay below 100 MB.
_INDEXED_FILES = 16
CONTENT_HASH_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Packets:
    """An episode's slice of a video file: k packets in presentation order, one frame each."""

    times_s: TimesS  # (k,) from the episode's start
    sizes: IntArray  # (k,) int32, bytes
    keyframe: Mask  # (k,)
    hashes: IntArray  # (k,) uint64, content only
    digest: str  # of the content in decode order; it does not depend on the place within the file
    full_range: bool = True  # decoded luma means black at 0 and white at 255; else at 16 and 235
    surplus: int = 0  # frames that follow in a file that belongs to this episode alone

    def __len__(self) -> int:
        return len(self.times_s)


@dataclass(frozen=True, kw_only=True, eq=False)
class FileIndex:
    """What demuxing tells of a file's first video stream: k packets in decode order."""

    path: Path
    codec: str
    width: int
    height: int
    pix_fmt: str
    full_range: bool  # luma uses 0..255, not 16..235
    extradata: bytes  # parameter sets outside the packets
    time_base: Fraction
    pts: IntArray  # (k,) int64
    dts: IntArray  # (k,) int64
    sizes: IntArray  # (k,) int32
    keyframe: Mask  # (k,)
    content: np.ndarray  # (k, 16) uint8, BLAKE2b of each payload
    broken: str = ""  # why demuxing ended early, if it did

    def __len__(self) -> int:
        return len(self.pts)

    @cached_property
    def order(self) -> IntArray:
        """(k,) decode position of each frame in presentation order."""
        return np.argsort(self.pts, kind="stable")

    @cached_property
    def rank(self) -> IntArray:
        """(k,) presentation number of each packet in decode order."""
        rank = np.empty(len(self), np.int64)
        rank[self.order] = np.arange(len(self))
        return rank

    @cached_property
    def frame_pts(self) -> IntArray:
        """(k,) presentation times in ticks, ascending."""
        return self.pts[self.order]

    @cached_property
    def times_s(self) -> TimesS:
        """(k,) presentation times in seconds, ascending."""
        return (self.frame_pts * float(self.time_base)).astype(np.float64)

    @cached_property
    def stops(self) -> IntArray:
        """Frame numbers before which the file can be cut: nothing earlier in the file is shown later, or the reverse.

        With B-frames a cut elsewhere would tear frames from those that they are predicted from.
        """
        whole = np.flatnonzero(np.maximum.accumulate(self.rank) == np.arange(len(self)))
        return np.concatenate(([0], whole + 1))

    @cached_property
    def starts(self) -> IntArray:
        """Frame numbers at which a copy can begin: a keyframe that no earlier or later packet is shown across."""
        at = self.stops[self.stops < len(self)]
        return at[self.keyframe[at] & (self.rank[at] == at)]

    @property
    def signature(self) -> tuple[str, int, int, str, bool, bytes]:
        """What has to be equal for packets of two files to follow each other in one stream."""
        return self.codec, self.width, self.height, self.pix_fmt, self.full_range, self.extradata

    def locate(self, start_s: float, frames: int, rate_hz: float, stop_s: float | None = None) -> tuple[int, int]:
        """First and past-the-last frame number of the `frames` at `start_s + k / rate_hz`, half a frame of tolerance.

        What lies at `stop_s` or later belongs to another episode.
        """
        half = 0.5 / rate_hz
        end_s = start_s + frames / rate_hz
        if stop_s is not None:
            end_s = min(end_s, stop_s)
        first, stop = np.searchsorted(self.times_s, (start_s - half, end_s - half))
        return int(first), max(int(first), int(stop))

    def slice(self, first: int, stop: int, start_s: float) -> Packets:
        """The frames first..stop as an episode that starts at `start_s`."""
        order = self.order[first:stop]
        in_decode_order = np.sort(order)
        content = self.content[order]
        return Packets(
            times_s=self.times_s[first:stop] - start_s,
            sizes=self.sizes[order],
            keyframe=self.keyframe[order],
            hashes=np.ascontiguousarray(content[:, :8]).view(np.uint64).reshape(-1),
            digest=digest_of(self.content[in_decode_order].tobytes()),
            full_range=self.full_range,
        )


def digest_of(hashes: bytes) -> str:
    """Digest of packets from their content hashes, joined in decode order."""
    return packets_digest([hashes])


def demux(
    path: Path, start_s: float, frames: int, rate_hz: float, *, stop_s: float | None = None, whole_file: bool = False
) -> Packets:
    """The packets of one episode.

    Args:
        path: a video file.
        start_s: the episode's start in the file.
        frames: frames that the metadata promises.
        rate_hz: declared rate.
        stop_s: where another episode begins in the same file.
        whole_file: no other episode uses the file, so that frames after the promised ones are surplus.

    Raises:
        VideoError: the file cannot be opened or has no video.
    """
    index = index_file(path)
    first, stop = index.locate(start_s, frames, rate_hz, stop_s)
    packets = index.slice(first, stop, start_s)
    return replace(packets, surplus=len(index) - stop) if whole_file else packets


_indexes: OrderedDict[tuple[str, int, int], FileIndex] = OrderedDict()


def index_file(path: Path) -> FileIndex:
    """All packets of a file, read once a process while the file does not change.

    Raises:
        VideoError: the file cannot be opened or has no video.
    """
    key = file_key(path)
    index = _indexes.pop(key, None)
    if index is None:
        index = _read(path)
    _indexes[key] = index
    while len(_indexes) > _INDEXED_FILES:
        _indexes.popitem(last=False)
    return index


def file_key(path: Path) -> tuple[str, int, int]:
    """What tells one state of a file from another: path, size and time.

    Raises:
        MissingVideoError: there is no such file, or nothing in it.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise MissingVideoError(
            f"{path}: {error.strerror or error}; restore the file or leave this camera out"
        ) from None
    if stat.st_size == 0:
        raise MissingVideoError(f"{path}: the file is empty; restore it or leave this camera out")
    return str(path), stat.st_size, stat.st_mtime_ns


def open_video(path: Path) -> tuple[InputContainer, VideoStream]:
    """The open container with its first video stream. The caller closes it.

    Raises:
        VideoError: the file cannot be opened or has no video.
    """
    try:
        container = av.open(str(path), metadata_errors="replace")
    except FFmpegError as error:
        raise VideoError(
            f"{path}: not a readable video ({error.strerror}); the file is cut off or of another kind, restore it"
        ) from None
    if not container.streams.video:
        container.close()
        raise VideoError(f"{path}: the file holds no video stream; point the metadata at another file")
    return container, container.streams.video[0]


def _read(path: Path) -> FileIndex:
    pts: list[int] = []
    dts: list[int] = []
    sizes: list[int] = []
    keyframe: list[bool] = []
    content: list[bytes] = []
    broken = ""
    container, stream = open_video(path)
    with container:
        context = stream.codec_context
        try:
            for packet in payloads(container, stream):
                shown = packet.pts if packet.pts is not None else packet.dts
                if shown is None:
                    raise VideoError(f"{path}: packet {len(pts)} has no time; remux the file")
                pts.append(shown)
                dts.append(packet.dts if packet.dts is not None else shown)
                sizes.append(packet.size)
                keyframe.append(packet.is_keyframe)
                content.append(hashlib.blake2b(packet, digest_size=CONTENT_HASH_BYTES).digest())
        except FFmpegError as error:
            broken = str(error.strerror)
        return FileIndex(
            path=path,
            codec=context.name.removeprefix("lib").replace("dav1d", "av1"),
            width=context.width,
            height=context.height,
            pix_fmt=context.pix_fmt or "",
            full_range=_is_full_range(context.pix_fmt or "", int(context.color_range)),
            extradata=bytes(context.extradata or b""),
            time_base=Fraction(stream.time_base or Fraction(1, 1)),
            pts=np.array(pts, np.int64),
            dts=np.array(dts, np.int64),
            sizes=np.array(sizes, np.int32),
            keyframe=np.array(keyframe, bool),
            content=np.frombuffer(b"".join(content), np.uint8).reshape(-1, CONTENT_HASH_BYTES),
            broken=broken,
        )


def payloads(container: InputContainer, stream: VideoStream) -> Iterator[av.Packet]:
    """Packets that show a frame: without the flush at the end, half-read ones and those an edit list hides."""
    for packet in container.demux(stream):
        if packet.size and not packet.is_corrupt and not packet.is_discard:
            yield packet


def _is_full_range(pix_fmt: str, color_range: int) -> bool:
    # 2 is AVCOL_RANGE_JPEG; unmarked YUV is limited by convention, grey and RGB are full.
    return color_range == 2 or pix_fmt.startswith(("yuvj", "gray", "rgb", "bgr", "gbr", "pal"))
