"""Rosbag as a corpus: the contract, and recordings that real robots left."""

from __future__ import annotations

from pathlib import Path

from made_logs import arm_log, write_bag

from gristmill.sources.rosbag import Rosbag
from gristmill.testing import SourceContract


class TestContract(SourceContract):
    source = Rosbag

    def make_corpus(self, folder: Path) -> Path:
        for i in range(3):
            write_bag(folder / f"run_{i}.bag", arm_log(i, frames=40 + i))
        return folder
