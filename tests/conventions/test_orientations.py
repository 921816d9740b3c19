"""Orientations are read by the unit, sign and zero that the card gives each number."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gristmill.conventions.claims import claims_of
from gristmill.conventions.orientations import orientations
from gristmill.embodiment import Arm, Embodiment, Joint
from gristmill.motion import motion_of
from gristmill.testing import make_episode

TRUE = np.random.default_rng(0).uniform(-1, 1, (20, 3))  # roll, pitch, yaw in rad
NAMES = ("roll", "pitch", "yaw")


def read(values, *, form="euler_rpy", names=NAMES, order="unknown", **of_joint):
    joints = [Joint(name=n, kind="other", **{"unit": "rad", **of_joint}) for n in names]
    arm = Arm(name="arm", rotation=names, rotation_as=form)
    card = Embodiment(key="k", title="t", joints=tuple(joints), arms=(arm,), quaternion_order=order)
    motion = motion_of(make_episode(state=values, names=names, embodiment=card))
    claims = claims_of(motion.layout)
    assert claims is not None
    return orientations(motion, claims, claims.states[0])


@pytest.mark.parametrize(
    ("values", "of_joint"),
    [
        (TRUE, {}),
        (np.degrees(TRUE), {"unit": "deg"}),
        (-TRUE, {"sign": -1}),
        (TRUE + 0.4, {"offset": 0.4}),
        (90 - np.degrees(TRUE), {"unit": "deg", "sign": -1, "offset": 90.0}),
    ],
)
def test_angles(values, of_joint):
    found = read(values, **of_joint)
    np.testing.assert_allclose(found, Rotation.from_euler("xyz", TRUE).as_matrix(), atol=1e-6)


def test_angles_of_no_unit_tell_nothing():
    assert read(TRUE, unit="unknown") is None


def test_a_quaternion_needs_its_order():
    values = Rotation.from_euler("xyz", TRUE).as_quat()
    names = ("qx", "qy", "qz", "qw")
    assert read(values, form="quaternion", names=names, unit="unknown") is None
    found = read(values, form="quaternion", names=names, order="xyzw", unit="unknown")
    np.testing.assert_allclose(found, Rotation.from_euler("xyz", TRUE).as_matrix(), atol=1e-6)
