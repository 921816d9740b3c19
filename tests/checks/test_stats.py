"""Declared statistics against the values."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from gristmill.checks.stats import Stats
from gristmill.finding import Issue, Kind
from gristmill.testing import ArrayCamera, CheckContract, facts_of, judge, make_episode, measure_all, reaching


def described(values):
    """What LeRobot stores of an episode: NumPy's reductions in the values' own precision."""
    return {
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "mean": values.mean(axis=0),
        "std": values.std(axis=0),
        "count": np.array([len(values)]),
    }


def honest(index, **more):
    """A clean episode that declares its own statistics; `more` replaces or adds some, as feature -> statistics."""
    channels = reaching(index).channels
    stats = {key: described(c.values) for key, c in channels.items()}
    for feature, changed in more.items():
        stats[feature.replace("_", ".")] = stats.get(feature.replace("_", "."), {}) | changed
    return reaching(index, declared_stats=stats)


def shifted(index, by=0.2):
    values = reaching(index).channels["action"].values
    mean = values.mean(axis=0)
    mean[2] += by
    return honest(index, action={"mean": mean})


class TestStale(CheckContract):
    check = Stats()

    def clean_episode(self, index):
        return honest(index)

    def broken_episode(self, index):
        return shifted(index)


class TestNotFinite(TestStale):
    def broken_episode(self, index):
        return honest(index, observation_state={"std": np.full(6, np.nan)})


def test_the_worst_dimension_is_named_and_measured_against_its_range():
    values = np.linspace(0, 10, 101)[:, None] * [1, 2]
    stats = described(values)
    stats["max"] = np.array([10.5, 20.5])  # 5 % and 2.5 % of the ranges, which are 10 and 20
    (found,) = judge(
        Stats(), [make_episode(state=values, names=("a", "b"), declared_stats={"observation.state": stats})]
    )
    assert (found.kind, found.row, found.code, found.channel) == (Kind.DEFECT, 0, "stale_stats", "observation.state")
    assert found.measured == pytest.approx(0.5 / (10 + 1e-3 * 10 + 1e-9))
    assert found.threshold == 0.01
    assert "declared max of observation.state[a] is 10.5, the values give 10, " in found.message
    assert "1 more values of it disagree" in found.message


def test_small_disagreement_is_tolerated_up_to_the_threshold():
    values = np.linspace(0, 1, 101)[:, None]
    stats = described(values) | {"mean": np.array([0.505])}
    episode = make_episode(state=values, declared_stats={"observation.state": stats})
    assert judge(Stats(), [episode]) == []
    assert [f.code for f in judge(Stats(max_error=0.004), [episode])] == ["stale_stats"]


def test_rounding_in_float32_at_a_large_offset_accuses_nobody():
    values = (4e5 + 0.05 * np.sin(np.arange(20_000))[:, None]).astype(np.float32)
    stats = described(values)
    assert abs(float(stats["mean"][0]) - values.astype(np.float64).mean()) < 1
    assert judge(Stats(), [make_episode(state=values, declared_stats={"observation.state": stats})]) == []


def test_constant_dimensions_are_compared_too():
    values = np.full((50, 2), 0.1, np.float32)
    stats = described(values)
    assert judge(Stats(), [make_episode(state=values, declared_stats={"observation.state": stats})]) == []
    stats["mean"] = stats["mean"] + np.float32(0.001)
    (found,) = judge(Stats(), [make_episode(state=values, declared_stats={"observation.state": stats})])
    assert found.code == "stale_stats"


def test_dimensions_with_gaps_are_not_compared():
    values = np.linspace(0, 1, 50)[:, None] * [1.0, 1.0]
    stats = described(values) | {"mean": np.array([7.0, 0.5])}
    values[3, 0] = np.nan
    episode = make_episode(state=values, declared_stats={"observation.state": stats})
    assert judge(Stats(), [episode]) == []
    (measured,) = measure_all(Stats(), [episode])
    assert measured is not None
    assert np.isnan(measured.values["mean"]).tolist() == [True, False]


def test_statistics_of_another_length():
    values = np.zeros((5, 3))
    stats = described(values) | {"std": np.zeros(2)}
    found = judge(Stats(), [make_episode(state=values, declared_stats={"observation.state": stats})])
    assert [(f.kind, f.code, f.channel) for f in found] == [(Kind.DEFECT, "stats_misshapen", "observation.state")]


def test_images_are_said_to_be_unknown():
    camera = ArrayCamera(np.zeros((5, 2, 2), np.uint8))
    episode = make_episode(
        state=np.zeros((5, 1)), cameras={"top": camera}, declared_stats={"top": {"mean": np.zeros((3, 1, 1))}}
    )
    (measured,) = measure_all(Stats(), [episode])
    assert measured is not None
    assert measured.unknown == "declared statistics of images are not compared: that would decode every frame"
    assert measured.values["count"] == 5


def test_absent_statistics_are_a_trait():
    (found,) = judge(Stats(), [reaching(i) for i in range(3)])
    assert (found.row, found.kind, found.code) == (None, Kind.TRAIT, "stats_absent")
    (found,) = judge(Stats(), [honest(0), reaching(1), honest(2)])
    assert "only 2 of 3 episodes declare statistics" in found.message
    told = Issue(
        check="stats", code="unreadable_stats", kind=Kind.DEFECT, message="stats.json is empty.", fix="Mend it."
    )
    assert [f.code for f in judge(Stats(), [reaching(0)], issues=[told])] == ["unreadable_stats"]


def corpus_facts(episodes, values, **more):
    return facts_of(episodes, declared_stats={"observation.state": described(values) | more})


def test_the_corpus_is_compared_with_pooled_moments():
    parts = [np.random.default_rng(i).normal(i, 1 + i, (20 + 7 * i, 2)) for i in range(4)]
    episodes = [make_episode(state=p, index=i) for i, p in enumerate(parts)]
    whole = np.concatenate(parts)
    assert judge(Stats(), episodes, facts=corpus_facts(episodes, whole)) == []
    # the average of the episodes' deviations is not the corpus's: 2.5 against about 2.9 plus their spread
    wrong = np.mean([p.std(axis=0) for p in parts], axis=0)
    (found,) = judge(Stats(), episodes, facts=corpus_facts(episodes, whole, std=wrong))
    assert (found.row, found.kind, found.code, found.channel) == (None, Kind.DEFECT, "stale_stats", "observation.state")
    assert found.message.startswith("the corpus: the declared std of observation.state[joint_")


def test_statistics_of_a_corpus_are_not_held_against_a_part_of_it():
    episodes = [make_episode(state=np.full((5, 1), float(i)), index=i) for i in range(3)]
    whole = np.arange(10.0)[:, None]
    facts = facts_of(episodes, declared_stats={"observation.state": described(whole)}, info={"total_episodes": 10})
    assert judge(Stats(), episodes, facts=facts) == []


def recordings(folder, declared):
    info = json.loads((folder / "meta" / "info.json").read_text())
    tables = [pq.read_table(p) for p in sorted(folder.glob("data/*/*.parquet"))]
    episodes = []
    for table in tables:
        numbers = np.array(table["episode_index"].to_pylist())
        state, action = (np.stack(table[k].to_numpy()) for k in ("observation.state", "action"))
        for i in np.unique(numbers).tolist():
            rows = numbers == i
            episodes.append(
                make_episode(
                    state=state[rows], action=action[rows], rate_hz=info["fps"], index=i, declared_stats=declared.get(i)
                )
            )
    return info, sorted(episodes, key=lambda e: e.index)


def arrays(stats):
    return {k: {s: np.array(v) for s, v in of.items()} for k, of in stats.items() if "image" not in k}


def test_statistics_of_real_episodes_agree(real_data):
    folder = real_data / "g1_inspire"
    lines = [json.loads(x) for x in (folder / "meta" / "episodes_stats.jsonl").read_text().splitlines()]
    _, episodes = recordings(folder, {x["episode_index"]: arrays(x["stats"]) for x in lines})
    assert len(episodes) == 4
    assert judge(Stats(), episodes) == []
    assert judge(Stats(max_error=1e-3), episodes) == []


@pytest.mark.parametrize("name", ["pusht_lowdim", "gr1_sim_picknplace"])
def test_statistics_of_a_real_corpus_agree_and_those_of_a_larger_one_do_not(real_data, name):
    folder = real_data / name
    info, episodes = recordings(folder, {})
    stats = arrays(json.loads((folder / "meta" / "stats.json").read_text()))
    assert judge(Stats(), episodes, facts=facts_of(episodes, declared_stats=stats, info=info)) == []
    kept = episodes[: len(episodes) // 2]
    found = judge(Stats(), kept, facts=facts_of(kept, declared_stats=stats, info={"total_episodes": len(kept)}))
    assert [(f.row, f.code, f.channel) for f in found] == [
        (None, "stale_stats", "observation.state"),
        (None, "stale_stats", "action"),
    ]


def test_what_the_reader_told_is_not_repeated():
    values = np.linspace(0, 1, 5)[:, None]
    episodes = [make_episode(state=values)]
    facts = corpus_facts(episodes, values, std=np.array([np.nan]))
    told = Issue(
        check="stats",
        code="stats_not_finite",
        kind=Kind.DEFECT,
        message="stats.json: std is not finite.",
        fix="Mend it.",
        channel="observation.state",
    )
    assert [f.message for f in judge(Stats(), episodes, facts=facts, issues=[told])] == [told.message]
    assert [f.code for f in judge(Stats(), episodes, facts=facts)] == ["stats_not_finite"]
