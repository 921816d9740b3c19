"""What a user states of logs: which topic is what, which clock counts, and how a log becomes episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

TopicRole = Literal["state", "action", "other", "camera", "task", "ignore"]
ClockName = Literal["log", "header", "publish"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRule:
    """What one topic becomes."""

    role: TopicRole
    key: str = ""  # "observation.state.arm"; by default made from the role and the topic's name
    field: str = ""  # the part of the message that counts, "position" or "pose.orientation"; by default all numbers
    # The dimensions to keep, in this order; by default all, as first met. As many new names name an array's numbers.
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """How one log becomes several episodes; exactly one of `topic`, `service`, `pause_s` and `times_s`.

    Raises:
        ValueError: none of them or several are given, or a span of `times_s` does not go forward.
    """

    topic: str = ""  # its messages mark where episodes begin
    start: str = ""  # the value that begins one; by default every message does
    stop: str = ""  # the value that ends one; by default the next beginning does
    service: str = ""  # each call begins one; a call with `data: false` ends it
    pause_s: float | None = field(default=None, metadata={"min": 1e-6})  # so long without a state message
    times_s: tuple[tuple[float, float], ...] = ()  # from the log's first message of any topic, the end exclusive

    def __post_init__(self) -> None:
        given = [bool(self.topic), bool(self.service), self.pause_s is not None, bool(self.times_s)]
        if sum(given) != 1:
            raise ValueError("give exactly one of topic, service, pause_s and times_s")
        if (self.start or self.stop) and not self.topic:
            raise ValueError("start and stop are values of a marker topic; give topic too")
        for begin, end in self.times_s:
            if not 0 <= begin < end:
                raise ValueError(f"times_s: [{begin}, {end}] does not go forward from 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Options of the sources mcap, rosbag and rosbag2."""

    topics: Mapping[str, TopicRule] = field(default_factory=dict)  # without any, a map is proposed and used
    clock: ClockName = "log"  # when a message was recorded, stamped by its sender, or published
    rate_hz: float | None = field(default=None, metadata={"min": 1e-3})  # by default the state topic's median rate
    task: str = ""  # the instruction, where no topic says it
    cut: Cut | None = None  # by default a log is one episode
