"""Which decoder reads a channel, or why none does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from gristmill.errors import CorpusError
from gristmill.formats.logs.definitions import DefinitionError, parse
from gristmill.formats.logs.ros_bytes import Group, MessageError, RosDecoder
from gristmill.formats.logs.stream import Format
from gristmill.formats.logs.trees import JsonDecoder, ProtobufDecoder
from gristmill.types import IntArray

ENCODINGS = ("cdr", "ros1", "protobuf", "json")
_ROS_SCHEMAS = {"cdr": "ros2msg", "ros1": "ros1msg"}


class Decoder(Protocol):
    """Decodes the messages of one channel to numbers and texts by path."""

    def one(self, data: memoryview) -> Group:
        """One message."""
        ...

    def many(self, payloads: Sequence[bytes | memoryview]) -> Iterator[Group]:
        """Many messages, grouped by layout."""
        ...


class UndecodableError(MessageError):
    """A channel that no decoder reads; the text says why, and does not name the topic."""


@lru_cache(maxsize=512)
def decoder_for(form: Format) -> Decoder:
    """The decoder of a channel.

    Raises:
        UndecodableError: its encoding is not known, or its schema is missing, of another kind or damaged.
        CorpusError: a library for it is not installed.
    """
    if form.encoding not in ENCODINGS:
        raise UndecodableError(f"its messages are encoded as {form.encoding!r}; known: {', '.join(ENCODINGS)}")
    if form.encoding == "json":
        return JsonDecoder()
    try:
        if form.encoding == "protobuf":
            return ProtobufDecoder(form)
        return _ros(form)
    except (DefinitionError, MessageError) as error:
        raise UndecodableError(str(error)) from None


def _ros(form: Format) -> RosDecoder:
    text, kind = form.schema.decode("utf-8", "replace"), form.schema_encoding
    if not text and not kind:
        text, kind = standard_definition(form.type, ros1=form.encoding == "ros1"), _ROS_SCHEMAS[form.encoding]
    if kind != _ROS_SCHEMAS[form.encoding]:
        raise UndecodableError(
            f"its schema is of kind {kind!r}; {form.encoding} needs {_ROS_SCHEMAS[form.encoding]}, so record it anew "
            "or convert the log"
        )
    return RosDecoder(parse(form.type, text, ros1=form.encoding == "ros1"), cdr=form.encoding == "cdr")


def standard_definition(type_name: str, *, ros1: bool) -> str:
    """The definition of a message of ROS itself, for logs that carry none.

    Raises:
        UndecodableError: it is none.
    """
    if not type_name:
        raise UndecodableError("it has no schema, so its messages cannot be decoded")
    try:
        from rosbags.typesys import Stores, get_typestore
        from rosbags.typesys.base import TypesysError
    except ModuleNotFoundError as error:
        raise CorpusError(f"{error.name} is not installed; run pip install 'gristmill[logs]'") from None
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    if type_name not in store.types:
        raise UndecodableError(f"the log does not define {type_name}, and it is no message of ROS itself")
    try:
        return store.generate_msgdef(type_name, ros_version=1 if ros1 else 2)[0]
    except TypesysError as error:
        raise UndecodableError(f"{type_name} is not defined in the log ({error})") from None


_STAMPS = (
    ("header.stamp.sec", "header.stamp.nanosec"),
    ("header.stamp.sec", "header.stamp.nsec"),
    ("header.timestamp.seconds", "header.timestamp.nanos"),
    ("timestamp.sec", "timestamp.nanosec"),
    ("timestamp.sec", "timestamp.nsec"),
    ("timestamp.seconds", "timestamp.nanos"),
)


_MOST_S, _MOST_NS = 9.2e9, 2e10  # together less than 2^63 ns


def stamps_ns(group: Group) -> IntArray | None:
    """Header times (n,) int64 of a group's messages, or None where messages of this type carry none.

    What is no time between the years 1678 and 2262 is 0, as a stamp that nobody set.
    """
    for seconds, nanos in _STAMPS:
        if seconds in group.numbers and nanos in group.numbers:
            s, ns = group.numbers[seconds], group.numbers[nanos]
            if s.shape[1] == ns.shape[1] == 1:
                s, ns = s[:, 0], ns[:, 0]
                with np.errstate(invalid="ignore"):  # JSON's numbers may be any
                    known = (np.abs(s.astype(np.float64)) < _MOST_S) & (np.abs(ns.astype(np.float64)) < _MOST_NS)
                    times_ns = s.astype(np.int64) * 1_000_000_000 + ns.astype(np.int64)
                return np.where(known, times_ns, 0)
    return None
