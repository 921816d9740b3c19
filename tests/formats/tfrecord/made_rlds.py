"""RLDS data sets written by hand, byte by byte: framing, wire format and metadata, without the reader's code."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np

LENGTHS = (6, 9, 5, 7)
TASKS = ("pick up the cup", "close the drawer")
CAMERA = "observation.images.front"
_TABLE = []
for _n in range(256):
    for _ in range(8):
        _n = (_n >> 1) ^ (0x82F63B78 if _n & 1 else 0)
    _TABLE.append(_n)


def crc32c(data: bytes) -> int:
    """Castagnoli's CRC, a byte at a time (RFC 3720, appendix B.4: of 32 zero bytes it is 0x8A9136AA)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def framed(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def example(features: Mapping[str, Any], *, packed: bool = True) -> bytes:
    """A tf.train.Example: lists of bytes or str, real arrays as floats, whole ones as varints."""
    entries = b""
    for name, values in features.items():
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            raw = values.astype("<f4").reshape(-1)
            inner = message(1, raw.tobytes()) if packed else b"".join(b"\x0d" + v.tobytes() for v in raw)
            feature = message(2, inner)
        elif isinstance(values, np.ndarray):
            numbers = [varint(int(v)) for v in values.reshape(-1)]
            inner = message(1, b"".join(numbers)) if packed else b"".join(b"\x08" + v for v in numbers)
            feature = message(3, inner)
        else:
            texts = [v.encode() if isinstance(v, str) else v for v in values]
            feature = message(1, b"".join(message(1, v) for v in texts))
        entries += message(1, message(1, name.encode()) + message(2, feature))
    return message(1, entries)


def pictures(episode: int, steps: int) -> np.ndarray:
    """(t, 24, 32, 3) pictures of an episode, each another."""
    return np.random.default_rng([7, episode]).integers(0, 256, (steps, 24, 32, 3), dtype=np.uint8)


def state(episode: int, steps: int) -> np.ndarray:
    return np.random.default_rng([3, episode]).normal(size=(steps, 3)).astype(np.float32)


def action(episode: int, steps: int) -> np.ndarray:
    return np.random.default_rng([4, episode]).normal(size=(steps, 2)).astype(np.float32)


def episode(number: int, steps: int, **changes: Any) -> dict[str, Any]:
    """The features of one episode; a change to None leaves one out. Double underscores stand for slashes."""
    at = np.arange(steps)
    features = {
        "steps/observation/state": state(number, steps),
        "steps/observation/front": [imagecodecs.png_encode(p) for p in pictures(number, steps)],
        "steps/action": action(number, steps),
        "steps/reward": (at == steps - 1).astype(np.float32),
        "steps/discount": np.ones(steps, np.float32),
        "steps/count": at.astype(np.int64) * 1000 - 300,
        "steps/is_first": at == 0,
        "steps/is_last": at == steps - 1,
        "steps/is_terminal": at == steps - 1,
        "steps/language_instruction": [TASKS[number % 2]] * steps,
        "episode_metadata/file_path": [f"/robot/{number}.npy"],
        "episode_metadata/episode_id": np.array([number // 2]),
    }
    features |= {key.replace("__", "/"): value for key, value in changes.items()}
    return {key: value for key, value in features.items() if value is not None}


def tensor(shape: Sequence[int], dtype: str) -> dict[str, Any]:
    about = {"shape": {"dimensions": [str(n) for n in shape]}, "dtype": dtype, "encoding": "none"}
    return {"pythonClassName": "tensorflow_datasets.core.features.tensor_feature.Tensor", "tensor": about}


def features_dict(**features: Any) -> dict[str, Any]:
    return {"featuresDict": {"features": features}}


def declaration() -> dict[str, Any]:
    """The content of features.json for `episode`."""
    image = {"image": {"shape": {"dimensions": ["24", "32", "3"]}, "dtype": "uint8", "encodingFormat": "png"}}
    step = features_dict(
        observation=features_dict(state=tensor([3], "float32"), front=image),
        action=tensor([2], "float32"),
        reward=tensor([], "float32"),
        discount=tensor([], "float32"),
        count=tensor([], "int32"),
        is_first=tensor([], "bool"),
        is_last=tensor([], "bool"),
        is_terminal=tensor([], "bool"),
        language_instruction={"text": {}},
    )
    steps = {"sequence": {"feature": step, "length": "-1"}}
    return features_dict(
        steps=steps, episode_metadata=features_dict(file_path={"text": {}}, episode_id=tensor([], "int32"))
    )


def make(
    folder: Path,
    episodes: Sequence[bytes] | None = None,
    *,
    shards: Sequence[int] = (2, 2),
    features: Mapping[str, Any] | None = None,
    info: Mapping[str, Any] | None = None,
    declare: bool = True,
) -> Path:
    """Write a data set; `shards` says how many episodes go into each."""
    folder.mkdir(parents=True, exist_ok=True)
    episodes = [example(episode(n, t)) for n, t in enumerate(LENGTHS)] if episodes is None else episodes
    at = 0
    for number, count in enumerate(shards):
        name = f"arm-train.tfrecord-{number:05d}-of-{len(shards):05d}"
        (folder / name).write_bytes(b"".join(framed(e) for e in episodes[at : at + count]))
        at += count
    if declare:
        (folder / "features.json").write_text(json.dumps(features or declaration()))
        split = {"name": "train", "shardLengths": [str(n) for n in shards]}
        told = {"name": "arm", "version": "1.0.0", "fileFormat": "tfrecord", "splits": [split]}
        (folder / "dataset_info.json").write_text(json.dumps(told | dict(info or {})))
    return folder
