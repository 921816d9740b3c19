"""The whole way in Python: audit, resume, change a threshold, curate, ask."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow.parquet as pq
import pytest

import gristmill
from gristmill import audit_json
from gristmill.audit import Verdict
from gristmill.errors import GristmillError, RecipeError, UnknownNameError, UsageError
from gristmill.pipeline import Project
from gristmill.synth import inject


@pytest.fixture(scope="module")
def spoilt(sample_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """A corpus with five faults, one each in an episode of its own."""
    folder = tmp_path_factory.mktemp("spoilt")
    faults = ["nan", "spike", "idle_head", "exact_duplicate", "placeholder_task"]
    told = inject(sample_corpus, folder / "arm", faults=faults, share=0.25, seed=3, truth=folder / "truth.json")
    return folder / "arm", told


def planted(told: dict, fault: str) -> int:
    return next(p["episode"] for p in told["planted"] if p["fault"] == fault)


def test_the_audit_names_what_was_planted_and_nothing_else(spoilt, tmp_path: Path) -> None:
    corpus, told = spoilt
    audit = gristmill.open(corpus, store=tmp_path / "s").audit()
    named = {(int(audit.index[f.row]), f.check) for f in audit.findings if f.kind != "trait"}
    assert named == {(p["episode"], p["check"]) for p in told["planted"]}
    verdicts = dict(zip(audit.index.tolist(), audit.verdict, strict=True))
    assert verdicts[planted(told, "nan")] is Verdict.QUARANTINE
    assert verdicts[planted(told, "idle_head")] is Verdict.TRIM
    assert verdicts[planted(told, "exact_duplicate")] is Verdict.DROP
    assert verdicts[planted(told, "placeholder_task")] is Verdict.KEEP
    assert planted(told, "idle_head") in audit.good
    assert planted(told, "spike") not in audit.good


def test_the_json_follows_its_schema_and_is_the_same_twice(spoilt, tmp_path: Path) -> None:
    corpus, _ = spoilt
    project = gristmill.open(corpus, store=tmp_path / "s")
    audit_json.write(project.audit(), tmp_path / "a.json")
    audit_json.write(project.audit(), tmp_path / "b.json")
    again = gristmill.open(corpus, store=tmp_path / "other")
    audit_json.write(again.audit(jobs=2), tmp_path / "c.json")
    first = (tmp_path / "a.json").read_bytes()
    assert first == (tmp_path / "b.json").read_bytes()
    assert first == (tmp_path / "c.json").read_bytes()
    content = json.loads(first)
    jsonschema.Draft202012Validator(audit_json.schema()).validate(content)
    assert len(content["episodes"]) == 25


def test_what_is_not_finite_is_null(spoilt, tmp_path: Path) -> None:
    corpus, told = spoilt
    audit_json.write(gristmill.open(corpus, store=tmp_path / "s").audit(), tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text(), parse_constant=lambda c: pytest.fail(f"{c} in JSON"))
    assert content["episodes"][planted(told, "nan")]["metrics"]


def test_a_second_run_measures_nothing(spoilt, tmp_path: Path) -> None:
    corpus, _ = spoilt
    project = gristmill.open(corpus, store=tmp_path / "s")
    project.audit()
    assert project.counters.read == 25
    assert sum(project.counters.measured.values()) > 25 * 20
    project.audit()
    assert (project.counters.read, sum(project.counters.measured.values())) == (0, 0)


def test_a_changed_threshold_measures_nothing_and_judges_anew(spoilt, tmp_path: Path) -> None:
    corpus, _ = spoilt
    gristmill.open(corpus, store=tmp_path / "s").audit()
    recipe = tmp_path / "r.toml"
    recipe.write_text("[checks.length]\nmin_s = 1000\n")
    strict = gristmill.open(corpus, store=tmp_path / "s", recipe=recipe)
    audit = strict.audit()
    assert sum(strict.counters.measured.values()) == 0
    short = {int(audit.index[f.row]) for f in audit.findings if f.check == "length"}
    assert short == set(range(25))


def test_a_renumbered_copy_owes_nothing(sample_corpus: Path, tmp_path: Path) -> None:
    project = gristmill.open(sample_corpus, store=tmp_path / "s")
    project.audit()
    renamed = tmp_path / "another_name"
    shutil.copytree(sample_corpus, renamed)
    moved = gristmill.open(renamed, store=tmp_path / "s")
    audit = moved.audit()
    assert sum(moved.counters.measured.values()) == 0
    assert audit.facts.key == "another_name"


def test_curate_exports_what_it_says(spoilt, tmp_path: Path) -> None:
    corpus, told = spoilt
    project = gristmill.open(corpus, store=tmp_path / "s")
    dry = project.curate(dry_run=True)
    assert dry.snapshot is None
    assert not (tmp_path / "s" / "snapshots").exists()
    done = project.curate(tmp_path / "clean", tag="first")
    assert done.snapshot is not None
    kept = {s.episode_index for s in done.snapshot.kept()}
    gone = {p["episode"] for p in told["planted"] if p["fault"] in ("nan", "spike", "exact_duplicate")}
    assert kept == set(range(25)) - gone
    clean = gristmill.open(tmp_path / "clean", store=tmp_path / "s2").audit()
    assert len(clean.index) == 25 - len(gone)
    assert [f.check for f in clean.findings if f.kind == "defect"] == []
    head = next(s for s in done.snapshot.kept() if s.episode_index == planted(told, "idle_head"))
    assert head.start > 60  # three seconds of standing still at 30 Hz, a little of which stays


def test_a_dry_run_foresees_what_happens(filmed_corpus: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "gaps"
    told = inject(filmed_corpus, corpus, faults=["time_gap", "idle_head"], share=0.2, seed=5, truth=tmp_path / "t.json")
    project = gristmill.open(corpus, store=tmp_path / "s")
    (foreseen,) = project.curate(dry_run=True).plans
    done = project.curate(tmp_path / "out")
    assert foreseen.decisions == done.plans[0].decisions
    verdicts = dict(zip(foreseen.index.tolist(), foreseen.decisions, strict=True))
    assert (verdicts[planted(told, "time_gap")].verdict, verdicts[planted(told, "time_gap")].stretches) == (
        Verdict.QUARANTINE,
        (),
    )
    assert verdicts[planted(told, "idle_head")].verdict is Verdict.TRIM
    assert done.told().episodes_out == done.snapshot.spans.num_rows


def test_one_broken_camera_does_not_cost_the_other(filmed_corpus: Path, tmp_path: Path) -> None:
    corpus = Path(shutil.copytree(filmed_corpus, tmp_path / "arm"))
    folders = sorted(p for p in (corpus / "videos").rglob("*") if p.is_dir() and list(p.glob("*.mp4")))
    broken = next(f for f in folders if "front" in str(f))
    for video in broken.glob("*.mp4"):
        video.write_bytes(b"garbage" * 1000)
    done = gristmill.open(corpus, store=tmp_path / "s").curate(tmp_path / "out")
    (note,) = done.notes
    assert "observation.images.front" in note
    info = json.loads((tmp_path / "out" / "meta" / "info.json").read_text())
    assert info["total_episodes"] == len(done.plans[0].decisions)
    assert [k for k in info["features"] if "images" in k] == ["observation.images.wrist"]


def test_a_waiver_persists_and_enters_the_lineage(spoilt, tmp_path: Path) -> None:
    corpus, told = spoilt
    project = gristmill.open(corpus, store=tmp_path / "s")
    before = project.curate()
    spike = planted(told, "spike")
    project.accept(spike, "spike", "a real bump against the table")
    again = gristmill.open(corpus, store=tmp_path / "s")
    audit = again.audit()
    assert spike in audit.good
    after = again.curate()
    assert before.snapshot and after.snapshot
    assert after.snapshot.data_hash != before.snapshot.data_hash
    assert after.snapshot.lineage_hash != before.snapshot.lineage_hash
    story = again.why(spike)
    assert story.waived == {"spike": "a real bump against the table"}
    assert [p.verdict for p in story.places] == ["quarantine", "keep"]
    again.revoke(spike, "spike")
    assert spike not in gristmill.open(corpus, store=tmp_path / "s").audit().good
    with pytest.raises(UnknownNameError, match="spike"):
        project.accept(spike, "spikes", "why not")
    with pytest.raises(UsageError, match="no such episode"):
        project.accept(99, "spike", "why not")


def test_sql_sees_findings_and_nothing_outside(spoilt, tmp_path: Path) -> None:
    corpus, told = spoilt
    project = gristmill.open(corpus, store=tmp_path / "s")
    project.audit()
    found = project.query("select episode_index from findings where \"check\" = 'spike'").to_pylist()
    assert found == [{"episode_index": planted(told, "spike")}]
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    for sql in (f"select * from '{secret}'", f"copy (select 1) to '{tmp_path}/out.csv'", "install httpfs", "select"):
        with pytest.raises(UsageError):
            project.query(sql)
    assert not (tmp_path / "out.csv").exists()


def test_a_rule_for_a_code_that_nothing_reported_is_told(spoilt, tmp_path: Path) -> None:
    corpus, _ = spoilt
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'corpora = ["{corpus}"]\n[gate.rules]\n"duplicates.exact_copy" = "keep"\n"duplicates.exact_cpoy" = "drop"\n'
    )
    done = gristmill.open(recipe, store=tmp_path / "s").curate(dry_run=True)
    (note,) = done.notes
    assert "duplicates.exact_cpoy" in note
    assert "exact_copy" in note.split("reported here")[1]


def test_a_part_of_the_corpus(sample_corpus: Path, tmp_path: Path) -> None:
    audit = gristmill.open(sample_corpus, store=tmp_path / "s").audit(episodes="3,20:")
    assert audit.index.tolist() == [3, 20, 21, 22, 23]
    assert len(audit.ids) == 5


def test_several_corpora_drop_copies_across_them(sample_corpus: Path, spoilt, tmp_path: Path) -> None:
    corpus, told = spoilt
    project = gristmill.open(sample_corpus, corpus, store=tmp_path / "s")
    with pytest.raises(UsageError, match="audits"):
        project.audit()
    plans = project.curate(dry_run=True).plans
    copies = [d for d in plans[1].decisions if any(r.startswith("exact_duplicates") for r in d.rules)]
    touched = {p["episode"] for p in told["planted"]} - {planted(told, "exact_duplicate")}
    # Everything that no fault changed is in the first corpus already; a task text is no part of the values.
    assert len(copies) == 25 - len(touched - {planted(told, "placeholder_task")})


def test_measurements_do_not_depend_on_the_number_of_processes(filmed_corpus: Path, tmp_path: Path) -> None:
    one = gristmill.open(filmed_corpus, store=tmp_path / "one").audit(jobs=1)
    two = gristmill.open(filmed_corpus, store=tmp_path / "two").audit(jobs=2)
    assert one.findings == two.findings
    assert one.metrics.keys() == two.metrics.keys()
    for name, values in one.metrics.items():
        np.testing.assert_array_equal(values, two.metrics[name])


def test_missing_video_spares_the_joint_data(filmed_corpus: Path, tmp_path: Path) -> None:
    corpus = Path(shutil.copytree(filmed_corpus, tmp_path / "arm"))
    for video in (corpus / "videos" / "observation.images.front").rglob("*.mp4"):
        video.unlink()
    audit = gristmill.open(corpus, store=tmp_path / "s").audit()
    assert all("low_dim" in uses for uses in audit.usable_for)
    assert any(f.check == "files" for f in (*audit.findings, *audit.corpus_findings))
    gristmill.open(corpus, store=tmp_path / "s").curate(tmp_path / "clean")
    table = pq.read_table(next((tmp_path / "clean" / "data").rglob("*.parquet")))
    assert table.num_rows == int(audit.length.sum())


def test_a_store_remembers_how_a_corpus_was_opened(sample_corpus: Path, tmp_path: Path) -> None:
    gristmill.open(sample_corpus, store=tmp_path / "s", card="so101").audit()
    (entry,) = Project.known(store=tmp_path / "s").recipe.corpora
    assert entry.card == "so101"
    gristmill.open(sample_corpus, store=tmp_path / "s").audit()
    (entry,) = Project.known(store=tmp_path / "s").recipe.corpora
    assert entry.card is None


def test_options_of_a_format_that_takes_none_are_refused(sample_corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"options\.rate_hz: a lerobot corpus takes no options"):
        gristmill.open(sample_corpus, store=tmp_path / "s", options={"rate_hz": 10}).audit()


def test_a_store_of_something_else_is_refused(sample_corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "precious.txt").write_text("x")
    with pytest.raises(GristmillError, match="precious"):
        gristmill.open(sample_corpus, store=tmp_path / "s").audit()
    assert (tmp_path / "s" / "precious.txt").read_text() == "x"
