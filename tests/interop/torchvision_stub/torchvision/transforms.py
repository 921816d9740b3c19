"""The one transform that LeRobot's table reader uses."""

import numpy as np
import torch


class ToTensor:
    """A PIL image as a float32 tensor (C, H, W) in [0, 1]."""

    def __call__(self, picture) -> torch.Tensor:
        """Convert one picture."""
        values = np.array(picture)
        values = values[:, :, None] if values.ndim == 2 else values
        return torch.from_numpy(values.transpose(2, 0, 1).copy()).to(torch.float32) / 255
