"""What attributes say of the environment, in the ways of robosuite 1.4 and 1.5, LIBERO and Isaac Lab."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from gristmill.formats.hdf5 import attributes, environment


@pytest.fixture
def group(tmp_path: Path):
    with h5py.File(tmp_path / "file.hdf5", "w") as file:
        yield file.create_group("data")


def environment_of(group: h5py.Group, **found: Any) -> environment.Environment:
    for name, value in found.items():
        group.attrs[name] = json.dumps(value) if isinstance(value, dict) else value
    return environment.of(group.id)


def test_robosuite_1_4(group: h5py.Group) -> None:
    kwargs = {
        "robots": ["Panda", "Sawyer"],
        "control_freq": 20.0,
        "controller_configs": [{"type": "OSC_POSE", "control_delta": False}, {"type": "OSC_POSITION"}],
    }
    found = environment_of(group, env_args={"env_name": "TwoArmLift", "type": 1, "env_kwargs": kwargs})
    assert (found.name, found.rate_hz, found.robots, found.robosuite) == ("TwoArmLift", 20, ("Panda", "Sawyer"), True)
    assert found.controllers == (("OSC_POSE", False), ("OSC_POSITION", True))


def test_robosuite_1_5(group: h5py.Group) -> None:
    part = {"type": "OSC_POSE", "input_type": "delta", "gripper": {"type": "GRIP"}}
    kwargs = {
        "robots": "Panda",
        "control_freq": 20,
        "controller_configs": {"type": "BASIC", "body_parts": {"right": part}},
    }
    found = environment_of(group, env_args={"env_name": "Lift", "type": 1, "env_kwargs": kwargs})
    assert found.robots == ("Panda",)
    assert found.controllers == (("OSC_POSE", True),)


def test_robosuites_own_recordings(group: h5py.Group) -> None:
    found = environment_of(
        group, env="Lift", env_info={"robots": ["Panda"], "controller_configs": {"type": "OSC_POSE"}}
    )
    assert (found.name, found.rate_hz, found.robots, found.robosuite) == ("Lift", None, ("Panda",), True)


def test_libero(group: h5py.Group) -> None:
    found = environment_of(
        group,
        env_args={"env_name": "Libero_Kitchen", "type": 1, "env_kwargs": {"control_freq": 20}},
        problem_info={"language_instruction": ["open the drawer"]},
    )
    assert (found.task, found.rate_hz) == ("open the drawer", 20)


def test_isaac_lab(group: h5py.Group) -> None:
    args = {"env_name": "Isaac-Stack", "type": 2, "sim_args": {"dt": 0.005, "decimation": 4}}
    found = environment_of(group, env_args=args)
    assert (found.name, found.rate_hz, found.robosuite) == ("Isaac-Stack", pytest.approx(50), False)


HOSTILE = [
    {"env_name": 7, "env_kwargs": []},
    {"env_kwargs": {"control_freq": "20", "robots": {"a": 1}, "controller_configs": [[], None, 3]}},
    {"env_kwargs": {"control_freq": -20, "controller_configs": {"body_parts": {"right": 3}}}},
    {"env_kwargs": {"control_freq": 0}, "sim_args": {"dt": 0, "decimation": 4}},
    {"env_kwargs": {"control_freq": 1e300}, "sim_args": 3},
    {"env_kwargs": {"control_freq": True}, "env_lang": {}},
]


@pytest.mark.parametrize("args", HOSTILE, ids=str)
def test_nonsense_says_nothing(group: h5py.Group, args: dict) -> None:
    found = environment_of(group, env_args=args)
    assert (found.name, found.rate_hz, found.robots, found.task, found.broken) == ("", None, (), "", False)


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 60_000, np.bytes_(b"\xff\xfe{}")])
def test_what_is_no_json_is_marked(group: h5py.Group, text: Any) -> None:
    found = environment_of(group, env_args=text)
    assert (found.broken, found.args) == (True, None)


def test_attributes_of_any_type(group: h5py.Group) -> None:
    for name, value in {
        "int": 7, "float": 7.0, "half": 7.5, "negative": -1, "nan": np.nan, "one": [5], "two": [5, 6], "text": "abc",
        "bytes": np.bytes_(b"abc"), "true": True, "empty": h5py.Empty("f4"), "texts": ["a", "b"],
    }.items():  # fmt: skip
        group.attrs[name] = value
    names = [*group.attrs, "absent"]
    counts = {name: attributes.count(group.id, name) for name in names}
    assert {n: c for n, c in counts.items() if c is not None} == {"int": 7, "float": 7, "one": 5}
    texts = {name: attributes.text(group.id, name) for name in names}
    assert {n: t for n, t in texts.items() if t is not None} == {"text": "abc", "bytes": "abc"}
    assert (attributes.flag(group.id, "true"), attributes.flag(group.id, "int"), attributes.flag(group.id, "text")) == (
        True, True, None,
    )  # fmt: skip
