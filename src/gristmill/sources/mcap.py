"""MCAP logs: one file, a folder of them, or rosbag2 folders with their `metadata.yaml`."""

from typing import ClassVar

from gristmill.formats.logs.finding import Kind
from gristmill.sources._logs import LogSource


class Mcap(LogSource):
    """MCAP with messages in ROS 1's, ROS 2's, protobuf's or JSON's encoding."""

    name: ClassVar[str] = "mcap"
    storage: ClassVar[Kind] = "mcap"
    title: ClassVar[str] = "MCAP"
