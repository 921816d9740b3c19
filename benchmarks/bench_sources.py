"""Reading raw logs against the bare libraries, and the memory that a 2 GB log takes.

    python benchmarks/bench_sources.py [--quick]

Each figure is the bare library's CPU time over ours for the same values of the same file, from opening it to
arrays: above 1 we are the faster one. The bare reader does what a careful person writes with the library alone:
decoded messages into one array (MCAP), whole datasets (HDF5, Zarr). Rounds alternate; the medians count. The
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

import bench_conventions
from gristmill.sources import open_path
from processes import machine, run

JOINTS = 12
GRISTMILL = str(Path(sys.executable).with_name("gristmill"))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small files, no 2 GB log")
    quick = parser.parse_args().quick
    figures: dict[str, object] = {"machine": machine()}
    with tempfile.TemporaryDirectory(prefix="gristmill-bench-") as folder:
        work = Path(folder)
        scale = 0.1 if quick else 1.0
        for name, make in (("mcap", mcap_case), ("hdf5", hdf5_case), ("zarr", zarr_case)):
            bare, ours = make(work, scale)
            share, values = compare(bare, ours)
            figures |= {f"{name}_share": share, f"{name}_values": values}
        if not quick:
            figures["peak_mb_2gb_log"] = memory_of_a_large_log(work)
    figures |= bench_conventions.figures()
    print(json.dumps(figures))


def compare(bare: Callable[[], np.ndarray], ours: Callable[[], np.ndarray], rounds: int = 5) -> tuple[float, int]:
    """Bare CPU time over ours, and how many values both gave; they have to be equal."""
    costs: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        found = []
        for read, spent in zip((bare, ours), costs, strict=True):
            start = time.process_time()
            found.append(read())
            spent.append(time.process_time() - start)
        np.testing.assert_array_equal(*found)
    return round(median(costs[0]) / median(costs[1]), 3), int(found[0].size)


def mcap_case(work: Path, scale: float) -> tuple[Callable[[], np.ndarray], Callable[[], np.ndarray]]:
    """Joint states at 500 Hz, beside joint commands that are not asked for; zstd chunks with an index."""
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    path = write_joint_log(work / "joints.mcap", round(60_000 * scale))

    def bare() -> np.ndarray:
        rows = []
        with path.open("rb") as file:
            reader = make_reader(file, decoder_factories=[DecoderFactory()])
            for _, _, _, message in reader.iter_decoded_messages(topics=["/joint_states"]):
                rows.append(message.position)
        return np.array(rows, np.float64)

    options = {
        "topics": {"/joint_states": {"role": "state", "key": "observation.state", "field": "position"}},
        "task": "benchmark",
    }

    def ours() -> np.ndarray:
        episode = next(iter(open_path(path, options=options).episodes([0])))
        return episode.channels["observation.state"].values

    return bare, ours


# What robomimic's low-dimensional files hold of a demonstration of Lift with one Panda arm: dataset -> width.
ROBOMIMIC = {
    "actions": 7,
    "states": 32,
    "obs/object": 10,
    "obs/robot0_eef_pos": 3,
    "obs/robot0_eef_quat": 4,
    "obs/robot0_eef_vel_ang": 3,
    "obs/robot0_eef_vel_lin": 3,
    "obs/robot0_gripper_qpos": 2,
    "obs/robot0_gripper_qvel": 2,
    "obs/robot0_joint_pos": 7,
    "obs/robot0_joint_pos_cos": 7,
    "obs/robot0_joint_pos_sin": 7,
    "obs/robot0_joint_vel": 7,
}


def hdf5_case(work: Path, scale: float) -> tuple[Callable[[], np.ndarray], Callable[[], np.ndarray]]:
    """200 robomimic demonstrations of 50 steps, as short as those of Lift: every value but `next_obs`."""
    import h5py

    path = work / "demos.hdf5"
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["env_args"] = json.dumps({"env_name": "Lift", "env_kwargs": {"control_freq": 20}})
        for i in range(round(200 * scale)):
            demo = data.create_group(f"demo_{i}")
            demo.attrs["num_samples"] = 50
            for name, width in ROBOMIMIC.items():
                demo[name] = rng.normal(size=(50, width))
                if name.startswith("obs/"):
                    demo[f"next_{name}"] = demo[name][()]
        data.attrs["total"] = round(200 * scale) * 50

    def bare() -> np.ndarray:
        found = []
        with h5py.File(path, "r") as file:
            for name in sorted(file["data"], key=lambda n: int(n.split("_")[1])):
                found += [file["data"][name][key][()].ravel() for key in ROBOMIMIC]
        return np.concatenate(found)

    def ours() -> np.ndarray:
        corpus = open_path(path)
        ends = ["action" if name == "actions" else name.rpartition("/")[2] for name in ROBOMIMIC]
        found = []
        for episode in corpus.episodes(range(len(corpus.table))):
            by_end = {key.removeprefix("observation.").removeprefix("state."): key for key in episode.channels}
            found += [episode.channels[by_end[end]].values.ravel() for end in ends]
        return np.concatenate(found)

    return bare, ours


def zarr_case(work: Path, scale: float) -> tuple[Callable[[], np.ndarray], Callable[[], np.ndarray]]:
    """A replay buffer of 1,000 episodes as diffusion policy writes it, in compressed chunks."""
    import zarr

    path = work / "buffer.zarr"
    rng = np.random.default_rng(0)
    episodes = round(1000 * scale)
    ends = np.arange(1, episodes + 1, dtype=np.int64) * 150
    group = zarr.open_group(path, mode="w", zarr_format=2)
    arrays = {"action": rng.normal(size=(ends[-1], 7)), "state": rng.normal(size=(ends[-1], 14))}
    for key, values in arrays.items():
        group.create_array(f"data/{key}", data=values.astype(np.float32), chunks=(10_000, values.shape[1]))
    group.create_array("meta/episode_ends", data=ends)

    def bare() -> np.ndarray:
        opened = zarr.open_group(path, mode="r")
        return np.concatenate([opened["data/action"][:].ravel(), opened["data/state"][:].ravel()])

    def ours() -> np.ndarray:
        corpus = open_path(path, options={"rate_hz": 10.0, "task": "benchmark"})
        found: dict[str, list[np.ndarray]] = {"action": [], "observation.state": []}
        for episode in corpus.episodes(range(len(corpus.table))):
            for key, values in found.items():
                values.append(episode.channels[key].values.ravel())
        return np.concatenate([*found["action"], *found["observation.state"]])

    return bare, ours


def memory_of_a_large_log(work: Path) -> float:
    """Peak memory, in MB, of auditing every frame of a log of 2 GB of raw images."""
    path = work / "large.mcap"
    write_camera_log(path, frames=2_300)
    assert path.stat().st_size > 2_000_000_000
    command = ["audit", str(path), "--store", str(work / "store"), "--fail-on", "never", "--json", str(work / "a.json")]
    cost = run([GRISTMILL, *command], memory=True)
    if cost.status:
        raise SystemExit(f"the audit of the large log failed:\n{cost.output}")
    return round(cost.peak_pss_mb, 1)


JOINT_STATE = """\
std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""

IMAGE = """\
std_msgs/Header header
uint32 height
uint32 width
string encoding
uint8 is_bigendian
uint32 step
uint8[] data
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""


def write_joint_log(path: Path, messages: int) -> Path:
    """Joint states and commands, alternating, at 500 Hz each."""
    from mcap_ros2.writer import Writer

    rng = np.random.default_rng(0)
    values = np.cumsum(rng.normal(0, 0.01, (messages, JOINTS)), axis=0)
    names = [f"joint_{i}" for i in range(JOINTS)]
    with path.open("wb") as file, Writer(file) as writer:
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
        for i in range(messages):
            at = 1_700_000_000_000_000_000 + i * 2_000_000
            for topic in ("/joint_states", "/joint_commands"):
                writer.write_message(
                    topic=topic, schema=schema, message=_joint_state(at, names, values[i]), log_time=at, publish_time=at
                )
    return path


def write_camera_log(path: Path, frames: int) -> None:
    """Raw 640 x 480 images and joint states at 30 Hz, uncompressed."""
    from mcap.writer import CompressionType
    from mcap_ros2.writer import Writer

    rng = np.random.default_rng(0)
    scene = rng.integers(0, 255, (480, 640 + frames, 3), dtype=np.uint8)
    names = [f"joint_{i}" for i in range(JOINTS)]
    with path.open("wb") as file, Writer(file, compression=CompressionType.NONE) as writer:
        joint = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
        image = writer.register_msgdef("sensor_msgs/msg/Image", IMAGE)
        for i in range(frames):
            at = 1_700_000_000_000_000_000 + i * 33_333_333
            state = _joint_state(at, names, np.sin(np.arange(JOINTS) + i / 30))
            for topic in ("/joint_states", "/joint_commands"):
                writer.write_message(topic=topic, schema=joint, message=state, log_time=at, publish_time=at)
            picture = {
                "header": state["header"],
                "height": 480,
                "width": 640,
                "encoding": "rgb8",
                "is_bigendian": 0,
                "step": 1920,
                "data": np.ascontiguousarray(scene[:, i : i + 640]).tobytes(),
            }
            writer.write_message(topic="/camera/image_raw", schema=image, message=picture, log_time=at, publish_time=at)


def _joint_state(at_ns: int, names: list[str], position: np.ndarray) -> dict:
    stamp = {"sec": at_ns // 1_000_000_000, "nanosec": at_ns % 1_000_000_000}
    return {
        "header": {"stamp": stamp, "frame_id": "base"},
        "name": names,
        "position": position.tolist(),
        "velocity": [],
        "effort": [],
    }


if __name__ == "__main__":
    main()
