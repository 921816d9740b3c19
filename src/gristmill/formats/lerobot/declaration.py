"""What `info.json` declares of one feature: its role, its shape, the names of its dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal

from gristmill.episode import CameraInfo, Dim, Role
from gristmill.errors import CorpusError

BOOKKEEPING = ("timestamp", "frame_index", "episode_index", "index", "task_index")
NUMBERS = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
    | {"float16", "float32", "float64"}
)
MAX_DIMENSIONS = 1_000_000  # of one feature; a larger number is a lie that would fill memory
MAX_AXES = 8
_MAX_NESTING = 6

Kind = Literal["number", "bookkeeping", "camera", "unread"]


@dataclass(frozen=True, kw_only=True)
class Feature:
    """One entry of `features`, checked."""

    key: str
    dtype: str
    shape: tuple[int, ...]
    names: Any  # as declared: null, list, nested list or dict
    info: Mapping[str, Any]  # `info`, or `video_info` in older files

    @property
    def width(self) -> int:
        """Numbers a frame."""
        return prod(self.shape)

    @cached_property
    def kind(self) -> Kind:
        """Which part of the reader takes care of it."""
        if self.key in BOOKKEEPING:
            return "bookkeeping"
        if self.why_unread:
            return "unread"
        return "camera" if self.dtype in ("video", "image") else "number"

    @cached_property
    def role(self) -> Role:
        """What the numbers are to a policy."""
        key = self.key
        if key in ("observation.state", "state") or key.startswith("observation.state."):
            return "state"
        if key == "action" or key.startswith("action."):
            return "action"
        return {  # type: ignore[return-value]
            "next.reward": "reward",
            "next.done": "done",
            "next.success": "success",
            "success": "success",
        }.get(key, "other")

    @cached_property
    def why_unread(self) -> str:
        """Why no check reads it, or ""."""
        if self.dtype in ("video", "image"):
            return "depth is not decoded" if self._is_depth else ""
        if self.dtype == "language" or self.key.startswith("language_"):
            return "a language column; no check reads it"
        if self.dtype == "string":
            return "text; no check reads it"
        if self.dtype == "audio":
            return "audio is not decoded"
        if self.dtype not in NUMBERS:
            return f"of dtype {self.dtype!r}, which is not known"
        return "it holds no numbers: its shape has a zero" if self.width == 0 else ""

    @property
    def is_image(self) -> bool:
        """Whether frames are stored one by one inside the parquet files."""
        return self.dtype == "image"

    @cached_property
    def flat_names(self) -> tuple[tuple[str, ...], str]:
        """`width` names, "" where unknown, each used once; and what is wrong with the declared ones, or ""."""
        unnamed = ("",) * self.width
        if self.names is None or len(self.shape) > 1:
            return unnamed, ""  # of several axes, names say what the axes are
        try:
            found = [str(name) for name in _flatten(self.names, 0)]
        except ValueError as error:
            return unnamed, str(error)
        if not found:
            return unnamed, ""
        if len(found) != self.width:
            return unnamed, f"{len(found)} names for {self.width} numbers"
        return _distinct(found), ""

    def dims(self, width: int) -> Iterator[Dim]:
        """The dimensions, `width` of them as found in the data."""
        names = self.flat_names[0] if width == self.width else ("",) * width
        return (Dim(self.key, i, name, self.role) for i, name in enumerate(names))

    def camera(self, rate_hz: float) -> CameraInfo:
        """What is declared of a camera."""
        height, width = self._image_size()
        codec = self.info.get("video.codec")
        return CameraInfo(
            key=self.key,
            height=height,
            width=width,
            rate_hz=_number(self.info.get("video.fps")) or rate_hz,
            codec=codec if isinstance(codec, str) else None,
            is_depth=self._is_depth,
        )

    @property
    def _is_depth(self) -> bool:
        flags = (self.info.get("video.is_depth_map"), self.info.get("is_depth_map"))
        return True in flags or "depth" in self.key.lower()

    def _image_size(self) -> tuple[int | None, int | None]:
        height, width = _number(self.info.get("video.height")), _number(self.info.get("video.width"))
        if height and width:
            return int(height), int(width)
        if len(self.shape) != 3:
            return None, None
        names = [str(n) for n in self.names] if isinstance(self.names, list) else []
        # Without names, the axis of channels is the one that has 1, 3 or 4 of them.
        channels_first = names[0].startswith("c") if len(names) == 3 else self.shape[2] not in (1, 3, 4)
        return (self.shape[1], self.shape[2]) if channels_first else (self.shape[0], self.shape[1])


def parse_feature(key: str, declared: Any, name: str) -> Feature:
    """A feature from its declaration.

    Args:
        key: the feature's key.
        declared: what stands under it.
        name: how errors name the file.

    Raises:
        CorpusError: a type that cannot be read any way.
    """
    where = f"{name}: features[{key!r}]"
    if not isinstance(declared, dict):
        raise CorpusError(f"{where} is {brief(declared)}; expected an object with dtype and shape")
    dtype, shape = declared.get("dtype"), declared.get("shape")
    if not isinstance(dtype, str):
        raise CorpusError(f"{where}.dtype is {brief(dtype)}; expected a name such as 'float32' or 'video'")
    if not isinstance(shape, list) or len(shape) > MAX_AXES or any(type(n) is not int or n < 0 for n in shape):
        raise CorpusError(f"{where}.shape is {brief(shape)}; expected a list of sizes such as [6]")
    if prod(shape) > MAX_DIMENSIONS and dtype in NUMBERS:
        raise CorpusError(f"{where}.shape is {brief(shape)}, more than {MAX_DIMENSIONS:,} numbers a frame; correct it")
    details = (found for name in ("info", "video_info") if isinstance(found := declared.get(name), dict) and found)
    return Feature(
        key=key,
        dtype=dtype,
        shape=tuple(shape),
        names=declared.get("names"),
        info=next(details, {}),
    )


def _flatten(names: Any, depth: int) -> Iterator[Any]:
    """Names in order from a list, nested lists, a dict of lists, or a dict name -> position."""
    if depth > _MAX_NESTING:
        raise ValueError("names are nested too deeply")
    if isinstance(names, dict):
        if names and all(type(v) is int for v in names.values()):
            if sorted(names.values()) != list(range(len(names))):
                raise ValueError("the positions of the names are not 0, 1, 2, ...")
            yield from sorted(names, key=names.__getitem__)
            return
        names = list(names.values())
    if isinstance(names, list):
        for name in names:
            yield from _flatten(name, depth + 1)
    elif names is not None:
        if not isinstance(names, (str, int)):
            raise ValueError(f"a name is {brief(names)}")
        yield names


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with ".2", ".3", ... behind those that were used before."""
    taken, used = set(names), set()
    found = []
    for name in names:
        unique, n = name, 2
        while unique and (unique in used or (unique != name and unique in taken)):
            unique, n = f"{name}.{n}", n + 1
        used.add(unique)
        found.append(unique)
    return tuple(found)


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and 0 < value < 1e9 else None


def brief(value: Any) -> str:
    """A value as an error shows it: short, whatever its size or depth."""
    if isinstance(value, dict):
        return f"an object of {len(value)} keys"
    if isinstance(value, list):
        if len(value) > 8 or any(isinstance(v, (list, dict, str)) for v in value):
            return f"a list of {len(value)} entries"
        return repr(value)
    text = repr(value[:80] if isinstance(value, str) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."
