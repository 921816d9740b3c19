"""The RLDS source: the contract, values against what was written, damage, and a real data set of BridgeData."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import imagecodecs
import made_rlds as made
import numpy as np
import pyarrow.parquet as pq
import pytest

import gristmill
from gristmill.episode import Corpus, Episode
from gristmill.errors import CorpusError, RecipeError, RecordingError, UnsafeCorpusError, VideoError
from gristmill.finding import Kind
from gristmill.sources import open_path, source_of
from gristmill.sources.rlds import Rlds
from gristmill.testing import SourceContract

RATE = {"rate_hz": 10}


class TestRlds(SourceContract):
    source: ClassVar = Rlds

    def make_corpus(self, folder: Path) -> Path:
        return made.make(folder)

    def open(self, path: Path) -> Corpus:
        return Rlds.open(path, key="contract", options=Rlds.Options(rate_hz=10))


class TestOneShardWithoutADeclaration(TestRlds):
    def make_corpus(self, folder: Path) -> Path:
        return made.make(folder, shards=[4], declare=False) / "arm-train.tfrecord-00000-of-00001"


class TestAboveTheVersionsFolder(TestRlds):
    def make_corpus(self, folder: Path) -> Path:
        made.make(folder / "arm" / "1.0.0")
        return folder


def opened(root: Path, **options: Any) -> Corpus:
    return open_path(root, options=RATE | options)


def codes(corpus: Corpus) -> list[tuple[str, str, Kind]]:
    return [(i.check, i.code, i.kind) for i in corpus.issues]


@pytest.mark.parametrize("declare", [True, False])
def test_values_times_frames_and_tasks_are_those_written(tmp_path: Path, declare: bool) -> None:
    corpus = opened(made.make(tmp_path / "arm", declare=declare))
    assert source_of(tmp_path / "arm") == "rlds"
    assert corpus.facts.format == "RLDS"
    assert corpus.table.length.tolist() == list(made.LENGTHS)
    assert corpus.table.tasks == [(made.TASKS[n % 2],) for n in range(4)]
    assert [(d.label, d.role) for d in corpus.facts.dims] == [
        *((f"observation.state[{i}]", "state") for i in range(3)),
        *((f"action[{i}]", "action") for i in range(2)),
    ]
    assert corpus.facts.info["splits"] == {"train": "0:4"}
    assert corpus.facts.unread == {}
    camera = corpus.facts.cameras[made.CAMERA]
    assert (camera.height, camera.width, camera.rate_hz) == (24, 32, 10)
    for n, episode in enumerate(corpus.episodes(range(4))):
        steps = made.LENGTHS[n]
        np.testing.assert_array_equal(episode.times_s, np.arange(steps) / 10)
        expected = {key: value for key, value in made.episode(n, steps).items() if isinstance(value, np.ndarray)}
        del expected["episode_metadata/episode_id"]
        assert len(episode.channels) == len(expected)
        for key, value in expected.items():
            channel = episode.channels[key.removeprefix("steps/").replace("/", ".")]
            np.testing.assert_array_equal(channel.values, value.reshape(steps, -1))
            assert channel.values.dtype == ("int32" if declare and key == "steps/count" else value.dtype)
        roles = {key: c.role for key, c in episode.channels.items()}
        assert {k: r for k, r in roles.items() if r != "other"} == {
            "observation.state": "state", "action": "action", "reward": "reward", "is_last": "done",
        }  # fmt: skip
        view = episode.cameras[made.CAMERA]
        np.testing.assert_array_equal(view.rgb(range(steps)), made.pictures(n, steps))
        assert len(view.packets()) == steps == sum(len(chunk) for chunk in view.luma(chunk=4))
    texts = corpus.raw_columns(3, ["language_instruction", "episode_metadata.file_path"])
    assert texts["language_instruction"].to_pylist() == [made.TASKS[1]] * 7
    assert texts["episode_metadata.file_path"].to_pylist() == ["/robot/3.npy"] * 7
    with pytest.raises(RecordingError, match=r"there is no text other; known: episode_metadata.file_path"):
        corpus.raw_columns(3, ["other"])


def test_the_last_action_and_a_missing_declaration_are_told(tmp_path: Path) -> None:
    corpus = opened(made.make(tmp_path / "a"))
    assert codes(corpus) == [("schema", "last_action", Kind.TRAIT)]
    assert "4 of 4 episodes end with a step marked is_last" in corpus.issues[0].message
    corpus = opened(made.make(tmp_path / "b", declare=False))
    assert codes(corpus) == [("schema", "last_action", Kind.TRAIT), ("schema", "declaration_absent", Kind.TRAIT)]


def test_the_rate_has_to_be_stated_unless_the_metadata_does(tmp_path: Path) -> None:
    root = made.make(tmp_path / "arm")
    with pytest.raises(CorpusError, match="--option rate_hz=10"):
        open_path(root)
    with pytest.raises(RecipeError, match=r"rate_hz: must be at least 0\.001"):
        open_path(root, options={"rate_hz": 0})
    with pytest.raises(RecipeError, match="did you mean 'rate_hz'"):
        open_path(root, options={"rate": 10})
    assert open_path(made.make(tmp_path / "b", info={"control_frequency": 5})).facts.rate_hz == 5
    assert opened(tmp_path / "b").facts.rate_hz == 10
    (root / "metadata.json").write_text('{"fps": 15}')
    assert open_path(root).facts.rate_hz == 15


def test_options_name_task_state_and_action(tmp_path: Path) -> None:
    arm = made.episode(0, 6, steps__language_instruction=[""] * 6, steps__observation__secret=made.action(9, 6))
    root = made.make(tmp_path / "arm", [made.example(arm)], shards=[1], declare=False)
    plain = opened(root)
    assert plain.table.tasks == [()]
    assert {s.key: s.role for s in plain.channels}["observation.secret"] == "other"  # type: ignore[attr-defined]
    named = opened(root, task="wipe", state=["observation.secret"], action=["count"])
    assert named.table.tasks == [("wipe",)]
    assert {s.key: s.role for s in named.channels} == {  # type: ignore[attr-defined]
        "observation.state": "other", "observation.state.secret": "state", "action": "other", "action.count": "action",
        "reward": "reward", "discount": "other", "is_first": "other", "is_last": "done", "is_terminal": "other",
    }  # fmt: skip
    with pytest.raises(CorpusError, match=r"options.state: .* no numbers called 'qpos'; known: observation.state"):
        opened(root, state=["qpos"])


def test_names_of_dimensions_are_stated(tmp_path: Path) -> None:
    root = made.make(tmp_path / "arm")
    corpus = opened(root, names={"action": ["x", "gripper"]})
    assert [d.label for d in corpus.facts.dims[-2:]] == ["action[x]", "action[gripper]"]
    assert next(iter(corpus.episodes([0]))).channels["action"].names == ("x", "gripper")
    assert corpus.table.values_stamp != opened(root).table.values_stamp
    with pytest.raises(CorpusError, match=r"options.names: 'action' has 2 dimensions"):
        opened(root, names={"action": ["x"]})


def test_parts_of_the_robot_are_state_and_parts_of_the_action_action(tmp_path: Path) -> None:
    ones = np.ones((6, 1), np.float32)
    arm = made.episode(
        0, 6, steps__observation__state=None, steps__action=None, steps__observation__gripper_closed=ones,
        steps__observation__cartesian_position=np.ones((6, 6), np.float32), steps__action__world_vector=ones,
        steps__observation__natural_language_embedding=ones, steps__action_dict__joint_velocity=ones,
        steps__observation__natural_language_instruction=["push"] * 6, steps__language_instruction=None,
        steps__observation__cloud=np.ones((6, 5000), np.float32),
    )  # fmt: skip
    corpus = opened(made.make(tmp_path / "arm", [made.example(arm)], shards=[1], declare=False))
    roles = {s.key: s.role for s in corpus.channels}  # type: ignore[attr-defined]
    assert {k: r for k, r in roles.items() if r in ("state", "action")} == {
        "observation.state.gripper_closed": "state",
        "observation.state.cartesian_position": "state",
        "action.world_vector": "action",
    }
    assert roles["observation.natural_language_embedding"] == roles["action_dict.joint_velocity"] == "other"
    assert corpus.facts.unread == {
        "observation.cloud": "5,000 numbers a step are no channel that a check reads",
    }
    assert corpus.table.tasks == [("push",)]


def test_a_task_that_changes_is_told_in_order(tmp_path: Path) -> None:
    arm = made.episode(0, 4, steps__language_instruction=["b", "b", "a", ""])
    assert opened(made.make(tmp_path / "arm", [made.example(arm)], shards=[1])).table.tasks == [("b", "a")]


def test_a_cut_shard_gives_the_episodes_before_the_cut(tmp_path: Path) -> None:
    root = made.make(tmp_path / "arm")
    shard = root / "arm-train.tfrecord-00000-of-00002"
    shard.write_bytes(shard.read_bytes()[:-100])
    corpus = opened(root)
    assert corpus.table.index.tolist() == [0, 2, 3]  # the others keep their numbers
    assert [e.frames for e in corpus.episodes(range(3))] == [6, 5, 7]
    issue = corpus.issues[0]
    assert (issue.check, issue.code, issue.kind) == ("files", "shard_cut", Kind.DEFECT)
    assert issue.message == (
        "arm-train.tfrecord-00000-of-00002: the file ends 100 bytes before the end of record 1; "
        "the 1 of 2 episodes before it are read, those from there on are lost."
    )


def test_a_missing_shard_is_told_and_the_others_keep_their_numbers(tmp_path: Path) -> None:
    root = made.make(tmp_path / "arm")
    (root / "arm-train.tfrecord-00000-of-00002").unlink()
    corpus = opened(root)
    assert corpus.table.index.tolist() == [2, 3]
    assert corpus.issues[0].message == "split 'train': 1 of 2 shards are missing with 2 episodes: 0."
    assert corpus.issues[0].kind is Kind.RISK


def test_another_number_of_records_than_promised_is_told(tmp_path: Path) -> None:
    root = made.make(tmp_path / "arm")
    shard = root / "arm-train.tfrecord-00001-of-00002"
    shard.write_bytes(shard.read_bytes() + made.framed(made.example(made.episode(9, 4))))
    corpus = opened(root)
    assert corpus.table.index.tolist() == [0, 1, 2, 3, 4]
    assert ("files", "record_count", Kind.RISK) in codes(corpus)


def damaged(root: Path, number: int, at: int) -> None:
    """Change one byte of an episode's record."""
    shard = root / "arm-train.tfrecord-00000-of-00001"
    data, offset = bytearray(shard.read_bytes()), 0
    for _ in range(number):
        offset += 16 + struct.unpack_from("<Q", data, offset)[0]
    data[offset + 12 + at] ^= 0x40
    shard.write_bytes(data)


@pytest.mark.parametrize("at", [0, 2, 40, 3000])
@pytest.mark.parametrize("number", [0, 2])
def test_a_damaged_record_is_one_unreadable_episode(tmp_path: Path, at: int, number: int) -> None:
    root = made.make(tmp_path / "arm", shards=[4])
    damaged(root, number, at)
    corpus = opened(root)
    assert corpus.table.index.tolist() == [0, 1, 2, 3]
    for episode in corpus.episodes(range(4)):
        if episode.index != number:
            assert episode.frames == made.LENGTHS[episode.index]
            continue
        message = error_of(episode)
        assert message.startswith(f"episode {number} (record {number} of arm-train.tfrecord-00000-of-00001)")
        assert "does not match its checksum" in message
        with pytest.raises(VideoError, match="does not match its checksum"):
            episode.cameras[made.CAMERA].packets()


WRONG = {
    "ragged": ({"steps__action": np.ones(13, np.float32)}, "steps/action holds 13 numbers; 7 steps of 2 need 14"),
    "absent": ({"steps__observation__state": None}, "steps/observation/state is missing from the record"),
    "another kind": ({"steps__action": np.ones(14, np.int64)}, "a list of int stands where float is expected"),
    "too large": ({"steps__count": np.full(7, 1 << 40)}, "steps/count holds numbers that are no int32"),
    "no bool": ({"steps__is_terminal": np.full(7, 2)}, "steps/is_terminal holds numbers that are no bool"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_episode_that_is_not_as_declared_is_unreadable_alone(tmp_path: Path, case: str) -> None:
    changes, says = WRONG[case]
    episodes = [made.example(made.episode(n, t, **(changes if n == 3 else {}))) for n, t in enumerate(made.LENGTHS)]
    *good, bad = opened(made.make(tmp_path / "arm", episodes)).episodes(range(4))
    assert [e.frames for e in good] == list(made.LENGTHS[:3])
    assert says in error_of(bad)


def test_a_record_that_is_no_example_is_unreadable_alone(tmp_path: Path) -> None:
    episodes = [made.example(made.episode(n, t)) for n, t in enumerate(made.LENGTHS)]
    episodes[1] = b"\x0a\x7f" + b"no message"
    corpus = opened(made.make(tmp_path / "arm", episodes))
    assert corpus.table.length.tolist() == [6, 0, 5, 7]
    assert "is no tf.train.Example" in error_of(list(corpus.episodes(range(4)))[1])


def test_pictures_that_are_too_few_or_broken_concern_the_camera_alone(tmp_path: Path) -> None:
    front = made.episode(0, 6)["steps/observation/front"]
    arms = [
        made.episode(0, 6, steps__observation__front=front[:5]),
        made.episode(0, 6, steps__observation__front=[*front[:3], b"no picture", *front[4:]]),
        made.episode(0, 6, steps__observation__front=[*front[:3], b"", *front[4:]]),
    ]
    corpus = opened(made.make(tmp_path / "arm", [made.example(a) for a in arms], shards=[3]))
    few, broken, empty = corpus.episodes(range(3))
    assert few.frames == broken.frames == empty.frames == 6
    with pytest.raises(VideoError, match="5 pictures for 6 steps"):
        few.cameras[made.CAMERA].packets()
    with pytest.raises(VideoError, match="frame 3 is not a readable image"):
        list(broken.cameras[made.CAMERA].luma())
    with pytest.raises(VideoError, match="frame 3 holds no image"):
        empty.cameras[made.CAMERA].packets()


def test_nan_and_an_empty_episode_are_read_as_they_are(tmp_path: Path) -> None:
    state = made.state(0, 6)
    state[2, 1] = np.nan
    arms = [made.episode(0, 6, steps__observation__state=state), made.episode(1, 0)]
    corpus = opened(made.make(tmp_path / "arm", [made.example(a) for a in arms], shards=[2]))
    first, second = corpus.episodes([0, 1])
    np.testing.assert_array_equal(first.channels["observation.state"].values, state)
    assert (second.length, second.frames) == (0, 0)
    assert second.channels["action"].values.shape == (0, 2)


def test_marks_of_an_end_in_the_middle_are_told(tmp_path: Path) -> None:
    arms = [made.episode(0, 6, steps__is_first=np.arange(6) % 4 == 0), made.episode(1, 5)]
    corpus = opened(made.make(tmp_path / "arm", [made.example(a) for a in arms], shards=[2]))
    joined, clean = corpus.episodes([0, 1])
    assert clean.issues == ()
    assert [i.code for i in joined.issues] == ["step_marks"]
    assert "step 4 is marked as the first of an episode" in joined.issues[0].message


def test_what_is_declared_and_absent_is_told(tmp_path: Path) -> None:
    declaration = made.declaration()
    steps = declaration["featuresDict"]["features"]["steps"]["sequence"]["feature"]["featuresDict"]["features"]
    steps |= {
        "force": made.tensor([6], "float32"),
        "depth": {"image": {"shape": {"dimensions": ["24", "32", "1"]}, "dtype": "uint16"}},
        "points": {"sequence": {"feature": made.tensor([3], "float32")}},
        "sound": {"pythonClassName": "tensorflow_datasets.core.features.audio_feature.Audio", "audio": {}},
        "zipped": {"tensor": {"shape": {"dimensions": ["3"]}, "dtype": "float32", "encoding": "zlib"}},
    }
    corpus = opened(made.make(tmp_path / "arm", features=declaration))
    assert "features.json declares steps/force, which the records do not hold." in [i.message for i in corpus.issues]
    assert corpus.facts.unread == {
        "depth": "depth is not decoded",
        "points": "a sequence within a step; its length varies",
        "sound": "a feature of the type Audio, which is not known",
        "zipped": "a tensor in the encoding 'zlib'",
    }


BAD_FOLDERS = {
    "broken features": ({"features.json": b"{"}, "features.json is not valid JSON"),
    "no object": ({"features.json": b"[1]"}, "features.json: expected an object"),
    "no steps": ({"features.json": b'{"featuresDict": {"features": {}}}'}, "declares no steps"),
    "no declaration": ({"features.json": b'{"featuresDict": {"features": {"steps": 7}}}'}, "no declaration of a"),
    "deep": ({"features.json": b'{"a":' * 50_000}, "features.json is not valid JSON"),
    "broken info": ({"dataset_info.json": b"\xff\xfe"}, "dataset_info.json is not valid JSON"),
    "another format": ({"dataset_info.json": b'{"fileFormat": "riegeli"}'}, "lies in 'riegeli' files"),
    "two writings": ({"arm-train.tfrecord-00000-of-00003": made.framed(b"")}, "both as 2 and as 3 shards"),
}


@pytest.mark.parametrize("case", BAD_FOLDERS)
def test_a_folder_that_cannot_be_opened_is_one_line(tmp_path: Path, case: str) -> None:
    files, says = BAD_FOLDERS[case]
    root = made.make(tmp_path / "arm")
    for name, content in files.items():
        (root / name).write_bytes(content)
    with pytest.raises(CorpusError) as caught:
        opened(root)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("about", "says"),
    [
        (
            {"dtype": "float32", "shape": {"dimensions": [float("inf")]}},
            "the shape of steps/a is [inf]; expected sizes",
        ),
        ({"dtype": "float32", "shape": {"dimensions": ["9" * 5000]}}, "the shape of steps/a is ['999"),
        ({"dtype": "float32", "shape": {"dimensions": [10**9] * 900}}, "which no array has"),
        ({"dtype": "float32", "shape": {"dimensions": [1 << 63]}}, "which no array has"),
        ({"dtype": [], "shape": {}}, "the dtype of steps/a is []; expected a name"),
        ({"dtype": {"a": 1}, "shape": {}}, "the dtype of steps/a is {'a': 1}; expected a name"),
    ],
)
@pytest.mark.parametrize("kind", ["tensor", "image"])
def test_declarations_that_are_none_are_one_line(tmp_path: Path, kind: str, about: dict, says: str) -> None:
    root = made.make(tmp_path / "arm")
    steps = {"sequence": {"feature": {"featuresDict": {"features": {"a": {kind: about}}}}}}
    (root / "features.json").write_text(json.dumps({"featuresDict": {"features": {"steps": steps}}}))
    with pytest.raises(CorpusError) as caught:
        opened(root)
    assert says in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_metadata_that_makes_no_sense_is_not_believed(tmp_path: Path) -> None:
    for n, lengths in enumerate((["x", "y"], [-5, 4], [1 << 80, 1], [2], "12", None, [float("inf"), 1])):
        root = made.make(tmp_path / str(n), info={"splits": [{"name": "train", "shardLengths": lengths}, 7, {}]})
        assert opened(root).table.index.tolist() == [0, 1, 2, 3]


def test_records_of_something_else_are_refused(tmp_path: Path) -> None:
    other = made.example({"image/encoded": [b"x"], "label": np.array([3])})
    root = made.make(tmp_path / "arm", [other], shards=[1], declare=False)
    with pytest.raises(CorpusError, match="this is no RLDS"):
        opened(root)
    root = made.make(tmp_path / "b", [b"", b"garbage"], shards=[2], declare=False)
    with pytest.raises(CorpusError, match=r"no RLDS|no record can be read"):
        opened(root)


def test_links_that_leave_the_folder_are_unsafe(tmp_path: Path) -> None:
    for name in ("arm-train.tfrecord-00001-of-00002", "features.json"):
        root = made.make(tmp_path / name[:5] / "arm")
        inside, outside = root / name, tmp_path / f"outside-{name}"
        inside.rename(outside)
        inside.symlink_to(outside)
        with pytest.raises(UnsafeCorpusError, match=name):
            opened(root)


def test_several_data_sets_below_a_folder_are_named(tmp_path: Path) -> None:
    for version in ("1.0.0", "1.1.0"):
        made.make(tmp_path / "arm" / version)
    with pytest.raises(CorpusError, match=r"holds several RLDS data sets \(1.0.0, 1.1.0\)"):
        opened(tmp_path / "arm")
    assert len(opened(tmp_path / "arm" / "1.0.0").table) == 4


def test_splits_are_read_in_their_declared_order_or_one_alone(tmp_path: Path) -> None:
    splits = [{"name": "train", "shardLengths": ["2"]}, {"name": "val", "shardLengths": ["2"]}]
    root = made.make(tmp_path / "arm", shards=[2], info={"splits": splits})
    more = [made.framed(made.example(made.episode(n, made.LENGTHS[n]))) for n in (2, 3)]
    (root / "arm-val.tfrecord-00000-of-00001").write_bytes(b"".join(more))
    assert opened(root).table.length.tolist() == list(made.LENGTHS)
    assert opened(root).facts.info["splits"] == {"train": "0:2", "val": "2:4"}
    assert opened(root, split="val").table.length.tolist() == list(made.LENGTHS[2:])
    with pytest.raises(CorpusError, match="there is no split 'test'; known: train, val"):
        opened(root, split="test")
    (root / "arm-val.tfrecord-00000-of-00001").unlink()
    assert "declares a split 'val', of which no shard is there" in opened(root).issues[0].message


@pytest.mark.parametrize("declare", [True, False])
def test_any_damage_is_told_in_one_line(tmp_path: Path, declare: bool) -> None:
    root = made.make(tmp_path / "arm", declare=declare)
    files = sorted(root.iterdir())
    rng = np.random.default_rng(7)
    for _ in range(60):
        file = files[rng.integers(len(files))]
        content = file.read_bytes()
        damaged = bytearray(content[: rng.integers(len(content))] if rng.random() < 0.3 else content)
        for at in rng.integers(0, max(1, len(damaged)), rng.integers(1, 5)).tolist():
            if at < len(damaged):
                damaged[at] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        try:
            corpus = Rlds.open(root, key="k", options=Rlds.Options(rate_hz=10))
            for episode in corpus.episodes(range(len(corpus.table))):
                for read in (lambda e: e.channels, *(lambda e, k=k: e.cameras[k].packets() for k in episode.cameras)):
                    try:
                        read(episode)
                    except RecordingError as error:
                        assert "\n" not in str(error)
        except CorpusError as error:
            assert "\n" not in str(error)
            assert len(str(error)) < 500
        file.write_bytes(content)


def test_nothing_of_tensorflow_is_loaded(tmp_path: Path) -> None:
    for episode in opened(made.make(tmp_path / "arm")).episodes(range(4)):
        assert len(episode.channels)
    assert not [name for name in sys.modules if name.startswith("tensorflow")]


def test_a_curated_data_set_holds_what_was_recorded(tmp_path: Path) -> None:
    lengths = (40, 50, 45)
    episodes = [made.example(smooth(n, t)) for n, t in enumerate(lengths)]
    root = made.make(tmp_path / "arm", episodes, shards=[3])
    project = gristmill.open(root, options=RATE, store=tmp_path / "store")
    audit = project.audit(jobs=1)
    assert not audit.unreadable
    assert [f.code for f in audit.corpus_findings if f.check == "schema"] == ["last_action"]
    done = project.curate(tmp_path / "out", jobs=1)
    assert done.snapshot is not None
    spans = done.snapshot.kept()
    assert [s.episode_index for s in spans] == [0, 1, 2]
    table = pq.read_table(next((tmp_path / "out" / "data").rglob("*.parquet")))
    for at, span in enumerate(spans):
        rows = table.filter([e == at for e in table["episode_index"].to_pylist()])
        recorded = smooth(span.episode_index, lengths[span.episode_index])
        for key, name in (("action", "steps/action"), ("observation.state", "steps/observation/state")):
            np.testing.assert_array_equal(np.array(rows[key].to_pylist(), np.float32), recorded[name][span.rows])
    again = open_path(tmp_path / "out")
    assert list(again.facts.cameras) == [made.CAMERA]
    span, episode = spans[1], next(iter(again.episodes([1])))
    assert episode.tasks == (made.TASKS[span.episode_index % 2],)
    seen = episode.cameras[made.CAMERA].rgb([0, 20]).astype(int)
    # Video is lossy; a frame of another time differs by far more.
    pictures = moving(span.episode_index, lengths[span.episode_index])[span.rows].astype(int)
    assert np.abs(seen - pictures[[0, 20]]).mean() < 12 < np.abs(seen - pictures[[10, 30]]).mean()


def moving(number: int, steps: int) -> np.ndarray:
    """(t, 64, 64, 3) a bright square that crosses a dark field, so that video keeps it."""
    frames = np.full((steps, 64, 64, 3), 40, np.uint8)
    for t in range(steps):
        frames[t, 16:48, t : t + 24] = 220 - 20 * number
    return frames


def smooth(number: int, steps: int) -> dict[str, Any]:
    """An episode in which a robot moves steadily."""
    t = np.arange(steps)[:, None] / 10
    state = np.sin(t * [1.0, 0.7, 0.4] + number).astype(np.float32)
    action = np.cos(t * [1.0, 0.7] + number).astype(np.float32)
    front = [imagecodecs.png_encode(p) for p in moving(number, steps)]
    return made.episode(
        number, steps, steps__observation__state=state, steps__action=action, steps__observation__front=front
    )


# -- a real data set ---------------------------------------------------------------------------------


def decoded(data: bytes) -> dict[str, Any]:
    """An Example, decoded one byte after the other as its .proto files and protobuf's guide describe it."""

    def number(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if not data[at - 1] & 128:
                return value, at

    def parts(at: int, end: int):
        while at < end:
            tag, at = number(at)
            assert tag & 7 == 2, "in these files every field has a length"
            size, at = number(at)
            yield tag >> 3, at, at + size
            at += size

    found: dict[str, Any] = {}
    for _, a, b in parts(0, len(data)):
        for _, c, d in parts(a, b):
            (_, k0, k1), (_, v0, v1) = parts(c, d)
            name = data[k0:k1].decode()
            for kind, l0, l1 in parts(v0, v1):
                values: list[Any] = []
                for _, x, y in parts(l0, l1):
                    if kind == 1:
                        values.append(data[x:y])
                    elif kind == 2:
                        values += struct.unpack(f"<{(y - x) // 4}f", data[x:y])
                    else:
                        while x < y:
                            one, x = number(x)
                            values.append(one - (1 << 64) if one >> 63 else one)
                found[name] = values
    return found


def records(path: Path) -> list[Mapping[str, Any]]:
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        found.append(decoded(data[at + 12 : at + 12 + size]))
        at += 16 + size
    return found


def test_bridge_holds_what_an_independent_decoder_finds(real_data: Path) -> None:
    corpus = opened(real_data / "bridge_rlds", rate_hz=5)
    folder = real_data / "bridge_rlds" / "bridge_dataset" / "1.0.0"
    truth = records(folder / "bridge_dataset-train.tfrecord-00000-of-00001")
    assert len(truth) == len(corpus.table) == 25
    assert codes(corpus) == [("files", "shard_missing", Kind.RISK)]  # the declared split `val`
    assert len(corpus.facts.cameras) == 4
    for episode, record in zip(corpus.episodes(range(25)), truth, strict=True):
        assert episode.tasks == (record["steps/language_instruction"][0].decode(),)
        assert episode.frames == len(record["steps/is_first"]) == 10
        for key, channel in episode.channels.items():
            np.testing.assert_array_equal(channel.values.reshape(-1), record[f"steps/{key.replace('.', '/')}"])
        assert len(episode.channels) == 8
        for key, camera in episode.cameras.items():
            jpegs = record[f"steps/observation/{key.removeprefix('observation.images.')}"]
            assert list(camera.read(0, 10)) == jpegs  # type: ignore[attr-defined]
            grey = np.stack([imagecodecs.jpeg_decode(j, outcolorspace="GRAYSCALE") for j in jpegs]).astype(int)
            # Two decoders of JPEG round differently.
            assert np.abs(np.concatenate(list(camera.luma())).astype(int) - grey).max() <= 4
    ids = [corpus.raw_columns(n, ["episode_metadata.file_path"]).num_rows for n in range(25)]
    assert ids == [10] * 25


def test_bridge_is_audited_from_end_to_end(real_data: Path, tmp_path: Path) -> None:
    project = gristmill.open(real_data / "bridge_rlds", options={"rate_hz": 5}, store=tmp_path / "store")
    audit = project.audit(jobs=1)
    assert not audit.unreadable
    assert not project.counters.failed
    black = {f.camera for f in (*audit.findings, *audit.corpus_findings) if f.check == "black_frames"}
    truth = {
        key
        for key in next(iter(opened(real_data / "bridge_rlds").episodes([0]))).cameras
        if all(not e.cameras[key].rgb(range(10)).any() for e in opened(real_data / "bridge_rlds").episodes([0, 12, 24]))
    }
    assert len(truth) >= 1
    assert truth <= black


def error_of(episode: Episode) -> str:
    with pytest.raises(RecordingError) as caught:
        episode.channels  # noqa: B018
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    return str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\xff" * 4096])
def test_a_folder_whose_shards_cannot_be_read_names_them(tmp_path: Path, content: bytes) -> None:
    folder = made.make(tmp_path / "arm")
    for shard in folder.glob("*.tfrecord*"):
        shard.write_bytes(content)
    with pytest.raises(CorpusError, match=r"arm-train\.tfrecord-00000-of-00002: no record can be read"):
        open_path(tmp_path, options={"rate_hz": 10.0})
