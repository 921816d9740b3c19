"""Reading robot models: what is taken over, what is refused, what is left out and told."""

from __future__ import annotations

import os
import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from gristmill.errors import UnsafeCorpusError, UsageError
from gristmill.kinematics.model import RobotModel
from gristmill.model_files import read_model

URDF = """<robot name="r">
  <link name="a"/><link name="b">
    <visual><geometry><mesh filename="secret.dae"/></geometry></visual>
    <collision><geometry><mesh filename="{mesh}" scale="2 2 2"/></geometry></collision>
  </link>
  <joint name="turn" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <transmission name="t"/><gazebo><plugin filename="evil.so"/></gazebo>
</robot>"""

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "<f4") / 10
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def stl() -> bytes:
    """A tetrahedron as binary STL."""
    triangles = b"".join(struct.pack("<3f", 0, 0, 0) + CORNERS[list(face)].tobytes() + b"\0\0" for face in FACES)
    return bytes(80) + struct.pack("<I", len(FACES)) + triangles


def written(folder, text, name="robot.urdf"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def test_only_what_kinematics_needs_is_kept(tmp_path):
    (tmp_path / "body.stl").write_bytes(stl())
    files = read_model(written(tmp_path, URDF.format(mesh="body.stl")))
    assert files.kind == "urdf"
    assert files.assets == {"mesh0.stl": stl()}
    assert {e.tag for e in ET.fromstring(files.xml)} == {"link", "joint", "mujoco"}
    assert "visual" not in files.xml
    assert "evil" not in files.xml
    model = RobotModel(files)
    assert model.joints == ("turn",)
    assert model.compiled.nmesh == 1


def test_packages_are_found_where_package_xml_lies(tmp_path):
    package = tmp_path / "my_robot"
    package.mkdir()
    (package / "package.xml").write_text("<package/>")
    (package / "meshes").mkdir()
    (package / "meshes" / "body.stl").write_bytes(stl())
    for reference in ("package://my_robot/meshes/body.stl", "../meshes/body.stl"):
        files = read_model(written(package / "urdf", URDF.format(mesh=reference)))
        assert len(files.assets) == 1, reference


def test_stated_roots(tmp_path):
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "body.stl").write_bytes(stl())
    path = written(tmp_path / "models", URDF.format(mesh="../shapes/body.stl"))
    with pytest.raises(UnsafeCorpusError, match=r"robot\.urdf: '\.\./shapes/body\.stl' lies outside .* model_roots"):
        read_model(path)
    assert read_model(path, [tmp_path / "shapes"]).assets
    named = written(tmp_path / "models", URDF.format(mesh="package://shapes/body.stl"), "named.urdf")
    assert read_model(named, [tmp_path]).assets


@pytest.mark.parametrize(
    "reference", ["/etc/passwd", "../../../etc/passwd", "file:///etc/passwd", "http://x.org/a.stl"]
)
def test_nothing_outside_is_read(tmp_path, reference):
    with pytest.raises(UnsafeCorpusError, match=r"robot\.urdf"):
        read_model(written(tmp_path, URDF.format(mesh=reference)))


def test_a_link_out_of_the_folder_is_outside(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "body.stl").write_bytes(stl())
    path = written(tmp_path / "models", URDF.format(mesh="body.stl"))
    (tmp_path / "models" / "body.stl").symlink_to(tmp_path / "elsewhere" / "body.stl")
    with pytest.raises(UnsafeCorpusError):
        read_model(path)


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("gone.stl", None, "no such file"),
        ("body.dae", b"<COLLADA/>", r"\.dae are not read"),
        ("body.stl", b"solid made by hand", "not a binary STL"),
        ("body.stl", bytes(80) + struct.pack("<I", 900_000_000), "not a binary STL"),
    ],
)
def test_without_its_mesh_a_link_still_moves(tmp_path, name, data, why):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    files = read_model(written(tmp_path, URDF.format(mesh=name)))
    (missing,) = files.missing
    assert missing.startswith(f"b: {name}, ")
    assert re.search(why, missing)
    assert RobotModel(files).joints == ("turn",)


BOMB = '<!DOCTYPE robot [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>'
EXTERNAL = '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>'


@pytest.mark.parametrize("text", [BOMB, EXTERNAL])
def test_entities_are_refused(tmp_path, text):
    with pytest.raises(UnsafeCorpusError, match="declares a document type"):
        read_model(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<robot>", "not valid XML"),
        ("", "not valid XML"),
        ("<sdf/>", "neither a URDF .* nor an MJCF"),
        ("<a>" * 5000, "elements within each other"),
        ("<robot name='r'><link name='a'/></robot>", "no joint that turns or slides"),
        ("<robot name='r'><joint name='j' type='revolute'/></robot>", "MuJoCo refuses this model"),
    ],
)
def test_what_is_no_model_is_told_in_one_line(tmp_path, text, said):
    with pytest.raises(UsageError, match=said) as caught:
        RobotModel(read_model(written(tmp_path, text)))
    assert "robot.urdf" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_much_is_not_read(tmp_path):
    with pytest.raises(UsageError, match=r"zero: no file"):
        read_model(Path("/dev/zero"))
    with pytest.raises(UsageError, match=r"no file"):
        read_model(tmp_path)
    (tmp_path / "body.stl").touch()
    os.truncate(tmp_path / "body.stl", 600 << 20)  # a sparse file
    with pytest.raises(UsageError, match=r"robot\.urdf: its meshes are larger than 512 MB"):
        read_model(written(tmp_path, URDF.format(mesh="body.stl")))
    path = written(tmp_path, "<robot/>", "large.urdf")
    os.truncate(path, 33 << 20)
    with pytest.raises(UsageError, match=r"large\.urdf: larger than 32 MB"):
        read_model(path)


def test_no_such_file(tmp_path):
    with pytest.raises(UsageError, match=r"gone\.urdf: cannot be read \(No such file"):
        read_model(tmp_path / "gone.urdf")


MJCF = """<mujoco><compiler angle="degree" meshdir="shapes"/>
  <include file="defaults.xml"/>
  <asset><mesh name="body" file="body.stl"><plugin plugin="mujoco.sdf.bolt"/></mesh>
    <texture name="t" type="2d" file="/etc/passwd"/>
    <material name="m" texture="t"/></asset>
  <worldbody><light pos="0 0 1"/><camera name="c"/>
    <body name="arm"><joint name="turn" axis="0 0 1" range="-90 45" class="mine"/>
      <geom type="mesh" mesh="body" material="m"/></body></worldbody>
  <actuator><motor joint="turn"/></actuator>
  <extension><plugin plugin="mujoco.pid"/></extension>
</mujoco>"""


def test_mjcf_with_an_include(tmp_path):
    path = written(tmp_path, MJCF, "robot.xml")
    written(
        tmp_path,
        "<mujocoinclude><default><default class='mine'><joint damping='1'/></default></default></mujocoinclude>",
        "defaults.xml",
    )
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "body.stl").write_bytes(stl())
    files = read_model(path)
    assert (files.kind, list(files.assets)) == ("mjcf", ["mesh0.stl"])
    assert "passwd" not in files.xml
    assert "plugin" not in files.xml
    model = RobotModel(files)
    assert model.limits[:, 0] == pytest.approx(np.radians([-90, 45]))
    (tmp_path / "shapes" / "body.stl").unlink()
    again = read_model(path)
    assert again.missing == ("body: body.stl, no such file",)
    assert RobotModel(again).compiled.ngeom == 0
    assert again.digest != files.digest


def test_includes_stay_inside_and_end(tmp_path):
    inside = written(tmp_path / "models", '<mujoco><include file="../secret.xml"/></mujoco>', "robot.xml")
    written(tmp_path, "<mujoco/>", "secret.xml")
    with pytest.raises(UnsafeCorpusError, match=r"secret\.xml"):
        read_model(inside)
    endless = written(tmp_path, '<mujoco><worldbody><include file="endless.xml"/></worldbody></mujoco>', "endless.xml")
    with pytest.raises(UsageError, match="includes itself"):
        read_model(endless)


def test_what_unfolds_into_bodies_is_refused(tmp_path):
    path = written(tmp_path, '<mujoco><worldbody><body><replicate count="9"/></body></worldbody></mujoco>', "r.xml")
    with pytest.raises(UsageError, match="<replicate> is not read; save the model flat"):
        read_model(path)
