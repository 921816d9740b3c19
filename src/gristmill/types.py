"""Array types, written once. Shapes are checked in the tests only (beartype's import hook)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# Plain NumPy aliases keep jaxtyping (0.2 s) out of the start of every command; the letters say the axes.
Luma: TypeAlias = NDArray[np.uint8]  # t h w, full-range grey levels
Rgb: TypeAlias = NDArray[np.uint8]  # t h w 3
TimesS: TypeAlias = NDArray[np.float64]  # t, seconds from the episode's start
Signal: TypeAlias = NDArray[np.floating]  # d t, one row a dimension, contiguous in time
Table: TypeAlias = NDArray[np.generic]  # t d, as recorded
Mask: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.floating]
IntArray: TypeAlias = NDArray[np.integer]
