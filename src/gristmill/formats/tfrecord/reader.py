"""Reads the data of RLDS episodes: one record at a time, verified, its numbers taken out with array operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.episode import Camera, Channel
from gristmill.errors import RecordingError, VideoError
from gristmill.formats.recorded import ChannelSpec, Header, Reader
from gristmill.formats.tfrecord import example, framing
from gristmill.formats.tfrecord.declared import Entry
from gristmill.formats.tfrecord.layout import Layout
from gristmill.types import Table, TimesS
from gristmill.video.images import ImageCamera


class RldsReader(Reader):
    """Implements `gristmill.formats.recorded.Reader`. It keeps the record that was read last.

    Args:
        layout: where things are in a record.
        rate_hz: steps a second.
    """

    def __init__(self, layout: Layout, rate_hz: float) -> None:
        self._layout = layout
        self._rate_hz = rate_hz
        self._kept: tuple[Any, _Episode] | None = None

    def channels(self, header: Header) -> Mapping[str, Channel]:
        """All numbers of an episode.

        Raises:
            RecordingError: the record is damaged, or an entry is absent or of another size.
        """
        episode, times_s = self._episode(header), self._times_s(header)
        return {
            key: Channel(
                key=key,
                role=spec.role,
                values=episode.values(entry, spec, header),
                times_s=times_s,
                names=spec.names or ("",) * spec.width,
            )
            for key, (entry, spec) in self._layout.numbers.items()
        }

    def camera(self, header: Header, key: str) -> Camera:
        """A camera whose frames are the episode's encoded images."""
        entry, info = self._layout.cameras[key]
        return ImageCamera(
            info=info,
            frames=header.length,
            times_s=self._times_s(header),
            where=f"{header.where}, camera {key}",
            read=partial(self._images, header, entry),
        )

    def texts(self, header: Header, keys: Sequence[str]) -> pa.Table:
        """Texts of the steps, and of the episode (the same in every row).

        Raises:
            RecordingError: there is no such text.
        """
        columns: dict[str, list[str]] = {}
        for key in keys:
            if key not in self._layout.texts:
                known = ", ".join(sorted(self._layout.texts)) or "none"
                raise RecordingError(f"{header.where}: there is no text {key}; known: {known}")
            entry = self._layout.texts[key]
            found = [data.decode("utf-8", "replace") for data in self._episode(header).items(entry, header)]
            columns[key] = found if entry.per_step else found[:1] * header.length
            if len(columns[key]) != header.length:
                raise RecordingError(f"{header.where}: {key} holds {len(found)} texts for {header.length} steps")
        return pa.table({key: pa.array(texts, pa.string()) for key, texts in columns.items()})

    def _images(self, header: Header, entry: Entry, start: int, stop: int) -> Iterator[bytes | None]:
        try:
            found = self._episode(header).items(entry, header)
        except VideoError:
            raise
        except RecordingError as error:
            raise VideoError(str(error)) from None
        if len(found) != header.length:
            raise VideoError(f"{header.where}: {entry.key} holds {len(found)} pictures for {header.length} steps")
        return iter(found[start:stop])

    def _times_s(self, header: Header) -> TimesS:
        return np.arange(header.length) / self._rate_hz

    def _episode(self, header: Header) -> _Episode:
        if self._kept is None or self._kept[0] != header.place:
            self._kept = None  # two records need not fit into memory
            self._kept = header.place, _Episode(header)
        return self._kept[1]


class _Episode:
    """One record in memory."""

    def __init__(self, header: Header) -> None:
        path, record, broken = header.place
        self._data = framing.read(path, record, header.where)
        if broken:
            raise RecordingError(f"{header.where} is no tf.train.Example ({broken}); leave it out")
        self._features = example.features(self._data, 0, len(self._data))

    def values(self, entry: Entry, spec: ChannelSpec, header: Header) -> Table:
        """The numbers of an entry (t, width), in the dtype that is declared."""
        feature = self._feature(entry, header)
        try:
            found = (example.floats if spec.dtype == "float32" else example.ints)(self._data, feature)
        except example.MalformedError as error:
            raise RecordingError(f"{header.where}: {entry.key} cannot be read ({error})") from None
        if len(found) != header.length * spec.width:
            raise RecordingError(
                f"{header.where}: {entry.key} holds {len(found)} numbers; {header.length} steps of {spec.width} "
                f"need {header.length * spec.width}"
            )
        if spec.dtype not in ("float32", "int64"):
            cast = found.astype(spec.dtype)
            if spec.dtype != "uint64" and not np.array_equal(cast, found):
                raise RecordingError(f"{header.where}: {entry.key} holds numbers that are no {spec.dtype}")
            found = cast
        return found.reshape(header.length, spec.width)

    def items(self, entry: Entry, header: Header) -> list[bytes]:
        """The entries of a list of bytes."""
        feature = self._feature(entry, header)
        try:
            return [self._data[a:b] for a, b in example.entries(self._data, feature)]
        except example.MalformedError as error:
            raise RecordingError(f"{header.where}: {entry.key} cannot be read ({error})") from None

    def _feature(self, entry: Entry, header: Header) -> example.Feature:
        if entry.key not in self._features:
            raise RecordingError(f"{header.where}: {entry.key} is missing from the record; leave the episode out")
        return self._features[entry.key]
