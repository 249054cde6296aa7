"""Contact of a simulated arm: a ball about the end effector's origin, solid obstacles, and on request the other links.

Obstacles that move as they are told are bodies, too: nothing stops them, and links touch them.

MuJoCo computes the normal forces. Its own friction lifts a ball that slides, by a share of its speed, so that it
bounces on a stiff surface; here Coulomb friction is applied from the normal force F_n of the step before,

The other links are their capsules, without friction: they touch solid obstacles, and those pairs of links each other
that avoidance keeps apart. Those of the last moving body do not touch solid obstacles, since the ball stands for it.

    (1)  F_t = -mu F_n v_t / max(|v_t|, v_s)       v_t: velocity along the surface; v_s: speed at which it is whole
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arm_control.collision import Proximity
from arm_control.exceptions import MissingExtra, ModelError
from arm_control.maths import Array, Box, Capsule, Cylinder, Hull, Mover, Obstacle, Shape, Sphere, cross
from arm_control.model import RobotModel

try:
    import mujoco
except ImportError as error:
    raise MissingExtra("mujoco", "mujoco") from error

TIP, TIP_RADIUS = "end effector", 0.01
"""Name and radius [m] of the ball."""
HARDNESS = (0.02, 1.0)
"""Time constant [s] and damping ratio of a contact."""
SURFACE = {"solref": HARDNESS, "condim": 1, "mass": 0.0}
"""Of the ball and of what it touches."""
FRICTION, FULL_FRICTION_SPEED = 0.3, 0.01
"""mu [-] and v_s [m/s] of (1)."""
STILL, MOVING = 1, 2
"""Bits of what links touch: solid obstacles, and obstacles that move."""


class TipContact:
    """The ball of one simulation, whose arm was compiled after :func:`add_contacts`."""

    def __init__(self, mujoco_model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._model, self._data = mujoco_model, data
        self._ball = mujoco_model.geom(TIP).id
        self._body = int(mujoco_model.geom_bodyid[self._ball])
        self._velocity = np.zeros(6)
        self.friction = np.zeros(6)

    def rub(self) -> None:
        """Apply friction (1) in the next step."""
        m, data = self._model, self._data
        mujoco.mj_objectVelocity(m, data, mujoco.mjtObj.mjOBJ_GEOM, self._ball, self._velocity, 0)
        omega, v = self._velocity[:3], self._velocity[3:]
        centre, com, total = data.geom_xpos[self._ball], data.xipos[self._body], np.zeros(6)
        self.friction[:] = 0.0
        for point, normal, F_n in self._contacts():
            v_point = v + cross(omega, point - centre)
            v_t = v_point - (v_point @ normal) * normal
            force = -FRICTION * F_n * v_t / max(float(np.linalg.norm(v_t)), FULL_FRICTION_SPEED)
            total += np.concatenate([force, cross(point - com, force)])
            self.friction += np.concatenate([force, cross(point - centre, force)])
        data.xfrc_applied[self._body] = total

    @property
    def wrench(self) -> Array:
        """Wrench on the end effector in the last step, about the ball's centre, world axes, shape (6,) [N, N m]."""
        centre, total = self._data.geom_xpos[self._ball], self.friction.copy()
        for point, normal, F_n in self._contacts():
            total += np.concatenate([F_n * normal, cross(point - centre, F_n * normal)])
        return total

    def _contacts(self) -> list[tuple[Array, Array, float]]:
        """Point [m], normal towards the ball, and normal force [N] of each contact."""
        found, local = [], np.zeros(6)
        for i in range(self._data.ncon):
            contact = self._data.contact[i]
            if self._ball not in (contact.geom1, contact.geom2):
                continue
            mujoco.mj_contactForce(self._model, self._data, i, local)
            sign = 1.0 if contact.geom2 == self._ball else -1.0  # MuJoCo's normal points from the first to the second
            found.append((contact.pos, sign * contact.frame[:3], float(local[0])))
        return found


def add_contacts(
    spec: mujoco.MjSpec, model: RobotModel, solids: Sequence[Obstacle], *, has_links: bool = False
) -> None:
    """Add the ball and what it touches to an arm with the links of its model that is not compiled yet.

    Raises
    ------
    ModelError
        For a shape that MuJoCo does not have.
    """
    remove_contacts(spec)
    body, q = spec.joint(model.urdf.chain(model.tip)[-1]).parent, np.zeros(model.nq)
    add_ball(spec, body, (model.pose(q, body.name).inverse() @ model.pose(q)).p)
    add_solids(spec, solids)
    if has_links:
        add_links(spec, model)


def remove_contacts(spec: mujoco.MjSpec) -> None:
    """Let nothing of an arm touch anything, with its own shapes."""
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0


def add_ball(spec: mujoco.MjSpec, body: mujoco.MjsBody, p_B: Array) -> None:
    """Add the ball at its place in a body's frame, shape (3,) [m]."""
    ball = geom_of(spec, Sphere(TIP_RADIUS))
    body.add_geom(name=TIP, pos=p_B, contype=STILL, conaffinity=0, **ball, **SURFACE)


def add_solids(spec: mujoco.MjSpec, solids: Sequence[Obstacle]) -> None:
    """Add what the ball touches.

    Raises
    ------
    ModelError
        For a shape that MuJoCo does not have.
    """
    for solid in solids:
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, solid.X_WO.R.ravel())
        place = {"pos": solid.X_WO.p, "quat": quat}
        spec.worldbody.add_geom(contype=0, conaffinity=STILL, **geom_of(spec, solid.shape), **place, **SURFACE)


def add_links(spec: mujoco.MjSpec, model: RobotModel) -> None:
    """Add the capsules of all links of an arm, and what they touch; solid obstacles are added beside."""
    proximity = Proximity(model)
    children = [model.urdf.robot.joint_map[name].child for name in model.joint_names]
    for i, capsule in enumerate(proximity.capsules):
        frame = model.tree.frames[capsule.link]
        body = spec.worldbody if frame.body < 0 else spec.body(children[frame.body])
        a, b = (frame.X_BF.R @ end + frame.X_BF.p for end in (capsule.a, capsule.b))
        is_ball = np.allclose(a, b)
        kind = mujoco.mjtGeom.mjGEOM_SPHERE if is_ball else mujoco.mjtGeom.mjGEOM_CAPSULE
        place = {"pos": a} if is_ball else {"fromto": np.concatenate([a, b])}
        touched = MOVING if frame.body == model.tree.tip.body else STILL | MOVING
        shape = {"type": kind, "size": [capsule.radius, 0.0, 0.0], **place}
        body.add_geom(name=f"capsule {i}", contype=touched, conaffinity=0, **shape, **SURFACE)
    for i, j in proximity.capsule_pairs.tolist():
        spec.add_pair(geomname1=f"capsule {i}", geomname2=f"capsule {j}", condim=1, solref=HARDNESS)


def geom_of(spec: mujoco.MjSpec, shape: Shape) -> dict[str, Any]:
    """Return type and size of a shape in MuJoCo; a hull is added as a mesh.

    Raises
    ------
    ModelError
        For a shape that MuJoCo does not have.
    """
    match shape:
        case Sphere():
            kind, size = mujoco.mjtGeom.mjGEOM_SPHERE, [shape.radius, 0.0, 0.0]
        case Box():
            kind, size = mujoco.mjtGeom.mjGEOM_BOX, [0.5 * edge for edge in shape.size]
        case Cylinder():
            kind, size = mujoco.mjtGeom.mjGEOM_CYLINDER, [shape.radius, 0.5 * shape.length, 0.0]
        case Capsule():
            kind, size = mujoco.mjtGeom.mjGEOM_CAPSULE, [shape.radius, 0.5 * shape.length, 0.0]
        case Hull():
            mesh = spec.add_mesh(name=f"hull {len(spec.meshes)}")
            mesh.uservert, mesh.userface = shape.vertices.ravel(), shape.triangles.ravel()
            return {"type": mujoco.mjtGeom.mjGEOM_MESH, "meshname": mesh.name}
        case _:
            what = f"a solid {type(shape).__name__.lower()} cannot be simulated"
            raise ModelError(f"{what}: box, sphere, cylinder, capsule or mesh")
    return {"type": kind, "size": size}


MOVER = "moving obstacle"
"""First words of the bodies' names."""
AWAY = np.array([0.0, 0.0, -1e3])
"""Place of an obstacle in the time in which it is not there [m]."""


def add_movers(spec: mujoco.MjSpec, movers: Sequence[Mover]) -> None:
    """Add obstacles to an arm with the capsules of its links that is not compiled yet.

    Raises
    ------
    ModelError
        For a shape that MuJoCo does not have.
    """
    for i, mover in enumerate(movers):
        body = spec.worldbody.add_body(name=f"{MOVER} {i}", mocap=True, pos=AWAY)
        body.add_geom(contype=0, conaffinity=MOVING, **geom_of(spec, mover.obstacle.shape), **SURFACE)


def place_movers(data: mujoco.MjData, movers: Sequence[Mover], t: float) -> None:
    """Put the obstacles of :func:`add_movers` where they are told to be at a time [s]."""
    for k, mover in enumerate(movers):  # no other body of the model is moved so
        if not mover.span.holds(t):
            data.mocap_pos[k] = AWAY
            continue
        X = mover.at(t).X_WO
        data.mocap_pos[k] = X.p
        mujoco.mju_mat2Quat(data.mocap_quat[k], X.R.ravel())
