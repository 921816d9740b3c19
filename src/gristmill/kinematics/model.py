"""A compiled robot model and its forward kinematics, many configurations at a time.

A configuration is one number for each turning or sliding joint of the model, in the model's order: radians or
metres. Free bases and ball joints stay where the model puts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gristmill.embodiment import plain_name
from gristmill.errors import UsageError
from gristmill.model_files import ModelFiles
from gristmill.types import FloatArray, IntArray, Mask

_HALF_TURN = np.pi  # stands for the limits of a joint that turns without end


class Frames(NamedTuple):
    """Some frames and joints of k configurations, in the world's frame."""

    position_m: FloatArray  # (k, 3) of the body or site asked for
    rotation: FloatArray  # (k, 3, 3)
    anchor_m: FloatArray  # (k, j, 3) a point on the axis of each joint asked for
    axis: FloatArray  # (k, j, 3) its direction


class RobotModel:
    """A robot's joints and bodies, compiled by MuJoCo.

    Attributes:
        files: what it was compiled from.
        joints: names of the n turning or sliding joints.
        bodies: names of all bodies; the first is the world.

    Raises:
        UsageError: MuJoCo is not installed, or refuses the model.
    """

    def __init__(self, files: ModelFiles) -> None:
        try:
            import mujoco as engine
        except ImportError:
            raise UsageError("kinematics needs MuJoCo: pip install 'gristmill[kinematics]'") from None
        self.engine: Any = engine
        self.files = files
        try:
            self.compiled: Any = self.engine.MjModel.from_xml_string(files.xml, dict(files.assets))
        except ValueError as error:
            raise UsageError(f"{files.path}: MuJoCo refuses this model: {_one_line(error)}") from None
        self.data: Any = self.engine.MjData(self.compiled)
        kinds = self.compiled.jnt_type
        hinge, slide = self.engine.mjtJoint.mjJNT_HINGE, self.engine.mjtJoint.mjJNT_SLIDE
        self._ids: IntArray = np.flatnonzero((kinds == hinge) | (kinds == slide))
        self.slides: FloatArray = kinds[self._ids] == slide
        self._places: IntArray = self.compiled.jnt_qposadr[self._ids]
        self.joints = tuple(self._name("mjOBJ_JOINT", i) for i in self._ids)
        self.bodies = tuple(self._name("mjOBJ_BODY", i) for i in range(self.compiled.nbody))
        if not self.joints:
            raise UsageError(f"{files.path}: the model has no joint that turns or slides")

    @cached_property
    def limits(self) -> FloatArray:
        """(2, n) lowest and highest position of each joint; half a turn either way where it turns without end."""
        limited = self.compiled.jnt_limited[self._ids].astype(bool)
        bounds = np.where(limited, self.compiled.jnt_range[self._ids].T, [[-_HALF_TURN], [_HALF_TURN]])
        return np.asarray(bounds, np.float64)

    @cached_property
    def continuous(self) -> Mask:
        """(n,) joints that turn without end."""
        return ~self.compiled.jnt_limited[self._ids].astype(bool) & ~self.slides.astype(bool)

    @cached_property
    def neutral(self) -> FloatArray:
        """(n,) zero, or the middle of the range where zero lies outside it, as MoveIt's setup assistant has it."""
        low, high = self.limits
        return np.where((low <= 0) & (high >= 0), 0.0, (low + high) / 2)

    @cached_property
    def joint_numbers(self) -> Mapping[str, int]:
        """Number of each joint by its name without case and separators."""
        return {plain_name(name): i for i, name in reversed(list(enumerate(self.joints)))}

    @cached_property
    def body_of(self) -> IntArray:
        """(n,) number of the body that each joint moves."""
        return self.compiled.jnt_bodyid[self._ids]

    @cached_property
    def parents(self) -> IntArray:
        """(b,) number of each body's parent; the world is its own."""
        return self.compiled.body_parentid

    @cached_property
    def _coupled(self) -> list[tuple[int, int, FloatArray]]:
        """(joint, the one it follows, five coefficients): what URDF calls mimic and MJCF a joint equality."""
        couplings, number = [], {int(i): k for k, i in enumerate(self._ids)}
        for i in np.flatnonzero(self.compiled.eq_type == self.engine.mjtEq.mjEQ_JOINT):
            follower, leader = int(self.compiled.eq_obj1id[i]), int(self.compiled.eq_obj2id[i])
            if follower in number and leader in number:
                couplings.append((number[follower], number[leader], self.compiled.eq_data[i, :5].copy()))
        return couplings

    def configurations(self, positions: FloatArray, joints: IntArray) -> FloatArray:
        """(k, n) whole configurations: `positions` (k, j) of the joints numbered `joints`, the others neutral."""
        positions = np.asarray(positions, np.float64)
        whole = np.repeat(self.neutral[None], len(positions), axis=0)
        whole[:, joints] = positions
        return self.followed(whole, joints)

    def followed(self, whole: FloatArray, given: IntArray) -> FloatArray:
        """(k, n) configurations in which coupled joints follow their leaders, unless they are among the given."""
        known = set(np.asarray(given).tolist())
        rest = self.compiled.qpos0[self._places]
        for follower, leader, factors in self._coupled:
            if follower not in known:
                moved = whole[:, leader] - rest[leader]
                whole[:, follower] = rest[follower] + np.polynomial.polynomial.polyval(moved, factors)
        return whole

    def body(self, name: str) -> int:
        """Number of a body.

        Raises:
            UsageError: the model has none of this name.
        """
        if name not in self.bodies:
            raise UsageError(f"{self.files.path}: has no link or body named {name!r}; known: {', '.join(self.bodies)}")
        return self.bodies.index(name)

    def posed(self, configurations: FloatArray) -> Iterator[tuple[int, Any]]:
        """Each configuration's number, and the engine's data with all bodies and shapes in place. Data is reused."""
        qpos, data, compiled, move = self.data.qpos, self.data, self.compiled, self.engine.mj_kinematics
        qpos[:] = compiled.qpos0
        places: Any = slice(0, len(self._places)) if self._in_order else self._places
        for i, row in enumerate(np.asarray(configurations, np.float64)):
            qpos[places] = row
            move(compiled, data)
            yield i, data

    def frames(self, configurations: FloatArray, frame: str, joints: IntArray | None = None) -> Frames:
        """A body's or site's frame, and the axes of some joints (by default none), for (k, n) configurations.

        Raises:
            UsageError: there is no such body or site.
        """
        chosen = np.empty(0, np.intp) if joints is None else np.asarray(joints)
        ids = self._ids[chosen]
        position, rotation = self._views(frame)
        count = len(configurations)
        out = Frames(np.empty((count, 3)), np.empty((count, 9)), *np.empty((2, count, len(ids), 3)))
        for i, data in self.posed(configurations):
            out.position_m[i] = position
            out.rotation[i] = rotation
            if len(ids):
                out.anchor_m[i] = data.xanchor[ids]
                out.axis[i] = data.xaxis[ids]
        return out._replace(rotation=out.rotation.reshape(count, 3, 3))

    def poses(self, configurations: FloatArray, frame: str, base: str | None = None) -> FloatArray:
        """(k, 4, 4) transforms from a body's or site's frame to the world's, or to that of the body `base`.

        Raises:
            UsageError: there is no such body or site.
        """
        found = self.frames(configurations, frame)
        out = np.zeros((len(found.position_m), 4, 4))
        out[:, :3, :3], out[:, :3, 3], out[:, 3, 3] = found.rotation, found.position_m, 1
        if base is None:
            return out
        root = self.poses(configurations, base)
        turned = np.swapaxes(root[:, :3, :3], 1, 2)
        out[:, :3, 3] = (turned @ (out[:, :3, 3] - root[:, :3, 3])[:, :, None])[:, :, 0]
        out[:, :3, :3] = turned @ out[:, :3, :3]
        return out

    def jacobians(self, configurations: FloatArray, frame: str, joints: IntArray) -> FloatArray:
        """(k, 6, j) velocity of a frame's origin in m/s, then its turning in rad/s, for a unit speed of each joint.

        In the world's axes: the geometric Jacobian (Siciliano et al., "Robotics: Modelling, Planning and Control",
        2009, section 3.1). Joints that do not move the frame have zeros.
        """
        found = self.frames(configurations, frame, joints)
        return self.jacobians_of(found, frame, joints)

    def jacobians_of(self, found: Frames, frame: str, joints: IntArray) -> FloatArray:
        """`jacobians` from frames that are known already."""
        joints = np.asarray(joints)
        slides = self.slides[joints][:, None]
        moves = np.isin(self.body_of[joints], self.ancestors(self._body_of_frame(frame)))[:, None]
        lever = np.cross(found.axis, found.position_m[:, None] - found.anchor_m)
        linear = np.where(slides, found.axis, lever) * moves
        turning = np.where(slides, 0.0, found.axis) * moves
        return np.concatenate([linear, turning], axis=2).swapaxes(1, 2)

    def ancestors(self, body: int) -> list[int]:
        """The body, its parent, and so on, without the world."""
        found = []
        while body:
            found.append(body)
            body = int(self.parents[body])
        return found

    def movers(self, joints: IntArray) -> list[frozenset[int]]:
        """For each body, those of the joints that move it."""
        chosen = [(int(j), int(self.body_of[j])) for j in joints]
        above = [set(self.ancestors(body)) for body in range(len(self.bodies))]
        return [frozenset(j for j, body in chosen if body in up) for up in above]

    @cached_property
    def _in_order(self) -> bool:
        return bool((self._places == np.arange(len(self._places))).all())

    def _views(self, frame: str) -> tuple[FloatArray, FloatArray]:
        if frame in self.bodies:
            number = self.bodies.index(frame)
            return self.data.xpos[number], self.data.xmat[number]
        number = self._site(frame)
        return self.data.site_xpos[number], self.data.site_xmat[number]

    def _body_of_frame(self, frame: str) -> int:
        if frame in self.bodies:
            return self.bodies.index(frame)
        return int(self.compiled.site_bodyid[self._site(frame)])

    def _site(self, frame: str) -> int:
        number = self.engine.mj_name2id(self.compiled, self.engine.mjtObj.mjOBJ_SITE, frame)
        return number if number >= 0 else self.body(frame)  # the latter names what there is

    def _name(self, kind: str, number: Any) -> str:
        return self.engine.mj_id2name(self.compiled, getattr(self.engine.mjtObj, kind), int(number)) or ""


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
