"""Task texts that say nothing."""

from __future__ import annotations

import json

import pytest

from gristmill.checks.task_text import PLACEHOLDERS, TaskText, is_placeholder
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, reaching


def told(*tasks, check=None):
    """(row, kind, code) of findings on episodes with these task texts."""
    episodes = [make_episode(length=3, index=i, tasks=t) for i, t in enumerate(tasks)]
    return [(f.row, f.kind, f.code) for f in judge(check or TaskText(), episodes)]


class TestTaskText(CheckContract):
    check = TaskText()

    def broken_episode(self, index):
        return reaching(index, tasks=("",))


class TestPlaceholder(CheckContract):
    check = TaskText()

    def broken_episode(self, index):
        return reaching(index, tasks=("test",))


@pytest.mark.parametrize("tasks", [(), ("",), ("  \t",), ("", " ")])
def test_empty(tasks):
    assert told(("pick the cube",), tasks) == [(1, Kind.DEFECT, "empty_task")]


@pytest.mark.parametrize(
    "text",
    ["test", "TEST", " Test 2 ", "todo", "n/a", "N.A.", "task_0", "Task-1", "asdf", "<task>", "My task description",
     "valid", "none", "NaN", "episode 12", "xxx", "todo!"],
)  # fmt: skip
def test_placeholders(text):
    assert is_placeholder(text)
    assert told(("pick the cube",), (text,)) == [(1, Kind.RISK, "placeholder_task")]


@pytest.mark.parametrize(
    "text",
    ["Test the water", "pick", "Reach", "open the door 2", "把杯子拿起来", "put it in the task box", "taste", "Push-T",
     "place test tube", "unknown object into bin", "pick_place"],
)  # fmt: skip
def test_real_texts_are_left_alone(text):
    assert not is_placeholder(text)
    assert told((text,)) == []


def test_placeholders_are_stored_as_they_are_compared():
    assert all(is_placeholder(p) for p in PLACEHOLDERS)


def test_a_placeholder_beside_a_sentence_is_told_once_of_the_corpus():
    tasks = [("pick the pear", "valid"), ("pick the meat", "valid"), ("pick the salt", "valid", "")]
    found = judge(TaskText(), [make_episode(length=3, index=i, tasks=t) for i, t in enumerate(tasks)])
    assert [(f.row, f.kind, f.code, f.measured) for f in found] == [
        (None, Kind.TRAIT, "placeholder_beside_task", 1.0),
        (None, Kind.TRAIT, "placeholder_beside_task", 3.0),
    ]
    assert found[0].message.startswith("An empty text is stored as a task of 1 episode,")
    assert found[1].message.startswith("'valid' is stored as a task of 3 episodes")


def test_no_words_control_characters_and_length():
    assert told(("12 34",)) == [(0, Kind.RISK, "no_words")]
    assert told(("pick \x1b[31mred",)) == [(0, Kind.RISK, "control_characters")]
    assert told(("pick the cube\n",)) == []
    assert told(("a" * 500,)) == []
    (found,) = judge(TaskText(), [make_episode(length=3, tasks=("a " * 251,))])
    assert (found.code, found.measured, found.threshold, found.unit) == ("long_task", 502.0, 500.0, "characters")


def test_messages_quote_escaped_and_short():
    (found,) = judge(TaskText(), [make_episode(length=3, tasks=("\x1b]0;evil\x07 and" + " far" * 50,))])
    assert "\x1b" not in found.message
    assert "\\x1b]0;evil\\x07" in found.message
    assert len(found.message) < 200


def test_spellings_of_one_task():
    tasks = [("Pick the cube",), ("pick the  cube.",), ("pick the cube 2",), ("pick the cone",)]
    (found,) = judge(TaskText(), [make_episode(length=3, index=i, tasks=t) for i, t in enumerate(tasks)])
    assert (found.row, found.kind, found.code, found.measured) == (None, Kind.TRAIT, "task_variants", 1.0)
    assert "'Pick the cube' and 'pick the  cube.'" in found.message
    assert told(*tasks, check=TaskText(find_variants=False)) == []


def test_tasks_shared_by_many_episodes_are_told_of_each():
    assert told(*[("",)] * 3) == [(r, Kind.DEFECT, "empty_task") for r in range(3)]


def test_real_recordings(real_data):
    lines = (real_data / "gr1_sim_picknplace" / "meta" / "episodes.jsonl").read_text().splitlines()
    found = told(*[tuple(json.loads(line)["tasks"]) for line in lines])
    assert found == [(None, Kind.TRAIT, "placeholder_beside_task")]
    lines = (real_data / "g1_inspire" / "meta" / "episodes.jsonl").read_text().splitlines()
    assert told(*[tuple(json.loads(line)["tasks"]) for line in lines]) == []
