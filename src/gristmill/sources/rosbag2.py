"""rosbag2 recordings in SQLite: one .db3 file, a folder of them, or folders with their `metadata.yaml`."""

from typing import ClassVar

from gristmill.formats.logs.finding import Kind
from gristmill.sources._logs import LogSource


class Rosbag2(LogSource):
    """rosbag2 with SQLite storage; with MCAP storage it is the source mcap's."""

    name: ClassVar[str] = "rosbag2"
    storage: ClassVar[Kind] = "sqlite3"
    title: ClassVar[str] = "rosbag2 (SQLite)"
