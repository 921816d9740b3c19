"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder with the real recordings; a test that needs them fails loudly without."""
    folder = Path(os.environ.get("GRISTMILL_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.fail(f"no real recordings at {folder}; set GRISTMILL_TEST_DATA to their folder")
    return folder
