"""v3.0 corpora whose episodes lie in several data, video and metadata files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from gristmill.errors import CorpusError
from gristmill.formats.lerobot.write import DatasetWriter, Pictures
from gristmill.synth.edit.packed_files import PackedFiles

from ..conftest import Folder

EPISODES, ROWS, WIDTH = 6, 300, 120


@pytest.fixture(scope="module")
def many_files(tmp_path_factory) -> Path:
    """Two episodes in each data file; the last episode's pictures are larger, so their file is their own."""
    rng = np.random.default_rng(0)
    features = {
        "observation.state": {"dtype": "float32", "shape": [WIDTH], "names": None},
        "action": {"dtype": "float64", "shape": [2, WIDTH], "names": None},
        "observation.images.top": {"dtype": "video", "shape": [64, 64, 3], "names": None},
    }
    root = tmp_path_factory.mktemp("many") / "corpus"
    encoding = {"codec": "libx264", "preset": "ultrafast", "gop": 5, "crf": 28}
    with DatasetWriter(
        root, fps=30, features=features, robot_type="x", data_files_size_in_mb=1, encoding=encoding
    ) as writer:
        for i in range(EPISODES):
            phase = np.linspace(0, 6, ROWS)[:, None] + rng.uniform(0, 6, WIDTH)
            side = 96 if i == EPISODES - 1 else 64
            frames = np.full((ROWS, side, side, 3), 40 + 20 * i, np.uint8)
            frames[np.arange(ROWS), np.arange(ROWS) % side] = 220
            writer.add_episode(
                {"observation.state": np.sin(phase).astype(np.float32), "action": np.cos(np.stack([phase, phase], 1))},
                ["wave"],
                {"observation.images.top": Pictures(chunks=[frames], frames=ROWS)},
            )
        return writer.close()


def test_the_corpus_is_as_it_is_meant(many_files):
    assert len(list(many_files.glob("data/*/*.parquet"))) >= 3
    assert len(list(many_files.glob("videos/*/*/*.mp4"))) == 2


def test_lost_rows_move_all_later_numbers_and_no_other_values(many_files, plant):
    found = plant(many_files, "time_gap", "too_short", share=0.34)
    before, after = found.before, found.after
    start = 0
    for index, told in after.episodes.items():
        count = len(told.rows["index"])
        assert told.bounds == (start, start + count)
        assert told.rows["index"][:, 0].tolist() == list(range(start, start + count))
        assert len(after.packets(index, "observation.images.top")) == count == told.length
        assert told.stats["index"]["min"] == [start] and told.stats["index"]["max"] == [start + count - 1]
        start += count
    planted = {p["episode"] for p in found.truth["planted"]}
    assert len(planted) == 2
    for index in set(before.episodes) - planted:
        for key in ("observation.state", "action", "timestamp"):
            assert np.array_equal(before.episodes[index].rows[key], after.episodes[index].rows[key])
        assert before.packets(index, "observation.images.top") == after.packets(index, "observation.images.top")
    # Numbers in path order are numbers in index order, which LeRobot relies on.
    files = sorted(after.root.glob("data/*/*.parquet"))
    together = np.concatenate([pq.read_table(f)["index"].to_numpy() for f in files])
    assert together.tolist() == list(range(start))


def test_files_keep_their_schema_and_row_groups(many_files, plant):
    found = plant(many_files, "spike", share=1.0)
    for path in sorted(many_files.glob("data/*/*.parquet")):
        old, new = (pq.ParquetFile(p) for p in (path, found.after.root / path.relative_to(many_files)))
        assert old.schema_arrow.equals(new.schema_arrow, check_metadata=True)
        assert [old.metadata.row_group(i).num_rows for i in range(old.num_row_groups)] == [
            new.metadata.row_group(i).num_rows for i in range(new.num_row_groups)
        ]


def test_an_episode_alone_in_its_file_is_changed_in_place(many_files, plant):
    found = plant(many_files, "video_black", share=1.0)
    by_episode = {p["episode"]: p for p in found.truth["planted"]}
    alone, shared = by_episode[EPISODES - 1], by_episode[0]
    before, after = found.before.episodes, found.after.episodes
    key = "observation.images.top"
    name = {i: after[i].videos[key][0].name for i in after}
    assert name[EPISODES - 1] == before[EPISODES - 1].videos[key][0].name == "file-001.mp4"
    assert sorted(name[i] for i in range(EPISODES - 1)) == [f"file-{n:03d}.mp4" for n in range(2, EPISODES + 1)]
    for planted in (alone, shared):
        frames = found.after.frames(planted["episode"], key)
        first, stop = (round(t * 30) for t in planted["span_s"])
        assert frames[first:stop].max() < 16 and frames[:first].max() > 100
    packed = "videos/observation.images.top/chunk-000/file-000.mp4"
    assert (found.after.root / packed).read_bytes() == (many_files / packed).read_bytes()


def test_new_episodes_follow_the_last_rows(many_files, plant):
    found = plant(many_files, "exact_duplicate", share=0.34)
    assert sorted(found.after.episodes) == list(range(EPISODES + 2))
    last = found.after.episodes[EPISODES + 1]
    assert last.bounds == ((EPISODES + 1) * ROWS, (EPISODES + 2) * ROWS)
    for planted in found.truth["planted"]:
        key = "observation.images.top"
        assert found.after.packets(planted["episode"], key) == found.before.packets(planted["copy_of"], key)


def test_a_corpus_that_is_not_sound_is_refused(many_files, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(many_files, broken)
    first, *_, last = sorted(broken.glob("data/*/*.parquet"))
    last.unlink()
    with pytest.raises(CorpusError, match="has no rows"):
        _ = PackedFiles(broken).runs
    first.write_bytes(b"no parquet")
    with pytest.raises(CorpusError, match="sound corpora only"):
        _ = PackedFiles(broken).runs
    assert Folder(many_files).info["total_episodes"] == EPISODES
