"""ROS message definitions as text -> a tree of fields. Nothing is generated and nothing is executed.

Both `ros1msg` and `ros2msg`: the message's own fields, then each message that it contains, behind a line of `=` and
`MSG: package/Name`. https://wiki.ros.org/msg, https://docs.ros.org/en/rolling/Concepts/Basic/About-Interfaces.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gristmill.errors import RecordingError

_SEPARATOR = re.compile(r"^={3,}\s*$", re.MULTILINE)
_NAMED = re.compile(r"^\s*MSG:\s*(\S+)\s*$", re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z][\w/]*)(<=\d+)?(\[(?:<=)?\d{0,10}\])?\s+([A-Za-z_]\w*)(.*)", re.DOTALL)
_SERVICE = re.compile(r"^---\s*$", re.MULTILINE)

MAX_DEPTH = 24
_MAX_FIELDS = 20_000
_MAX_TEXT = 4 << 20

# Name -> NumPy's type without byte order. `char` is unsigned in both; `byte` is signed in ROS 1 only.
NUMBERS = {
    "bool": "?",
    "byte": "u1",
    "char": "u1",
    "int8": "i1",
    "uint8": "u1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "int64": "i8",
    "uint64": "u8",
    "float32": "f4",
    "float64": "f8",
}
_TIME = "sec", "nanosec"
_EVENT_INFO = "uint8 event_type\nbuiltin_interfaces/Time stamp\nuint8[16] client_gid\nint64 sequence_number"


class DefinitionError(RecordingError):
    """A message definition that cannot be read; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One field. `number` is NumPy's type, "" for a text or a struct."""

    name: str
    number: str = ""
    text: str = ""  # "string" or "wstring"
    struct: Struct | None = None
    length: int | None = None  # None: one value; -1: as many as the message says; else so many


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """A message's fields, in order."""

    name: str
    fields: tuple[Field, ...]


def parse(type_name: str, text: str, *, ros1: bool) -> Struct:
    """The fields of a message.

    Args:
        type_name: "sensor_msgs/msg/JointState" or "sensor_msgs/JointState".
        text: its definition with those of what it contains.
        ros1: by ROS 1's rules.

    Raises:
        DefinitionError: it does not follow the grammar, contains itself, or misses a message.
    """
    if len(text) > _MAX_TEXT:
        raise DefinitionError(f"the definition of {type_name} has {len(text)} characters")
    first, *others = _SEPARATOR.split(text)
    sources: dict[str, str] = {}
    for part in others:
        named = _NAMED.search(part)
        if named:
            sources.setdefault(_plain(named[1]), part[: named.start()] + part[named.end() :])
    root = _plain(type_name)
    if root.endswith("_Event") and _SERVICE.search(first):
        request, response = _SERVICE.split(first, maxsplit=1)
        base = root.removesuffix("_Event")
        sources[f"{base}_Request"], sources[f"{base}_Response"] = request, response
        sources["service_msgs/ServiceEventInfo"] = _EVENT_INFO
        first = f"service_msgs/ServiceEventInfo info\n{base}_Request[<=1] request\n{base}_Response[<=1] response"
    sources[root] = first
    return _Builder(sources, ros1).struct(root, ())


def _plain(name: str) -> str:
    """`pkg/msg/Type` -> `pkg/Type`."""
    parts = name.split("/")
    return f"{parts[0]}/{parts[-1]}" if len(parts) == 3 else name


class _Builder:
    def __init__(self, sources: Mapping[str, str], ros1: bool) -> None:
        self._sources, self._ros1 = sources, ros1
        self._made: dict[str, Struct] = {}
        self._fields = 0

    def struct(self, name: str, inside: tuple[str, ...]) -> Struct:
        if name in self._made:
            return self._made[name]
        if name in inside or len(inside) >= MAX_DEPTH:
            raise DefinitionError(f"the definition of {inside[0]} contains {name} within itself, or too deeply")
        if name in ("builtin_interfaces/Time", "builtin_interfaces/Duration"):
            made = Struct(name, (Field(_TIME[0], "i4"), Field(_TIME[1], "u4")))
        elif name in self._sources:
            made = Struct(name, tuple(self._parse(name, (*inside, name))))
        else:
            whole = inside[0] if inside else name
            raise DefinitionError(f"the definition of {whole} does not say what a {name} is")
        self._made[name] = made
        return made

    def _parse(self, name: str, inside: tuple[str, ...]) -> list[Field]:
        fields = []
        for line in self._sources[name].splitlines():
            line = line.split("#", 1)[0].strip()
            match = _FIELD.fullmatch(line)
            if match is None:
                if line:
                    raise DefinitionError(f"the definition of {name} has a line that is no field: {line[:60]!r}")
                continue
            kind, _, array, field, rest = match.groups()
            if rest.lstrip().startswith("="):
                continue  # a constant
            self._fields += 1
            if self._fields > _MAX_FIELDS:
                raise DefinitionError(f"the definition of {inside[0]} has more than {_MAX_FIELDS} fields")
            fields.append(self._field(kind, field, _length(array), name, inside))
        return fields

    def _field(self, kind: str, name: str, length: int | None, owner: str, inside: tuple[str, ...]) -> Field:
        if self._ros1 and kind == "byte":
            return Field(name, "i1", length=length)
        if kind in NUMBERS:
            return Field(name, NUMBERS[kind], length=length)
        if kind in ("string", "wstring"):
            return Field(name, text=kind, length=length)
        if self._ros1 and kind in ("time", "duration"):
            number = "u4" if kind == "time" else "i4"
            return Field(name, struct=Struct(kind, (Field(_TIME[0], number), Field(_TIME[1], number))), length=length)
        return Field(name, struct=self.struct(self._resolve(kind, owner), inside), length=length)

    def _resolve(self, kind: str, owner: str) -> str:
        """The full name of a message that may be written without its package."""
        kind = _plain(kind)
        if "/" in kind:
            return kind
        if kind == "Header":
            return "std_msgs/Header"
        return f"{owner.split('/')[0]}/{kind}"


def _length(array: str | None) -> int | None:
    if array is None:
        return None
    inner = array[1:-1]
    return int(inner) if inner.isdigit() else -1  # "<=5" is a bound of a dynamic array
