"""What a curation promises beside the data: tags, waivers, copies across corpora, arguments that make sense."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gristmill
from gristmill.audit import Verdict
from gristmill.errors import UsageError
from gristmill.export._tasks import TaskTable
from gristmill.pipeline import Project
from gristmill.synth import inject
from gristmill.testing import facts_of, make_episode


def shifted(corpus: Path, to: Path, by: float) -> Path:
    """A copy whose joint data is another's, beside the same videos."""
    shutil.copytree(corpus, to)
    for path in (to / "data").rglob("*.parquet"):
        table = pq.read_table(path)
        at = table.column_names.index("observation.state")
        column = table.column(at)
        moved = pa.array([(np.asarray(v, np.float32) + by).tolist() for v in column.to_pylist()], column.type)
        pq.write_table(table.set_column(at, table.schema.field(at), moved), path)
    return to


def test_footage_of_an_earlier_corpus_beside_other_numbers_costs_the_cameras(
    filmed_corpus: Path, tmp_path: Path
) -> None:
    other = shifted(filmed_corpus, tmp_path / "other", 0.01)
    done = gristmill.open(filmed_corpus, other, store=tmp_path / "s").curate(dry_run=True)
    first, second = done.plans
    assert {d.usable_for for d in first.decisions} == {("low_dim", "vision")}
    assert {(d.verdict, d.usable_for) for d in second.decisions} == {(Verdict.KEEP, ("low_dim",))}
    assert all("gate.defects.footage" in d.rules for d in second.decisions)
    told = [f for f in done.audits[1].findings if f.check == "footage"]
    assert len(told) == 20 and f"of {done.audits[0].ids[0]}" in told[0].message  # two cameras of ten episodes


def test_a_tag_is_checked_before_the_work_and_its_move_is_told(sample_corpus: Path, tmp_path: Path) -> None:
    project = gristmill.open(sample_corpus, store=tmp_path / "s")
    for wrong in ("bad tag", ""):
        with pytest.raises(UsageError, match="cannot be a tag"):
            project.curate(tmp_path / "out", tag=wrong)
    assert not (tmp_path / "out").exists()
    first = project.curate(tag="v1", episodes="0:5")
    assert first.snapshot is not None and first.notes == ()
    assert project.curate(tag="v1", episodes="0:5").notes == ()  # it stays where it was
    assert project.curate(tag="v1").notes == (f"tag v1 moved here from snapshot {first.snapshot.id}",)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"episodes": [0, 1]}, "[0, 1] is no selection"),
        ({"episodes": "5:2"}, "5:2 names no episode"),
        ({"cameras": "front"}, "'front' is none of all, sample, none"),
        ({"jobs": 0}, "0 is no number of processes"),
    ],
)
def test_arguments_that_make_no_sense_are_one_line(sample_corpus: Path, tmp_path: Path, arguments, what) -> None:
    with pytest.raises(UsageError, match=re.escape(what)):
        gristmill.open(sample_corpus, store=tmp_path / "s").audit(**arguments)


def test_corpora_are_named_one_by_one(sample_corpus: Path) -> None:
    with pytest.raises(UsageError, match="one by one"):
        gristmill.open([sample_corpus])  # type: ignore[arg-type]


def test_a_selection_of_the_recipe_is_called_so(sample_corpus: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(f'corpora = [{{ path = "{sample_corpus}", episodes = "0:50" }}]\n')
    with pytest.raises(UsageError, match="arm: episodes 0:50: out of range"):
        gristmill.open(recipe, store=tmp_path / "s").audit()


def test_a_waiver_of_values_that_are_no_more_is_told(sample_corpus: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "arm"
    inject(sample_corpus, corpus, faults=["spike"], share=0.1, seed=3, truth=tmp_path / "t.json")
    gristmill.open(corpus, store=tmp_path / "s").audit()
    Project.known(store=tmp_path / "s").accept(0, "spike", "a bump")
    shutil.rmtree(corpus)
    shifted(sample_corpus, corpus, 0.01)
    audit = gristmill.open(corpus, store=tmp_path / "s").audit()
    assert (audit.waived, audit.lapsed) == ({}, {("arm/000000", "spike"): "a bump"})
    assert Project.known(store=tmp_path / "s").why(0).lapsed == {"spike": "a bump"}


def test_tasks_that_were_cut_away_go_and_those_of_the_metadata_stay() -> None:
    facts = facts_of([make_episode(state=np.zeros((4, 1)), index=0)])
    facts.tasks.update({0: "pick", 1: "place"})  # type: ignore[attr-defined]
    episode = make_episode(state=np.zeros((4, 1)), index=0)
    episode.tasks = ("valid", "pick", "place")
    episode.index_columns = {"task_index": np.array([0, 0, 1, 1])}
    texts, numbers = TaskTable([facts]).of_frames(episode, np.array([2, 3]))
    assert texts == ["valid", "place"]
    assert numbers is not None and [texts[i] for i in numbers] == ["place", "place"]
