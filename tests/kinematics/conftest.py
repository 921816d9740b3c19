"""Robots to test on: planar arms whose mathematics fits on a page, and descriptions of real ones."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from planar_arms import planar_urdf

from gristmill.kinematics.model import RobotModel
from gristmill.model_files import read_model


@pytest.fixture(scope="session")
def planar(tmp_path_factory: pytest.TempPathFactory):
    """Compiles planar arms: lengths in metres -> model."""

    def make(*lengths: float) -> RobotModel:
        path = tmp_path_factory.mktemp("planar") / "planar.urdf"
        path.write_text(planar_urdf(*lengths))
        return RobotModel(read_model(path))

    return make


@pytest.fixture(scope="session")
def robots() -> Path:
    """Folder with the robots of the package example-robot-data; fails loudly when it is not installed."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.fail("the package example-robot-data is not installed; pip install 'gristmill[dev]' installs it")
    found = next((f for f in files if f.match("*/example-robot-data/package.xml")), None)
    if found is None:
        pytest.fail("the package example-robot-data holds no robots/ folder; reinstall it")
    return Path(str(found.locate())).resolve().parent / "robots"


@pytest.fixture(scope="session")
def panda(robots: Path) -> RobotModel:
    return RobotModel(read_model(robots / "panda_description/urdf/panda.urdf"))


@pytest.fixture(scope="session")
def ur5(robots: Path) -> RobotModel:
    return RobotModel(read_model(robots / "ur_description/urdf/ur5_robot.urdf"))


@pytest.fixture(scope="session")
def g1(robots: Path) -> RobotModel:
    return RobotModel(read_model(robots / "g1_description/urdf/g1_29dof_rev_1_0.urdf"))
