"""Single samples that stand out."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.spike import Spike
from gristmill.testing import CheckContract, judge, make_episode, measure_all, reaching


def spiked(index, size=0.5, at=60, dim=2):
    clean = reaching(index)
    state = clean.channels["observation.state"].values.copy()
    state[at, dim] += size
    return make_episode(state=state, action=clean.channels["action"].values, index=index)


def episodes(odd, count=8):
    """`odd` among straight lines from 0 to 1."""
    return [make_episode(state=np.linspace(0, 1, 101), index=i) for i in range(count)] + [odd]


class TestSpike(CheckContract):
    check = Spike()

    def broken_episode(self, index):
        return spiked(index)


def test_height_is_the_distance_to_the_cubic_less_nearby_motion():
    state = np.linspace(0, 1, 101)
    state[50] += 0.3
    (measured,) = measure_all(Spike(), [make_episode(state=state, rate_hz=10)])
    assert measured is not None
    (event,) = measured.events
    # The line itself is met by the cubic; nearby steps are 0.01, of which one and a half are explained.
    assert event.strength == pytest.approx(0.3 - 1.5 * 0.01)
    assert (event.start_s, event.end_s) == pytest.approx((5.0, 5.1))
    assert event.channel == "observation.state[joint_0]"


def test_the_right_channel_and_no_other():
    (found,) = judge(Spike(), [reaching(0), spiked(1), reaching(2)])
    assert found.channel == "observation.state[joint_2]"


@pytest.mark.parametrize("at", [1, 2, 118])
def test_near_the_ends(at):
    assert [f.row for f in judge(Spike(), [reaching(0), spiked(1, at=at), reaching(2)])] == [1]


def test_fast_motion_hides_no_spike():
    state = np.linspace(0, 1, 101) * 10  # steps of 0.1
    state[50] += 0.6
    assert [f.row for f in judge(Spike(), episodes(make_episode(state=state, index=8)))] == [8]


def test_a_step_that_stays_is_no_spike():
    state = np.linspace(0, 1, 101)
    state[50:] += 0.5
    assert judge(Spike(), episodes(make_episode(state=state, index=8))) == []


def test_a_sharp_turn_is_no_spike():
    state = np.abs(np.linspace(-1, 1, 101))
    assert judge(Spike(), episodes(make_episode(state=state, index=8))) == []


def test_a_trembling_command_is_no_spike():
    rng = np.random.default_rng(0)
    made = [make_episode(state=np.linspace(0, 1, 101) + rng.normal(0, 0.01, 101), index=i) for i in range(20)]
    assert judge(Spike(), made) == []


def test_a_coarse_sensor_does_not_spike_by_a_few_counts():
    rng = np.random.default_rng(0)
    made = [make_episode(state=0.1 * (rng.random(101) < 0.1), index=i) for i in range(9)]
    assert judge(Spike(), made) == []


def test_a_switch_is_no_spike():
    state = np.zeros(101)
    state[50] = 1
    made = [make_episode(state=np.repeat([0.0, 1.0, 0.0], [30, 30, 41]), index=i) for i in range(8)]
    assert judge(Spike(), [*made, make_episode(state=state, index=8)]) == []


def test_the_hum_of_a_resting_joint_is_no_spike():
    rng = np.random.default_rng(0)
    made = []
    for i in range(9):
        rest = rng.normal(0, 1e-5, 101)
        rest[50] += 1e-3 * (i == 4)  # a hundred times the hum, a thousandth of what the arm does
        made.append(make_episode(state=np.stack([np.linspace(0, 1, 101), rest], axis=1), index=i))
    assert judge(Spike(), made) == []


def test_a_frozen_dimension_with_one_glitch():
    state = np.stack([np.linspace(0, 1, 101), np.zeros(101)], axis=1)
    state[30, 1] = 0.4
    made = [make_episode(state=state * [1, 0] + [0, 0.1 * i], index=i) for i in range(8)]
    (found,) = judge(Spike(), [*made, make_episode(state=state, index=8)])
    assert (found.row, found.channel) == (8, "observation.state[joint_1]")


def test_a_key_pressed_for_one_sample_is_no_spike():
    keys = np.zeros((101, 3))
    keys[40, 1] = 1
    made = [make_episode(action=np.zeros((101, 3)), index=i) for i in range(20)]
    assert judge(Spike(), [*made, make_episode(action=keys, index=20)]) == []
    keys[40, 1] = 1.2
    assert len(judge(Spike(), [*made, make_episode(action=keys, index=20)])) == 1


def jagged(index, size=0.0):
    """Steps that a hand commands a few times a second: mostly small, now and then large."""
    steps = np.clip(np.random.default_rng(index).standard_t(2, 60), -10, 10)
    steps[30] += size
    return make_episode(state=steps, rate_hz=5, index=index)


def test_what_turns_round_all_the_time_has_no_spikes_within_its_range():
    assert judge(Spike(), [jagged(i) for i in range(30)]) == []
    # Such corpora would be full of them by the rule for smooth motion.
    assert len(judge(Spike(jagged_height=0.045), [jagged(i) for i in range(30)])) > 10


def test_what_turns_round_all_the_time_can_still_leave_its_range():
    assert [f.row for f in judge(Spike(), [jagged(i, 60 * (i == 4)) for i in range(30)])] == [4]


def test_a_joint_that_mostly_rests_is_judged_by_the_episodes_in_which_it_moves():
    rng = np.random.default_rng(0)
    made = [make_episode(state=rng.normal(0, 1e-3, 101), index=i) for i in range(30)]  # hums, and turns all the time
    made += [make_episode(state=np.linspace(0, 1, 101), index=30 + i) for i in range(10)]
    spike = np.linspace(0, 1, 101)
    spike[50] += 0.3
    assert [f.row for f in judge(Spike(), [*made, make_episode(state=spike, index=40)])] == [40]


def test_an_episode_with_dimensions_of_its_own_is_passed_over():
    odd = spiked(1)
    renamed = make_episode(
        state=odd.channels["observation.state"].values, names=[f"other_{i}" for i in range(6)], index=1
    )
    assert judge(Spike(), [reaching(0), renamed, reaching(2)]) == []
