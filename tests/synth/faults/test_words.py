"""Faults of the task text."""

from __future__ import annotations

import json

import numpy as np
import pytest


@pytest.mark.parametrize(("fault", "text"), [("empty_task", ""), ("placeholder_task", "test")])
def test_all_rows_get_the_new_task(all_faults, fault, text):
    for planted in all_faults.planted(fault):
        told = all_faults.after.episodes[planted["episode"]]
        (number,) = np.unique(told.rows["task_index"])
        assert all_faults.after.tasks[number] == text
        assert told.tasks == [text]
    users = [i for i, t in all_faults.after.episodes.items() if text in t.tasks]
    assert users == [p["episode"] for p in all_faults.planted(fault)]
    old = all_faults.before.tasks
    assert {n: all_faults.after.tasks[n] for n in old} == old
    assert sorted(all_faults.after.tasks) == list(range(len(all_faults.after.tasks)))


def test_annotations_that_repeat_the_task_follow_and_other_tasks_stay(real_data, plant):
    found = plant(real_data / "gr1_sim_picknplace", "empty_task", share=0.2)
    (planted,) = found.truth["planted"]
    told = found.after.episodes[planted["episode"]]
    assert told.tasks == ["", "valid"]
    assert (told.rows["task_index"] == 6).all()
    assert (told.rows["annotation.human.action.task_description"] == 6).all()
    assert (told.rows["annotation.human.validity"] == 1).all()
    info = json.loads((found.after.root / "meta/info.json").read_text())
    assert info["total_tasks"] == 7 and info["splits"] == {"train": "0:100"}


def test_the_pandas_note_of_a_task_table_stays(real_data, plant):
    import pandas as pd

    found = plant(real_data / "pusht_lowdim", "placeholder_task", share=0.01)
    table = pd.read_parquet(found.after.root / "meta/tasks.parquet")
    assert table.index.tolist()[1] == "test" and table["task_index"].tolist() == [0, 1]
