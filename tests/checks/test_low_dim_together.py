"""All low-dimensional checks side by side: real recordings stay silent, and a fault is named by its own check only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import plugins
from gristmill.embodiment import Embodiment, resolve
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.testing import judge, make_episode, reaching

LOW_DIM = [
    "action_is_next_state",
    "caps",
    "dead_channel",
    "drift",
    "empty_grasp",
    "frozen_state",
    "grasp_contact",
    "gripper_chatter",
    "gripper_still",
    "idle",
    "jitter",
    "lag",
    "length",
    "limits",
    "non_finite",
    "rate",
    "raw_ticks",
    "roughness",
    "saturation",
    "self_collision",
    "singularity",
    "slip",
    "smoothness",
    "spike",
    "timestamps",
    "tracking_offset",
]
CHECKS = [plugins.load("checks", name)() for name in LOW_DIM]


def findings(episodes) -> list[Finding]:
    return [f for check in CHECKS for f in judge(check, episodes)]


def loud(episodes) -> list[Finding]:
    return [f for f in findings(episodes) if f.kind is not Kind.TRAIT]


# -- real recordings ------------------------------------------------------------------------------


def recorded(folder: Path) -> list[Episode]:
    """State and action of every episode of a LeRobot dataset, read without the project's reader."""
    info = json.loads((folder / "meta" / "info.json").read_text())
    tables = [pq.read_table(path) for path in sorted(folder.glob("data/*/*.parquet"))]
    columns = ["episode_index", "timestamp", "observation.state", "action"]
    table = pa.concat_tables([t.select(columns) for t in tables])
    names = info["features"]["observation.state"]["names"]
    while not isinstance(names[0] if isinstance(names, list) else names, str):
        names = names[0] if isinstance(names, list) else next(iter(names.values()))
    robot = info["robot_type"] if info["robot_type"] != "unknown" else ""
    card: Embodiment | None = None
    made = []
    for index in pc.unique(table["episode_index"]).to_pylist():
        rows = table.filter(pc.equal(table["episode_index"], index))
        values = [np.stack(rows[key].to_numpy(zero_copy_only=False)) for key in ("observation.state", "action")]
        times = rows["timestamp"].to_numpy().astype(np.float64)
        more = {"rate_hz": float(info["fps"]), "times_s": times, "names": names, "index": index, "embodiment": card}
        made.append(make_episode(state=values[0], action=values[1], **more))
        if card is None:
            card = made[0].embodiment = resolve(robot, made[0].dims)
    return made


@pytest.mark.parametrize("name", ["g1_inspire", "gr1_sim_picknplace", "pusht_lowdim"])
def test_real_recordings_have_neither_defect_nor_risk(real_data, name):
    assert loud(recorded(real_data / name)) == []


def test_the_dead_dimensions_of_the_simulated_humanoid_are_told(real_data):
    found = {f.channel: f for f in findings(recorded(real_data / "gr1_sim_picknplace"))}
    # 25 of 44 dimensions of its actions are constant; so are 18 of its states.
    assert found["action"].measured == 25
    assert found["observation.state"].measured == 18
    assert {f.kind for f in found.values()} == {Kind.TRAIT}


# -- whatever may be recorded ---------------------------------------------------------------------

NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-30, 1e30, 4096.0]),
    st.floats(-10, 10, width=32),
)

NOBODY = Embodiment(key="none", title="no card", inferred=True)


@st.composite
def anything(draw, index=0):
    frames = draw(st.integers(0, 120))
    given_ = {
        role: draw(hnp.arrays(draw(st.sampled_from([np.float32, np.float64])), (frames, width), elements=NUMBERS))
        for role, width in draw(
            st.sampled_from([{"state": 2}, {"action": 2}, {"state": 2, "action": 2}, {"state": 3}])
        ).items()
    }
    times = np.arange(frames) / 30
    if draw(st.booleans()):
        times = draw(hnp.arrays(np.float64, frames, elements=NUMBERS))
    names = draw(st.sampled_from([["pan", "gripper"], ["", ""], None]))
    more = {"names": names, "index": index, "embodiment": NOBODY, "rate_hz": draw(st.sampled_from([10.0, 30.0]))}
    return make_episode(**given_, times_s=times, **more)


@settings(max_examples=60, deadline=None)
@given(st.lists(anything(), min_size=1, max_size=4))
def test_no_numbers_make_a_check_fail_or_warn(episodes):
    for found in findings(episodes):
        assert all(np.isfinite(v) for v in (found.measured, found.threshold) if v is not None), found


# -- one fault, one check -------------------------------------------------------------------------


def clean(index: int) -> Episode:
    """Six seconds: reaches with a gripper that closes and opens, between short rests."""
    t = np.arange(180) / 30
    eased = np.sin(np.pi / 2 * np.clip(np.minimum(t - 0.3, 5.6 - t), 0, 1)) ** 2
    base = reaching(index, frames=180)
    state, action = (base.channels[k].values.astype(np.float64) for k in ("observation.state", "action"))
    state, action = state * eased[:, None], action * np.roll(eased, -2)[:, None]
    grip = 1 - np.clip((t - 2) / 0.4, 0, 1) + np.clip((t - 4) / 0.4, 0, 1)
    action[:, 5] = grip
    state[:, 5] = np.interp(t - 0.08, t, grip)
    return remade(index, state, action)


def remade(index, state, action, times=None) -> Episode:
    names = ["pan", "lift", "elbow", "flex", "roll", "gripper"]
    return make_episode(
        state=state.astype(np.float32), action=action.astype(np.float32), times_s=times, names=names, index=index
    )


def arrays(index):
    channels = clean(index).channels
    return channels["observation.state"].values.copy(), channels["action"].values.copy()


def spike(index):
    state, action = arrays(index)
    state[90, 2] += 0.5
    return remade(index, state, action)


def nan(index):
    state, action = arrays(index)
    state[90:93, 2] = np.nan
    return remade(index, state, action)


def frozen(index):
    state, action = arrays(index)
    state[70:100] = state[70]
    return remade(index, state, action)


def dead(index):
    state, action = arrays(index)
    state[:, 2] = state[0, 2]
    return remade(index, state, action)


def lag(index):
    state, action = arrays(index)
    return remade(index, np.concatenate([np.repeat(state[:1], 6, axis=0), state[:-6]]), action)


def gap(index):
    state, action = arrays(index)
    keep = np.r_[0:90, 99:180]
    return remade(index, state[keep], action[keep], keep / 30)


def rate(index):
    state, action = arrays(index)
    return remade(index, state, action, np.arange(180) / 27)


def idle(at):
    def make(index):
        state, action = arrays(index)
        rows = np.r_[0 : at + 1, np.full(90, at), at + 1 : 180]
        return remade(index, state[rows], action[rows])

    return make


def short(index):
    state, action = arrays(index)
    return remade(index, state[:12], action[:12])


def chatter(index):
    state, action = arrays(index)
    wave = 0.4 * (1 - np.cos(np.linspace(0, 10 * np.pi, 60))) / 2
    state[75:135, 5] = action[75:135, 5] = wave
    return remade(index, state, action)


FAULTS: dict[str, tuple[str, Callable[[int], Episode]]] = {
    "spike": ("spike", spike),
    "nan": ("non_finite", nan),
    "frozen": ("frozen_state", frozen),
    "dead joint": ("dead_channel", dead),
    "lag": ("lag", lag),
    "time gap": ("timestamps", gap),
    "rate": ("rate", rate),
    "idle head": ("idle", idle(0)),
    "idle middle": ("idle", idle(100)),
    "idle tail": ("idle", idle(179)),
    "too short": ("length", short),
    "chatter": ("gripper_chatter", chatter),
}


def test_clean_recordings_are_silent():
    assert loud([clean(i) for i in range(12)]) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_by_its_own_check_only(fault):
    check, make = FAULTS[fault]
    episodes = [make(i) if i == 5 else clean(i) for i in range(12)]
    assert {(f.check, f.row) for f in loud(episodes)} == {(check, 5)}
