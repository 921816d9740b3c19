"""A corpus whose streams have clocks of their own, through the whole pipeline with `[resample]`."""

from __future__ import annotations

import errno
import json
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gristmill import plugins, sources
from gristmill.digest import episode_digest
from gristmill.episode import Channel
from gristmill.errors import RecipeError, RecordingError, StoreError, UsageError
from gristmill.finding import Kind
from gristmill.formats.recorded import ChannelSpec, Header, RecordedCorpus
from gristmill.pipeline import Project, project, snapshots
from gristmill.pipeline.featurized import Resampled
from gristmill.resample import Provenance, Resample, resample
from gristmill.store.featurized import FeaturizedEpisodes
from gristmill.testing import ArrayCamera
from gristmill.testing.filming import FRONT, footage

STATE, ACTION = "observation.state", "action"
NAMES = tuple(f"joint_{i}" for i in range(4))
RATE_HZ = 30.0
RULE = Resample(rate_hz=RATE_HZ)
ASKED = {
    "action_is_next_state",
    "camera_frames",
    "lag",
    "length",
    "non_finite",
    "rate",
    "resampled",
    "timestamps",
    "tracking_offset",
}
SOME_CHECKS = "".join(f"[checks.{name}]\nenabled = false\n" for name in plugins.names("checks") if name not in ASKED)


class Log:
    """Reads made logs: states at 100 Hz, actions at 25 Hz that begin 60 ms later, pictures at 10 Hz, one broken log."""

    def __init__(self, *, broken: int = -1, hole: int = -1, film: bool = False, together: bool = False) -> None:
        self.broken, self.hole, self.film, self.together = broken, hole, film, together
        self.reads = 0

    def channels(self, header: Header) -> dict[str, Channel]:
        if header.index == self.broken:
            raise RecordingError(f"{header.where} is cut off")
        self.reads += 1
        rng = np.random.default_rng(header.index)
        state_s, action_s = np.arange(0, 6, 0.01), 0.06 + np.arange(0, 5.9, 0.04)
        if header.index == self.hole:
            state_s = state_s[(state_s <= 2.0 + 1e-9) | (state_s >= 2.4 - 1e-9)]
        action_s = state_s if self.together else action_s
        waves = rng.uniform(0.2, 0.5, 4), rng.uniform(0.3, 0.8, 4), rng.uniform(0, 6, 4)

        def path(at: np.ndarray) -> np.ndarray:
            return waves[0] * np.sin(2 * np.pi * waves[1] * at[:, None] + waves[2])

        noisy = path(state_s) + rng.normal(0, 5e-4, (len(state_s), 4))
        return {
            STATE: Channel(STATE, "state", noisy.astype(np.float32), state_s, NAMES),
            ACTION: Channel(ACTION, "action", path(action_s + 0.05).astype(np.float32), action_s, NAMES),
        }

    def camera(self, header: Header, key: str) -> ArrayCamera:
        camera = ArrayCamera(footage(header.index, 60, key), key=key, rate_hz=10)
        camera.times_s = np.arange(60) / 10  # type: ignore[attr-defined]
        camera.info = replace(camera.info, own_clock=True)
        return camera

    def texts(self, header: Header, keys: Sequence[str]) -> pa.Table:
        if keys != ["said"]:
            raise RecordingError(f"{header.where}: there is no column {keys[0]}")
        return pa.table({"said": [f"row {i}" for i in range(len(self.channels(header)[STATE].values))]})


def logs(root: Path, *, episodes: int = 5, key: str = "logs", **how) -> RecordedCorpus:
    root.mkdir(exist_ok=True)
    reader = Log(**how)
    info = replace(ArrayCamera(np.zeros((1, 48, 64)), key=FRONT, rate_hz=10).info, own_clock=True)
    return RecordedCorpus(
        key=key,
        root=root,
        format="made logs",
        rate_hz=100.0,
        headers=[
            Header(index=i, length=600, stamp=f"{i}.log:1", where=f"{i}.log", tasks=("wave",)) for i in range(episodes)
        ],
        channels=[ChannelSpec(key=k, role=r, width=4, names=NAMES) for k, r in ((STATE, "state"), (ACTION, "action"))],
        cameras={FRONT: info} if reader.film else {},
        reader=reader,
        locator=None,
        robot_type="waver",
    )


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes `Project.open` give made logs; returns a function that opens one with a recipe's text."""

    def make(recipe: str = "[resample]\nrate_hz = 30\n", **how) -> Project:
        corpus = logs(tmp_path / "logs", **how)
        monkeypatch.setattr(project, "open_path", lambda path, key, card, options: replace_key(corpus, key))
        file = tmp_path / "recipe.toml"
        file.write_text(recipe + SOME_CHECKS)
        return Project.open(tmp_path / "logs", store=tmp_path / "store", recipe=file)

    def replace_key(corpus: RecordedCorpus, key: str) -> RecordedCorpus:
        assert corpus.key == key
        return corpus

    return make


def kept(folder: Path, *, writable: bool = True) -> FeaturizedEpisodes:
    return FeaturizedEpisodes(folder, 64, writable=writable)


# -- the corpus ------------------------------------------------------------------------------------


def test_a_prepared_corpus_agrees_with_its_episodes(tmp_path: Path) -> None:
    corpus = Resampled(logs(tmp_path / "logs"), RULE, kept(tmp_path / "kept")).prepared(np.arange(5))
    # From 0.06 s to the last action at 5.94 s.
    expected = int(np.floor((5.94 - 0.06) * 30 + 0.01)) + 1
    assert corpus.table.length.tolist() == [expected] * 5
    assert corpus.facts.rate_hz == RATE_HZ
    for episode in corpus.episodes(range(5)):
        assert episode.length == episode.frames == expected
        assert episode.rate_hz == RATE_HZ
        assert all(len(c.values) == expected for c in episode.channels.values())
        assert len(episode.dims) == len(corpus.facts.dims)
        assert list(episode.channels) == [STATE, ACTION, f"provenance.{STATE}", f"provenance.{ACTION}"]


def test_what_was_kept_is_what_is_made(tmp_path: Path) -> None:
    recorded = logs(tmp_path / "logs", film=True, hole=2)
    corpus = Resampled(recorded, RULE, kept(tmp_path / "kept")).prepared(np.arange(5))
    assert recorded.reader.reads == 5
    again = Resampled(logs(tmp_path / "logs", film=True, hole=2), RULE, kept(tmp_path / "kept", writable=False))
    assert again.prepared(np.arange(5)) is again  # nothing was lacking
    for row, (episode, raw) in enumerate(zip(again.episodes(range(5)), recorded.episodes(range(5)), strict=True)):
        fresh = resample(raw, RULE)
        assert episode_digest(episode) == episode_digest(fresh)
        assert list(episode.channels) == list(fresh.channels)
        assert episode.cameras[FRONT].packets().digest == fresh.cameras[FRONT].packets().digest
        assert episode.length == again.table.length[row] == corpus.table.length[row]
    assert again._corpus.reader.reads == 0  # the log was not read again
    assert again.raw_columns(1, ["said"])["said"].to_pylist()[:4] == ["row 6", "row 9", "row 13", "row 16"]


def test_stamps_change_with_the_rule_and_leave_what_is_missing_missing(tmp_path: Path) -> None:
    recorded = logs(tmp_path / "logs", film=True)
    recorded.headers = [*recorded.headers[:-1], replace(recorded.headers[-1], stamp="")]
    one, same, other, later = (
        Resampled(recorded, rule).table
        for rule in (
            RULE,
            Resample(rate_hz=30, chunk_frames=16),
            Resample(rate_hz=20),
            Resample(rate_hz=30, max_gap_s=1),
        )
    )
    assert one.values_stamp == same.values_stamp  # how episodes are stored changes none of them
    assert one.values_stamp[0].startswith("0.log:1|")
    for table in (other, later):
        assert not set(one.values_stamp[:-1]) & set(table.values_stamp)
        assert not set(one.camera_stamps[FRONT][:-1]) & set(table.camera_stamps[FRONT])
        assert not set(one.meta_digest) & set(table.meta_digest)
    assert one.values_stamp[-1] == one.camera_stamps[FRONT][-1] == ""


def test_a_log_that_cannot_be_read_stands_in_nobodys_way(tmp_path: Path) -> None:
    corpus = Resampled(logs(tmp_path / "logs", broken=1), RULE, kept(tmp_path / "kept")).prepared(np.arange(5))
    assert corpus.table.length.tolist()[:3] == [177, 180, 177]  # the second one by its declared rate
    found = list(corpus.episodes([0, 1, 2]))
    assert found[0].frames == 177
    with pytest.raises(RecordingError, match=r"1\.log is cut off"):
        _ = found[1].channels
    assert found[2].frames == 177


def test_without_a_place_to_keep_them_episodes_are_made_each_time(tmp_path: Path) -> None:
    recorded = logs(tmp_path / "logs", film=True)
    corpus = Resampled(recorded, RULE)
    assert corpus.table.length.tolist() == [180] * 5  # by the declared rates
    corpus = corpus.prepared(np.arange(5))
    assert corpus.table.length.tolist() == [177] * 5
    for episode, raw in zip(corpus.episodes(range(5)), recorded.episodes(range(5)), strict=True):
        assert episode_digest(episode) == episode_digest(resample(raw, RULE))
    assert recorded.reader.reads == 15


def test_workers_resample_and_keep(tmp_path: Path, sample_corpus: Path) -> None:
    recorded = sources.open_path(sample_corpus)
    rule = Resample(rate_hz=20)
    corpus = Resampled(recorded, rule, kept(tmp_path / "kept"))
    reopen = corpus.reopening()
    assert reopen is not None
    there = pickle.loads(pickle.dumps(reopen))()
    rows = [3, 0]
    forth = [episode_digest(e) for e in there.episodes(rows)]
    back = [episode_digest(e) for e in corpus.prepared(np.arange(5)).episodes(rows)]
    assert forth == back
    assert there.table.values_stamp == corpus.table.values_stamp
    job = pickle.loads(pickle.dumps(_job(reopen)))
    heads = {row: head for part in job((3, 7)) for row, head in part.heads.items()}
    assert set(heads) == {3, 7}
    assert heads[7].timeline.rate_hz == 20
    assert len(list((tmp_path / "kept").iterdir())) == 6


def _job(reopen):
    from gristmill.pipeline.featurized import _Featurizing

    return _Featurizing(reopen, None)


def test_a_rule_that_does_not_fit_the_corpus_is_refused(tmp_path: Path) -> None:
    recorded = logs(tmp_path / "logs", film=True)
    with pytest.raises(RecipeError, match=r"resample\.methods\.actoin: logs has no such.*did you mean 'action'"):
        Resampled(recorded, Resample(rate_hz=30, methods={"actoin": "hold"}))
    with pytest.raises(RecipeError, match=r"resample\.wrapping\.joint: logs has no such"):
        Resampled(recorded, Resample(rate_hz=30, wrapping=("joint",)))
    with pytest.raises(RecipeError, match="never averaged"):
        Resampled(recorded, Resample(rate_hz=30, methods={"observation.images.*": "slerp"}))
    assert Resampled(recorded, Resample(rate_hz=30, methods={"tactile.*": "hold"})).rule.rate_hz == 30


# -- what is kept ----------------------------------------------------------------------------------


def test_episodes_are_sharded_zarr_with_chunks_as_long_as_asked(tmp_path: Path) -> None:
    import zarr

    Resampled(logs(tmp_path / "logs"), RULE, FeaturizedEpisodes(tmp_path / "kept", 32, writable=True)).prepared(
        np.arange(1)
    )
    (place,) = (tmp_path / "kept" / "000000").iterdir()
    group = zarr.open_group(str(place), mode="r", zarr_format=3)
    array = group["channel_0"]
    assert array.chunks == (32, 4)
    assert array.shards == (192, 4)  # 177 frames in 6 chunks
    assert array.metadata.zarr_format == 3


@pytest.mark.parametrize("damage", ["cut", "flip", "attributes", "gone"])
def test_a_damaged_episode_is_made_anew(tmp_path: Path, damage: str) -> None:
    recorded = logs(tmp_path / "logs")
    whole = episode_digest(
        next(Resampled(recorded, RULE, kept(tmp_path / "kept")).prepared(np.arange(1)).episodes([0]))
    )
    (place,) = (tmp_path / "kept" / "000000").iterdir()
    file = max((f for f in place.rglob("*") if f.is_file() and f.name != "zarr.json"), key=lambda f: f.stat().st_size)
    data = file.read_bytes()
    if damage == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        file.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    elif damage == "gone":
        file.unlink()  # Zarr reads zeros in place of a shard that is not there
    else:
        (place / "zarr.json").write_text("{")
    reads = recorded.reader.reads
    assert kept(tmp_path / "kept").read(0, place.name) is None
    corpus = Resampled(recorded, RULE, kept(tmp_path / "kept")).prepared(np.arange(1))
    assert episode_digest(next(corpus.episodes([0]))) == whole
    assert recorded.reader.reads > reads
    assert kept(tmp_path / "kept").read(0, place.name) is not None


def test_an_episode_of_another_log_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    recorded = logs(tmp_path / "logs")
    Resampled(recorded, RULE, kept(tmp_path / "kept")).prepared(np.arange(2))
    recorded = logs(tmp_path / "logs")
    recorded.headers = [replace(recorded.headers[0], stamp="0.log:2"), *recorded.headers[1:]]
    before = {p.name for p in (tmp_path / "kept" / "000000").iterdir()}
    Resampled(recorded, RULE, kept(tmp_path / "kept")).prepared(np.arange(2))
    after = {p.name for p in (tmp_path / "kept" / "000000").iterdir()}
    assert len(after) == 1
    assert after != before
    assert recorded.reader.reads == 1


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("zarr.Group.create_array", full)
    with pytest.raises(
        StoreError, match=r"featurized episode cannot be written \(No space left on device\); make room"
    ):
        Resampled(logs(tmp_path / "logs"), RULE, kept(tmp_path / "kept")).prepared(np.arange(1))
    assert [p for p in (tmp_path / "kept").rglob("*") if p.is_file()] == []


def test_killed_in_the_middle_leaves_no_half_written_episode(tmp_path: Path) -> None:
    """The process kills itself with SIGKILL while the second array of the third episode is written."""
    code = f"""
import os, signal, sys
from pathlib import Path
import numpy as np
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_featurized as t
import zarr
from gristmill.pipeline.featurized import Resampled
create, count = zarr.Group.create_array, 0
def dying(self, name, **more):
    global count
    made = create(self, name, **more)
    count += name == "channel_1"
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return made
zarr.Group.create_array = dying
logs, kept = t.logs(Path({str(tmp_path / "logs")!r})), t.kept(Path({str(tmp_path / "kept")!r}))
Resampled(logs, t.RULE, kept).prepared(np.arange(5))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    whole = [p for p in (tmp_path / "kept").glob("*/*") if ".partial-" not in p.name]
    assert sorted(p.parent.name for p in whole) == ["000000", "000001"]
    left = list((tmp_path / "kept").glob("*/*.partial-*"))
    assert [p.parent.name for p in left] == ["000002"]
    assert list(left[0].rglob("channel_0"))  # it was in the middle
    recorded = logs(tmp_path / "logs")
    corpus = Resampled(recorded, RULE, kept(tmp_path / "kept")).prepared(np.arange(5))
    assert recorded.reader.reads == 3  # the two whole ones were taken as they are
    assert list((tmp_path / "kept").glob("*/*.partial-*")) == []
    expected = [episode_digest(resample(e, RULE)) for e in recorded.episodes(range(5))]
    assert [episode_digest(e) for e in corpus.episodes(range(5))] == expected


def test_without_zarr_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(UsageError, match=r"pip install 'gristmill\[zarr\]'"):
        kept(tmp_path / "kept")


# -- the pipeline ----------------------------------------------------------------------------------


def test_an_audit_sees_the_resampled_episodes_and_reads_each_log_once(opened, tmp_path: Path) -> None:
    first = opened(hole=2)
    audit = first.audit(jobs=1)
    assert audit.facts.rate_hz == RATE_HZ
    assert audit.length.tolist() == [177] * 5
    corpus = first._corpora["logs"]
    assert corpus._corpus.reader.reads == 5
    second = opened(hole=2)
    assert second.audit(jobs=1).findings == audit.findings
    assert second.counters.measures == 0
    assert second._corpora["logs"]._corpus.reader.reads == 0
    assert [owed.total for owed in second.status()] == [0]


def test_a_set_goes_when_no_corpus_uses_it(opened, tmp_path: Path) -> None:
    opened().audit(jobs=1)
    store = tmp_path / "store"
    assert not any("resampled episode" in r.what for r in snapshots.gc(store, dry_run=True))
    (first,) = (store / "featurized").iterdir()
    opened("[resample]\nrate_hz = 20\n").audit(jobs=1)
    sets = set((store / "featurized").iterdir())
    assert len(sets) == 2
    (gone,) = [r for r in snapshots.gc(store) if "resampled episodes" in r.what]
    assert gone.rows == 5
    assert gone.bytes > 1000
    assert set((store / "featurized").iterdir()) == sets - {first}
    opened("").audit(jobs=1)
    assert len([r for r in snapshots.gc(store) if "resampled episodes" in r.what]) == 1
    assert list((store / "featurized").iterdir()) == []


def test_a_recipe_without_resample_needs_no_zarr(opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zarr", None)
    assert opened("").audit(jobs=1).facts.rate_hz == 100
    with pytest.raises(UsageError, match=r"gristmill\[zarr\]"):
        opened().audit(jobs=1)


def test_without_resample_a_training_set_is_refused_and_the_audit_says_what_it_could_not_ask(
    opened, tmp_path: Path
) -> None:
    raw = opened("")
    audit = raw.audit(jobs=1)
    unasked = {n.check: n.reason for n in audit.not_checked}
    for check in ("action_is_next_state", "lag", "tracking_offset"):
        assert "[resample]" in unasked[check]
    for dry_run in (True, False):
        with pytest.raises(UsageError) as refused:
            opened("").curate(tmp_path / "out", dry_run=dry_run, jobs=1)
        assert str(refused.value) == (
            "episode logs/000000: channel action has 148 samples for 600 frames; add [resample] with rate_hz to the "
            "recipe, so that all streams share a timeline"
        )
    assert not (tmp_path / "out").exists()
    filmed = opened("", film=True)
    unasked = {n.check: n.reason for n in filmed.audit(jobs=1).not_checked}
    assert unasked["camera_frames"].startswith(f"{FRONT}: pictures have a clock of their own; [resample]")
    with pytest.raises(UsageError, match="channel action has 148 samples"):
        filmed.curate(dry_run=True, jobs=1)


def test_a_resampled_corpus_is_exported_with_what_is_said_of_its_values(opened, tmp_path: Path) -> None:
    made = opened(film=True, hole=2)
    done = made.curate(tmp_path / "out", jobs=1)
    assert done.snapshot is not None
    assert done.snapshot.recipe["resample"]["rate_hz"] == 30.0
    exported = sources.open_path(tmp_path / "out")
    assert exported.facts.rate_hz == RATE_HZ
    assert len(exported.table) == 5
    keys = [STATE, ACTION, *(f"provenance.{k}" for k in (STATE, ACTION, "observation.cameras.front.frames"))]
    for episode, row in zip(exported.episodes(range(5)), range(5), strict=True):
        expected = next(made._corpora["logs"].episodes([row]))
        for key in keys:
            np.testing.assert_array_equal(episode.channels[key].values, expected.channels[key].values)
        assert len(episode.cameras[FRONT].packets()) == 177
    held = next(exported.episodes([2])).channels[f"provenance.{STATE}"].values
    # 12 of the hole's 0.4 s lie on the timeline: from 2.03 to 2.36 s.
    assert np.count_nonzero(held == Provenance.INTERPOLATED) == 12
    assert np.count_nonzero(held == Provenance.OBSERVED) == 177 - 12
    feature = exported.facts.features["provenance.observation.cameras.front.frames"]
    assert (feature["dtype"], feature["shape"], feature["names"]) == ("uint8", [1], [FRONT])


def test_a_filled_hole_is_told_and_can_be_cut_out(opened, tmp_path: Path) -> None:
    audit = opened(hole=2).audit(jobs=1)
    shares = audit.metrics[f"resampled.interpolated[{STATE}]"]
    assert shares.tolist() == [0, 0, pytest.approx(12 / 177), 0, 0]
    found = [f for f in audit.findings if f.check == "resampled"]
    assert [(f.row, f.kind, f.code, f.channel) for f in found] == [(2, Kind.RISK, "filled_gap", STATE)]
    (trait,) = [f for f in audit.corpus_findings if f.check == "resampled" and f.channel == STATE]
    assert trait.measured == pytest.approx(12 / 177 / 5)
    page = tmp_path / "report.html"
    again = opened(hole=2)
    again.report(again.audit(jobs=1), page)
    assert "1.36% interpolated, 0.00% held, 0.00% missing" in page.read_text()
    cut = opened('[resample]\nrate_hz = 30\n[gate.rules]\n"resampled.filled_gap" = "trim"\n', hole=2)
    kept_spans = [(s.start, s.stop) for s in cut.curate(jobs=1).snapshot.kept() if s.episode_index == 2]
    (finding,) = found
    start, stop = (round(t * 30) for t in finding.spans_s[0])
    assert stop - start == 12
    assert kept_spans == [(0, start), (stop, 177)]


def test_values_out_of_reach_set_an_episode_aside(opened) -> None:
    done = opened("[resample]\nrate_hz = 30\nmax_gap_s = 0.1\n", hole=2).curate(dry_run=True, jobs=1)
    (plan,) = done.plans
    assert [len(d.stretches) for d in plan.decisions] == [1, 1, 0, 1, 1]
    assert plan.decisions[2].rules == ("gate.defects.resampled",)


def test_the_recipe_knows_resample_and_refuses_typos(tmp_path: Path) -> None:
    from gristmill import recipe

    parsed = recipe.parse({"resample": {"rate_hz": 20, "methods": {"action": "hold"}}}, base=tmp_path)
    assert parsed.resample == Resample(rate_hz=20, methods={"action": "hold"})
    assert parsed.canonical()["resample"]["methods"] == {"action": "hold"}
    assert "resample" not in recipe.parse({}, base=tmp_path).canonical()
    for table, message in (
        ({"rate": 20}, r"resample\.rate: unknown key; did you mean 'rate_hz'"),
        ({}, r"resample\.rate_hz: missing"),
        ({"rate_hz": 0}, r"resample\.rate_hz: must be at least 0\.001"),
        ({"rate_hz": 20, "methods": {"action": "cubic"}}, r"resample\.methods\.action: 'cubic' is not one of"),
        ({"rate_hz": 20, "max_gap_s": -1}, r"resample\.max_gap_s: must be at least 0"),
        ({"rate_hz": 20, "chunk_frames": 0}, r"resample\.chunk_frames: must be at least 1"),
    ):
        with pytest.raises(RecipeError, match=message):
            recipe.parse({"resample": table}, base=tmp_path)


def test_corpora_opened_otherwise_do_not_take_each_others_place(tmp_path: Path) -> None:
    def stated(options: object, rule: Resample = RULE) -> Resampled:
        corpus = logs(tmp_path / "logs")
        corpus.locator = sources.Locator(source="logs", path=str(tmp_path / "logs"), key="logs", options=options)
        return Resampled.within(tmp_path / "store", corpus, rule, writable=True)

    log, header = stated({"clock": "log"}), stated({"clock": "header"})
    shorter = stated({"clock": "log"}, replace(RULE, chunk_frames=16))
    assert len({log.name, header.name, shorter.name}) == 3
    for corpus in (log, header, shorter):
        for row, source in enumerate(corpus.recordings(range(2))):
            assert corpus.head_of(row, source) is not None
    again = stated({"clock": "log"})
    assert [again._head(row) is not None for row in range(3)] == [True, True, False]
    # The chunks are as long as the rule says.
    place = next((tmp_path / "store" / "featurized" / shorter.name).rglob("channel_0/zarr.json"))
    (sharding,) = json.loads(place.read_text())["codecs"]
    assert sharding["configuration"]["chunk_shape"] == [16, 4]
