"""Postures in which two links with few joints between them touch, as boxes of joint positions.

Round capsules are larger than links with flat ends, so that those of a wrist overlap in half of all postures though the
links do not touch. But where two joints lie between two links, their distance is a function of two numbers. The real
shapes, meshes and all, are measured once over the whole plane, and what is not proved free is covered with boxes:

    (1)  a cell of the plane with centre q and half edges h is free where   distance(q) > margin + sum_j reach_j h_j

since a joint j moves no point of one link further than reach_j |dq_j| against the other. Other cells are divided, up to
:data:`DIVISIONS` times; cells of the last division that are not free are in contact, and so is what a box adds to them.
Of three joints between two links one at an end is taken out: its link becomes the solid of revolution around its axis,
which contains the link at every position of that joint.

In a posture the joints are from all boxes

    (2)  d = min over boxes  max_j (|q_j - c_j| - w_j)              [rad or m]

away, c and w being centre and half edges of a box, and of a joint that may turn around, |q_j - c_j| the way around. d
changes by the largest |dq_j| at most. The links are apart where d > 0, or where their capsules are.

A link that is wholly inside another one, without touching its surface, would not be seen; no motion leads there without
contact.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from arm_control.core import Cache, default_directory, progress_bar
from arm_control.maths import Array, Pose, Scalar, coal_hull, maximum, minimum, nearest
from arm_control.model import Body, RobotModel, mesh_path, shape_pose

DIVISIONS, OF_PRIMITIVES, FIRST = 10, 9, 3
"""Divisions of the finest cells, where no mesh is measured, and of the cells that are measured first."""
MOST_BOXES, WASTE = 64, 2e-4
"""Most boxes of a table, and share of the plane that they may contain beside the cells in contact."""
BEYOND = 0.1
"""How far the plane goes beyond the limits of the joints [rad or m]; what is further out counts as contact."""
ROUNDING = 1e-5
"""Added to the margin: how exact distances of meshes are [m]."""
HULL_ROUNDING = 1e-4
"""By how much more hulls must be apart than the meshes in them that are not measured then [m]."""
LARGE_MESHES = ((12_000, 8), (9_000, 9))
"""Corners of both links from which on cells are divided less often, and how often."""
RINGS, CORNERS = 32, 32
"""Rings of a solid of revolution, and corners of each."""


Pair: TypeAlias = tuple[int, int]
"""Numbers of two links."""


@dataclass(frozen=True)
class JointTable:
    """Boxes of the positions of two joints, outside of which two links are free of contact.

    Attributes
    ----------
    boxes : tuple of tuple of float
        Centre of each box, two numbers, and its half edges [rad or m].
    walls : tuple of tuple of float
        For each joint the lower and the upper end of what was measured; none where a joint may turn around.
    """

    joints: tuple[int, int]
    boxes: tuple[tuple[float, float, float, float], ...]
    walls: tuple[tuple[float, float] | None, tuple[float, float] | None]

    def distance(self, q: Array) -> Scalar:
        """How far joint positions, shape (n,) or (n, N), are from contact, equation (2) [rad or m]."""
        x = [q[joint] for joint in self.joints]
        found = [maximum(*(self._away(k, x[k] - box[k]) - box[2 + k] for k in range(2))) for box in self.boxes]
        for k, wall in enumerate(self.walls):
            found += [] if wall is None else [minimum(x[k] - wall[0], wall[1] - x[k])]
        return reduce(minimum, found) if found else 0.0 * x[0] + np.pi

    def _away(self, k: int, gap: Scalar) -> Scalar:
        """Size of a gap, of a joint that may turn around the shorter way."""
        return abs(gap if self.walls[k] is not None else gap - 2.0 * np.pi * _round(gap / (2.0 * np.pi)))

    @property
    def made_from(self) -> list[object]:
        """All its numbers."""
        return [list(self.joints), list(self.boxes), list(self.walls)]


def _round(x: Scalar) -> Scalar:
    return np.round(x) if isinstance(x, np.ndarray) else nearest(x)


class RealShape(NamedTuple):
    """A shape of coal in the frame of a body, points whose hull contains it (n, 3), and all that it is made of.

    ``hull`` is a convex one around a mesh, which tells more quickly what is far.
    """

    shape: Any
    X_BS: Pose
    corners: Array
    made_from: str
    hull: Any = None


def real_shapes(model: RobotModel, link: str) -> list[RealShape]:
    """The collision shapes of a link in coal; an ImportError without coal, other errors where a mesh cannot be read."""
    coal = import_module("coal")
    shapes = []
    for collision in model.urdf.robot.link_map[link].collisions:
        g, X = collision.geometry, model.tree.frames[link].X_BF @ shape_pose(collision)
        numbers = [X.R.tolist(), X.p.tolist()]
        match type(g).__name__:
            case "Sphere":
                shape, half, what = coal.Sphere(g.radius), np.full(3, g.radius), repr(g.radius)
            case "Cylinder":
                half = np.array([g.radius, g.radius, g.length / 2.0])
                shape, what = coal.Cylinder(g.radius, g.length), repr([g.radius, g.length])
            case "Box":
                shape, half, what = coal.Box(*g.size), np.array(g.size) / 2.0, repr(list(g.size))
            case _:
                path, scale = mesh_path(str(g.filename), model.urdf.folders), np.array(g.scale or [1.0] * 3, float)
                if path is None:
                    raise FileNotFoundError(g.filename)
                shape = coal.MeshLoader().load(str(path), scale)
                what = f"{sha256(path.read_bytes()).hexdigest()} {scale.tolist()}"
        is_mesh = type(g).__name__ == "Mesh"
        corners = np.array(shape.vertices()).reshape(-1, 3) if is_mesh else _BOX_CORNERS * half
        hull = _hull(corners) if is_mesh else None
        shapes.append(RealShape(shape, X, corners @ X.R.T + X.p, f"{type(g).__name__} {what} {numbers}", hull))
    return shapes


def _hull(points: Array) -> Any:
    """Convex hull of points in coal; None where they lie in a plane."""
    try:
        return coal_hull(points)
    except RuntimeError:
        return None


_BOX_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def revolved(shapes: Sequence[RealShape], axis: Pose) -> list[RealShape]:
    """A convex solid of revolution that contains shapes at every angle about the z axis of a frame."""
    x = np.concatenate([(shape.corners - axis.p) @ axis.R for shape in shapes])
    t, r = x[:, 2], np.hypot(x[:, 0], x[:, 1]) / np.cos(np.pi / CORNERS)
    places = np.linspace(t.min(), t.max(), RINGS + 1)
    ring = np.clip(np.searchsorted(places, t, side="right") - 1, 0, RINGS - 1)
    largest = np.zeros(RINGS + 1)
    np.maximum.at(largest, ring, r)  # a corner between two rings is inside both
    np.maximum.at(largest, ring + 1, r)
    angle = 2.0 * np.pi * np.arange(CORNERS) / CORNERS
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(CORNERS)], axis=1)
    points = (largest[:, None, None] * circle + places[:, None, None] * [0.0, 0.0, 1.0]).reshape(-1, 3)
    made_from = f"revolved {[shape.made_from for shape in shapes]} {axis.R.tolist()} {axis.p.tolist()}"
    return [RealShape(_hull(points), axis, points @ axis.R.T + axis.p, made_from)]


class LinkPlane(NamedTuple):
    """Two links and the two joints between them that count.

    Attributes
    ----------
    first, second : list of RealShape
        Of both links, in the frames of their bodies.
    between : list of Body
        Bodies from the first one, which is the inner one, to the second one.
    reach : ndarray, shape (2,)
        How far the joints move the links against each other at most [m/rad or 1].
    walls : list of tuple of float, or None
        As those of a table.
    """

    first: list[RealShape]
    second: list[RealShape]
    between: list[Body]
    joints: tuple[int, int]
    reach: Array
    walls: list[tuple[float, float] | None]

    @property
    def divisions(self) -> int:
        """Divisions of the finest cells."""
        n_corners = sum(len(shape.corners) for shape in (*self.first, *self.second))
        finest = next((divisions for least, divisions in LARGE_MESHES if n_corners >= least), DIVISIONS)
        return min(DIVISIONS, finest if "Mesh " in self.made_from else OF_PRIMITIVES)

    @property
    def ends(self) -> Array:
        """Lower and upper ends of the plane, shape (2, 2) [rad or m]."""
        return np.array([(-np.pi, np.pi) if wall is None else wall for wall in self.walls])

    def near(self, x: Array, distance: float) -> Array:
        """Whether the links are no farther from each other than that at joint positions x, shape (n, 2): n of bool."""
        coal = import_module("coal")
        R, p = self._poses(x)
        found = np.zeros(len(x), bool)
        for one in self.first:
            X_one = coal.Transform3s(one.X_BS.R, one.X_BS.p)
            for other in self.second:
                R_other, p_other = R @ other.X_BS.R, p + R @ other.X_BS.p
                for k in np.flatnonzero(~found).tolist():
                    found[k] = _are_near(one, X_one, other, coal.Transform3s(R_other[k], p_other[k]), distance)
        return found

    def _poses(self, x: Array) -> tuple[Array, Array]:
        """Poses of the second body in the first one: orientations, shape (n, 3, 3), and places, shape (n, 3) [m]."""
        R, p = np.tile(np.eye(3), (len(x), 1, 1)), np.zeros((len(x), 3))
        for body in self.between:
            q = x[:, self.joints.index(body.coordinate)] if body.coordinate in self.joints else np.zeros(len(x))
            angle = body.ratio * q + body.offset
            turn = np.zeros((len(x), 3, 3))
            turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
            turn[:, 1, 0], turn[:, 0, 1], turn[:, 2, 2] = np.sin(angle), -np.sin(angle), 1.0
            p, R = p + R @ body.X_PJ.p, R @ body.X_PJ.R @ turn
        return R, p

    @property
    def made_from(self) -> str:
        """All that its distances depend on."""
        bodies = [[b.X_PJ.R.tolist(), b.X_PJ.p.tolist(), b.ratio, b.offset, b.coordinate] for b in self.between]
        shapes = [[shape.made_from for shape in shapes] for shapes in (self.first, self.second)]
        return repr([shapes, bodies, self.joints, self.reach.tolist(), self.walls])


def _are_near(one: RealShape, X: Any, other: RealShape, Y: Any, distance: float) -> bool:
    """Whether two shapes are no farther from each other than that [m]: the quick questions first."""
    coal = import_module("coal")
    request, result = coal.CollisionRequest(), coal.CollisionResult()

    def are_within(shape: Any, other_shape: Any, margin: float) -> bool:
        request.security_margin = margin
        result.clear()
        return bool(coal.collide(shape, X, other_shape, Y, request, result))

    if one.hull is None and other.hull is None:
        return are_within(one.shape, other.shape, distance)
    if not are_within(one.hull or one.shape, other.hull or other.shape, distance + HULL_ROUNDING):
        return False
    return are_within(one.shape, other.shape, 0.0) or (distance > 0.0 and are_within(one.shape, other.shape, distance))


def link_plane(model: RobotModel, names: tuple[str, str]) -> LinkPlane | None:
    """Two links as a function of two joints; None where there are more or less joints between them that count."""
    tree = model.tree
    first, second = sorted(names, key=lambda name: len(tree.path(tree.frames[name].body)))
    inner, outer = (tree.path(tree.frames[name].body) for name in (first, second))
    n = len(outer) - len(inner)
    between = [tree.bodies[k] for k in reversed(outer[:n])]
    joints = [body.coordinate for body in between]
    is_chain = outer[n:] == inner and len(set(joints)) == n and not any(body.is_prismatic for body in between)
    if not is_chain or n not in (2, 3):
        return None
    shapes = [real_shapes(model, name) for name in (first, second)]
    if len(between) == 3:
        axes = between[0].X_PJ, Pose.identity()
        sizes = [_radius(shape, axis) for shape, axis in zip(shapes, axes, strict=True)]
        out = int(np.argmin(sizes))
        shapes[out] = revolved(shapes[out], axes[out])
        del joints[-out]
    counting = [body for body in between if body.coordinate in joints]
    reach = dict(zip([body.coordinate for body in between], _reach(shapes[0], shapes[1], between), strict=True))
    walls = [_walls(model, body) for body in counting]
    both = joints[0], joints[1]
    return LinkPlane(shapes[0], shapes[1], between, both, np.array([reach[joint] for joint in joints]), walls)


def _reach(first: Sequence[RealShape], second: Sequence[RealShape], between: Sequence[Body]) -> Array:
    """How far each joint between two links moves one against the other at most, as :func:`joint_reach` [m/rad]."""
    reach = np.zeros((2, len(between)))
    for side, shapes in enumerate((first, second)):
        centres, radii = np.concatenate([shape.corners for shape in shapes]), 0.0  # of balls with all their places
        for k, body in enumerate(between) if side == 0 else reversed(list(enumerate(between))):
            if side == 0:
                centres = (centres - body.X_PJ.p) @ body.X_PJ.R
            radii = radii + np.hypot(centres[:, 0], centres[:, 1])
            reach[side, k], centres = abs(body.ratio) * radii.max(), centres * [0.0, 0.0, 1.0]
            if side == 1:
                centres = centres @ body.X_PJ.R.T + body.X_PJ.p
    return reach.min(axis=0)


def _radius(shapes: Sequence[RealShape], axis: Pose) -> float:
    """Largest distance of shapes from the z axis of a frame [m]."""
    x = np.concatenate([(shape.corners - axis.p) @ axis.R for shape in shapes])
    return float(np.hypot(x[:, 0], x[:, 1]).max())


def _walls(model: RobotModel, body: Body) -> tuple[float, float] | None:
    low, high = float(model.q_min[body.coordinate]), float(model.q_max[body.coordinate])
    if high - low + 2.0 * BEYOND >= 2.0 * np.pi / abs(body.ratio):
        return None if abs(body.ratio) == 1.0 else (-np.inf, np.inf)
    return low - BEYOND, high + BEYOND


def joint_table(plane: LinkPlane, margin: float = 0.0) -> JointTable | None:
    """The table of two links, from the user's cache where it is there; None where nothing is free.

    What is nearer than a margin is not free [m].
    """
    if not np.isfinite(plane.ends).all():
        return None
    constants = [plane.divisions, FIRST, MOST_BOXES, WASTE, BEYOND, ROUNDING, RINGS, CORNERS, margin]
    key, cache = f"postures in contact 2 {constants} {plane.made_from}", Cache(default_directory())
    if (data := cache.load(key)) is not None:
        boxes = json.loads(data)
    else:
        boxes = _boxes_of(plane, margin)
        cache.store(key, json.dumps(boxes).encode(), "postures in contact of two links")
    return JointTable(plane.joints, tuple(map(tuple, boxes)), (plane.walls[0], plane.walls[1]))


Candidate: TypeAlias = tuple[tuple[str, str], Array, float]
"""Names of two links, states in which their capsules overlap (n, nv), and how much more often that is than matters."""


def tables_of(model: RobotModel, pairs: Mapping[Pair, Candidate], margin: float = 0.0) -> dict[Pair, JointTable]:
    """The tables, with a margin [m], of those pairs of links that can have one and gain by it.

    None without coal, or where a mesh cannot be read.
    """
    try:
        planes = {pair: plane for pair, (names, *_) in pairs.items() if (plane := link_plane(model, names)) is not None}
    except (ImportError, OSError, ValueError):
        return {}
    tables: dict[Pair, JointTable | None] = {}
    for pair in progress_bar(list(planes), "pairs of links") if planes else ():
        _, states, share = pairs[pair]
        is_apart = ~planes[pair].near(states[:, list(planes[pair].joints)], margin)
        if is_apart.mean() * share >= 1.0:
            tables[pair] = joint_table(planes[pair], margin)
    return {pair: table for pair, table in tables.items() if table is not None}


def _boxes_of(plane: LinkPlane, margin: float) -> list[list[float]]:
    """Boxes around all cells that are not proved free."""
    n = 2**plane.divisions
    low, high = plane.ends.T
    edge = (high - low) / n
    boxes = cover(cells_in_contact(plane, margin), MOST_BOXES, int(WASTE * n * n))
    ends = np.array(boxes, dtype=float).reshape(-1, 2, 2)  # box, lower and upper end, joint
    return np.concatenate([low + ends.mean(axis=1) * edge, np.diff(ends, axis=1)[:, 0] * edge / 2.0], axis=1).tolist()


def cells_in_contact(plane: LinkPlane, margin: float = 0.0) -> Array:
    """Which cells of the finest division are not proved free, by (1): an array of bool, square."""
    (low, high), finest = plane.ends.T, plane.divisions
    cells = np.stack(np.meshgrid(*[np.arange(2**FIRST)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    settled = np.zeros((2**finest,) * 2, bool)
    for division in range(FIRST, finest + 1):
        half = (high - low) / 2 ** (division + 1)
        slack = margin + ROUNDING + float(plane.reach @ half)
        cells = cells[plane.near(low + (2 * cells + 1) * half, slack)]
        inside = np.zeros((2**division + 2,) * 2, bool)  # cells amid others in contact are not divided further
        inside[tuple((cells[plane.near(low + (2 * cells + 1) * half, 0.0)] + 1).T)] = True
        around = reduce(np.logical_and, [np.roll(inside, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)])
        is_settled = around[tuple((cells + 1).T)] | (division == finest)
        size = 2 ** (finest - division)
        for i, j in (cells[is_settled] * size).tolist():
            settled[i : i + size, j : j + size] = True
        cells = (2 * cells[~is_settled, None] + [[0, 0], [0, 1], [1, 0], [1, 1]]).reshape(-1, 2)
    return settled


Box = tuple[int, int, int, int]
"""Lower ends and upper ends of a box of cells."""


def cover(mask: Array, most: int, waste: int = 0) -> list[Box]:
    """Boxes, at most so many, that contain all cells of a mask (n, m): one, the worst cut in two, and so on.

    The worst is the one with most other cells in it; the end is where so few other cells are left as may be wasted.

    Examples
    --------
    >>> cover(np.eye(2, dtype=bool), 4)
    [(0, 0, 1, 1), (1, 1, 2, 2)]
    """
    boxes = [box for box in [_around(mask, (0, 0, *mask.shape))] if box]
    while boxes and len(boxes) < most:
        wastes = [int((~_inside(mask, box)).sum()) for box in boxes]
        if sum(wastes) <= waste:
            break
        worst = int(np.argmax(wastes))
        boxes[worst : worst + 1] = _cut(mask, boxes[worst])
    return boxes


def _inside(mask: Array, box: Box) -> Array:
    """Cells in a box."""
    return mask[box[0] : box[2], box[1] : box[3]]


def _around(mask: Array, box: Box) -> Box | None:
    """The smallest box around the cells in a box."""
    i, j = np.nonzero(_inside(mask, box))
    if not len(i):
        return None
    return int(box[0] + i.min()), int(box[1] + j.min()), int(box[0] + i.max() + 1), int(box[1] + j.max() + 1)


def _cut(mask: Array, box: Box) -> list[Box]:
    """Two boxes in the place of one: cut where that leaves out the most, or else where most cells begin or end."""
    found = []
    for axis, rows in enumerate((_inside(mask, box), _inside(mask, box).T)):
        left_out = rows.size - _areas(rows)[:-1] - _areas(rows[::-1])[-2::-1]
        changed = (rows[1:] != rows[:-1]).sum(axis=1) / rows.shape[1]
        found += [(gain, change, axis, k) for k, (gain, change) in enumerate(zip(left_out, changed, strict=True))]
    _, _, axis, k = max(found)
    below, above = list(box), list(box)
    below[axis + 2] = above[axis] = box[axis] + 1 + k
    return [
        part for half in (below, above) if (part := _around(mask, (half[0], half[1], half[2], half[3]))) is not None
    ]


def _areas(rows: Array) -> Array:
    """Areas of the boxes around the cells of the first row, of the first two, and so on, shape (n,)."""
    is_full, m = rows.any(axis=1), rows.shape[1]
    first = np.minimum.accumulate(np.where(is_full, rows.argmax(axis=1), m))
    last = np.maximum.accumulate(np.where(is_full, m - rows[:, ::-1].argmax(axis=1), 0))
    begin, end = int(is_full.argmax()), np.maximum.accumulate(np.where(is_full, 1 + np.arange(len(rows)), 0))
    return np.maximum(last - first, 0) * np.maximum(end - begin, 0)
