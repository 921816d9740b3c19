"""Exports killed at chosen moments: what was there stays, or the new one is whole; the next run cleans up."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gristmill.export.lerobot import Lerobot
from gristmill.finding import Finding, Kind
from gristmill.snapshot import Snapshot
from gristmill.sources import open_path

# Run in another process: replaces one function so that calling it kills the process on the spot.
CHILD = """
import importlib, os, signal, sys
from pathlib import Path
from gristmill.export.lerobot import Lerobot
from gristmill.snapshot import Snapshot
from gristmill.sources import open_path

where, folder, corpus, out = sys.argv[1:]
def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)
progress = None
if where.startswith("after "):
    left = [int(where.split()[1])]
    def progress(count):
        left[0] -= count
        if left[0] <= 0:
            die()
else:
    module, _, name = where.rpartition(":")
    target = importlib.import_module(module)
    holder, _, attribute = name.rpartition(".")
    setattr(getattr(target, holder) if holder else target, attribute, die)
Lerobot(overwrite=True).export(
    Snapshot.read(Path(folder)), Path(out), open_corpus=lambda _: open_path(corpus), progress=progress
)
"""


@pytest.mark.parametrize(
    ("where", "new"),
    [
        ("after 100", False),
        ("gristmill.formats.lerobot.write:write_stats", False),  # rows are written, metadata is not
        ("gristmill.staging:_flush_to_disk", False),  # all is written, nothing is swapped
        ("gristmill.export.lerobot:ExportResult", True),  # swapped and cleaned, not yet told
    ],
)
def test_killed(bench, real_data, tmp_path, where, new) -> None:
    source = real_data / "pusht_lowdim"
    corpus = open_path(source)
    bench.corpora[corpus.facts.root] = corpus
    out = tmp_path / "out"
    Lerobot().export(bench.freeze(), out, open_corpus=bench.open)
    shorter = bench.freeze([Finding(check="spike", kind=Kind.DEFECT, row=0, message="m", fix="f")])
    folder = shorter.write(tmp_path / "snapshots")
    done = subprocess.run([sys.executable, "-c", CHILD, where, str(folder), str(source), str(out)], timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert _whole(out) == (205 if new else 206)
    assert len(list(tmp_path.glob("out.partial-*"))) == (0 if new else 1)
    Lerobot(overwrite=True).export(Snapshot.read(folder), out, open_corpus=bench.open)
    assert _whole(out) == 205
    assert not list(tmp_path.glob("out.partial-*"))


def _whole(out: Path) -> int:
    info = json.loads((out / "meta" / "info.json").read_text())
    rows = sum(pq.read_metadata(path).num_rows for path in out.glob("data/*/*.parquet"))
    assert rows == info["total_frames"]
    return info["total_episodes"]
