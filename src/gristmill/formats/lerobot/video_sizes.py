"""Declared sizes of cameras against those of their videos, as the files' headers tell; nothing is decoded.

Of an MP4 file only the boxes on the way to the first video track's sample description are read (ISO/IEC 14496-12:
moov, trak, mdia, minf, stbl, stsd), a few hundred bytes wherever they lie in the file. A few files of each camera
stand for all of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from gristmill.finding import Issue, Kind
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot.declaration import Feature, brief
from gristmill.formats.lerobot.layout import PackedPaths
from gristmill.formats.lerobot.rows import CameraSlices, EpisodeRows

_FILES_ASKED = 8
_MAX_BOXES = 4096
_CHANNELS = (1, 3, 4)
_FOLDERS = (b"mdia", b"minf", b"stbl")
_CODECS = {
    b"avc1": "h264",
    b"avc3": "h264",
    b"hvc1": "hevc",
    b"hev1": "hevc",
    b"av01": "av1",
    b"vp09": "vp9",
    b"mp4v": "mpeg4",
}
_SAME_CODEC = {"libsvtav1": "av1", "libx264": "h264", "h265": "hevc"}  # encoders and older names, as some files say


class Picture(NamedTuple):
    """What a video's header says."""

    height: int
    width: int
    codec: str  # "" where it is not known


def size_issues(files: CorpusFiles, features: Sequence[Feature], rows: EpisodeRows) -> Iterator[Issue]:
    """Cameras whose declared shape, or whose `info`, is not that of their videos."""
    for feature in features:
        slices = rows.cameras.get(feature.key)
        if slices is None or not slices.declared or 0 in feature.shape:  # which `info` tells of
            continue
        found = _pictures(files, slices)
        sizes = list(dict.fromkeys((p.height, p.width) for p in found.values()))
        if len(sizes) > 1:
            yield _differ(feature.key, {(p.height, p.width): path for path, p in found.items()})
        elif sizes:
            yield from _compare(feature, sizes[0])
            codecs = {p.codec for p in found.values()}
            if len(codecs) == 1:
                yield from _codec(feature, codecs.pop())


def picture_of(path: Path) -> Picture | None:
    """Size and codec of the first video track of an MP4 file, or None where the file does not tell."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            for kind, start, stop in _boxes(file, 0, size):
                if kind == b"moov":
                    tracks = (t for t in _boxes(file, start, stop) if t[0] == b"trak")
                    return next(filter(None, (_track(file, a, b) for _, a, b in tracks)), None)
    except (OSError, struct.error):
        return None  # what cannot be read is told of where the video is opened
    return None


def _pictures(files: CorpusFiles, slices: CameraSlices) -> dict[str, Picture]:
    paths = slices.paths.names if isinstance(slices.paths, PackedPaths) else slices.paths
    asked = np.unique(np.linspace(0, len(paths) - 1, _FILES_ASKED).astype(int)).tolist() if len(paths) else []
    found: dict[str, Picture] = {}
    for at in asked:
        path = paths[int(at)]
        if not path or files.stamp(path) is None:
            continue
        here = files.path(path)  # on a hub, files that were not fetched are not here
        picture = picture_of(here) if here.is_file() else None
        if picture is not None:
            found[path] = picture
    return found


def _boxes(file: BinaryIO, start: int, stop: int) -> Iterator[tuple[bytes, int, int]]:
    """Type, first and past-the-last byte of the content of each box between two places in a file."""
    for _ in range(_MAX_BOXES):
        if start + 8 > stop:
            return
        file.seek(start)
        size, kind = struct.unpack(">I4s", file.read(8))
        content = start + 8
        if size == 1:
            (size,) = struct.unpack(">Q", file.read(8))
            content += 8
        end = stop if size == 0 else start + size
        if end < content or end > stop:
            return
        yield kind, content, end
        start = end


def _track(file: BinaryIO, start: int, stop: int) -> Picture | None:
    folders = [(start, stop)]
    while folders:
        for kind, first, last in list(_boxes(file, *folders.pop())):
            if kind in _FOLDERS:
                folders.append((first, last))
            elif kind == b"hdlr":
                file.seek(first + 8)
                if file.read(4) != b"vide":
                    return None
            elif kind == b"stsd" and last - first >= 44:
                file.seek(first + 8)
                _, codec, width, height = struct.unpack(">I4s24xHH", file.read(36))
                return Picture(height, width, _CODECS.get(codec, "")) if width and height else None
    return None


def _compare(feature: Feature, real: tuple[int, int]) -> Iterator[Issue]:
    shape, height, width = feature.shape, feature.info.get("video.height"), feature.info.get("video.width")
    fits = len(shape) == 3 and (
        (shape[:2] == real and shape[2] in _CHANNELS) or (shape[1:] == real and shape[0] in _CHANNELS)
    )
    says = "" if fits else f"is declared with shape {list(shape)}"
    if not says and (height not in (None, real[0]) or width not in (None, real[1])):
        says = f"is said to be {brief(height)} high and {brief(width)} wide"
    if says:
        yield Issue(
            check="schema",
            code="camera_shape",
            kind=Kind.DEFECT,
            message=f"camera {feature.key} {says}, but its pictures are {real[0]} high and {real[1]} wide; a policy "
            "that is built for the declared size fails on them, or resizes them wrongly",
            fix="Correct the camera's shape in info.json, or export the dataset anew: the real size is written.",
            camera=feature.key,
            subject="meta/info.json",
        )


def _codec(feature: Feature, real: str) -> Iterator[Issue]:
    declared = feature.info.get("video.codec")
    if isinstance(declared, str) and real and _SAME_CODEC.get(declared, declared) != real:
        yield Issue(
            check="schema",
            code="camera_codec",
            kind=Kind.TRAIT,
            message=f"the videos of camera {feature.key} are {real}, info.json says {brief(declared)}",
            fix="Correct video.codec in info.json; loaders look into the file.",
            camera=feature.key,
            subject="meta/info.json",
        )


def _differ(key: str, examples: dict[tuple[int, int], str]) -> Issue:
    shown = ", ".join(f"{h} x {w} in {path}" for (h, w), path in list(examples.items())[:3])
    return Issue(
        check="schema",
        code="camera_sizes",
        kind=Kind.DEFECT,
        message=f"the videos of camera {key} differ in size (height x width): {shown}; they fit into no batch",
        fix="Bring the videos to one size, or keep the episodes of each size in a dataset of their own.",
        camera=key,
        subject="meta/info.json",
    )
