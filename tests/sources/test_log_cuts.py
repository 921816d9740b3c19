"""Cuts of logs where calls, marks and times are not as simple as one might wish."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, NamedTuple

import made_logs as made
import pytest
from made_logs import START_NS, Sent
from mcap.writer import Writer

from gristmill.episode import Corpus
from gristmill.errors import CorpusError
from gristmill.finding import Kind
from gristmill.sources import open_path

PERIOD_NS = 20_000_000
JOINTS, EVENT = "sensor_msgs/msg/JointState", "std_srvs/srv/SetBool_Event"
SET_BOOL = "bool data\n---\nbool success\nstring message\n"
SENT, RECEIVED, ANSWERED = 0, 1, 2


class Call(NamedTuple):
    """One event of a service that switches recording on and off."""

    step: float  # of the joint states
    sort: int
    client: int | bytes  # a byte of its GUID, or all of it
    number: int
    on: bool | None


def event(call: Call) -> bytes:
    """CDR of service_msgs/ServiceEventInfo (event_type, stamp, client_gid, sequence_number), request and response."""
    request = b"" if call.on is None else bytes([call.on])
    body = struct.pack("<B3xiI", call.sort, 0, 0)
    body += call.client if isinstance(call.client, bytes) else bytes([call.client] * 16)
    body += bytes(-len(body) % 8) + struct.pack("<qI", call.number, len(request)) + request
    return bytes([0, 1, 0, 0]) + body + bytes(-len(body) % 4) + struct.pack("<I", 0)


def with_calls(path: Path, calls: list[Call]) -> Path:
    """100 joint states whose position is their number, and the calls of /record."""
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        definition = made.STORE.generate_msgdef(JOINTS, ros_version=2)[0].encode()
        joints = writer.register_channel("/joint_states", "cdr", writer.register_schema(JOINTS, "ros2msg", definition))
        schema = writer.register_schema(EVENT, "ros2msg", SET_BOOL.encode())
        service = writer.register_channel("/record/_service_event", "cdr", schema)
        for s in counting():
            writer.add_message(joints, s.log_ns, bytes(made.STORE.serialize_cdr(s.message, JOINTS)), s.log_ns)
        for call in calls:
            at = START_NS + round(call.step * PERIOD_NS)
            writer.add_message(service, at, event(call), at)
        writer.finish()
    return path


def counting(n: int = 100) -> list[Sent]:
    return [Sent("/joint_states", START_NS + i * PERIOD_NS, made.joints(0, "a", [i])) for i in range(n)]


def mark(step: float, text: str = "go", topic: str = "/mark") -> Sent:
    return Sent(topic, START_NS + round(step * PERIOD_NS), made.text(text))


def written(path: Path, sent: list[Sent]) -> Path:
    return made.write_mcap(path, sorted(sent, key=lambda s: s.log_ns))


def opened(path: Path, **cut: Any) -> Corpus:
    return open_path(path, key="log", options={"cut": cut})


def parts(corpus: Corpus) -> list[list[float]]:
    """First and last position of each episode."""
    tables = [e.channels["observation.state"].values[:, 0] for e in corpus.episodes(range(len(corpus.table)))]
    assert [len(t) for t in tables] == corpus.table.length.tolist()
    return [[t[0], t[-1]] if len(t) else [] for t in tables]


FOUR_CLIENTS = [  # each `ros2 service call` is a client of its own, and counts from 1
    (9.5, RECEIVED, 1, 1, True),
    (30.5, RECEIVED, 2, 1, False),
    (49.5, RECEIVED, 3, 1, True),
    (70.5, RECEIVED, 4, 1, False),
]
BOTH_SIDES = [  # one client; each call is logged by both sides, and answered
    (step + late, sort, 7, number, on)
    for number, (step, on) in enumerate([(9.5, True), (30.5, False), (49.5, True), (70.5, False)], 1)
    for late, sort in ((0, SENT), (0.1, RECEIVED), (0.2, ANSWERED))
]
TWO_CLIENTS = [  # whose calls are logged by both sides, one within the other, and one of them received late
    (9.3, SENT, 1, 5, True),
    (9.4, SENT, 2, 5, True),
    (9.5, RECEIVED, 1, 5, True),
    (9.6, RECEIVED, 2, 5, True),
    (30.5, RECEIVED, 1, 6, False),
    (49.5, SENT, 2, 6, True),
    (70.5, SENT, 1, 7, False),
    (80.5, RECEIVED, 2, 6, True),
]


# Participants as Fast DDS names them; entities end in 03 for a writer and in 04 for a reader.
ONE, OTHER = bytes.fromhex("010feb7dd37a377900000300"), bytes.fromhex("010feb7d3836ae8a00000000")
WRITER, READER, WRITER_2, READER_2 = (bytes.fromhex(e) for e in ("00000903", "00001304", "00000b03", "00001504"))
FAST_DDS = [  # two processes; what one side logs is not always logged before what the other does
    (9.4, SENT, ONE + WRITER, 1, True),
    (10.6, RECEIVED, ONE + READER, 1, True),
    (29.4, RECEIVED, OTHER + READER, 1, False),
    (30.6, SENT, OTHER + WRITER, 1, False),
    (49.5, RECEIVED, ONE + READER, 2, True),
    (69.4, RECEIVED, ONE + READER, 3, False),
    (72.6, SENT, ONE + WRITER, 3, False),
]
ONE_PROCESS = [  # whose two clients share the participant and count alike
    (9.5, SENT, ONE + WRITER, 1, True),
    (30.5, SENT, ONE + WRITER_2, 1, False),
    (31.5, RECEIVED, ONE + READER, 1, True),
    (32.5, RECEIVED, ONE + READER_2, 1, False),
    (49.5, RECEIVED, ONE + READER, 2, True),
    (70.5, RECEIVED, ONE + READER_2, 2, False),
]
CALLS = {
    "four clients": (FOUR_CLIENTS, [[10, 30], [50, 70]]),
    "both sides": (BOTH_SIDES, [[10, 30], [50, 70]]),
    "two clients": (TWO_CLIENTS, [[10, 30], [50, 70]]),
    "Fast DDS": (FAST_DDS, [[10, 29], [50, 69]]),
    "one process": (ONE_PROCESS, [[10, 30], [50, 70]]),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_call_is_its_client_and_its_number(tmp_path: Path, case: str) -> None:
    calls, expected = CALLS[case]
    path = with_calls(tmp_path / "log.mcap", [Call(*c) for c in calls])
    assert parts(opened(path, service="/record")) == expected


def test_times_count_from_the_first_message_of_any_topic(tmp_path: Path) -> None:
    early = Sent("/rosout", START_NS - 5_000_000_000, made.text("hello"))
    path = written(tmp_path / "log.mcap", [early, *counting()])
    assert parts(opened(path, times_s=[[5.0, 6.0]])) == [[0, 49]]
    # A span may reach beyond the log, however far.
    assert parts(opened(path, times_s=[[6.0, 1e12]])) == [[50, 99]]


def test_parts_without_a_frame_become_no_episodes_and_are_told(tmp_path: Path) -> None:
    sent = [*counting(), mark(9.5), mark(9.5001), mark(49.5)]
    corpus = opened(written(tmp_path / "log.mcap", sent), topic="/mark", start="go")
    assert parts(corpus) == [[10, 49], [50, 99]]
    (issue,) = corpus.issues
    assert (issue.code, issue.kind, issue.subject) == ("cut_empty", Kind.RISK, "log.mcap")
    assert "1 of 3 parts of the cut hold no message of /joint_states" in issue.message
    with pytest.raises(CorpusError, match="leaves no episode"):
        opened(tmp_path / "log.mcap", times_s=[[50.0, 60.0]])
