"""Arrow columns as the NumPy arrays that channels are made of, and declared features against real columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pyarrow as pa

from gristmill.errors import RecordingError, UnsafeCorpusError
from gristmill.finding import Issue, Kind
from gristmill.formats.lerobot.arrays import counts, is_list, is_number, items, numbers, valid
from gristmill.formats.lerobot.declaration import BOOKKEEPING, Feature

_PICKLED = b"arrow.py_extension_type"
_IMAGE_FIELDS = {"bytes", "path"}


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How one parquet column becomes an array (t, width), or (t,) when `width` is None (bookkeeping)."""

    key: str
    position: int  # among the top-level columns
    width: int | None


@dataclass(frozen=True)
class Fit:
    """How a file's columns fit the declared features."""

    plans: tuple[ColumnPlan, ...]
    issues: tuple[Issue, ...]  # of the file, not yet of an episode

    def has(self, key: str) -> bool:
        """Whether the column can be read."""
        return any(plan.key == key for plan in self.plans)

    def unseen(self, key: str) -> Issue | None:
        """Why the images of this feature cannot be read, or None when they can."""
        return next((i for i in self.issues if i.channel == key and i.code in ("column_absent", "image")), None)

    def width(self, key: str) -> int | None:
        """Numbers a frame as found, or None when the column cannot be read."""
        return next((plan.width for plan in self.plans if plan.key == key), None)


def refuse_pickles(schema: pa.Schema, name: str) -> None:
    """Stop at columns whose type is a pickle.

    Raises:
        UnsafeCorpusError: a column carries one. Arrow does not execute it, and neither does anything here.
    """
    for field in schema:
        if (field.metadata or {}).get(b"ARROW:extension:name") == _PICKLED:
            raise UnsafeCorpusError(
                f"{name}: column {field.name!r} has a pickled type, which could run code; nothing was executed, "
                "rewrite the file with a current version of the datasets library"
            )


def fit(features: Sequence[Feature], schema: pa.Schema, name: str) -> Fit:
    """Compare the declared features with a file's columns.

    Args:
        features: all features, in their order.
        schema: the file's.
        name: the file, relative to the corpus.

    Raises:
        UnsafeCorpusError: see `refuse_pickles`.
    """
    refuse_pickles(schema, name)
    plans: list[ColumnPlan] = []
    issues: list[Issue] = []
    declared = {f.key for f in features}
    for feature in features:
        if feature.dtype == "video" or 0 in feature.shape:
            continue
        position = schema.get_all_field_indices(feature.key)
        if not position:
            issues.append(_absent(feature))
            continue
        kind = schema.field(position[0]).type
        problem, width = _fits(feature, kind)
        issues.extend(_mismatch(feature, kind, problem))
        if feature.kind == "bookkeeping" and width == 1:
            plans.append(ColumnPlan(feature.key, position[0], None))
        elif feature.kind == "number" and width:
            plans.append(ColumnPlan(feature.key, position[0], width))
    for key in BOOKKEEPING:
        if key in declared:
            continue
        issues.append(_undeclared_default(key, key in schema.names))
        if key in schema.names and _layout(schema.field(schema.get_field_index(key)).type) == (True, 1, False):
            plans.append(ColumnPlan(key, schema.get_field_index(key), None))
    extra = [key for key in dict.fromkeys(schema.names) if key not in declared and key not in BOOKKEEPING]
    if extra:
        issues.append(_undeclared(extra))
    if len(set(schema.names)) != len(schema.names):
        twice = next(n for n in schema.names if schema.names.count(n) > 1)
        issues.append(
            _issue("column_twice", f"the table has two columns named {twice}; the first was read", "Remove one.", twice)
        )
    return Fit(tuple(plans), tuple(issues))


def _layout(kind: pa.DataType) -> tuple[bool, int | None, bool]:
    """Whether the type holds numbers; how many a row, None when the type does not say; whether in lists."""
    sizes: list[int | None] = []
    while is_list(kind):
        sizes.append(kind.list_size if pa.types.is_fixed_size_list(kind) else None)
        kind = kind.value_type
    width = None if None in sizes else prod(s or 0 for s in sizes)
    return is_number(kind), width, bool(sizes)


def _fits(feature: Feature, kind: pa.DataType) -> tuple[str, int | None]:
    """What is wrong with a column's type, or ""; and its width if it can be read."""
    if feature.kind in ("camera", "unread"):
        is_image = pa.types.is_struct(kind) and {f.name for f in kind} >= _IMAGE_FIELDS
        if feature.dtype == "string" and _layout(kind)[0]:
            return "text", None
        return ("image" if feature.is_image and not is_image else ""), None
    numeric, width, in_lists = _layout(kind)
    if not numeric:
        return "type", None
    width = feature.width if width is None else width
    if width != feature.width:
        return "shape", width
    if in_lists and feature.shape == (1,):
        return "list_of_one", width
    leaf = kind
    while is_list(leaf):
        leaf = leaf.value_type
    return ("" if np.dtype(leaf.to_pandas_dtype()).name == feature.dtype else "dtype"), width


def dense(array: pa.Array, width: int | None) -> np.ndarray | None:
    """The column as an array (t, width) or (t,), or None when rows are null, ragged or of another width."""
    rows = len(array)
    while is_list(array.type):
        if array.null_count or not (pa.types.is_fixed_size_list(array.type) or _even(array)):
            return None
        array = items(array)
    if (array.null_count and not pa.types.is_floating(array.type)) or len(array) != rows * (width or 1):
        return None
    values = numbers(array)
    return values if width is None else values.reshape(rows, width)


def patched(array: pa.Array, width: int | None, where: str) -> np.ndarray:
    """Like `dense`, for an episode's rows that are not: null rows and numbers become NaN.

    Raises:
        RecordingError: rows differ in length.
    """
    held = valid(array)
    count = np.ones(len(array), np.int64)
    kept = array
    while is_list(kept.type):
        stops = np.concatenate(([0], np.cumsum(counts(kept))))
        ends = np.cumsum(count)
        count = stops[ends] - stops[ends - count]
        kept = items(kept)
    if not is_list(array.type):  # scalars: nothing can be ragged
        found = numbers(kept)
        return found if width is None else found.reshape(-1, width)
    if (count[held] != (width or 1)).any():
        raise RecordingError(f"{where}: rows differ in length or are incomplete; record the channel again")
    found = numbers(kept)
    if held.all():
        return found if width is None else found.reshape(-1, width)
    values = np.full((len(array), width or 1), np.nan)
    values[held] = found.reshape(-1, width or 1)
    return values[:, 0] if width is None else values


def _even(array: pa.Array) -> bool:
    """Whether all lists have one length."""
    lengths = counts(array)
    return not len(lengths) or bool((lengths == lengths[0]).all())


def _absent(feature: Feature) -> Issue:
    return _issue(
        "column_absent",
        f"the table has no column {feature.key}, which is declared; LeRobot would silently give None for it",
        "Remove the feature from info.json or write its column.",
        feature.key,
    )


def _undeclared_default(key: str, present: bool) -> Issue:
    found = "it is in the data all the same" if present else "nor is it in the data"
    return _issue(
        "default_absent",
        f"the default column {key} is not declared in info.json, {found}; tools that rely on it fail",
        "Export the dataset anew: the default columns are filled in.",
        key,
        Kind.RISK,
    )


def _undeclared(keys: Sequence[str]) -> Issue:
    shown = ", ".join(keys[:5]) + (", ..." if len(keys) > 5 else "")
    return _issue(
        "column_undeclared",
        f"the table has columns that info.json does not declare: {shown}; LeRobot cannot load it",
        "Declare the columns in info.json or remove them.",
        keys[0],
    )


def _mismatch(feature: Feature, kind: pa.DataType, problem: str) -> list[Issue]:
    if not problem:
        return []
    declared = f"{feature.dtype} of shape {list(feature.shape)}"
    texts = {
        "type": (Kind.DEFECT, "it was not read", "Write numbers, or declare what the column is."),
        "text": (Kind.RISK, "it was not read", "Declare the numbers that are stored, with their shape."),
        "image": (Kind.DEFECT, "it was not read", "Store images as a struct of bytes and path."),
        "shape": (Kind.DEFECT, "it was read as stored", "Correct the shape in info.json or write the column anew."),
        "list_of_one": (Kind.DEFECT, "LeRobot fails on lists of one", "Store numbers of shape [1] as plain numbers."),
        "dtype": (Kind.RISK, "it was read as stored", "Declare the type that is stored."),
    }
    severity, effect, fix = texts[problem]
    message = f"{feature.key} is declared as {declared} and stored as {kind}; {effect}"
    return [_issue(problem, message, fix, feature.key, severity)]


def _issue(code: str, message: str, fix: str, channel: str, kind: Kind = Kind.DEFECT) -> Issue:
    return Issue(check="schema", code=code, kind=kind, message=message, fix=fix, channel=channel)
