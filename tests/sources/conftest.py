"""The source's tests use the datasets made by hand for the reader's."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "formats" / "lerobot"))
