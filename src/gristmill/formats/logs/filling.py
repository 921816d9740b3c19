"""The messages of one topic, decoded a batch at a time into its channels; what cannot be decoded is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gristmill.errors import RecordingError
from gristmill.formats.logs.clocks import MessageTimes
from gristmill.formats.logs.columns import Filling
from gristmill.formats.logs.decoding import Decoder, decoder_for, stamps_ns
from gristmill.formats.logs.issues import Lost
from gristmill.formats.logs.options import ClockName
from gristmill.formats.logs.plan import Plan
from gristmill.formats.logs.ros_bytes import Group, MessageError
from gristmill.formats.logs.stream import Entries, Log, Message, one_line
from gristmill.types import IntArray

_BATCH_MESSAGES = 1024
_BATCH_BYTES = 4 << 20
_MOST_LOST = 0.5  # a topic that lost more than this share of its messages is refused with its episode


class TopicFilling:
    """Collects the messages of one topic and decodes them a batch at a time.

    A message that cannot be decoded is lost alone.
    """

    def __init__(self, log: Log, topic: str, entries: Entries, plan: Plan, clock: ClockName) -> None:
        self.values = {c.spec.key: Filling(c.numbers, len(entries)) for c in plan.channels if c.topic == topic}
        self.times = MessageTimes(entries.times_ns, clock)
        self._topic, self._formats = topic, log.topics[topic].formats
        self._waiting: dict[int, tuple[list[int], list[bytes], list[int], list[int]]] = {}
        self._count = self._bytes = 0
        self._lost: list[int] = []
        self._why = ""
        self._messages = len(entries)
        self._indexed_ns, self.true_ns = entries.times_ns, entries.times_ns

    def add(self, row: int, message: Message) -> None:
        """Take the topic's message number `row`.

        Raises:
            RecordingError: messages hold what the channels do not have; the text names the topic.
        """
        rows, payloads, published_ns, log_ns = self._waiting.setdefault(message.channel, ([], [], [], []))
        rows.append(row)
        payloads.append(bytes(message.data))  # a view would hold on to its whole block
        published_ns.append(message.publish_ns)
        log_ns.append(message.log_ns)
        self._count += 1
        self._bytes += len(message.data)
        if self._count >= _BATCH_MESSAGES or self._bytes >= _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Decode what waits; raises as `add` does."""
        for channel, (rows, payloads, published_ns, log_ns) in self._waiting.items():
            numbers = np.array(rows, np.intp)
            self._compare(numbers, np.array(log_ns, np.int64))
            self.times.published(numbers, np.array(published_ns, np.int64))
            try:
                decoder = decoder_for(self._formats[channel])
                try:
                    for group in decoder.many(payloads):
                        self._take(numbers[group.rows], group)
                except MessageError:
                    self._one_by_one(decoder, numbers, payloads)
            except RecordingError as error:
                raise RecordingError(one_line(f"topic {self._topic}: {error}")) from None
        self._waiting = {}
        self._count = self._bytes = 0

    @property
    def misplaced(self) -> bool:
        """Whether messages have other times than the log's index says."""
        return self.true_ns is not self._indexed_ns

    def _compare(self, rows: IntArray, log_ns: IntArray) -> None:
        if not np.array_equal(self._indexed_ns[rows], log_ns):
            if not self.misplaced:
                self.true_ns = self._indexed_ns.copy()
            self.true_ns[rows] = log_ns

    def lost(self) -> Iterator[Lost]:
        """What of the topic did not become values, when all was added.

        Raises:
            RecordingError: most of it; the text says why.
        """
        if len(self._lost) > _MOST_LOST * self._messages:
            told = f"{len(self._lost)} of {self._messages} messages cannot be decoded: {self._why}"
            raise RecordingError(one_line(f"topic {self._topic}: {told}"))
        if self._lost:
            yield Lost(self._topic, "", len(self._lost), self._messages, min(self._lost), one_line(self._why))
        for key, filling in self.values.items():
            empty = np.flatnonzero(~filling.filled)
            empty = np.setdiff1d(empty, self._lost)
            # Of a topic's further fields, and where a rule chose dimensions, messages without them are usual.
            if len(empty) and not filling.plan.closed and key == next(iter(self.values)):
                yield Lost(self._topic, key, len(empty), self._messages, int(empty[0]), "")

    def _one_by_one(self, decoder: Decoder, rows: IntArray, payloads: Sequence[bytes]) -> None:
        for row, data in zip(rows.tolist(), payloads, strict=True):
            try:
                group = decoder.one(memoryview(data))
                self._take(np.array([row]), group)
            except MessageError as error:
                self._lost.append(row)
                self._why = self._why or str(error)

    def _take(self, rows: IntArray, group: Group) -> None:
        for filling in self.values.values():
            filling.add(rows, group)
        self.times.stamped(rows, stamps_ns(group))
