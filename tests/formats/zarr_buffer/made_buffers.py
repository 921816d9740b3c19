"""Replay buffers written with Zarr itself, as diffusion policy and UMI write them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.storage import ZipStore

LENGTHS = (20, 31, 17, 26)
CAMERA = "observation.images.img"
ROWS = sum(LENGTHS)
ENDS = np.cumsum(LENGTHS)
CHUNK = 24  # rows; ends of episodes lie within chunks


def bounds(number: int) -> tuple[int, int]:
    """First row of an episode, and the row behind its last."""
    return int(ENDS[number]) - LENGTHS[number], int(ENDS[number])


def arrays(rows: int = ROWS) -> dict[str, np.ndarray]:
    """What diffusion policy's PushT buffer holds, with random content."""
    rng = np.random.default_rng(11)
    return {
        "action": rng.normal(size=(rows, 2)).astype(np.float32),
        "state": rng.normal(size=(rows, 5)).astype(np.float32),
        "keypoint": rng.normal(size=(rows, 9, 2)).astype(np.float32),
        "n_contacts": rng.integers(0, 4, (rows, 1)).astype(np.float32),
        "img": rng.integers(0, 256, (rows, 16, 24, 3), dtype=np.uint8),
    }


def umi_arrays(rows: int = ROWS) -> dict[str, np.ndarray]:
    """What a UMI buffer holds."""
    rng = np.random.default_rng(12)
    return {
        "robot0_eef_pos": rng.normal(size=(rows, 3)).astype(np.float32),
        "robot0_eef_rot_axis_angle": rng.normal(size=(rows, 3)).astype(np.float32),
        "robot0_gripper_width": rng.uniform(0, 0.08, (rows, 1)).astype(np.float32),
        "robot0_demo_start_pose": rng.normal(size=(rows, 6)),
        "robot0_demo_end_pose": rng.normal(size=(rows, 6)),
        "camera0_rgb": rng.integers(0, 256, (rows, 16, 24, 3), dtype=np.uint8),
    }


def make(
    folder: Path,
    data: Mapping[str, np.ndarray] | None = None,
    *,
    version: int = 2,
    ends: Any = ENDS,
    chunks: Mapping[str, Sequence[int]] | None = None,
    shards: int = 0,
    codecs: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """Write a buffer into a folder.

    Args:
        folder: where.
        data: name -> array; the default is `arrays()`.
        version: of the Zarr format.
        ends: `meta/episode_ends`; None leaves it out.
        chunks: name -> shape of a chunk; by default `CHUNK` rows.
        shards: chunks a shard along time, 0 for none.
        codecs: name -> further arguments of `create_array`.
    """
    root = zarr.open_group(str(folder), mode="w", zarr_format=version)  # type: ignore[arg-type]
    _fill(root, arrays() if data is None else data, ends, chunks or {}, shards, codecs or {})
    return folder


def make_zip(path: Path, data: Mapping[str, np.ndarray] | None = None, *, version: int = 2, **more: Any) -> Path:
    """Write a buffer into a zip archive with Zarr's own store."""
    path.parent.mkdir(parents=True, exist_ok=True)
    store = ZipStore(path, mode="w")
    root = zarr.open_group(store, mode="w", zarr_format=version)  # type: ignore[arg-type]
    _fill(root, arrays() if data is None else data, more.get("ends", ENDS), more.get("chunks", {}), 0, {})
    store.close()
    return path


def make_umi(path: Path, data: Mapping[str, np.ndarray] | None = None) -> Path:
    """Write a UMI buffer: Zarr v2 in a zip, one JPEG XL image a chunk, lossless here so that frames can be compared."""
    from imagecodecs.numcodecs import Jpegxl

    path.parent.mkdir(parents=True, exist_ok=True)
    data = umi_arrays() if data is None else data
    codec = Jpegxl(lossless=True, numthreads=1)
    with zipfile.ZipFile(path, "w") as archive:
        write_json(archive, ".zgroup", {"zarr_format": 2})
        for group in ("data", "meta"):
            write_json(archive, f"{group}/.zgroup", {"zarr_format": 2})
        write_v2(archive, "meta/episode_ends", ENDS.astype("<i8"), (len(ENDS),))
        for name, values in data.items():
            if name.endswith("_rgb"):
                declared = dict(codec.get_config()) | {"photometric": None}
                write_v2(
                    archive, f"data/{name}", values, (1, *values.shape[1:]), compressor=declared, encode=codec.encode
                )
            else:
                write_v2(archive, f"data/{name}", values, (CHUNK, *values.shape[1:]))
    return path


def write_json(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    archive.writestr(name, json.dumps(content))


def declaration(values: np.ndarray, chunks: Sequence[int], **changes: Any) -> dict[str, Any]:
    """The content of `.zarray`."""
    return {
        "zarr_format": 2, "shape": list(values.shape), "chunks": list(chunks), "dtype": values.dtype.str,
        "fill_value": 0, "order": "C", "filters": None, "compressor": None,
    } | changes  # fmt: skip


def write_v2(
    archive: zipfile.ZipFile,
    name: str,
    values: np.ndarray,
    chunks: Sequence[int],
    *,
    compressor: Any = None,
    encode: Any = bytes,
) -> None:
    """An array of Zarr v2 by hand, cut along time alone; the last chunk is padded, as the format demands."""
    write_json(archive, f"{name}/.zarray", declaration(values, chunks, compressor=compressor))
    rest = ".0" * (values.ndim - 1)
    for n, start in enumerate(range(0, len(values), chunks[0])):
        part = values[start : start + chunks[0]]
        part = np.concatenate([part, np.zeros((chunks[0] - len(part), *values.shape[1:]), values.dtype)])
        archive.writestr(f"{name}/{n}{rest}", encode(np.ascontiguousarray(part)))


def _fill(
    root: Any, data: Mapping[str, np.ndarray], ends: Any, chunks: Mapping[str, Any], shards: int, codecs: Any
) -> None:
    for name, values in data.items():
        chunk = tuple(chunks.get(name, (CHUNK, *values.shape[1:])))
        more = dict(codecs.get(name, {}))
        if shards:
            more["shards"] = (chunk[0] * shards, *chunk[1:])
        array = root.create_array(
            f"data/{name}", shape=values.shape, chunks=chunk, dtype=values.dtype, fill_value=0, **more
        )
        array[...] = values
    if ends is not None:
        ends = np.asarray(ends)
        array = root.create_array(
            "meta/episode_ends", shape=ends.shape, chunks=[max(1, n) for n in ends.shape], dtype=ends.dtype
        )
        array[...] = ends
