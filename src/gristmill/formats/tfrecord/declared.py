"""What `features.json` declares of each entry of an episode, or what one episode shows where there is no such file.

Keys are flat, as in the records: `steps/observation/state`. Source: `tensorflow_datasets/core/features/*`, whose
`to_json` writes the file, and `example_serializer.py`, which writes the records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Literal

from gristmill.errors import CorpusError
from gristmill.formats.tfrecord import example

STEPS = "steps/"
NUMBERS = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
    | {"float16", "bfloat16", "float32", "float64"}
)
_MAX_DEPTH = 12
_MAX_BYTES = 64 << 20
_MOST_AXES = 64  # as NumPy has it
_PICTURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")

Kind = Literal["numbers", "image", "text", "unread"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of an episode."""

    key: str  # "steps/observation/state"
    kind: Kind
    dtype: str = ""  # of numbers and images, as declared
    shape: tuple[int | None, ...] = ()  # of one step; None where any size may occur
    why: str = ""  # why it is not read

    @property
    def per_step(self) -> bool:
        """Whether it has one value a step, and is not of the episode as a whole."""
        return self.key.startswith(STEPS)

    @property
    def width(self) -> int:
        """Numbers a step."""
        return prod(n or 0 for n in self.shape)


def read_json(path: Path) -> dict[str, Any]:
    """A metadata file.

    Raises:
        CorpusError: it is no JSON object.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise CorpusError(f"{path.name} is larger than {_MAX_BYTES >> 20} MB, which no declaration is")
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise CorpusError(f"{path.name} cannot be read ({error.strerror}); make it readable") from None
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path.name} is not valid JSON ({str(error)[:120]}); restore it") from None
    if not isinstance(found, dict):
        raise CorpusError(f"{path.name}: expected an object, found {type(found).__name__}; restore it")
    return found


def declared(document: Mapping[str, Any]) -> list[Entry]:
    """The entries that `features.json` declares.

    Raises:
        CorpusError: it declares none, or something in it is of a type that cannot be read any way.
    """
    entries = list(_walk(document, "", 0))
    if not any(entry.per_step for entry in entries):
        raise CorpusError("features.json declares no steps; RLDS keeps an episode's data under `steps`")
    return entries


def shown(data: Any, found: Mapping[str, example.Feature], steps: int) -> list[Entry]:
    """The entries that one episode shows, where nothing declares them."""
    return [_shown(key, data, feature, steps) for key, feature in found.items()]


def _walk(node: Any, key: str, depth: int) -> Iterator[Entry]:
    if depth > _MAX_DEPTH or not isinstance(node, Mapping):
        raise CorpusError(f"features.json: {key or 'the top'} is no declaration of a feature; restore the file")
    if "featuresDict" in node:
        inner = _object(node["featuresDict"], key).get("features")
        for name, child in _object(inner, key).items():
            yield from _walk(child, f"{key}/{name}" if key else str(name), depth + 1)
    elif "sequence" in node:
        if key != STEPS[:-1]:
            yield Entry(key=key, kind="unread", why="a sequence within a step; its length varies")
        else:
            yield from _walk(_object(node["sequence"], key).get("feature"), key, depth + 1)
    else:
        yield _leaf(node, key)


def _leaf(node: Mapping[str, Any], key: str) -> Entry:
    for name in ("tensor", "image", "text", "classLabel"):
        if name in node:
            about = _object(node[name], key)
            break
    else:
        what = str(node.get("pythonClassName", "unknown")).rpartition(".")[2][:60]
        return Entry(key=key, kind="unread", why=f"a feature of the type {what}, which is not known")
    dtype = "int64" if name == "classLabel" else about.get("dtype", "")
    if not isinstance(dtype, str):
        raise CorpusError(f"features.json: the dtype of {key} is {str(dtype)[:60]}; expected a name")
    if name == "text" or dtype in ("string", "object"):
        return Entry(key=key, kind="text", dtype="string")
    shape = () if name == "classLabel" else _shape(about, key)
    if name == "image":
        return _image(key, dtype or "uint8", shape)
    if dtype not in NUMBERS:
        return Entry(key=key, kind="unread", why=f"of dtype {str(dtype)[:40]!r}, which is not known")
    if about.get("encoding", "none") not in ("none", "NONE", 0):
        return Entry(key=key, kind="unread", why=f"a tensor in the encoding {str(about['encoding'])[:40]!r}")
    if None in shape:
        return Entry(key=key, kind="unread", why="a tensor whose size varies from step to step")
    return Entry(key=key, kind="numbers", dtype=str(dtype), shape=shape)


def _image(key: str, dtype: str, shape: tuple[int | None, ...]) -> Entry:
    if dtype != "uint8" or "depth" in key.rpartition("/")[2].lower():
        return Entry(key=key, kind="unread", why="depth is not decoded")
    if len(shape) != 3:
        return Entry(key=key, kind="unread", why=f"a picture with {len(shape)} axes; expected height, width, channels")
    return Entry(key=key, kind="image", dtype=dtype, shape=shape)


def _shape(about: Mapping[str, Any], key: str) -> tuple[int | None, ...]:
    sizes = _object(about.get("shape", {}), key).get("dimensions", [])
    try:
        found = [int(n) for n in sizes]
    except (TypeError, ValueError, OverflowError):
        raise CorpusError(f"features.json: the shape of {key} is {str(sizes)[:60]}; expected sizes") from None
    if len(found) > _MOST_AXES or max(found, default=0) >= 1 << 63:
        raise CorpusError(f"features.json: the shape of {key} is {str(sizes)[:60]}, which no array has")
    return tuple(n if n >= 0 else None for n in found)  # -1: any size


def _object(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise CorpusError(f"features.json: {key or 'the top'} lacks a part of its declaration; restore the file")
    return value


def _shown(key: str, data: Any, feature: example.Feature, steps: int) -> Entry:
    rows = steps if key.startswith(STEPS) else 1
    total = example.count(data, feature)
    if not rows or total % rows or not total:
        return Entry(key=key, kind="unread", why=f"{total} values for {rows} steps")
    if feature.kind == "bytes":
        if total != rows:
            return Entry(key=key, kind="unread", why=f"{total} texts for {rows} steps")
        start, stop = example.entries(data, feature)[0]
        if bytes(data[start : min(stop, start + 8)]).startswith(_PICTURES):
            shape = (*picture_size(bytes(data[start:stop]), key), 3)
            return _image(key, "uint8", shape)
        return Entry(key=key, kind="text", dtype="string")
    width = total // rows
    dtype = "float32" if feature.kind == "float" else "int64"
    if key.rpartition("/")[2] in ("is_first", "is_last", "is_terminal"):
        dtype = "bool"
    return Entry(key=key, kind="numbers", dtype=dtype, shape=(width,) if width > 1 else ())


def picture_size(data: bytes, key: str) -> tuple[int | None, int | None]:
    """Height and width of an encoded picture; None when it cannot be decoded."""
    import io

    import av

    try:
        with av.open(io.BytesIO(data), "r") as container:
            stream = container.streams.video[0]
            return stream.height, stream.width
    except Exception:  # noqa: BLE001 - whatever the decoder says of damaged bytes, they tell no size
        return None, None
