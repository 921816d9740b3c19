"""The sample's world: a five-joint arm with a parallel gripper, a table, a cube and a goal mark.

Written as MJCF and simulated by MuJoCo with steps of a hundredth of a second or so, which the heavy
rotors (armature) and implicit damping of the position servos allow. Units are metres, radians, newtons.
The servos follow their commands 70 ms late, as hobby servos do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import mujoco as _mujoco
import numpy as np
from mujoco import rollout as _rollout

# The wheel's type stubs know none of its classes.
mujoco: Any = _mujoco
rollout: Any = _rollout

# Link lengths of the arm, in metres; the inverse kinematics in `kinematics.py` uses the same numbers.
SHOULDER_HEIGHT_M = 0.12
UPPER_ARM_M = 0.25
FOREARM_M = 0.23
HAND_M = 0.15  # wrist joint to the point between the fingertips
CUBE_HALF_M = 0.018
FINGER_TRAVEL_M = 0.040  # each finger, from closed to open

JOINTS = ("base_yaw", "shoulder_pitch", "elbow_pitch", "wrist_pitch", "wrist_roll")
STATE_NAMES = (*JOINTS, "gripper")
LIMITS_RAD = {
    "base_yaw": (-1.9, 1.9),
    "shoulder_pitch": (-0.4, 2.4),
    "elbow_pitch": (-2.8, 0.2),
    "wrist_pitch": (-2.4, 1.6),
    "wrist_roll": (-1.7, 1.7),
}
ENCODER_RAD = 2 * np.pi / 4096  # magnetic encoders of 12 bits
GRIPPER_STEP = 1 / 1024  # of the gripper's normalized opening
MAX_STEP_S = 1 / 88

_SERVO = 'kp="40" kv="2.8"'

MJCF = f"""
<mujoco model="gristmill_arm">
  <compiler angle="radian" autolimits="true"/>
  <option integrator="implicitfast" iterations="8" ls_iterations="6" cone="pyramidal"/>
  <default>
    <geom contype="0" conaffinity="0" density="300"/>
    <joint armature="0.05" damping="0.1"/>
    <position inheritrange="1"/>
    <default class="finger">
      <joint type="slide" range="0 {FINGER_TRAVEL_M}" armature="0.25" damping="1"/>
      <geom type="box" size="0.022 0.004 0.011" pos="0.022 0 0" friction="1.6 0.02 0.001" condim="4"
            contype="2" conaffinity="2" rgba="0.18 0.18 0.20 1"/>
      <site type="box" size="0.024 0.008 0.013" pos="0.022 0 0"/>
    </default>
  </default>
  <worldbody>
    <geom name="table" type="plane" size="0.8 0.8 0.1" contype="4" conaffinity="4" friction="1 0.01 0.001"/>
    <geom name="goal" type="box" size="0.035 0.035 0.0006" pos="0.3 0 0" rgba="0.20 0.55 0.30 1"/>
    <camera name="front" pos="0.78 0.30 0.50" xyaxes="-0.45 0.89 0 -0.47 -0.24 0.85" fovy="52"/>
    <camera name="side" pos="0.26 -0.72 0.34" xyaxes="1 0 0 0 0.36 0.93" fovy="52"/>
    <body name="base" pos="0 0 0.02">
      <geom type="capsule" fromto="0 0 0 0 0 0.06" size="0.05" rgba="0.85 0.85 0.88 1"/>
      <body name="yaw" pos="0 0 {SHOULDER_HEIGHT_M - 0.02}" gravcomp="1">
        <joint name="base_yaw" axis="0 0 1" range="-1.9 1.9"/>
        <geom type="capsule" fromto="0 0 -0.03 0 0 0" size="0.038" rgba="0.25 0.27 0.32 1"/>
        <body name="upper_arm" gravcomp="1">
          <joint name="shoulder_pitch" axis="0 -1 0" range="-0.4 2.4"/>
          <geom type="capsule" fromto="0 0 0 {UPPER_ARM_M} 0 0" size="0.026" rgba="0.93 0.78 0.25 1"/>
          <body name="forearm" pos="{UPPER_ARM_M} 0 0" gravcomp="1">
            <joint name="elbow_pitch" axis="0 -1 0" range="-2.8 0.2"/>
            <geom type="capsule" fromto="0 0 0 {FOREARM_M} 0 0" size="0.021" rgba="0.90 0.70 0.20 1"/>
            <body name="wrist" pos="{FOREARM_M} 0 0" gravcomp="1">
              <joint name="wrist_pitch" axis="0 -1 0" range="-2.4 1.6"/>
              <geom type="capsule" fromto="0 0 0 0.06 0 0" size="0.018" rgba="0.25 0.27 0.32 1"/>
              <body name="hand" pos="0.07 0 0" gravcomp="1">
                <joint name="wrist_roll" axis="1 0 0" range="-1.7 1.7"/>
                <geom type="box" size="0.012 0.052 0.014" pos="0.024 0 0" rgba="0.55 0.57 0.62 1"/>
                <camera name="wrist" pos="-0.02 0 0.062" xyaxes="0 -1 0 0.34 0 0.94" fovy="70"/>
                <site name="grasp" pos="{HAND_M - 0.07} 0 0"/>
                <body name="left_finger" pos="0.036 0.0045 0" gravcomp="1" childclass="finger">
                  <joint name="left_finger" axis="0 1 0"/>
                  <geom name="left_finger"/>
                  <site name="left_finger"/>
                </body>
                <body name="right_finger" pos="0.036 -0.0045 0" gravcomp="1" childclass="finger">
                  <joint name="right_finger" axis="0 -1 0"/>
                  <geom name="right_finger"/>
                  <site name="right_finger"/>
                </body>
              </body>
            </body>
          </body>
        </body>
      </body>
    </body>
    <body name="cube" pos="0.3 0 {CUBE_HALF_M}">
      <freejoint/>
      <geom name="cube" type="box" size="{CUBE_HALF_M} {CUBE_HALF_M} {CUBE_HALF_M}" mass="0.03"
            friction="1.6 0.02 0.001" condim="4" contype="6" conaffinity="6" rgba="0.80 0.16 0.14 1"/>
    </body>
  </worldbody>
  <actuator>
    <position joint="base_yaw" {_SERVO}/>
    <position joint="shoulder_pitch" {_SERVO}/>
    <position joint="elbow_pitch" {_SERVO}/>
    <position joint="wrist_pitch" {_SERVO}/>
    <position joint="wrist_roll" {_SERVO}/>
    <position joint="left_finger" kp="450" kv="22"/>
    <position joint="right_finger" kp="450" kv="22"/>
  </actuator>
  <sensor>
    <framepos objtype="site" objname="grasp"/>
    <framepos objtype="body" objname="cube"/>
    <framelinvel objtype="body" objname="cube"/>
    <touch site="left_finger"/>
    <touch site="right_finger"/>
  </sensor>
</mujoco>
"""


@dataclass(frozen=True, slots=True)
class Rollout:
    """What the simulation did at k control instants."""

    qpos: np.ndarray  # (k, nq): five joints, two fingers, cube position and quaternion
    grasp_m: np.ndarray  # (k, 3) point between the fingertips
    cube_m: np.ndarray  # (k, 3)
    cube_speed_m_s: np.ndarray  # (k,)
    contact_n: np.ndarray  # (k, 2) normal force on the left and right finger


@cache
def model(step_s: float) -> Any:
    """The compiled scene (`MjModel`) with this simulation step; shared within a process, so do not change it."""
    compiled = mujoco.MjModel.from_xml_string(MJCF)
    compiled.opt.timestep = step_s
    return compiled


def substeps(rate_hz: float) -> int:
    """Simulation steps for each control instant."""
    return int(np.ceil(1 / rate_hz / MAX_STEP_S - 1e-9))


def simulate(commands: np.ndarray, cube_m: np.ndarray, cube_yaw_rad: float, rate_hz: float) -> Rollout:
    """Hold each command for one control period, beginning at rest at the first command.

    Args:
        commands: (k, 6) five joint positions in rad and the gripper's opening in [0, 1].
        cube_m: (3,) where the cube stands at first.
        cube_yaw_rad: its rotation about the vertical.
        rate_hz: commands a second.

    Returns:
        The world at the instant at which each command was given, so before it had any effect.
    """
    steps = substeps(rate_hz)
    world = model(1 / rate_hz / steps)
    controls = np.concatenate([commands, commands[:, 5:]], axis=1)
    controls[:, 5:] *= FINGER_TRAVEL_M
    data = _data(world)
    start = np.zeros(mujoco.mj_stateSize(world, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    start[1:8] = controls[0]
    start[8:11] = cube_m
    start[11:15] = np.cos(cube_yaw_rad / 2), 0, 0, np.sin(cube_yaw_rad / 2)
    states, sensors = rollout.rollout(world, data, start, np.repeat(controls, steps, axis=0))
    # A step's sensors are read before it integrates; its state is written after.
    sensors = sensors[0, ::steps]
    qpos = np.concatenate([start[None], states[0, steps - 1 : -1 : steps]])[:, 1 : 1 + world.nq]
    return Rollout(
        qpos=qpos,
        grasp_m=sensors[:, 0:3],
        cube_m=sensors[:, 3:6],
        cube_speed_m_s=np.linalg.norm(sensors[:, 6:9], axis=1),
        contact_n=sensors[:, 9:11],
    )


@cache
def _data(world: Any) -> Any:
    return mujoco.MjData(world)
