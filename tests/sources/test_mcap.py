"""MCAP as a corpus: the contract, cameras, cuts and clocks, and what is refused."""

from __future__ import annotations

from pathlib import Path

from made_logs import arm_log, write_mcap

from gristmill.sources.mcap import Mcap
from gristmill.testing import SourceContract


class TestContract(SourceContract):
    source = Mcap

    def make_corpus(self, folder: Path) -> Path:
        for i in range(3):
            write_mcap(folder / f"run_{i}.mcap", arm_log(i, frames=40 + i))
        return folder
