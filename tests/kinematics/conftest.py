"""Robots to test on: planar arms whose mathematics fits on a page, and descriptions of real ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from planar_arms import planar_urdf
from robot_files import robot_file

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
def panda() -> RobotModel:
    return RobotModel(read_model(robot_file("panda_description/urdf/panda.urdf")))


@pytest.fixture(scope="session")
def ur5() -> RobotModel:
    return RobotModel(read_model(robot_file("ur_description/urdf/ur5_robot.urdf")))


@pytest.fixture(scope="session")
def g1() -> RobotModel:
    return RobotModel(read_model(robot_file("g1_description/urdf/g1_29dof_rev_1_0.urdf")))
