"""Which recordings can share a dataset: those with the same features, rate and robot."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gristmill.episode import CameraInfo, Channel, CorpusFacts

_LOW_DIM = "-low_dim"


def is_low_dim(group: str) -> bool:
    """Whether a group's name says that its episodes lack the cameras that their corpus has."""
    return re.search(rf"{_LOW_DIM}(-\d+)?$", group) is not None


def features_of(facts: CorpusFacts, channels: Mapping[str, Channel], cameras: Sequence[str]) -> dict[str, Any]:
    """The features that an exported episode has: its channels, what is carried along, and these cameras.

    Declarations are kept as they are, unknown keys included, with dtype and shape corrected to what the data
    really holds. Features that no loader gives (depth, audio, a channel absent from the data) are left out.
    """
    features: dict[str, Any] = {}
    for key, declared in facts.features.items():
        if key in channels:
            features[key] = _corrected(declared, channels[key])
        elif key in cameras:
            features[key] = _seen(facts.cameras[key], declared)
        elif declared.get("dtype") in ("string", "language"):
            features[key] = dict(declared) | {"shape": declared.get("shape") or [1]}
    for key, channel in channels.items():
        if key not in features:
            features[key] = _corrected({"names": list(channel.names) if any(channel.names) else None}, channel)
    for key in cameras:
        if key not in features:
            features[key] = _seen(facts.cameras[key], {"names": ["height", "width", "channels"]})
    return features


class SchemaGroups:
    """Names for the schemas that occur: the robot's name, told apart by what differs."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def name(self, facts: CorpusFacts, features: Mapping[str, Any]) -> str:
        """The group of an episode with these features; equal schemas get equal names."""
        # What a feature is called inside and how it is encoded does not keep datasets apart.
        shapes = {
            k: [f["dtype"], list(f["shape"]), f.get("names") if f["dtype"] not in ("video", "image") else None]
            for k, f in features.items()
        }
        schema = json.dumps([facts.robot_type, facts.rate_hz, shapes], sort_keys=True)
        if schema not in self._names:
            base = re.sub(r"[^A-Za-z0-9_.]+", "-", facts.robot_type or facts.key).strip("-.") or "robot"
            if facts.cameras and not any(k in features for k in facts.cameras):
                base += _LOW_DIM
            taken = set(self._names.values())
            name, n = base, 2
            while name in taken:
                name, n = f"{base}-{n}", n + 1
            self._names[schema] = name
        return self._names[schema]


def _corrected(declared: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
    values = channel.values
    shape = [int(n) for n in declared.get("shape") or []]
    size = 1
    for n in shape:
        size *= n
    if not shape or size != values.shape[1]:
        shape = [int(values.shape[1])]
    return dict(declared) | {"dtype": values.dtype.name, "shape": shape}


def _seen(info: CameraInfo, declared: Mapping[str, Any]) -> dict[str, Any]:
    feature = {"dtype": "video"} | dict(declared)
    if not declared.get("shape"):
        feature["shape"] = [info.height or 1, info.width or 1, 3]
    return feature
