"""What the writer writes, the reader reads, and an export gives again: images in tables, text, odd shapes."""

from __future__ import annotations

from io import BytesIO

import av
import numpy as np
import pyarrow as pa
import pytest

from gristmill.export.lerobot import Lerobot
from gristmill.finding import Finding, Kind, Span
from gristmill.formats.lerobot.write import DatasetWriter
from gristmill.sources import open_path

PICTURE = "observation.images.table"


def _png(picture: np.ndarray) -> bytes:
    buffer = BytesIO()
    with av.open(buffer, "w", format="image2pipe") as container:
        stream = container.add_stream("png", rate=1)
        stream.height, stream.width, stream.pix_fmt = *picture.shape[:2], "rgb24"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return buffer.getvalue()


@pytest.fixture
def raw(tmp_path):
    features = {
        "observation.state": {"dtype": "float32", "shape": [3], "names": ["a", "b", "c"]},
        "action": {"dtype": "float64", "shape": [1], "names": None},
        "tactile": {"dtype": "float32", "shape": [2, 3], "names": ["row", "column"]},
        "note": {"dtype": "string", "shape": [1], "names": None},
        "language_events": {"dtype": "language", "shape": [1], "names": None},
        PICTURE: {"dtype": "image", "shape": [16, 24, 3], "names": ["height", "width", "channels"]},
    }
    rng = np.random.default_rng(0)
    rows = []
    with DatasetWriter(tmp_path / "raw", fps=10, features=features, robot_type="so101") as writer:
        for i, n in enumerate((30, 25)):
            columns = {
                "observation.state": rng.normal(size=(n, 3)).astype(np.float32),
                "action": rng.normal(size=(n, 1)),
                "tactile": rng.normal(size=(n, 2, 3)).astype(np.float32),
                "note": [f"{i} {k}" for k in range(n)],
                "language_events": pa.array([[{"role": "user", "text": f"{i} {k}"}] for k in range(n)]),
                PICTURE: [_png(p) for p in rng.integers(0, 256, (n, 16, 24, 3), dtype=np.uint8)],
            }
            rows.append(columns)
            writer.add_episode(columns, ["one", "two"], task_of_frame=np.arange(n) % 2)
        writer.close()
    return tmp_path / "raw", rows


def test_round_trip(bench, read, raw, tmp_path) -> None:
    folder, rows = raw
    corpus = open_path(folder)
    assert corpus.issues == ()
    bench.corpora[corpus.facts.root] = corpus
    head = Finding(
        check="idle", code="idle_head", kind=Kind.RISK, row=1, message="m", fix="f", spans_s=(Span(0.0, 1.1),)
    )
    result = Lerobot().export(bench.freeze([head]), tmp_path / "out", open_corpus=bench.open)
    assert result.notes == ()
    assert (result.copied_frames, result.encoded_frames) == (0, 0)
    table = read(tmp_path / "out").rows
    assert table["episode_index"].to_pylist() == [0] * 30 + [1] * 15
    for key in ("observation.state", "action", "tactile"):
        want = np.concatenate([rows[0][key], rows[1][key][10:]])
        np.testing.assert_array_equal(np.array(table[key].to_pylist()).reshape(want.shape), want)
    assert table["note"].to_pylist() == rows[0]["note"] + rows[1]["note"][10:]
    events = rows[0]["language_events"].to_pylist() + rows[1]["language_events"].to_pylist()[10:]
    assert table["language_events"].to_pylist() == events
    assert [cell["bytes"] for cell in table[PICTURE].to_pylist()] == rows[0][PICTURE] + rows[1][PICTURE][10:]
    assert table["task_index"].to_pylist() == [k % 2 for k in range(30)] + [k % 2 for k in range(10, 25)]
    # An export is a corpus like any other, and exporting it again changes nothing of its content.
    again = open_path(tmp_path / "out", key="again")
    assert again.issues == ()
    bench.corpora.clear()
    bench.corpora[again.facts.root] = again
    Lerobot().export(bench.freeze(), tmp_path / "twice", open_corpus=bench.open)
    assert read(tmp_path / "twice").rows.equals(table)
