"""The folder with the makers of logs is importable from these tests and from those of the sources."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
