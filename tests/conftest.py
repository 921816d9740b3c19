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


@pytest.fixture(scope="session")
def sample_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated corpus without cameras, 24 episodes. Do not change it: copy it."""
    from gristmill.synth import generate

    return generate(tmp_path_factory.mktemp("sample") / "arm", episodes=24, seed=5, video=False, jobs=1)


@pytest.fixture(scope="session")
def filmed_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated corpus with two cameras, 10 episodes. Do not change it: copy it."""
    from gristmill.synth import generate

    return generate(tmp_path_factory.mktemp("filmed") / "arm", episodes=10, seed=6, jobs=1)
