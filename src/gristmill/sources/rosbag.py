"""ROS 1 bags: one file or a folder of them."""

from typing import ClassVar

from gristmill.formats.logs.finding import Kind
from gristmill.sources._logs import LogSource


class Rosbag(LogSource):
    """ROS 1 bags of format 2.0."""

    name: ClassVar[str] = "rosbag"
    storage: ClassVar[Kind] = "bag"
    title: ClassVar[str] = "ROS 1 bag"
