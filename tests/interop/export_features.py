"""Writes a dataset with every kind of feature, and beside it the values to compare with.

Usage: python tests/interop/export_features.py OUT
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import av
import numpy as np

from gristmill.formats.lerobot.write import DatasetWriter

FEATURES = {
    "scalar": {"dtype": "float64", "shape": [1]},
    "flag": {"dtype": "bool", "shape": [1]},
    "count": {"dtype": "int32", "shape": [1]},
    "byte": {"dtype": "uint8", "shape": [4]},
    "vector": {"dtype": "float32", "shape": [5]},
    "matrix": {"dtype": "float32", "shape": [2, 3]},
    "cube": {"dtype": "float64", "shape": [2, 2, 2]},
    "four": {"dtype": "float32", "shape": [1, 2, 1, 2]},
    "note": {"dtype": "string", "shape": [1]},
    "observation.images.table": {"dtype": "image", "shape": [24, 32, 3], "names": ["height", "width", "channels"]},
}


def main(out: Path) -> None:
    """Three episodes of 7, 1 and 12 frames; `out/values.npz` holds all rows."""
    rng = np.random.default_rng(5)
    rows: dict[str, list] = {key: [] for key in FEATURES}
    with DatasetWriter(out / "features", fps=10, features=FEATURES, robot_type="made") as writer:
        for n in (7, 1, 12):
            columns = {}
            for key, feature in FEATURES.items():
                shape = (n, *feature["shape"])
                if key == "note":
                    values = np.array([f"row {i} \u00e9\u4e16" for i in range(n)])
                elif feature["dtype"] in ("uint8", "image"):
                    values = rng.integers(0, 256, shape, dtype=np.uint8)
                elif feature["dtype"] == "int32":
                    values = rng.integers(-(2**31), 2**31, shape).astype(np.int32)
                else:
                    values = rng.normal(size=shape).astype(feature["dtype"])
                rows[key].extend(values)
                columns[key] = [png(v) for v in values] if feature["dtype"] == "image" else values
            writer.add_episode(columns, ["one", "two"], task_of_frame=np.arange(n) % 2)
        writer.close()
    np.savez(out / "values.npz", **{key: np.stack(values) for key, values in rows.items()})


def png(picture: np.ndarray) -> bytes:
    """One picture as a PNG file."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="image2pipe") as container:
        stream = container.add_stream("png", rate=1)
        stream.height, stream.width, stream.pix_fmt = *picture.shape[:2], "rgb24"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return buffer.getvalue()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
