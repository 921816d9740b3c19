"""The sources' tests use the datasets made by hand for the readers'."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in sorted((Path(__file__).parents[1] / "formats").iterdir()):
    if folder.is_dir():
        sys.path.insert(0, str(folder))
