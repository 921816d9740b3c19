"""Planar arms as URDF, whose mathematics fits on a page."""

from __future__ import annotations

PLANAR = """<robot name="planar">
  <link name="base"/>
  {links}
</robot>"""
LINK = """<joint name="q{i}" type="revolute">
    <parent link="{parent}"/><child link="link{i}"/>
    <origin xyz="{offset} 0 0"/><axis xyz="0 0 1"/><limit lower="-3.2" upper="3.2" effort="1" velocity="1"/>
  </joint>
  <link name="link{i}">
    <collision><origin xyz="{half} 0 0" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.02" length="{length}"/></geometry></collision>
  </link>"""
TIP = """<joint name="end" type="fixed"><parent link="link{i}"/><child link="tip"/><origin xyz="{length} 0 0"/></joint>
  <link name="tip"/>"""


def planar_urdf(*lengths: float) -> str:
    """An arm in the plane z = 0 whose joints turn about z, with links of these lengths along x."""
    parts, offset, parent = [], 0.0, "base"
    for i, length in enumerate(lengths, start=1):
        # The collision shape is shorter than the link, so that neighbours' neighbours do not touch when stretched.
        shape = 0.8 * length
        parts.append(LINK.format(i=i, parent=parent, offset=offset, half=length / 2, length=shape))
        offset, parent = length, f"link{i}"
    parts.append(TIP.format(i=len(lengths), length=offset))
    return PLANAR.format(links="\n  ".join(parts))
