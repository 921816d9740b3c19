"""Writes the sample corpus: simulated demonstrations as a LeRobot dataset, the same bytes of data for a seed.

Every episode is drawn from its own random stream, named by the seed and its number, so neither the number
of processes nor the number of episodes changes any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from gristmill.engine.local import run, workers
from gristmill.errors import CorpusError, UnknownNameError, UsageError
from gristmill.formats.lerobot.image_statistics import PixelHistogram
from gristmill.formats.lerobot.write import DatasetWriter, PacketRange
from gristmill.synth.arm_card import POSE_NAMES
from gristmill.synth.write_v21 import EpisodeFilesWriter

ROBOT_TYPE = "gristmill_arm"
CAMERAS = ("front", "wrist", "side")
TASKS = ("reach", "lift", "pick_place")
EXTRA = ("eef_pose", "object")  # channels that are recorded when asked for

# Episodes in one piece of work, and in one message of a worker: large enough to be worth a message, small enough
# for all workers to finish at about the same time.
_FILMS_A_BATCH, _STATES_A_BATCH, _STATES_TOGETHER = 4, 128, 32

# H.264 is not what LeRobot's recorder writes by default, but its encoder has never been seen to stop for ever, which
# SVT-AV1 does once in some thousand short videos; it is twice as fast for small pictures, too.
ENCODING: Mapping[str, Any] = {"codec": "libx264", "gop": 2, "crf": 23, "preset": "veryfast"}

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a worker needs to know to record any episode of the sample."""

    seed: int
    tasks: tuple[str, ...]
    rate_hz: float
    cameras: tuple[str, ...]
    size_px: int
    folder: Path  # for encoded videos that wait to be packed
    encoding: Mapping[str, Any]
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recorded:
    """One finished episode: its columns, its sentence and its encoded videos."""

    number: int
    columns: dict[str, np.ndarray]
    sentence: str
    videos: dict[str, PacketRange]


def generate(
    out: Path,
    *,
    episodes: int = 200,
    seed: int = 0,
    tasks: Sequence[str] = TASKS,
    size_px: int = 64,
    cameras: int = 2,
    rate_hz: float = 30,
    video: bool = True,
    version: Literal["v2.1", "v3.0"] = "v3.0",
    jobs: int | None = None,
    encoding: Mapping[str, Any] | None = None,
    extra: Sequence[str] = (),
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Record a corpus of a simulated arm that reaches for, lifts and moves a cube.

    Args:
        out: the folder that shall appear.
        episodes: how many.
        seed: the same seed gives the same corpus, whatever `jobs` is.
        tasks: which of "reach", "lift" and "pick_place" to record, in equal shares by chance.
        size_px: height and width of the pictures, 64 to 96 are meant.
        cameras: 1 to 3 of front, wrist and side.
        rate_hz: frames a second.
        video: without it the corpus has no cameras and is made some twenty times faster.
        version: layout of the dataset.
        jobs: processes; by default one a core.
        encoding: options of `gristmill.video.encode.encode`; H.264 with a keyframe every second frame by default.
        extra: further channels: "eef_pose", the end effector's measured and commanded pose (metres, quaternion
            xyzw), and "object", the cube's position. `sample_card` says what they mean.
        overwrite: replace a dataset that gristmill wrote.
        progress: called with "record", episodes done and episodes in all.

    Returns:
        The folder.

    Raises:
        UsageError: a number out of range, an unknown task, or a folder that is taken.
    """
    for task in tasks:
        if task not in TASKS:
            raise UnknownNameError("the sample generator", task, TASKS)
    for name in extra:
        if name not in EXTRA:
            raise UnknownNameError("the sample's extra channels", name, EXTRA)
    if episodes < 1 or not tasks or not 1 <= cameras <= len(CAMERAS) or not 16 <= size_px <= 1024:
        raise UsageError(
            f"generate needs at least one episode and task, 1 to {len(CAMERAS)} cameras and pictures of 16 to "
            f"1024 px; got {episodes} episodes, {len(tasks)} tasks, {cameras} cameras, {size_px} px"
        )
    if not 2 <= rate_hz <= 200:
        raise UsageError(f"the sample is recorded at 2 to 200 Hz, not at {rate_hz}")
    if version not in ("v2.1", "v3.0"):
        raise UsageError(f"version {version!r} cannot be written; use v3.0 or v2.1")
    from gristmill.synth.expert import OPERATORS, STATIONS

    views = CAMERAS[:cameras] if video else ()
    writer_class = DatasetWriter if version == "v3.0" else EpisodeFilesWriter
    note = {"seed": seed, "tasks": list(tasks), "operators": list(OPERATORS), "stations": list(STATIONS)}
    with (
        TemporaryDirectory(prefix="gristmill-sample-") as folder,
        writer_class(
            out,
            fps=rate_hz,
            features=features(views, size_px, extra),
            robot_type=ROBOT_TYPE,
            info_extra={"gristmill_sample": note},
            overwrite=overwrite,
        ) as writer,
    ):
        plan = Plan(
            seed=seed,
            tasks=tuple(tasks),
            rate_hz=rate_hz,
            cameras=views,
            size_px=size_px,
            folder=Path(folder),
            encoding=dict(ENCODING if encoding is None else encoding),
            extra=tuple(extra),
        )
        for done, recorded in enumerate(_recordings(plan, episodes, jobs), start=1):
            writer.add_episode(recorded.columns, [recorded.sentence], recorded.videos)
            if progress is not None:
                progress("record", done, episodes)
        return writer.close()


def features(cameras: Sequence[str], size_px: int, extra: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """The sample's features as `info.json` declares them."""
    from gristmill.synth.scene import STATE_NAMES

    declared: dict[str, dict[str, Any]] = {
        "observation.state": {"dtype": "float32", "shape": [6], "names": list(STATE_NAMES)},
        "action": {"dtype": "float32", "shape": [6], "names": list(STATE_NAMES)},
        "observation.contact_force": {"dtype": "float32", "shape": [2], "names": ["left_finger", "right_finger"]},
    }
    if "eef_pose" in extra:
        for key in ("observation.state.eef_pose", "action.eef_pose"):
            declared[key] = {"dtype": "float32", "shape": [7], "names": list(POSE_NAMES)}
    if "object" in extra:
        declared["observation.object_position"] = {"dtype": "float32", "shape": [3], "names": ["x", "y", "z"]}
    for camera in cameras:
        shape = [size_px, size_px, 3]
        declared[f"observation.images.{camera}"] = {
            "dtype": "video",
            "shape": shape,
            "names": ["height", "width", "channels"],
        }
    for key, dtype in {
        "next.success": "bool",
        "next.done": "bool",
        "operator_index": "int64",
        "station_index": "int64",
    }.items():
        declared[key] = {"dtype": dtype, "shape": [1], "names": None}
    return declared


def record(plan: Plan, number: int) -> Recorded:
    """Simulate, measure and film one episode."""
    from gristmill.synth.expert import demonstrate

    moving, *filming = (np.random.default_rng(s) for s in np.random.SeedSequence([plan.seed, number]).spawn(4))
    task = plan.tasks[int(moving.integers(len(plan.tasks)))]
    shown = demonstrate(task, moving, plan.rate_hz)
    count = len(shown.state)
    columns = {
        "observation.state": shown.state,
        "action": shown.action,
        "observation.contact_force": shown.rollout.contact_n.astype(np.float32),
        "next.success": shown.success,
        "next.done": np.arange(count) == count - 1,
        "operator_index": np.full(count, shown.operator),
        "station_index": np.full(count, shown.station),
    }
    if "eef_pose" in plan.extra:
        from gristmill.synth.end_effector import pose

        columns["observation.state.eef_pose"] = pose(shown.state[:, :5])
        columns["action.eef_pose"] = pose(shown.action[:, :5])
    if "object" in plan.extra:
        columns["observation.object_position"] = shown.rollout.cube_m.astype(np.float32)
    videos: dict[str, PacketRange] = {}
    if plan.cameras:
        from gristmill.synth.painting import LOOKS, paint
        from gristmill.synth.poses import poses
        from gristmill.video.encode import encode

        world = poses(shown.rollout.qpos, shown.goal_m, plan.cameras)
        for camera, noise in zip(plan.cameras, filming, strict=False):
            frames = paint(world, camera, plan.size_px, LOOKS[shown.station], noise)
            path = plan.folder / f"{number:06d}-{camera}.mp4"
            encode(path, [frames], plan.rate_hz, **plan.encoding)
            seen = PixelHistogram()
            seen.add(frames)
            videos[f"observation.images.{camera}"] = PacketRange(path=path, start_frame=0, frames=count, stats=seen)
    return Recorded(number=number, columns=columns, sentence=shown.sentence, videos=videos)


@dataclass(frozen=True, slots=True)
class Recording:
    """Records episodes in whichever process it is called (see `gristmill.engine.local.Job`)."""

    plan: Plan

    def __call__(self, work: range) -> Iterator[list[Recorded]]:
        """The episodes with these numbers, in order, a few at a time."""
        size = 1 if self.plan.cameras else _STATES_TOGETHER
        for at in range(0, len(work), size):
            yield [record(self.plan, number) for number in work[at : at + size]]

    def rest(self, work: range, done: int) -> list[range]:
        """What a dead worker left, one by one; an episode that ended its worker alone is not tried again."""
        return [work[i : i + 1] for i in range(done, len(work))] if len(work) > 1 else []

    def lost(self, work: range, done: int, reason: str) -> list[Recorded]:
        """Give up: a sample without one of its episodes would be another sample."""
        raise CorpusError(f"the sample's episode {work[done]} was not recorded: {reason}")


def _recordings(plan: Plan, episodes: int, jobs: int | None) -> Iterator[Recorded]:
    """All episodes in order, from as many processes as the work deserves."""
    size = _FILMS_A_BATCH if plan.cameras else _STATES_A_BATCH
    works = (range(at, min(at + size, episodes)) for at in range(0, episodes, size))
    estimate_s = episodes * (0.2 if plan.cameras else 0.008)
    early: dict[int, Recorded] = {}
    wanted = 0
    for part in run(Recording(plan), works, workers(jobs, estimate_s)):
        early.update((recorded.number, recorded) for recorded in part)
        while wanted in early:
            yield early.pop(wanted)
            wanted += 1
