"""How near a robot comes to itself: signed distances between the shapes of links that could meet.

Links are compared as in MoveIt's setup assistant: rigidly connected links are one, neighbours are left out, and so
are pairs that touch in the neutral position or in nearly every position, because their shapes overlap by design.
Meshes count with their convex hulls, as collision meshes are meant to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gristmill.kinematics.model import RobotModel
from gristmill.types import FloatArray, IntArray

_SAMPLES = 300  # configurations looked at for pairs that nearly always touch
_SEED = 20_240_602
_NEARLY_ALWAYS = 0.95  # MoveIt's share


class Nearest(NamedTuple):
    """Of k configurations, the two shapes that come nearest to each other."""

    distance_m: FloatArray  # (k,) negative where they overlap; `reach` where nothing is nearer than that
    pair: IntArray  # (k,) row of `SelfDistance.shapes`; -1 where nothing is nearer than the reach


class SelfDistance:
    """The pairs of shapes of a robot that must not meet.

    Args:
        model: the robot.
        joints: numbers of the joints that move; pairs that these do not move against each other are left out.

    Attributes:
        shapes: (p, 2) numbers of shapes.
        links: (p, 2) numbers of the bodies that they belong to.
    """

    def __init__(self, model: RobotModel, joints: IntArray | None = None) -> None:
        self.model = model
        compiled = model.compiled
        solid = np.flatnonzero((compiled.geom_contype | compiled.geom_conaffinity) != 0)
        solid = solid[compiled.geom_type[solid] != int(model.engine.mjtGeom.mjGEOM_PLANE)]
        first, second = np.triu_indices(len(solid), 1)
        pairs = np.stack([solid[first], solid[second]], axis=1)
        # Rigidly connected bodies share one `weldid`.
        welds = compiled.body_weldid[compiled.geom_bodyid[pairs]]
        above = compiled.body_weldid[compiled.body_parentid[welds]]
        apart = welds[:, 0] != welds[:, 1]
        neighbours = (above[:, 0] == welds[:, 1]) | (above[:, 1] == welds[:, 0])
        self.shapes: IntArray = pairs[apart & ~neighbours]
        self._drop_excluded()
        self._drop_touching()
        if joints is not None:
            self._drop_still(joints)

    @property
    def links(self) -> IntArray:
        """(p, 2) numbers of the bodies whose shapes are compared."""
        return self.model.compiled.geom_bodyid[self.shapes]

    def named(self, pair: int) -> tuple[str, str]:
        """The names of the two links of a pair."""
        first, second = self.links[pair]
        return self.model.bodies[first], self.model.bodies[second]

    def nearest(self, configurations: FloatArray, reach_m: float) -> Nearest:
        """The least signed distance of (k, n) configurations, up to `reach_m`."""
        count = len(configurations)
        out = Nearest(np.full(count, reach_m), np.full(count, -1, np.intp))
        for i, distances in self._distances(configurations, reach_m):
            if len(distances):
                pair, distance = min(distances, key=lambda found: found[1])
                if distance < reach_m:
                    out.distance_m[i], out.pair[i] = distance, pair
        return out

    def _distances(self, configurations: FloatArray, reach_m: float):
        """(number, [(pair, distance)]) of each configuration; pairs whose bounding spheres are apart are left out."""
        compiled, engine = self.model.compiled, self.model.engine
        first, second = self.shapes.T
        reach = compiled.geom_rbound[first] + compiled.geom_rbound[second] + reach_m
        shapes = self.shapes.tolist()
        distance_of = engine.mj_geomDistance
        for i, data in self.model.posed(configurations):
            apart = data.geom_xpos[first] - data.geom_xpos[second]
            near = np.flatnonzero(np.einsum("ij,ij->i", apart, apart) < reach * reach).tolist()
            yield i, [(p, distance_of(compiled, data, *shapes[p], reach_m, None)) for p in near]

    def _drop_still(self, joints: IntArray) -> None:
        """Pairs that have the same moving joints above them."""
        above = self.model.movers(joints)
        keep = [above[a] != above[b] for a, b in self.links.tolist()]
        self.shapes = self.shapes[np.array(keep, bool)]

    def _drop_excluded(self) -> None:
        """Pairs of bodies that the model itself excludes (MJCF's contact/exclude)."""
        told = set(self.model.compiled.exclude_signature.tolist())
        if told:
            a, b = self.links.min(axis=1), self.links.max(axis=1)
            self.shapes = self.shapes[
                [((x << 16) + y) not in told for x, y in zip(a.tolist(), b.tolist(), strict=True)]
            ]

    def _drop_touching(self) -> None:
        """Links that touch in the neutral position, or in nearly all positions."""
        model = self.model
        low, high = model.limits
        drawn = low + (high - low) * np.random.default_rng(_SEED).random((_SAMPLES, len(low)))
        every = model.followed(np.concatenate([model.neutral[None], drawn]), np.empty(0, np.intp))
        touching: dict[tuple[int, int], set[int]] = {}
        links = np.sort(self.links, axis=1).tolist()
        for i, distances in self._distances(every, 0.0):
            for pair, distance in distances:
                if distance < 0:
                    touching.setdefault(tuple(links[pair]), set()).add(i)
        dropped = {k for k, at in touching.items() if 0 in at or len(at) > _NEARLY_ALWAYS * _SAMPLES}
        self.shapes = self.shapes[[tuple(pair) not in dropped for pair in links]] if links else self.shapes
