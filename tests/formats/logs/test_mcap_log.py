"""MCAP containers: every compression, with and without their indexes, cut off, damaged and hostile."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import made_logs as made
import numpy as np
import pytest
import zstandard
from mcap.reader import NonSeekingReader, make_reader
from mcap.writer import CompressionType, IndexType

from gristmill.errors import CorpusError
from gristmill.formats.logs import stream
from gristmill.formats.logs.mcap_log import McapLog
from gristmill.formats.logs.stream import NONE, Entries, LogDamageError, one_pass

TOPICS = ["/arm/command", "/instruction", "/joint_states"]


def written(path: Path, **options: Any) -> Path:
    return made.write_mcap(path, made.arm_log(0, frames=120), chunk_size=4096, **options)


def truth(path: Path) -> list[tuple[str, int, int, bytes]]:
    """What the library's own reader finds, in order of log time."""
    with path.open("rb") as file:
        found = NonSeekingReader(file).iter_messages()
        return [(c.topic, m.log_time, m.publish_time, m.data) for _, c, m in found]


def found_in(log: McapLog) -> list[tuple[str, int, int, bytes]]:
    messages = []
    for topic in log.topics:
        entries = log.entries(topic)
        assert len(entries) == log.topics[topic].count
        messages += [(topic, m.log_ns, m.publish_ns, bytes(m.data)) for m in log.read(entries)]
    return messages


@pytest.mark.parametrize("compression", list(CompressionType))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"index_types": IndexType.NONE},
        {"index_types": IndexType.CHUNK},
        {"index_types": IndexType.MESSAGE},
        {"use_chunking": False},
        {"use_statistics": False},
        {"use_statistics": False, "use_summary_offsets": False},
        {"repeat_channels": False, "repeat_schemas": False},
    ],
    ids=lambda o: ",".join(o) or "all",
)
def test_all_messages_are_found(tmp_path: Path, compression: CompressionType, options: dict[str, Any]) -> None:
    path = written(tmp_path / "a.mcap", compression=compression, **options)
    log = McapLog(path)
    assert list(log.topics) == TOPICS and log.losses == ()
    assert sorted(found_in(log)) == sorted(truth(path))
    assert len(truth(path)) == 241


def test_one_pass_gives_every_message_once_with_its_row(tmp_path: Path) -> None:
    log = McapLog(written(tmp_path / "a.mcap"))
    wanted = {t: log.entries(t) for t in TOPICS}
    seen = {t: np.zeros(len(e), int) for t, e in wanted.items()}
    for topic, row, message in one_pass(log, wanted):
        seen[topic][row] += 1
        assert wanted[topic].times_ns[row] == message.log_ns
    assert all((s == 1).all() for s in seen.values())


@pytest.mark.parametrize("segment", [1, 7, 50, 10_000])
def test_one_pass_in_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segment: int) -> None:
    monkeypatch.setattr(stream, "_SEGMENT", segment)
    sent = made.arm_log(0, frames=80)
    np.random.default_rng(1).shuffle(sent)  # type: ignore[arg-type]
    log = McapLog(made.write_mcap(tmp_path / "a.mcap", [made.Sent(*s) for s in sent], chunk_size=2048))
    wanted = {
        "/joint_states": log.entries("/joint_states"),
        "/none": NONE,
        "/arm/command": log.entries("/arm/command")[:9],
    }
    seen = sorted((t, row, m.log_ns) for t, row, m in one_pass(log, wanted))
    assert seen == sorted((t, i, int(at)) for t, e in wanted.items() for i, at in enumerate(e.times_ns))
    assert list(one_pass(log, {})) == list(one_pass(log, {"/none": NONE})) == []


def test_messages_out_of_order_are_sorted_by_time(tmp_path: Path) -> None:
    sent = made.arm_log(0, frames=80)
    np.random.default_rng(1).shuffle(sent)  # type: ignore[arg-type]
    log = McapLog(made.write_mcap(tmp_path / "a.mcap", [made.Sent(*s) for s in sent], chunk_size=2048))
    times = log.entries("/joint_states").times_ns
    assert times.tolist() == [made.START_NS + i * 20_000_000 for i in range(80)]
    assert [m.log_ns for m in log.read(log.entries("/joint_states"))] == times.tolist()


def test_only_the_chunks_that_hold_what_is_wanted_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = McapLog(written(tmp_path / "a.mcap"))
    chunks: list[int] = []
    inner = log._chunk
    monkeypatch.setattr(log, "_chunk", lambda block: chunks.append(block) or inner(block))
    entries = log.entries("/joint_states").between(made.START_NS, made.START_NS + 1)
    assert [m.log_ns for m in log.read(entries)] == [made.START_NS]
    assert len(chunks) == 1


@pytest.mark.parametrize("compression", list(CompressionType))
def test_a_cut_off_file_gives_the_whole_chunks_before_the_cut(tmp_path: Path, compression: CompressionType) -> None:
    path = written(tmp_path / "a.mcap", compression=compression)
    everything = truth(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    log = McapLog(path)
    found = sorted(found_in(log))
    assert 0.4 * len(everything) < len(found) < 0.8 * len(everything)
    assert found == sorted(sorted(everything, key=lambda m: m[1])[: len(found)])
    (loss,) = log.losses
    assert loss.code == "log_truncated" and f"{len(found)} complete messages" in loss.message


def test_every_cut_is_an_error_or_a_part(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mcap")
    data, everything = path.read_bytes(), set(truth(path))
    outcomes = set()
    for size in range(0, len(data), 97):
        path.write_bytes(data[:size])
        try:
            log = McapLog(path)
        except CorpusError as error:
            outcomes.add("error")
            assert "\n" not in str(error)
            continue
        outcomes.add("part")
        assert set(found_in(log)) <= everything
    assert outcomes == {"error", "part"}


def test_a_flipped_byte_is_told_and_does_no_harm(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mcap", compression=CompressionType.NONE)
    data, everything = path.read_bytes(), set(truth(path))
    for at in range(9, len(data), 211):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            found = set(found_in(McapLog(path)))
        except (CorpusError, LogDamageError) as error:
            assert "\n" not in str(error)
            continue
        # Topic names lie outside of what checksums cover; payloads in chunks never differ.
        assert {m[1:] for m in found} <= {m[1:] for m in everything}


def test_a_chunk_that_declares_too_much_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mcap")
    data = bytearray(path.read_bytes())
    at = data.index(b"\x04\0\0\0zstd")
    struct.pack_into("<Q", data, at - 12, 1 << 40)  # the first chunk's uncompressed size
    path.write_bytes(data)
    log = McapLog(path)
    with pytest.raises(LogDamageError, match=r"declares 1099512 MB"):
        found_in(log)


def test_a_decompression_bomb_is_stopped_at_its_declared_size(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mcap")
    data = path.read_bytes()
    at = data.index(b"\x04\0\0\0zstd")
    stored = struct.unpack_from("<Q", data, at + 8)[0]
    bomb = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(64 << 20))
    assert len(bomb) < stored + (1 << 14)
    length = struct.unpack_from("<Q", data, at - 36)[0]
    body = struct.pack("<Q", len(bomb)) + bomb
    head = bytearray(data[: at + 8])
    struct.pack_into("<Q", head, at - 36, length - stored + len(bomb))
    path.write_bytes(bytes(head) + body + data[at + 16 + stored :][:200])  # without its index
    log = McapLog.__new__(McapLog)
    with pytest.raises(CorpusError, match=r"a block holds \d+ bytes or more where it declares \d+; nothing else"):
        log.__init__(path)


def test_an_unknown_compression_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mcap")
    path.write_bytes(path.read_bytes().replace(b"\x04\0\0\0zstd", b"\x04\0\0\0brot"))
    with pytest.raises(LogDamageError, match="compression 'brot' is not known"):
        found_in(McapLog(path))


def test_an_index_that_points_nowhere_is_told(tmp_path: Path) -> None:
    log = McapLog(written(tmp_path / "a.mcap"))
    good = log.entries("/joint_states")[:1]
    for offset in (good.offset + 1, good.offset + (1 << 30)):
        with pytest.raises(LogDamageError, match="no message where the index says"):
            list(log.read(Entries(good.times_ns, good.block, offset, good.channel)))


def test_a_damaged_message_index_is_replaced_by_a_scan(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mcap")
    everything = truth(path)
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    at = next(iter(summary.chunk_indexes[1].message_index_offsets.values()))
    data = bytearray(path.read_bytes())
    data[at] = 0xEE
    path.write_bytes(data)
    log = McapLog(path)
    assert sorted(found_in(log)) == sorted(everything)
    assert [loss.code for loss in log.losses] == ["log_index_damaged"]


def test_what_is_no_mcap_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    path.write_bytes(b"\x89MCAP1\r\n" + bytes(100))
    with pytest.raises(CorpusError, match="no MCAP file"):
        McapLog(path)


def test_an_empty_log_opens_with_no_messages(tmp_path: Path) -> None:
    log = McapLog(made.write_mcap(tmp_path / "a.mcap", []))
    assert log.topics == {} and log.losses == ()


def test_real_recordings_agree_with_the_library(real_data: Path) -> None:
    paths = sorted((real_data / "rosbag2").rglob("*.mcap"))
    assert len(paths) == 17
    for path in paths:
        assert sorted(found_in(McapLog(path))) == sorted(truth(path)), path


def test_a_time_of_publishing_that_is_none_is_the_log_time(tmp_path: Path) -> None:
    sent = [made.Sent("/a", 7, made.text("x"), (1 << 64) - 1)]
    log = McapLog(made.write_mcap(tmp_path / "a.mcap", sent))
    assert [(m.log_ns, m.publish_ns) for m in log.read(log.entries("/a"))] == [(7, 7)]


def test_log_times_that_no_clock_shows_are_refused(tmp_path: Path) -> None:
    log = McapLog(made.write_mcap(tmp_path / "a.mcap", [made.Sent("/a", (1 << 63) + 5, made.text("x"))]))
    with pytest.raises(LogDamageError, match="beyond the year 2262"):
        log.entries("/a")


def outside_of_chunks(path: Path, *, counted: bool) -> Path:
    """A copy of an indexed file with one more message behind its chunks, which the format allows."""
    data = path.read_bytes()
    log = McapLog(path)
    (channel,) = log.topics["/arm/command"].formats
    (last,) = log.read(log.entries("/arm/command")[-1:])
    body = struct.pack("<HIQQ", channel, 0, last.log_ns + 1000, last.publish_ns) + bytes(last.data)
    record = b"\x05" + struct.pack("<Q", len(body)) + body
    data_end = data.rindex(b"\x0f" + struct.pack("<Q", 4))
    start, _, _ = struct.unpack("<QQI", data[-28:-8])
    foot = struct.pack("<QQI", start + len(record), 0, 0)
    summary = data[data_end:-28]
    if counted:  # the statistics: their record begins with the number of all messages, and ends with a map of counts
        at = summary.index(b"\x0b", start - data_end)
        counts = at + 9 + 8 + 2 + 4 * 4 + 8 + 8 + 4
        entry = counts + summary[counts:].index(struct.pack("<HQ", channel, 120))
        summary = summary[: entry + 2] + struct.pack("<Q", 121) + summary[entry + 10 :]
    other = path.with_name("outside.mcap")
    other.write_bytes(data[:data_end] + record + summary + foot + data[-8:])
    return other


@pytest.mark.parametrize("counted", [True, False])
def test_a_message_outside_of_the_chunks_is_not_lost(tmp_path: Path, counted: bool) -> None:
    path = outside_of_chunks(written(tmp_path / "a.mcap"), counted=counted)
    log = McapLog(path)
    assert len(log.entries("/arm/command")) == log.topics["/arm/command"].count == 121
    assert sorted(found_in(log)) == sorted(truth(path))
    assert log.losses == ()


def test_an_index_that_lists_fewer_messages_than_the_statistics_is_not_trusted(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mcap")
    log = McapLog(path)
    (channel,) = log.topics["/arm/command"].formats
    assert log._summary is not None and log._summary.counts is not None
    chunk = log._summary.chunks[0]
    del chunk.message_index_offsets[channel]
    assert sorted(found_in(log)) == sorted(truth(path))
    assert [loss.code for loss in log.losses] == ["log_index_damaged"]
    assert "its statistics 120" in log.losses[0].message
