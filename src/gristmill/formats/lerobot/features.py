"""A feature of a LeRobot v3.0 dataset as Arrow sees it: its type, its column, its place in the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.errors import UsageError

# The columns that every dataset has; the writer fills them in.
DEFAULT_FEATURES: dict[str, dict[str, Any]] = {
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "frame_index": {"dtype": "int64", "shape": [1], "names": None},
    "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    "index": {"dtype": "int64", "shape": [1], "names": None},
    "task_index": {"dtype": "int64", "shape": [1], "names": None},
}

_NUMBERS = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"} | {
    "float16",
    "float32",
    "float64",
}
_OTHERS = {"string", "image", "video", "language"}
_IMAGE_TYPE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def complete(features: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The features as they are declared in `info.json`: default columns last, `names` always present.

    Unknown keys stay. The `video_info` of older files is called `info`.

    Raises:
        UsageError: a name or shape that LeRobot cannot load.
    """
    done: dict[str, dict[str, Any]] = {}
    for key, declared in features.items():
        if key in DEFAULT_FEATURES:
            continue
        feature = {("info" if k == "video_info" else k): v for k, v in declared.items()}
        dtype, shape = feature.get("dtype"), feature.get("shape")
        if not key or "/" in key:
            raise UsageError(f"feature {key!r}: the name must be non-empty and hold no '/'; rename it")
        if dtype not in _NUMBERS | _OTHERS:
            raise UsageError(f"feature {key!r}: dtype {dtype!r} cannot be written; use a numpy name, string or video")
        if not isinstance(shape, Sequence) or not 1 <= len(shape) <= 5 or any(int(n) < 1 for n in shape):
            raise UsageError(f"feature {key!r}: shape {shape!r} must have 1 to 5 positive sizes")
        feature["shape"] = [int(n) for n in shape]
        feature.setdefault("names", None)
        done[key] = feature
    return done | {key: dict(feature) for key, feature in DEFAULT_FEATURES.items()}


def describe_video(feature: dict[str, Any], found: Mapping[str, Any]) -> None:
    """Let a camera's declaration say what its videos are; whatever else it says stays.

    Args:
        feature: the declaration, which is changed.
        found: properties of the videos, as in `info`; empty where there are none.
    """
    declared = feature.get("info")
    details = {k: v for k, v in declared.items() if isinstance(k, str)} if isinstance(declared, Mapping) else {}
    feature["info"] = {"video.is_depth_map": False} | details | dict(found)
    if not found:
        return
    size, shape, names = [found["video.height"], found["video.width"]], feature["shape"], feature.get("names")
    if len(shape) == 3 and size in (shape[:2], shape[1:]):
        return
    if len(shape) != 3 or not isinstance(names, list) or len(names) != 3:
        names = ["height", "width", "channels"]
    channels_first = str(names[0]).startswith("c")
    feature |= {"shape": [3, *size] if channels_first else [*size, 3], "names": names}


def in_parquet(features: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The features that are columns of the parquet files: all but videos."""
    return {key: f for key, f in features.items() if f["dtype"] != "video"}


def described(features: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The features that have numeric statistics."""
    return [key for key, f in features.items() if f["dtype"] in _NUMBERS]


def column(key: str, feature: Mapping[str, Any], values: Any, rows: int) -> pa.Array:
    """One feature's values of one episode as the Arrow column that LeRobot loads.

    Numbers come as arrays of shape (rows,), (rows, d) or (rows, *shape); a shape of (1,) is stored as scalars,
    a vector as a fixed-size list, and more dimensions as nested lists. Images come as encoded files in bytes;
    text as strings; language columns as Arrow arrays, which pass through.

    Raises:
        UsageError: values that do not fit the declaration.
    """
    if len(values) != rows:
        raise UsageError(f"feature {key!r}: {len(values)} rows where the episode has {rows}")
    dtype = feature["dtype"]
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return _texts(key, values) if dtype == "string" else values
    if dtype == "string":
        return pa.array([None if v is None else str(v) for v in values], pa.string())
    if dtype == "image":
        encoded = pa.array([bytes(v) for v in values], pa.binary())
        return pa.StructArray.from_arrays([encoded, pa.nulls(rows, pa.string())], fields=list(_IMAGE_TYPE))
    return _numbers(key, feature, np.asarray(values), rows)


def _texts(key: str, values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.string())
    except pa.ArrowException:
        raise UsageError(
            f"feature {key!r}: declared as string, but it holds {values.type}; correct its dtype in info.json"
        ) from None


def _numbers(key: str, feature: Mapping[str, Any], values: np.ndarray, rows: int) -> pa.Array:
    shape = tuple(feature["shape"])
    size = prod(shape)
    if values.size != rows * size:
        raise UsageError(f"feature {key!r}: values of shape {values.shape} do not fit {rows} rows of {shape}")
    wanted = np.dtype(feature["dtype"])
    if not np.can_cast(values.dtype, wanted, "same_kind"):
        raise UsageError(f"feature {key!r}: values of type {values.dtype} do not fit the declared {wanted}")
    flat = pa.array(np.ascontiguousarray(values, dtype=wanted).reshape(-1))
    if shape == (1,):
        return flat
    if len(shape) == 1:
        return pa.FixedSizeListArray.from_arrays(flat, shape[0])
    for width in reversed(shape):
        offsets = pa.array(np.arange(0, len(flat) + 1, width, dtype=np.int32))
        flat = pa.ListArray.from_arrays(offsets, flat)
    return flat


def schema(features: Mapping[str, Mapping[str, Any]], columns: Mapping[str, pa.Array]) -> pa.Schema:
    """The schema of the data files, with the note by which the `datasets` library knows images and shapes."""
    kept = in_parquet(features)
    note = {"info": {"features": {k: _hub_type(f) for k, f in kept.items() if f["dtype"] != "language"}}}
    fields = [pa.field(key, columns[key].type) for key in kept]
    if any(f["dtype"] == "language" for f in kept.values()):
        return pa.schema(fields)  # a note that misses a column is refused, and none is better than a guess
    return pa.schema(fields, metadata={"huggingface": json.dumps(note)})


def _hub_type(feature: Mapping[str, Any]) -> dict[str, Any]:
    dtype, shape = feature["dtype"], list(feature["shape"])
    if dtype == "image":
        return {"_type": "Image"}
    if shape == [1]:
        return {"dtype": dtype, "_type": "Value"}
    if len(shape) == 1:
        return {"feature": {"dtype": dtype, "_type": "Value"}, "length": shape[0], "_type": "Sequence"}
    return {"shape": shape, "dtype": dtype, "_type": f"Array{len(shape)}D"}
