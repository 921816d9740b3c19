"""Loads the dataset of `export_features.py` with LeRobot's reader. Usage: check_features.py OUT"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from lerobot.datasets.lerobot_dataset import LeRobotDataset


def main(out: Path) -> None:
    """Every feature of every row, through `__getitem__`."""
    dataset = LeRobotDataset("any/name", root=out / "features")
    values = np.load(out / "values.npz")
    assert len(dataset) == 20
    assert dataset.num_episodes == 3
    for i in range(20):
        item = dataset[i]
        for key in values.files:
            want = values[key][i]
            if key == "note":
                assert item[key] == want
            elif key.startswith("observation.images"):
                assert torch.equal(item[key], torch.from_numpy(want).permute(2, 0, 1).to(torch.float32) / 255), key
            else:
                got = item[key].reshape(want.shape)
                assert torch.equal(got, torch.tensor(want.tolist()).to(got.dtype)), (key, i)
        assert item["task"] == ("one", "two")[int(item["frame_index"]) % 2]
    windows = LeRobotDataset("any/name", root=out / "features", delta_timestamps={"vector": [-0.1, 0.0]})
    assert windows[0]["vector_is_pad"].tolist() == [True, False]
    assert torch.equal(windows[9]["vector"], torch.from_numpy(values["vector"][8:10]))
    print(f"features: {len(values.files)} kinds, {len(dataset)} rows")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
