"""A log that a recorder has split into several files, as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from gristmill.formats.logs.stream import Entries, Format, Log, Loss, Message, Topic, joined

_SHIFT = 40  # a file's number stands above its block's and channel's
_LOW = (1 << _SHIFT) - 1
_OFFSET = 1  # blocks begin at -1


class SplitLog:
    """Implements `Log` on the files of one recording, in order."""

    def __init__(self, path: Path, logs: Sequence[Log]) -> None:
        self.path = path
        self.container = logs[0].container
        self._logs = logs
        self.losses: tuple[Loss, ...] = tuple(loss for log in logs for loss in log.losses)
        self.topics: Mapping[str, Topic] = self._topics()

    def _topics(self) -> dict[str, Topic]:
        """Topics of all files by name; a channel's number says which file it is of."""
        formats: dict[str, dict[int, Format]] = {}
        counts: dict[str, int] = {}
        for i, log in enumerate(self._logs):
            for name, topic in log.topics.items():
                of_topic = formats.setdefault(name, {})
                of_topic.update({channel | i << _SHIFT: form for channel, form in topic.formats.items()})
                counts[name] = counts.get(name, 0) + topic.count
        return {name: Topic(name=name, formats=formats[name], count=counts[name]) for name in sorted(formats)}

    def entries(self, topic: str) -> Entries:
        """The places of a topic's messages in all files."""
        parts = []
        for i, log in enumerate(self._logs):
            if topic in log.topics:
                e = log.entries(topic)
                base = i << _SHIFT
                parts.append(Entries(e.times_ns, e.block + _OFFSET + base, e.offset, e.channel + base))
        return joined(parts)

    def read(self, entries: Entries) -> Iterator[Message]:
        """These messages, file by file where they lie so."""
        number = entries.block >> _SHIFT
        edges = np.flatnonzero(np.diff(number)) + 1
        bounds = [0, *edges.tolist(), len(entries)]
        for start, stop in pairwise(bounds):
            if start == stop:
                continue
            part, base = entries[start:stop], int(number[start]) << _SHIFT
            inner = Entries(part.times_ns, (part.block & _LOW) - _OFFSET, part.offset, part.channel & _LOW)
            for message in self._logs[int(number[start])].read(inner):
                yield message._replace(channel=message.channel | base)

    def close(self) -> None:
        """Let go of all files."""
        for log in self._logs:
            log.close()
