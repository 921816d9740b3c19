"""HDF5 files made by hand, as robomimic, Isaac Lab, ALOHA and CS:GO write them, and their contents."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import av
import h5py
import numpy as np

JOINTS = [
    f"{side}_{joint}"
    for side in ("left", "right")
    for joint in ("waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate", "gripper")
]
PANDA = {
    "env_name": "Lift",
    "env_version": "1.4.1",
    "type": 1,
    "env_kwargs": {
        "robots": ["Panda"],
        "control_freq": 20,
        "controller_configs": {"type": "OSC_POSE", "control_delta": True},
    },
}


def series(seed: int, frames: int, width: int) -> np.ndarray:
    """Smooth values (frames, width); the same seed gives the same."""
    rng = np.random.default_rng(seed)
    t = np.arange(frames)[:, None] / 20
    return rng.normal(size=width) + 0.3 * np.sin(
        2 * np.pi * rng.uniform(0.2, 0.6, width) * t + rng.uniform(0, 6, width)
    )


def pictures(seed: int, frames: int, height: int = 64, width: int = 96) -> np.ndarray:
    """Smooth pictures (frames, height, width, 3) whose colours and places tell frames apart."""
    y, x = np.mgrid[:height, :width] / 16
    at = np.arange(frames)[:, None, None] / 5 + seed
    red = 128 + 80 * np.sin(x + at)
    green = 120 + 60 * np.sin(y - at)
    blue = 60 + 40 * np.sin(x + y + 2 * at)
    return np.stack([red, green, blue], axis=-1).astype(np.uint8)


def jpeg(picture: np.ndarray, quality: str = "2") -> bytes:
    """A picture as the bytes of a JPEG file."""
    out = io.BytesIO()
    with av.open(out, "w", format="image2pipe") as container:
        stream = container.add_stream("mjpeg", rate=1, options={"qmin": quality, "qmax": quality})
        stream.height, stream.width, stream.pix_fmt = *picture.shape[:2], "yuvj444p"  # type: ignore[attr-defined]
        container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))  # type: ignore[attr-defined]
        container.mux(stream.encode(None))  # type: ignore[attr-defined]
    return out.getvalue()


def demo(seed: int, frames: int, *, camera: bool = False) -> dict[str, np.ndarray]:
    """Contents of one robomimic demonstration: path below its group -> values."""
    quaternion = series(seed + 1, frames, 4)
    content = {
        "actions": np.clip(series(seed, frames, 7), -1, 1),
        "states": series(seed + 9, frames, 32),
        "rewards": np.r_[np.zeros(frames - 1), 1.0],
        "dones": np.r_[np.zeros(frames - 1, np.int64), 1],
        "obs/robot0_eef_pos": series(seed + 2, frames, 3),
        "obs/robot0_eef_quat": quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True),
        "obs/robot0_gripper_qpos": series(seed + 3, frames, 2).astype(np.float32),
        "obs/robot0_joint_pos": series(seed + 4, frames, 7),
        "obs/robot0_joint_vel": series(seed + 5, frames, 7),
        "obs/object": series(seed + 6, frames, 10),
        "next_obs/object": series(seed + 6, frames, 10),
    }
    if camera:
        content["obs/agentview_image"] = pictures(seed, frames)
    return content


def robomimic(
    path: Path,
    demos: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    *,
    env_args: object = PANDA,
    total: int | None = None,
    masks: Mapping[str, Sequence[str]] | None = None,
    **storage: object,
) -> Path:
    """A robomimic file; by default three demonstrations whose numbers have a gap."""
    if demos is None:
        demos = {f"demo_{n}": demo(n, frames) for n, frames in ((10, 30), (0, 25), (2, 40))}
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        lengths = [len(d.get("actions", ())) for d in demos.values()]
        data.attrs["total"] = sum(lengths) if total is None else total
        if env_args is not None:
            data.attrs["env_args"] = env_args if isinstance(env_args, str | bytes) else json.dumps(env_args)
        for name, content in demos.items():
            group = data.create_group(name)
            group.attrs["num_samples"] = len(content.get("actions", ()))
            for key, values in content.items():
                group.create_dataset(key, data=values, **storage)
        for name, listed in (masks or {}).items():
            file[f"mask/{name}"] = np.array([n.encode() for n in listed])
    return path


def aloha(path: Path, seed: int, frames: int, *, compress: bool = False, effort: bool = True) -> dict[str, np.ndarray]:
    """One ALOHA episode, and what was written: key of the channel or camera -> values."""
    content = {
        "action": series(seed, frames, 14).astype(np.float32),
        "observation.state": series(seed + 1, frames, 14).astype(np.float32),
        "observation.velocity": series(seed + 2, frames, 14).astype(np.float32),
    }
    if effort:
        content["observation.effort"] = series(seed + 3, frames, 14).astype(np.float32)
    content["observation.images.cam_high"] = pictures(seed, frames, 48, 64)
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.attrs["sim"] = False
        file["action"] = content["action"]
        for name, key in (("qpos", "state"), ("qvel", "velocity"), ("effort", "effort")):
            if f"observation.{key}" in content:
                file[f"observations/{name}"] = content[f"observation.{key}"]
        images = content["observation.images.cam_high"]
        if compress:
            file.attrs["compress"] = True
            packed = [jpeg(image) for image in images]
            longest = max(map(len, packed)) + 40
            padded = np.stack([np.frombuffer(p.ljust(longest, b"\0"), np.uint8) for p in packed])
            file.create_dataset("observations/images/cam_high", data=padded, chunks=(1, longest))
            file["compress_len"] = np.array([[len(p) for p in packed]])
        else:
            file.create_dataset("observations/images/cam_high", data=images, chunks=(1, *images.shape[1:]))
    return content


def csgo(path: Path, frames: int, *, seed: int = 0, without: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """One CS:GO file; frames named in `without` ("frame_3_x") are left out."""
    rng = np.random.default_rng(seed)
    y = np.zeros((frames, 51))
    y[:, :13] = rng.integers(0, 2, (frames, 13))
    y[np.arange(frames), 13 + rng.integers(0, 23, frames)] = 1
    y[np.arange(frames), 36 + rng.integers(0, 15, frames)] = 1
    content = {
        "x": pictures(seed, frames, 150, 280)[..., ::-1],
        "y": y,
        "xaux": rng.normal(size=(frames, 54)),
        "helperarr": rng.integers(0, 2, (frames, 2)),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for part, values in content.items():
            for i, row in enumerate(values):
                if f"frame_{i}_{part}" not in without:
                    file[f"frame_{i}_{part}"] = row
    return content
