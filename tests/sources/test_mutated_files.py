"""Bytes of every container of logs and records changed at random: what cannot be read is told in one line of ours.

Whatever else escapes is a fault: of the libraries, that a container's reader has to expect, or of the reader itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import made_logs
import made_rlds
import numpy as np
import pytest
from made_logs import START_NS, Sent
from mcap.writer import CompressionType
from rosbags.rosbag1 import Writer as BagWriter

from gristmill.errors import GristmillError
from gristmill.sources import open_path

TIMES = 60
_RUNS = (b"\xff" * 8, bytes(8), b"\x7f" + b"\xff" * 7, b"\xff\xff\xff\x7f" + bytes(4))


def sent() -> list[Sent]:
    """An arm, pictures as they are, and compressed ones."""
    messages = made_logs.arm_log(0, frames=12)
    for i in range(3):
        at = START_NS + i * 40_000_000
        messages.append(Sent("/front/image_raw", at, made_logs.image(at, made_logs.picture(i, 8, 16))))
        messages.append(Sent("/wrist/image/compressed", at, made_logs.jpeg(at, made_logs.picture(i, 24, 24))))
    return sorted(messages, key=lambda s: s.log_ns)


def _db3(folder: Path) -> tuple[Path, Path]:
    made_logs.write_db3(folder / "bag", sent())
    return folder / "bag", next((folder / "bag").glob("*.db3"))


def _metadata(folder: Path) -> tuple[Path, Path]:
    return _db3(folder)[0], folder / "bag" / "metadata.yaml"


def _rlds(name: str) -> Callable[[Path], tuple[Path, Path]]:
    return lambda folder: (made_rlds.make(folder / "arm"), folder / "arm" / name)


def _log(write: Callable, name: str, **how) -> Callable[[Path], tuple[Path, Path]]:
    return lambda folder: (write(folder / name, sent(), **how), folder / name)


MADE = {  # what is opened, and the file in it that is changed
    "mcap": _log(made_logs.write_mcap, "a.mcap"),
    "mcap, not compressed": _log(made_logs.write_mcap, "a.mcap", compression=CompressionType.NONE, enable_crcs=False),
    "mcap, no chunks": _log(made_logs.write_mcap, "a.mcap", use_chunking=False),
    "bag": _log(made_logs.write_bag, "a.bag"),
    "bag, lz4": _log(made_logs.write_bag, "a.bag", compression=BagWriter.CompressionFormat.LZ4),
    "sqlite": _db3,
    "rosbag2 metadata": _metadata,
    "tfrecord": _rlds("arm-train.tfrecord-00000-of-00002"),
    "features": _rlds("features.json"),
    "dataset info": _rlds("dataset_info.json"),
}


def changed(data: bytes, rng: np.random.Generator) -> bytes:
    """One to three changes of a sort: bytes, runs of telling bytes, more bytes, fewer, or single bits."""
    found, sort = bytearray(data), int(rng.integers(6))
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(found)))
        if sort == 0:
            found[at] = int(rng.integers(256))
        elif sort == 1:
            found[at : at + 8] = _RUNS[int(rng.integers(len(_RUNS)))]
        elif sort == 2:
            found[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif sort == 3:
            del found[at : at + int(rng.integers(1, 64))]
        elif sort == 4:
            found[at] ^= 1 << int(rng.integers(8))
        else:
            del found[max(at, 16) :]
    return bytes(found)


def read_all(path: Path, rate_hz: float | None) -> None:
    """Open a corpus and read all of it; episodes and cameras that say why they cannot be read are passed over."""
    corpus = open_path(path, key="log", options={"rate_hz": rate_hz} if rate_hz else None)
    for row in range(len(corpus.table)):
        (episode,) = corpus.episodes([row])
        for read in (lambda e=episode: e.channels, lambda e=episode: e.clocks):
            told(read)
        for camera in episode.cameras.values():
            told(lambda c=camera: c.rgb(range(min(c.frames, 3))))
            told(lambda c=camera: c.packets())


def told(read: Callable[[], object]) -> bool:
    """Whether it cannot be read, and says so in one line."""
    try:
        read()
    except GristmillError as error:
        assert "\n" not in str(error) and len(str(error)) < 1000
        return True
    return False


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("sort", MADE)
def test_changed_bytes_never_escape(tmp_path: Path, sort: str) -> None:
    corpus, file = MADE[sort](tmp_path)
    rate_hz = 10.0 if (corpus / "features.json").exists() else None
    whole = file.read_bytes()
    rng = np.random.default_rng(list(sort.encode()))
    refused = 0
    for _ in range(TIMES):
        file.write_bytes(changed(whole, rng))
        refused += told(lambda: read_all(corpus, rate_hz))
    assert refused < TIMES  # else nothing but the opening was tried
    file.write_bytes(whole)
    read_all(corpus, rate_hz)
