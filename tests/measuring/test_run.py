"""What is owed is measured once, and comes back to be judged, whatever happened to the recordings' names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_corpus import TOP, Faulty, Late, Light, MadeCorpus, Means, OpenMade, Words, episodes_spec, write_spec

from gristmill.digest import values_digest
from gristmill.embodiment import Embodiment
from gristmill.engine import local, measure
from gristmill.measuring import (
    Counters,
    digests_of,
    manifest_for,
    owed,
    run_measures,
    unreadable,
    unreadable_cameras,
)
from gristmill.store import Store

CHECKS: dict[str, Any] = {"means": Means(), "words": Words(), "late": Late(), "light": Light()}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return tmp_path / "spec.json"


def run(store: Store, spec: Path, checks: dict[str, Any] | None = None, **more: Any) -> tuple[Counters, MadeCorpus]:
    corpus = MadeCorpus(spec, **({"card": more.pop("card")} if "card" in more else {}))
    return run_measures(store, corpus, checks or CHECKS, reopen=OpenMade(spec), **more), corpus


def test_an_unchanged_corpus_is_not_touched_again(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(12), cameras=True)
    first, _ = run(store, spec)
    assert (first.episodes, first.read, first.demuxed, first.decoded) == (12, 12, 12, 240)
    # Twelve episodes share one task text, and what is measured of it.
    assert first.measured == {"means": 12, "words": 1, "late": 12, "light": 12}
    again, corpus = run(store, spec)
    assert again == Counters()
    assert corpus.opened == []
    assert owed(store, corpus, CHECKS) == dict.fromkeys(CHECKS, 0)


def test_columns_and_events_come_back_as_measured(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(5), cameras=True)
    _, corpus = run(store, spec)
    manifest = manifest_for(store, corpus, CHECKS["means"], name="means")
    for row, episode in enumerate(MadeCorpus(spec).episodes(range(5))):
        expected = CHECKS["means"].measure(episode)
        np.testing.assert_array_equal(manifest["mean"][row], expected.values["mean"])
        assert manifest["word"][row] == expected.values["word"]
        assert manifest.events.start_s[row] == expected.events[0].start_s
        assert manifest.events.channel[row] == "observation.state[joint_0]"
        assert manifest.values_digest[row] == values_digest(episode.channels, 30.0)
        assert manifest.camera_digests[TOP][row] == episode.cameras[TOP].packets().digest
        assert digests_of(store, corpus, row).values == manifest.values_digest[row]
    assert manifest.measured.all()
    assert list(manifest.unknown) == [None] * 5
    assert manifest.ids[3] == "made/000003"
    assert len(list(CHECKS["means"].judge(manifest))) == 5


def test_part_of_a_corpus_can_be_measured_and_judged(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(6))
    rows = np.array([1, 4])
    counters, corpus = run(store, spec, rows=rows)
    assert corpus.opened == [1, 4]
    assert counters.measured["means"] == 2
    manifest = manifest_for(store, corpus, CHECKS["means"], name="means", rows=rows)
    assert manifest.index.tolist() == [1, 4]
    assert manifest.measured.all()
    whole = manifest_for(store, corpus, CHECKS["means"], name="means")
    assert whole.measured.tolist() == [False, True, False, False, True, False]
    assert whole.events.row.tolist() == [1, 4]


def test_new_recordings_owe_measures_and_the_old_ones_do_not(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(100), cameras=True)
    run(store, spec)
    write_spec(spec, episodes_spec(101), cameras=True)
    counters, corpus = run(store, spec)
    assert corpus.opened == [100]
    # Its metadata says what that of the others says, which was measured before.
    assert counters.measured == {"means": 1, "light": 1}


def test_a_threshold_makes_nothing_owed_and_a_measuring_parameter_does(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(4))
    run(store, spec)
    assert run(store, spec, {**CHECKS, "means": Means(threshold=0.9)})[0].measures == 0
    counters, _ = run(store, spec, {**CHECKS, "means": Means(scale=2.0)})
    assert (counters.measured, counters.read) == ({"means": 4}, 0)


def test_renumbered_recordings_are_read_but_not_measured(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(8), cameras=True)
    run(store, spec)
    moved = [{**e, "index": 100 - e["index"], "stamp": f"data-2.parquet|{e['index']}"} for e in episodes_spec(8)]
    write_spec(spec, moved, cameras=True)
    counters, corpus = run(store, spec)
    assert (counters.read, counters.demuxed, counters.measures, counters.decoded) == (8, 8, 0, 0)
    manifest = manifest_for(store, corpus, CHECKS["light"], name="light")
    assert manifest.measured.all()
    assert manifest.index.tolist() == [100 - i for i in range(8)]


def test_a_copy_in_another_corpus_owes_nothing_and_is_known_elsewhere(store: Store, spec: Path, tmp_path: Path) -> None:
    write_spec(spec, episodes_spec(4), cameras=True)
    run(store, spec)
    other = write_spec(tmp_path / "other.json", episodes_spec(2), key="other", cameras=True)
    counters, corpus = run(store, other)
    assert (counters.read, counters.measures) == (2, 0)
    manifest = manifest_for(store, corpus, CHECKS["means"], name="means")
    assert manifest.measured.all()
    assert manifest.elsewhere[manifest.values_digest[1]] == "made/000001"
    assert manifest.elsewhere[manifest.camera_digests[TOP][0]] == "made/000000"
    assert len(manifest.elsewhere) == 4


def test_only_what_reads_the_changed_part_is_owed(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(3), cameras=True)
    run(store, spec)
    changed = episodes_spec(3)
    changed[1]["task"] = "place"
    write_spec(spec, changed, cameras=True)
    assert run(store, spec)[0].measured == {"words": 1}
    changed[2] |= {"seed": 77, "stamp": "data.parquet|new"}
    write_spec(spec, changed, cameras=True)
    counters, corpus = run(store, spec)
    assert corpus.opened == [2]
    # The issues are the same, so the metadata's check finds its row again.
    assert counters.measured == {"means": 1, "light": 1}


def test_another_card_is_owed_by_the_checks_that_read_it(store: Store, spec: Path) -> None:
    from dataclasses import dataclass
    from typing import ClassVar

    from gristmill.check import Reads

    @dataclass(frozen=True, kw_only=True)
    class Carded(Words):
        reads: ClassVar[Reads] = Reads(task=True, card=True)

    write_spec(spec, episodes_spec(3))
    checks = {**CHECKS, "carded": Carded()}
    run(store, spec, checks)
    assert run(store, spec, checks)[0].measures == 0
    counters, _ = run(store, spec, checks, card=Embodiment(key="other", title="other"))
    assert counters.measured == {"carded": 1}


def test_issues_that_show_only_when_reading_belong_to_the_metadata(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(3, issue=True))
    run(store, spec)
    corpus = MadeCorpus(spec)
    assert manifest_for(store, corpus, Late(), name="late")["issues"].tolist() == [1, 1, 1]
    mended = episodes_spec(3, issue=True)
    mended[1] |= {"issue": False, "stamp": "data.parquet|mended"}
    write_spec(spec, mended)
    counters, corpus = run(store, spec)
    assert counters.measured == {"late": 1}
    assert manifest_for(store, corpus, Late(), name="late")["issues"].tolist() == [1, 0, 1]


def test_data_that_cannot_be_read_is_named_and_not_tried_again(store: Store, spec: Path) -> None:
    broken = episodes_spec(4)
    broken[2]["broken"] = True
    write_spec(spec, broken, cameras=True)
    counters, corpus = run(store, spec)
    assert counters.measured == {"means": 3, "words": 1, "late": 4, "light": 4}
    assert unreadable(store, corpus) == {2: "the file is cut off"}
    assert unreadable(store, corpus, np.array([1, 2])) == {1: "the file is cut off"}
    assert manifest_for(store, corpus, Means(), name="means").measured.tolist() == [True, True, False, True]
    again, corpus = run(store, spec)
    assert again.episodes == 0
    assert unreadable(store, corpus) == {2: "the file is cut off"}
    # Restored, it has another stamp, and is measured.
    broken[2] |= {"broken": False, "stamp": "data.parquet|restored"}
    write_spec(spec, broken, cameras=True)
    counters, corpus = run(store, spec)
    assert counters.measured == {"means": 1}
    assert unreadable(store, corpus) == {}


def test_a_video_that_cannot_be_read_does_not_stop_the_rest(store: Store, spec: Path) -> None:
    blind = episodes_spec(3)
    blind[1]["blind"] = True
    write_spec(spec, blind, cameras=True)
    counters, corpus = run(store, spec)
    assert counters.measured == {"means": 3, "words": 1, "late": 3, "light": 3}
    assert unreadable(store, corpus) == {}
    assert unreadable_cameras(store, corpus) == {TOP: {1: "the video is cut off"}}
    light = manifest_for(store, corpus, Light(), name="light")
    assert np.isnan(light["level"][:, 0]).tolist() == [False, True, False]
    assert list(light.unknown) == [None, "dark", None]
    assert run(store, spec)[0].episodes == 0


def test_no_video_is_opened_when_cameras_are_not_asked_for(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(5), cameras=True)
    counters, corpus = run(store, spec, cameras="none")
    assert (counters.demuxed, counters.decoded) == (0, 0)
    assert "light" not in counters.measured
    assert not manifest_for(store, corpus, Light(), name="light").measured.any()
    counters, _ = run(store, spec)
    assert (counters.read, counters.measured, counters.decoded) == (0, {"light": 5}, 100)
    # What was measured once is used, whatever is asked for now.
    counters, corpus = run(store, spec, cameras="none")
    assert counters.episodes == 0
    assert manifest_for(store, corpus, Light(), name="light").measured.all()


def test_a_sample_of_cameras_is_chosen_by_name(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(60, frames=3), cameras=True)
    counters, corpus = run(store, spec, cameras="sample")
    assert counters.measured == {"means": 60, "words": 1, "late": 60, "light": 20}
    assert counters.demuxed == 20
    chosen = manifest_for(store, corpus, Light(), name="light").measured
    again, _ = run(store, spec, cameras="sample")
    assert again.episodes == 0
    # The same episodes are chosen when the corpus lists them in another order.
    write_spec(spec, episodes_spec(60, frames=3)[::-1], cameras=True)
    counters, corpus = run(store, spec, cameras="sample")
    assert counters.episodes == 0
    assert manifest_for(store, corpus, Light(), name="light").measured.tolist() == chosen[::-1].tolist()


def test_stored_traces_are_used_instead_of_decoding(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(5), cameras=True)
    _, corpus = run(store, spec)
    levels = manifest_for(store, corpus, Light(), name="light")["level"]
    checks = {**CHECKS, "light": Light(gain=2.0)}
    counters, corpus = run(store, spec, checks)
    assert (counters.measured, counters.decoded, counters.demuxed) == ({"light": 5}, 0, 0)
    np.testing.assert_array_equal(manifest_for(store, corpus, checks["light"], name="light")["level"], 2 * levels)


def test_a_check_that_goes_wrong_is_reported_and_stays_owed(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(5))
    checks: dict[str, Any] = {"faulty": Faulty(bad=(1,), wrong_type=(3,)), "means": Means()}
    counters, corpus = run(store, spec, checks)
    assert counters.measured == {"faulty": 5, "means": 5}
    assert counters.failed == {"faulty": 2}
    assert counters.problems == {"faulty": "check faulty went wrong on made/000001: ZeroDivisionError: by zero"}
    manifest = manifest_for(store, corpus, checks["faulty"], name="faulty")
    assert manifest.unknown[1] == "check faulty went wrong on made/000001: ZeroDivisionError: by zero"
    assert str(manifest.unknown[3]).startswith("check faulty went wrong on made/000003: ValueError: could not convert")
    assert np.isnan(manifest["x"]).tolist() == [False, True, False, True, False]
    # Mended without a new version, it measures those two anew, and the newest row holds.
    checks["faulty"] = Faulty()
    counters, corpus = run(store, spec, checks)
    assert (counters.measured, counters.failed) == ({"faulty": 2}, {})
    assert manifest_for(store, corpus, checks["faulty"], name="faulty")["x"].tolist() == [1.5] * 5


def test_a_pool_gives_what_one_process_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = write_spec(tmp_path / "spec.json", episodes_spec(40), cameras=True)
    monkeypatch.setattr(local, "POOL_FROM_S", 0.0)
    tables = []
    for jobs in (1, 2):
        with Store.open(tmp_path / f"store-{jobs}") as store:
            counters, corpus = run(store, spec, jobs=jobs)
            assert counters.measured == {"means": 40, "words": 1, "late": 40, "light": 40}
            assert len(corpus.opened) == (40 if jobs == 1 else 0)
            manifests = [manifest_for(store, corpus, check, name=name) for name, check in CHECKS.items()]
            tables.append([(m.cells, m.events.start_s, m.ids) for m in manifests])
    for one, two in zip(*tables, strict=True):
        for name in one[0]:
            np.testing.assert_array_equal(one[0][name], two[0][name])
        np.testing.assert_array_equal(one[1], two[1])
        assert one[2] == two[2]


def test_an_episode_that_kills_its_worker_is_unreadable_until_it_does_not(
    store: Store, spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    trap.touch()
    deadly = episodes_spec(20)
    deadly[7]["fatal"] = str(trap)
    write_spec(spec, deadly)
    monkeypatch.setattr(local, "POOL_FROM_S", 0.0)
    counters, corpus = run(store, spec, jobs=2)
    assert counters.measured["means"] == 19
    assert list(unreadable(store, corpus)) == [7]
    assert "ended by SIGKILL" in unreadable(store, corpus)[7]
    trap.unlink()
    counters, corpus = run(store, spec, jobs=2)
    assert counters.measured == {"means": 1}
    assert unreadable(store, corpus) == {}


def test_ctrl_c_keeps_what_was_finished(store: Store, spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_spec(spec, episodes_spec(30))

    class Interrupting(MadeCorpus):
        def episodes(self, rows):
            for at, episode in enumerate(super().episodes(rows)):
                if at == 17:
                    raise KeyboardInterrupt
                yield episode

    with pytest.raises(KeyboardInterrupt):
        run_measures(store, Interrupting(spec), CHECKS)
    assert store.gc() == []  # what an interrupted run left is not garbage
    counters, corpus = run(store, spec)
    # Sixteen make a block; the seventeenth had been read, and was waiting for others.
    assert counters.measured == {"means": 14}
    assert corpus.opened == list(range(16, 30))


def test_parts_are_handed_over_as_they_become_ready(store: Store, spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_spec(spec, episodes_spec(25))
    monkeypatch.setattr(measure, "PART_ROWS", 10)
    monkeypatch.setattr(measure, "_BLOCK_ROWS", 5)
    seen: list[tuple[str, int, int]] = []
    run(store, spec, progress=lambda *what: seen.append(what))
    assert seen == [("measuring", 10, 25), ("measuring", 20, 25), ("measuring", 25, 25)]


def test_a_reader_that_raises_loses_one_episode(store: Store, spec: Path) -> None:
    write_spec(spec, episodes_spec(6))

    class Raising(MadeCorpus):
        def episodes(self, rows):
            for row, episode in zip(rows, super().episodes(rows), strict=True):
                if row == 3:
                    raise IndexError("out of range")
                yield episode

    corpus = Raising(spec)
    assert run_measures(store, corpus, CHECKS).measured["means"] == 5
    assert unreadable(store, corpus) == {3: "reading it failed: IndexError: out of range"}
    # It may have been a passing trouble, so it is tried again.
    assert run(store, spec)[0].measured == {"means": 1}


def test_numbers_that_occur_twice_are_not_mixed_up(store: Store, spec: Path) -> None:
    twice = episodes_spec(3)
    twice[2]["index"] = 1
    write_spec(spec, twice)
    _, corpus = run(store, spec)
    manifest = manifest_for(store, corpus, Means(), name="means")
    assert len(set(manifest.values_digest)) == 3
    assert manifest.measured.all()


def test_an_empty_corpus_is_fine(store: Store, spec: Path) -> None:
    write_spec(spec, [])
    counters, corpus = run(store, spec)
    assert counters == Counters()
    assert len(manifest_for(store, corpus, Means(), name="means")) == 0
