"""Reads episodes that are groups of datasets: robomimic's demonstrations and ALOHA's files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gristmill.episode import Camera, CameraInfo, Channel, Role
from gristmill.errors import MissingVideoError, RecordingError, UnsafeCorpusError, VideoError
from gristmill.formats.hdf5 import datasets, tree
from gristmill.formats.hdf5.fields import Field
from gristmill.formats.hdf5.handles import OpenFiles
from gristmill.formats.recorded import Header, Reader

# Pixels that are read at once: enough for whole chunks of a packed dataset, little beside the rest of a process.
_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an episode lies and what is read of it. `broken` says why nothing can be."""

    file: str
    group: str  # "/" for a file that is one episode
    fields: tuple[Field, ...] = ()
    frames: int = 0
    constants: tuple[tuple[str, Role, bool], ...] = ()  # attributes that become channels: key, role, value
    broken: str = ""


class GroupReader(Reader):
    """Reads what was surveyed.

    Args:
        files: the corpus's files.
        rate_hz: frames a second.
        swapped: encoded images come out as blue, green, red.
        salvage: files may have been cut off.
    """

    def __init__(self, files: OpenFiles, rate_hz: float, *, swapped: bool = False, salvage: bool = False) -> None:
        self._files = files
        self._rate_hz = rate_hz
        self._swapped = swapped
        self._salvage = salvage
        self._last: tuple[Any, tree.Dataset, datasets.Stored] | None = None  # of a camera: what it is, opened

    def channels(self, header: Header) -> Mapping[str, Channel]:
        """All channels of an episode, each read in one go.

        Raises:
            RecordingError: a dataset cannot be read; the text names file, episode and dataset.
        """
        place: Place = header.place
        if place.broken:
            raise RecordingError(place.broken)
        group = self._files.group(place.file, place.group, salvage=self._salvage)
        times_s = np.arange(place.frames) / self._rate_hz
        found: dict[str, Channel] = {}
        for field in place.fields:
            if field.is_camera:
                continue
            where = f"{header.where}, {field.path}"
            values = datasets.whole(group, field.path, field.dtype, place.frames, field.width, where)
            names = field.names or ("",) * field.width
            found[field.key] = Channel(field.key, field.role, values, times_s, names)
        for key, role, value in place.constants:
            found[key] = Channel(key, role, np.full((place.frames, 1), value), times_s, ("",))
        return found

    def camera(self, header: Header, key: str) -> Camera:
        """One camera of an episode; one that it lacks says so when it is asked for frames."""
        from gristmill.video.images import ImageCamera
        from gristmill.video.raw import RawCamera

        place: Place = header.place
        where = f"{header.where}, camera {key}"
        field = next((f for f in place.fields if f.is_camera and f.key == key), None)
        if field is None:
            return missing_camera(header, key, self._rate_hz, place.broken or f"{where} is missing")
        shared = {
            "info": field.info(self._rate_hz),
            "frames": place.frames,
            "times_s": np.arange(place.frames) / self._rate_hz,
            "where": where,
        }
        if field.layout == "encoded":
            return ImageCamera(**shared, read=partial(self._images, header, field), swapped=self._swapped)
        return RawCamera(**shared, read=partial(self._pixels, header, field))

    def _dataset(self, header: Header, field: Field) -> tuple[tree.Dataset, datasets.Stored, str]:
        """A camera's dataset, which stays open from one block of frames to the next, and its chunks with it."""
        place: Place = header.place
        where = f"{header.where}, {field.path}"
        group = self._files.group(place.file, place.group, salvage=self._salvage)
        key = (self._files.opened(place.file), place.group, field.path)
        if self._last is None or self._last[0] != key:
            found = tree.find(group, field.path, header.where)
            if found is None or not isinstance(found, tree.Dataset):
                raise RecordingError(f"{where} is gone; the file changed while it was read, start again")
            stored = datasets.describe(found, where)
            if stored.why or stored.rows < place.frames:
                raise RecordingError(f"{where} {stored.why or 'changed while it was read, start again'}")
            self._last = (key, datasets.kept(group, field.path, stored, found), stored)
        return self._last[1], self._last[2], where

    def _pixels(self, header: Header, field: Field, start: int, stop: int) -> np.ndarray:
        try:
            dataset, stored, where = self._dataset(header, field)
            frames = datasets.values(dataset, stored, where, (start, stop))
        except (RecordingError, UnsafeCorpusError) as error:
            raise VideoError(str(error)) from None
        if field.layout == "planar":
            frames = frames.transpose(0, 2, 3, 1)
        if field.layout != "grey" and frames.shape[3] != 3:
            frames = frames[..., 0] if frames.shape[3] == 1 else frames[..., :3]
        return frames

    def _images(self, header: Header, field: Field, start: int, stop: int) -> Iterator[bytes | None]:
        try:
            dataset, stored, where = self._dataset(header, field)
            step = max(1, _BLOCK_BYTES // max(1, stored.row_bytes)) if stored.kind == "numbers" else 64
            for at in range(start, stop, step):
                yield from datasets.payloads(dataset, stored, where, (at, min(at + step, stop)))
        except (RecordingError, UnsafeCorpusError) as error:
            raise VideoError(str(error)) from None


def missing_camera(header: Header, key: str, rate_hz: float, why: str) -> Camera:
    """A camera that an episode should have and lacks: every question to it is answered with why."""
    from gristmill.video.raw import RawCamera

    frames = max(1, header.length)
    return RawCamera(
        info=CameraInfo(key=key, height=None, width=None, rate_hz=rate_hz),
        frames=frames,
        times_s=np.arange(frames) / rate_hz,
        where=f"{header.where}, camera {key}",
        read=partial(_refuse, why),
    )


def _refuse(why: str, start: int, stop: int) -> np.ndarray:
    raise MissingVideoError(f"{why}; restore it or leave this camera out")
