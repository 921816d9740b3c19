"""Puts the folder with robots' descriptions where tests of checks find it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "kinematics"))
sys.path.insert(0, str(Path(__file__).parent))
