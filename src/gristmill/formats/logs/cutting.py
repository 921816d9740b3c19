"""How one log becomes several episodes: spans of log time, found by marker, service call, pause or given times."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gristmill.errors import RecipeError
from gristmill.formats.logs.decoding import decoder_for
from gristmill.formats.logs.options import Cut
from gristmill.formats.logs.ros_bytes import Group
from gristmill.formats.logs.stream import LAST_NS, Log
from gristmill.settings import suggest

FIRST_NS = -LAST_NS
_REQUESTS = (0, 1)  # service_msgs/msg/ServiceEventInfo: request sent, request received
_PARTICIPANT = 12  # bytes of a GUID
_NS = 1_000_000_000


class Window(NamedTuple):
    """A span of log time; the end is exclusive."""

    start_ns: int
    stop_ns: int


WHOLE = Window(FIRST_NS, LAST_NS)


def windows(log: Log, cut: Cut | None, counting: str) -> list[Window]:
    """The spans of a log's episodes, in order.

    Args:
        log: an open log.
        cut: how to cut; None for the whole log.
        counting: the topic whose messages are the frames.

    Raises:
        RecipeError: the log has no such topic or service.
    """
    if cut is None:
        return [WHOLE]
    if cut.times_s:
        starts = [int(e.times_ns[0]) for t in log.topics if len(e := log.entries(t))]
        origin = min(starts, default=0)
        return [Window(_after(origin, a), _after(origin, b)) for a, b in cut.times_s]
    if cut.pause_s is not None:
        return _pauses(log, counting, cut.pause_s)
    if cut.service:
        return _spans(_calls(log, cut.service))
    return _spans(_marks(log, cut))


def _after(origin_ns: int, seconds: float) -> int:
    return min(origin_ns + round(seconds * _NS), LAST_NS)


def _pauses(log: Log, counting: str, pause_s: float) -> list[Window]:
    times = log.entries(counting).times_ns if counting in log.topics else np.empty(0, np.int64)
    if not len(times):
        return []
    breaks = np.flatnonzero(np.diff(times) >= round(pause_s * _NS)) + 1
    edges = [FIRST_NS, *times[breaks].tolist(), LAST_NS]
    ends = [*(times[breaks - 1] + 1).tolist(), LAST_NS]
    return [Window(start, stop) for start, stop in zip(edges[:-1], ends, strict=True)]


def _marks(log: Log, cut: Cut) -> Iterator[tuple[int, bool]]:
    """(time, whether an episode begins there) of every marker that counts."""
    if cut.topic not in log.topics:
        raise RecipeError(
            f"options.cut.topic: {log.path.name} has no topic {cut.topic!r}; {suggest(cut.topic, log.topics)}"
        )
    topic = log.topics[cut.topic]
    for message in log.read(log.entries(cut.topic)):
        value = _value(decoder_for(topic.formats[message.channel]).one(message.data))
        if cut.stop and value == cut.stop:
            yield message.log_ns, False
        elif not cut.start or value == cut.start:
            yield message.log_ns, True


def _calls(log: Log, service: str) -> Iterator[tuple[int, bool]]:
    name = f"{service.rstrip('/')}/_service_event"
    if name not in log.topics:
        known = [t.removesuffix("/_service_event") for t in log.topics if t.endswith("/_service_event")]
        raise RecipeError(
            f"options.cut.service: {log.path.name} records no calls of {service!r} (topic {name}); "
            f"{suggest(service, dict.fromkeys(known))}"
        )
    topic = log.topics[name]
    calls = _Calls()
    for message in log.read(log.entries(name)):
        group = decoder_for(topic.formats[message.channel]).one(message.data)
        kind = group.numbers.get("info.event_type")
        if kind is None or not kind.size or int(kind[0, 0]) not in _REQUESTS:
            continue
        if not calls.is_new(int(kind[0, 0]), group):
            continue
        wanted = group.numbers.get("request[0].data")
        yield message.log_ns, wanted is None or bool(wanted[0, 0])


class _Calls:
    """Tells the calls of a service apart. One is logged when it is sent, when it is received, or both, in any order.

    Each client counts its own calls from 1 on, and each `ros2 service call` is a client of its own. With Fast DDS, the
    side that sends names the client by its writer and the side that receives by its reader; what the two have in common
    is the participant, the first 12 bytes of a GUID (DDSI-RTPS 2.5, 8.2.4). Clients of one process share it, so two
    events of one side are one call only if all of the GUID is the same.
    """

    def __init__(self) -> None:
        self._seen: set[tuple[int, bytes, int]] = set()
        self._unpaired: dict[tuple[int, bytes, int], list[bytes]] = {}  # side, participant, number -> clients

    def is_new(self, side: int, group: Group) -> bool:
        """Whether this event is the first of its call; True where the log does not number calls."""
        number, client = group.numbers.get("info.sequence_number"), group.numbers.get("info.client_gid")
        if number is None or not number.size:
            return True
        count, gid = int(number[0, 0]), b"" if client is None else client.tobytes()
        if (side, gid, count) in self._seen:
            return False
        self._seen.add((side, gid, count))
        waiting = self._unpaired.get((1 - side, gid[:_PARTICIPANT], count))
        if waiting:
            waiting.remove(gid if gid in waiting else waiting[0])
            return False
        self._unpaired.setdefault((side, gid[:_PARTICIPANT], count), []).append(gid)
        return True


def _spans(marks: Iterator[tuple[int, bool]]) -> list[Window]:
    ordered = [*marks, (LAST_NS, False)]
    return [Window(a[0], b[0]) for a, b in pairwise(ordered) if a[1]]


def _value(group: Group) -> str:
    """What a marker says: its text, or its number as text."""
    text = group.texts.get("data")
    if isinstance(text, str):
        return text
    number = group.numbers.get("data")
    if number is None or number.size != 1:
        return next((t for t in group.texts.values() if isinstance(t, str)), "")
    value = number[0, 0]
    if number.dtype == bool:
        return "true" if value else "false"
    return str(int(value)) if float(value).is_integer() else str(float(value))


def instructions(log: Log, topic: str, field: str, window: Window, limit: int = 64) -> tuple[str, ...]:
    """The texts of a topic within a span, once each; the last one before it when there is none within."""
    if topic not in log.topics:
        return ()
    entries = log.entries(topic)
    within = entries.between(*window)
    if not len(within):
        earlier = int(np.searchsorted(entries.times_ns, window.start_ns))
        within = entries[max(earlier - 1, 0) : earlier]
    formats = log.topics[topic].formats
    texts = [
        decoder_for(formats[m.channel]).one(m.data).texts.get(field)
        for m in log.read(within[: min(limit, len(within))])
    ]
    return tuple(dict.fromkeys(t.strip() for t in texts if isinstance(t, str) and t.strip()))
