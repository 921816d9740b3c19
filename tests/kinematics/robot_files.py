"""Descriptions of real robots, from a package that tests install."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest


def robot_file(place: str) -> Path:
    """A file of the package example-robot-data; the test fails with a clear message when it is not installed."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.fail("the package example-robot-data is not installed; pip install 'gristmill[dev]' installs it")
    found = next((f for f in files if f.match(f"*/robots/{place}")), None)
    if found is None:
        pytest.fail(f"the package example-robot-data holds no {place}; reinstall it")
    return Path(str(found.locate())).resolve()
