"""TOML tables into frozen dataclasses, refusing what they do not know.

An unknown key, a wrong type or a number out of range is one line that begins with the key's full path:
`checks.spike.jump_z: expected a number, got "big"`.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from gristmill.errors import RecipeError

T = TypeVar("T")


def read_toml(path: Path) -> dict[str, Any]:
    """The file's tables.

    Raises:
        RecipeError: it cannot be read or is no TOML; the text names line and column.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecipeError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{path}: not valid TOML: {error}") from None


def build(cls: type[T], table: object, path: str) -> T:
    """An instance of the dataclass `cls` from a table, every key checked.

    Args:
        cls: a dataclass whose annotations are plain types, unions with None, literals, tuples or mappings.
        table: what TOML gave.
        path: where the table stands, for messages.
    """
    if not isinstance(table, Mapping):
        raise RecipeError(f"{path}: expected a table, got {_show(table)}")
    known = {f.name: f for f in fields(cls) if f.init}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise RecipeError(f"{_join(path, key)}: unknown key; {suggest(key, known)}")
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for key, value in table.items():
        values[key] = convert(hints[key], value, _join(path, key))
        default = known[key].default
        _in_range(value, default, known[key].metadata, _join(path, key))
    for key, f in known.items():
        if key not in values and f.default is MISSING and f.default_factory is MISSING:
            raise RecipeError(f"{_join(path, key)}: missing")
    try:
        return cls(**values)
    except ValueError as error:
        raise RecipeError(f"{path}: {error}") from None


def convert(hint: Any, value: object, path: str) -> Any:
    """`value` as the type `hint`, or a RecipeError that names the key."""
    origin = get_origin(hint)
    if hint is Any:
        return value
    if origin in (Union, UnionType):
        options = [a for a in get_args(hint) if a is not NoneType]
        if value is None:
            return None
        if len(options) == 1:
            return convert(options[0], value, path)
        for option in options:
            try:
                return convert(option, value, path)
            except RecipeError:
                continue
        raise RecipeError(f"{path}: {_show(value)} is none of {', '.join(map(str, options))}")
    if origin is Literal:
        if value in get_args(hint):
            return value
        raise RecipeError(f"{path}: {_show(value)} is not one of {', '.join(map(repr, get_args(hint)))}")
    if origin is tuple:
        return _sequence(hint, value, path)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise RecipeError(f"{path}: expected a table, got {_show(value)}")
        of = get_args(hint)[1]
        return {k: convert(of, v, _join(path, k)) for k, v in value.items()}
    if is_dataclass(hint):
        return build(hint, value, path)  # type: ignore[arg-type]
    return _scalar(hint, value, path)


def suggest(key: str, known: Mapping[str, object]) -> str:
    """What the writer may have meant."""
    near = get_close_matches(key, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(known)) or 'none'}"


def _sequence(hint: Any, value: object, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise RecipeError(f"{path}: expected a list, got {_show(value)}")
    args = get_args(hint)
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(convert(args[0], v, f"{path}[{i}]") for i, v in enumerate(value))
    if len(args) != len(value):
        raise RecipeError(f"{path}: expected {len(args)} values, got {len(value)}")
    return tuple(convert(a, v, f"{path}[{i}]") for i, (a, v) in enumerate(zip(args, value, strict=True)))


def _scalar(hint: Any, value: object, path: str) -> Any:
    names = {float: "a number", int: "a whole number", bool: "true or false", str: "text", Path: "a path"}
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise RecipeError(f"{path}: must be finite, got {value}")
        return float(value)
    if hint is Path and isinstance(value, str):
        return Path(value)
    if hint in (int, bool, str) and type(value) is hint:
        return value
    raise RecipeError(f"{path}: expected {names.get(hint, hint)}, got {_show(value)}")


def _in_range(value: object, default: object, metadata: Mapping[str, Any], path: str) -> None:
    """Bounds come from the field's metadata; a quantity whose default is not negative cannot be negative."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    low = metadata.get("min")
    high = metadata.get("max")
    if low is None and isinstance(default, int | float) and default >= 0:
        low = 0
    if low is not None and value < low:
        raise RecipeError(f"{path}: must be at least {low}, got {value}")
    if high is not None and value > high:
        raise RecipeError(f"{path}: must be at most {high}, got {value}")


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
