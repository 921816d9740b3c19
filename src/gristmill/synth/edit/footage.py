"""Writing a changed camera: cut by packets where that is exact, else decoded, touched and encoded as the source was."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from gristmill.errors import VideoError
from gristmill.formats.lerobot.image_statistics import PixelHistogram
from gristmill.synth.edit.draft import Reel
from gristmill.types import Rgb
from gristmill.video.decode import frames as decoded
from gristmill.video.encode import encode
from gristmill.video.mux import Part, copy_packets
from gristmill.video.packets import FileIndex, index_file

# Codec -> encoder, its preset, and a quality at which a second encoding is hardly visible.
_ENCODERS: dict[str, tuple[str, int | str | None, int]] = {
    "av1": ("libsvtav1", 10, 22),
    "h264": ("libx264", "fast", 18),
    "vp9": ("libvpx-vp9", None, 24),
}
_ONE_KEYFRAME = 100_000  # a group of pictures longer than any episode


def can_encode(path: Path) -> str:
    """Why frames of this file cannot be written back as they came, or ""."""
    index = index_file(path)
    if index.codec not in _ENCODERS:
        return f"its codec {index.codec} cannot be encoded again"
    if index.width % 2 or index.height % 2:
        return f"its frames of {index.width} x {index.height} cannot be encoded again"
    return ""


def write_reel(source: Path, reel: Reel, out: Path, rate_hz: float) -> PixelHistogram | None:
    """Write a camera's new file.

    Args:
        source: the file in the original corpus.
        reel: what becomes of its frames.
        out: the file to write; it may exist.
        rate_hz: frames a second.

    Returns:
        What was seen in the frames written, or None where packets were copied.

    Raises:
        VideoError: the source does not decode, or cannot be encoded again.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    if reel.cut_to is not None:
        stop = _clean_stop(index_file(source), reel.source.first, reel.source.first + reel.cut_to)
        if stop is not None:
            copy_packets(out, [Part(source, reel.source.first, stop)], rate_hz)
            return None
    elif not reel.changed:
        return _copy(source, reel, out, rate_hz)
    return _encode(source, reel, out, rate_hz)


def _copy(source: Path, reel: Reel, out: Path, rate_hz: float) -> PixelHistogram | None:
    """The same frames in a file of their own."""
    if reel.source.alone:
        shutil.copyfile(source, out)
        return None
    try:
        copy_packets(out, [Part(source, reel.source.first, reel.source.stop)], rate_hz)
    except VideoError:
        return _encode(source, reel, out, rate_hz)  # the episode does not begin with a keyframe
    return None


def _encode(source: Path, reel: Reel, out: Path, rate_hz: float) -> PixelHistogram:
    index = index_file(source)
    encoder, preset, crf = _ENCODERS[index.codec]
    order = reel.order if reel.cut_to is None else reel.order[: reel.cut_to]
    seen = PixelHistogram()

    def pictures() -> Iterator[Rgb]:
        for number, picture in enumerate(_played(source, reel.source.first, order)):
            touched = picture if reel.touch is None else reel.touch(number, picture)
            seen.add(touched[None])
            yield touched[None]

    encode(
        out,
        pictures(),
        rate_hz,
        codec=encoder,
        gop=_group_of_pictures(index, reel.source.first, reel.source.stop),
        crf=crf,
        preset=preset,
    )
    return seen


def _played(source: Path, first: int, order: np.ndarray) -> Iterator[np.ndarray]:
    """Pictures (h, w, 3) in the given order, which never falls."""
    if not len(order):
        return
    low, high = int(order[0]), int(order[-1])
    with closing(decoded(source, first + low, first + high + 1)) as frames:
        number, picture = low - 1, np.empty(0, np.uint8)
        for wanted in order:
            while number < wanted:
                picture = next(frames).to_ndarray(format="rgb24")
                number += 1
            yield picture


def _group_of_pictures(index: FileIndex, first: int, stop: int) -> int:
    """Frames from one keyframe to the next, as in the source; a single keyframe stays a single one."""
    ranks = np.sort(index.rank[index.keyframe])
    ranks = ranks[(ranks >= first) & (ranks < stop)]
    return int(np.median(np.diff(ranks))) if len(ranks) > 1 else _ONE_KEYFRAME


def _clean_stop(index: FileIndex, first: int, wanted: int) -> int | None:
    """Where packets can be cut off near `wanted` without tearing frames apart; None if nowhere near."""
    if first not in index.starts:
        return None
    stops = index.stops[(index.stops > first) & (index.stops <= wanted)]
    return int(stops[-1]) if len(stops) and wanted - stops[-1] <= 3 else None
