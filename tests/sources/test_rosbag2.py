"""rosbag2's SQLite recordings as a corpus: the contract, real recordings, and what is refused."""

from __future__ import annotations

from pathlib import Path

import made_logs as made
import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag2 import Reader

from gristmill.errors import CorpusError
from gristmill.sources import open_path, source_of
from gristmill.sources.rosbag2 import Rosbag2
from gristmill.testing import SourceContract

TESTS = "rosbag2/rosbag2_tests/resources"


class TestContract(SourceContract):
    source = Rosbag2

    def make_corpus(self, folder: Path) -> Path:
        for i in range(3):
            made.write_db3(folder / f"run_{i}", made.arm_log(i, frames=40 + i))
        return folder


def test_both_storages_hold_the_same(real_data: Path) -> None:
    episodes = [next(iter(open_path(real_data / TESTS / s / "cdr_test").episodes([0]))) for s in ("sqlite3", "mcap")]
    first, second = (e.channels for e in episodes)
    assert list(first) == list(second) == ["observation.array_topic", "observation.test_topic"]
    for key, channel in first.items():
        assert np.array_equal(channel.values, second[key].values)
        assert channel.names == second[key].names
    with Reader(real_data / TESTS / "sqlite3" / "cdr_test") as reader:
        times = [t for c, t, _ in reader.messages() if c.topic == "/array_topic"]
    assert np.array_equal(first["observation.array_topic"].times_s, (np.array(times) - times[0]) / 1e9)


def test_values_agree_with_the_decoder_that_comes_with_mcap(real_data: Path) -> None:
    with (real_data / TESTS / "mcap/cdr_test/cdr_test_0.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        messages = [m for *_, m in reader.iter_decoded_messages(topics="/test_topic")]
    (episode,) = open_path(real_data / TESTS / "sqlite3" / "cdr_test").episodes([0])
    channel = episode.channels["observation.test_topic"]
    assert channel.names[:5] == ("bool_value", "byte_value", "char_value", "float32_value", "float64_value")
    assert channel.values.tolist() == [[float(getattr(m, name)) for name in channel.names] for m in messages]
    assert len(messages) == 3 and channel.values.any()


@pytest.mark.parametrize("place", ["wrong_rmw_test", "wrong_rmw_test/wrong_rmw_test_0.db3"])
def test_the_wrong_encoding_is_refused_by_name(real_data: Path, place: str) -> None:
    # The database itself says cdr; the metadata beside it says otherwise, and its writer knew better.
    with pytest.raises(CorpusError, match="encoded as 'wrong_format'"):
        open_path(real_data / TESTS / "sqlite3" / place)


def test_every_real_recording_opens_or_says_why_not(real_data: Path) -> None:
    opened, refused = [], {}
    for path in sorted([*(real_data / "rosbag2").rglob("*.mcap"), *(real_data / "rosbag2").rglob("*.db3")]):
        assert source_of(path) == ("mcap" if path.suffix == ".mcap" else "rosbag2")
        try:
            (episode,) = open_path(path).episodes([0])
            assert all(np.isfinite(c.values).all() for c in episode.channels.values())
            opened.append(path.name)
        except CorpusError as error:
            refused[path.name] = str(error)
    assert opened == ["rewriter_a_0.mcap", "cdr_test_0.mcap", "cdr_test_0.db3"]
    reasons = {name: next(r for r in _REASONS if r in text) for name, text in refused.items()}
    assert reasons.pop("wrong_rmw_test_0.mcap") == reasons.pop("wrong_rmw_test_0.db3") == "'wrong_format'"
    undefined = {n for n, r in reasons.items() if r == "does not define test_msgs"}
    assert undefined == {"rewriter_a_0.db3", "rewriter_b_0.db3"}  # recorded before rosbag2 kept definitions
    assert {r for n, r in reasons.items() if n not in undefined} == {"holds no numbers"}


_REASONS = ("'wrong_format'", "does not define test_msgs", "holds no numbers")


def test_other_metadata_is_another_recording_where_it_says_how_messages_are_written(tmp_path: Path) -> None:
    folder = made.write_db3(tmp_path / "bag", made.arm_log(0, frames=5))
    path = folder / "metadata.yaml"
    text = path.read_text()
    stamps = [open_path(folder, key="log").table.values_stamp]
    path.write_text(text.replace("nanoseconds: ", "nanoseconds: 1"))  # of duration and start, which are not read
    stamps.append(open_path(folder, key="log").table.values_stamp)
    assert stamps[0] == stamps[1] and path.read_text() != text
    # The topics and their messages look the same as before; only the stamp can tell.
    assert text.count("compression_format: ''") == 1
    path.write_text(text.replace("compression_format: ''", "compression_format: zstd"))
    stamps.append(open_path(folder, key="log").table.values_stamp)
    assert stamps[2] != stamps[0]
