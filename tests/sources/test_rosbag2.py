"""Rosbag2 as a corpus: the contract, and recordings that real robots left."""

from __future__ import annotations

from pathlib import Path

from made_logs import arm_log, write_db3

from gristmill.sources.rosbag2 import Rosbag2
from gristmill.testing import SourceContract


class TestContract(SourceContract):
    source = Rosbag2

    def make_corpus(self, folder: Path) -> Path:
        for i in range(3):
            write_db3(folder / f"run_{i}", arm_log(i, frames=40 + i))
        return folder
