"""What a log's topics hold, from a few of their messages: types, dimensions, pictures, clocks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gristmill.formats.logs.columns import JOINT_FIELDS, MAX_WIDTH, check_names, is_joints, joint_names, places
from gristmill.formats.logs.decoding import UndecodableError, decoder_for, stamps_ns
from gristmill.formats.logs.number_types import seen_type
from gristmill.formats.logs.pictures import Picture, picture_of
from gristmill.formats.logs.ros_bytes import Group, MessageError
from gristmill.formats.logs.stream import Entries, Log, LogDamageError, Topic, one_pass
from gristmill.types import IntArray

Sort = Literal["joints", "numbers", "text", "picture", "nothing", "unreadable"]

_FIRST = 8  # messages from the start of each topic
_MOMENTS = 8  # and around these moments of the log
_NAMED_ARRAYS = 8  # arrays of one message that are taken joint by joint
_NEIGHBOURS = 4  # so many each: two publishers of one topic take turns
PICTURES = re.compile(r"(Image|RawImage|CompressedImage|CompressedVideo|FFMPEGPacket)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One topic, as a few of its messages show it."""

    name: str
    type: str
    encoding: str
    count: int
    sort: Sort
    why: str = ""  # it is unreadable or holds nothing
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # field -> dimensions, as first met
    types: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # field -> dimension -> as `seen_type` has it
    nameless: bool = False  # joints that no message names
    wide: bool = False  # more numbers than a channel may have
    text: str = ""  # an example
    picture: Picture | None = None
    header_offset_s: float | None = None  # median of header time - log time
    publish_offset_s: float | None = None


def look(log: Log) -> dict[str, View]:
    """A view of every topic of a log. A few blocks are decompressed, each once."""
    readable: dict[str, Topic] = {}
    views: dict[str, View] = {}
    for name, topic in log.topics.items():
        reason = _unreadable(topic)
        if reason:
            views[name] = _view(topic, "unreadable", why=reason)
        elif not topic.count:
            views[name] = _view(topic, "nothing", why="it has no messages")
        else:
            readable[name] = topic
    entries = {name: log.entries(name) for name in readable}
    spans = [(int(e.times_ns[0]), int(e.times_ns[-1])) for e in entries.values() if len(e)]
    if not spans:
        return views
    moments = np.linspace(min(s for s, _ in spans), max(s for _, s in spans), _MOMENTS + 2)[1:-1].astype(np.int64)
    wanted = {
        name: _few(e, moments, one=bool(PICTURES.search(readable[name].format.type))) for name, e in entries.items()
    }
    collected = {name: _Collected(topic) for name, topic in readable.items()}
    try:
        for name, _, message in one_pass(log, wanted):
            collected[name].add(message.channel, message.log_ns, message.publish_ns, message.data)
    except LogDamageError as error:
        for seen in collected.values():
            seen.trouble = seen.trouble or ("" if seen.groups else str(error))
    views.update({name: seen.view() for name, seen in collected.items()})
    return {name: views[name] for name in log.topics}


def _few(entries: Entries, moments: IntArray, *, one: bool) -> Entries:
    if one:
        return entries[:1]
    around = np.searchsorted(entries.times_ns, moments)[:, None] + np.arange(_NEIGHBOURS)
    rows = np.unique(np.concatenate([np.arange(_FIRST), around.ravel()]))
    return entries[rows[rows < len(entries)]]


def _unreadable(topic: Topic) -> str:
    for form in topic.formats.values():
        try:
            decoder_for(form)
        except UndecodableError as error:
            return str(error)
    return ""


class _Collected:
    """What was seen of one topic."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.groups: list[Group] = []
        self.trouble = ""
        self._picture: Picture | None = None
        self._header: list[int] = []
        self._publish: list[int] = []

    def add(self, channel: int, log_ns: int, publish_ns: int, data: memoryview) -> None:
        form = self.topic.formats[channel]
        try:
            group = decoder_for(form).one(memoryview(bytes(data)))
            check_names(group)
            if PICTURES.search(form.type):
                self._picture = self._picture or picture_of(form, group)
        except MessageError as error:
            self.trouble = self.trouble or str(error)
            return
        stamps = stamps_ns(group)
        if stamps is not None and stamps[0] > 0:
            self._header.append(int(stamps[0]) - log_ns)
        self._publish.append(publish_ns - log_ns)
        self.groups.append(group if self._picture is None else group._replace(numbers={}))

    def view(self) -> View:
        """The topic as these messages show it."""
        topic, groups = self.topic, self.groups
        if not groups:
            return _view(topic, "unreadable", why=self.trouble)
        offsets = {"header_offset_s": _median_s(self._header), "publish_offset_s": _median_s(self._publish)}
        if self._picture is not None:
            return _view(topic, "picture", picture=self._picture, **offsets)
        joints = any(map(is_joints, groups))
        fields = dict.fromkeys((*(JOINT_FIELDS if joints else ("",)), *_named_arrays(groups)))
        labels = {f: _labels(groups, f) for f in fields}
        labels = {f: names for f, names in labels.items() if names}
        text = next((t for g in groups for path, t in g.texts.items() if path == "data" and isinstance(t, str)), "")
        if not labels:
            sort: Sort = "text" if text or "data" in groups[0].texts else "nothing"
            return _view(
                topic, sort, why="" if sort == "text" else "its messages hold no numbers", text=text, **offsets
            )
        is_json = topic.format.encoding == "json"
        return _view(
            topic,
            "joints" if joints else "numbers",
            labels=labels,
            types={f: _types(groups, f, names, json=is_json) for f, names in labels.items()},
            nameless=joints and not any(map(joint_names, groups)),
            wide=any(len(names) > MAX_WIDTH for names in labels.values()),
            text=text,
            **offsets,
        )


def labels_of(views: Sequence[View], field: str) -> tuple[str, ...]:
    """Dimensions of one topic in several logs, as first met."""
    return tuple(dict.fromkeys(label for v in views for label in v.labels.get(field, ())))


def _named_arrays(groups: Sequence[Group]) -> list[str]:
    """Arrays with one number for each joint that a message names, such as a trajectory's points."""
    found = []
    for group in groups[:_FIRST]:
        count = len(joint_names(group) or ())
        found += [p for p, v in group.numbers.items() if count and p in group.arrays and v.shape[1] == count]
    return list(dict.fromkeys(found))[:_NAMED_ARRAYS]


def _labels(groups: Sequence[Group], field: str) -> tuple[str, ...]:
    found = [place for group in groups for place in places(group, field)]
    named = not all(place.nameless for place in found)  # then those without names tell of no further joints
    return tuple(dict.fromkeys(place.label for place in found if not (named and place.nameless)))


def _types(groups: Sequence[Group], field: str, labels: Sequence[str], *, json: bool) -> dict[str, str]:
    """Dimension -> its type in these messages. Equal layouts have equal types in all encodings but JSON."""
    found: dict[str, list[np.dtype]] = {label: [] for label in labels}
    for group in groups:
        for place in places(group, field):
            if place.label in found:
                found[place.label].append(group.numbers[place.path].dtype)
    return {label: seen_type(dtypes, lacking=len(dtypes) < len(groups), json=json) for label, dtypes in found.items()}


def _median_s(offsets_ns: list[int]) -> float | None:
    return float(np.median(np.array(offsets_ns, np.int64))) / 1e9 if offsets_ns else None


def _view(topic: Topic, sort: Sort, **more) -> View:
    form = topic.format
    return View(name=topic.name, type=form.type, encoding=form.encoding, count=topic.count, sort=sort, **more)
