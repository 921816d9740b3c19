"""Keys of `info.json` that LeRobot needs: those that are absent, or of another type than it expects.

What fails without a key follows from LeRobot's own code. Version 3.0 (`datasets/lerobot_dataset.py`): opening a
dataset reads `total_frames` and `total_episodes`, and `video_path` for datasets with videos; `data_path`,
`chunks_size`, `total_tasks` and `robot_type` are read when episodes are fetched, added, deleted or merged.
Version 2.1: opening a dataset makes each episode's path, from `total_episodes`, `chunks_size`, `data_path` and, with
videos, `video_path`; the other totals are read when episodes are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gristmill.finding import Issue, Kind
from gristmill.formats.lerobot.declaration import brief

_INFO = "meta/info.json"
_ANY_TYPE = object  # other checks look at it
_TYPES: dict[str, type] = {
    "total_episodes": int,
    "total_frames": int,
    "total_tasks": int,
    "chunks_size": int,
    "data_path": str,
    "video_path": str,
    "robot_type": _ANY_TYPE,
}
_OPENING = {
    True: ("total_episodes", "total_frames", "video_path"),
    False: ("total_episodes", "chunks_size", "data_path", "video_path"),
}


def needed_keys(raw: Mapping[str, Any], packed: bool, has_videos: bool) -> Iterator[Issue]:
    """One issue for each key that is absent, null or of a wrong type.

    Args:
        raw: the content of `info.json`.
        packed: v3.0.
        has_videos: whether any feature is a video; without, `video_path` may be null.
    """
    for key, kind in _TYPES.items():
        value = raw.get(key)
        if key == "video_path" and value is None and not has_videos:
            continue
        if kind is _ANY_TYPE:
            if key not in raw:
                yield _issue(key, f"{_INFO} has no {key}", packed)
        elif value is None:
            yield _issue(key, f"{_INFO} has no {key}" if key not in raw else f"{_INFO}: {key} is null", packed)
        elif type(value) is not kind:
            what = "a whole number" if kind is int else "a text"
            yield _issue(key, f"{_INFO}: {key} is {brief(value)}, not {what}", packed)


def _issue(key: str, message: str, packed: bool) -> Issue:
    defect = key in _OPENING[packed]
    effect = "LeRobot cannot open the dataset" if defect else "LeRobot opens the dataset, but its tools fail"
    return Issue(
        check="schema",
        code=f"no_{key}",
        kind=Kind.DEFECT if defect else Kind.RISK,
        message=f"{message}; {effect} without it",
        fix=f"Write {key} into info.json, or export the dataset anew: all keys are written.",
        subject=_INFO,
    )
