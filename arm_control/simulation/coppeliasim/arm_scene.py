"""A robot in a scene of CoppeliaSim: built from the model, or found in the scene.

CoppeliaSim's joints move about (or along) the z axis of their own frame, as the bodies of
:mod:`arm_control.model.tree` do, so a scene is that tree: a joint at ``X_WB(0)`` of each body, and one shape with
the body's mass, centre ``c = h / m`` and inertia about it,

    (1)  J_c = J - m (c^T c 1 - c c^T),

drawn up to the next joint. The shapes do not collide, since contacts are not part of the model, and sensors do not
detect them: one at the hand stands in the shape of its link.

A force sensor of CoppeliaSim gives force and moment *on the sensor* by what hangs on it, about its origin and along its
axes. With its pose X_EF at the end effector E that is the wrench of :mod:`arm_control.simulation.sensors`,

    (1)  f_E = R_EF f_F,   n_E = R_EF n_F + p_EF x f_E
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arm_control.exceptions import JointNotFound, ModelError
from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Pose, Shape, Sphere, rotation_with_z
from arm_control.model import Body, Force, Inertia, RobotModel
from arm_control.simulation.plant_properties import about_centre
from arm_control.simulation.sensors import RangeSensor

THICKNESS = 0.06
"""Thickness of the shapes of links [m]."""
MIN_LENGTH = 0.04
"""Length of the shortest shape [m]."""


def alias(name: str) -> str:
    """Return a name as CoppeliaSim allows it: letters, digits and underscores."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def find(sim: Any, path: str) -> int:
    """Return the handle of an object; -1 when there is none."""
    return int(sim.getObject(path, {"noError": True}))


def find_object(sim: Any, path: str) -> int:
    """Return the handle of an object; a ModelError where there is none."""
    handle = find(sim, path)
    if handle < 0:
        raise ModelError(f"the scene in CoppeliaSim lacks {path}")
    return handle


def joint_paths(model: RobotModel, exceptions: Sequence[str]) -> dict[str, str]:
    """Return the path of each joint in the scene: ``/name``, or that of an exception ``name:path``.

    A JointNotFound where the model has no joint of that name.
    """
    paths = dict(entry.partition(":")[::2] for entry in exceptions)
    for name in paths:
        if name not in model.joint_names:
            raise JointNotFound(name, model.joint_names)
    return {name: paths.get(name) or f"/{alias(name)}" for name in model.joint_names}


def find_joints(sim: Any, paths: Mapping[str, str]) -> list[int]:
    """Return the handles of joints; a ModelError where the scene lacks some of them."""
    handles = {name: find(sim, path) for name, path in paths.items()}
    missing = [f"{name} ({paths[name]})" for name, handle in handles.items() if handle < 0]
    if missing:
        raise ModelError(f"the scene in CoppeliaSim lacks {', '.join(missing)}: load another one")
    return list(handles.values())


def build(sim: Any, model: RobotModel, q: Array) -> None:
    """Build the arm in the open scene, and a dummy ``/target``.

    Parameters
    ----------
    model : RobotModel
        The arm; it is built at zero.
    q : ndarray, shape (nq,)
        Joint positions [rad or m] at which the end effector is at the dummy.
    """
    tree = model.tree
    sim.setArrayParam(sim.arrayparam_gravity, model.gravity_W.tolist())
    base = sim.createPrimitiveShape(sim.primitiveshape_cuboid, [2 * THICKNESS, 2 * THICKNESS, MIN_LENGTH])
    sim.setObjectAlias(base, alias(model.base))
    _make_shape(sim, base, static=True)
    carriers, places, joints = [base], [Pose.identity()], list[int]()  # of the world, then of each body
    for i, body in enumerate(tree.bodies):
        X_WB = places[body.parent + 1] @ body.X_PJ
        joint = _joint(sim, body, X_WB)
        sim.setObjectParent(joint, carriers[body.parent + 1], True)
        shape = _link(sim, body.inertia, X_WB, _end(model, i))
        sim.setObjectAlias(shape, f"{alias(body.name)}_carries")
        sim.setObjectParent(shape, joint, True)
        carriers.append(shape)
        places.append(X_WB)
        joints.append(joint)
    for joint, body in zip(joints, tree.bodies, strict=True):  # last: an interval without zero moves the children
        low, high = model.q_min[body.coordinate], model.q_max[body.coordinate]
        is_free = not (np.isfinite(low) and np.isfinite(high))
        sim.setJointInterval(joint, is_free, [-np.pi, 2 * np.pi] if is_free else [float(low), float(high - low)])
    if find(sim, "/target") < 0:
        target = sim.createDummy(MIN_LENGTH)
        sim.setObjectAlias(target, "target")
        X_WE = model.pose(q)
        sim.setObjectMatrix(target, _rows(X_WE), sim.handle_world)


def _joint(sim: Any, body: Body, X_WB: Pose) -> int:
    joint_type = sim.joint_prismatic_subtype if body.is_prismatic else sim.joint_revolute_subtype
    joint = int(sim.createJoint(joint_type, sim.jointmode_dynamic, 0, [2 * THICKNESS, THICKNESS / 2]))
    sim.setObjectAlias(joint, alias(body.name))
    sim.setObjectMatrix(joint, _rows(X_WB), sim.handle_world)
    sim.setJointTargetForce(joint, 0.0)  # the default is not zero
    return joint


def _end(model: RobotModel, i: int) -> Array:
    """Return the end of a body's shape in its frame: the first joint on it, the end effector, or its centre of mass."""
    tree = model.tree
    carried = [body.X_PJ.p for body in tree.bodies if body.parent == i]
    if carried:
        return carried[0]
    return tree.tip.X_BF.p if tree.tip.body == i else tree.bodies[i].inertia.h / tree.bodies[i].inertia.m


def _link(sim: Any, inertia: Inertia, X_WB: Pose, end: Array) -> int:
    """Create a shape from a body's origin to ``end``, with the body's inertia; return its handle."""
    length = float(np.linalg.norm(end))
    R = rotation_with_z(end / length) if length > 1e-6 else np.eye(3)
    X_BS = Pose(R, np.asarray(end, dtype=float) / 2)
    shape = int(sim.createPrimitiveShape(sim.primitiveshape_cylinder, [THICKNESS, THICKNESS, max(length, MIN_LENGTH)]))
    sim.setObjectMatrix(shape, _rows(X_WB @ X_BS), sim.handle_world)
    own = inertia.in_parent(X_BS.inverse())
    c, J_c = about_centre(own)  # (1)
    sim.setShapeMass(shape, float(own.m))
    sim.setShapeInertia(shape, J_c.ravel().tolist(), _rows(Pose(np.eye(3), c)))
    _make_shape(sim, shape, static=False)
    return shape


def _make_shape(sim: Any, shape: int, static: bool) -> None:
    seen = sim.getObjectSpecialProperty(shape)
    sim.setObjectSpecialProperty(shape, seen & ~sim.objectspecialproperty_detectable)  # a sensor at the hand is in it
    sim.setObjectInt32Param(shape, sim.shapeintparam_static, int(static))
    sim.setObjectInt32Param(shape, sim.shapeintparam_respondable, 0)
    sim.setObjectInt32Param(shape, sim.shapeintparam_kinematic, 0)  # otherwise MuJoCo holds the base by a soft weld


def _rows(X: Pose) -> list[float]:
    """Return a transform in CoppeliaSim's form: three rows of four numbers."""
    return [float(x) for x in np.column_stack([X.R, X.p]).ravel()]


def shape_of(sim: Any, path: str, handle: int) -> Shape:
    """Return the shape of an object in the scene; a ModelError where it is no primitive shape."""
    is_shape = sim.getObjectType(handle) == sim.object_shape_type
    _, shape_type, size = sim.getShapeGeomInfo(handle) if is_shape else (0, 0, (0.0,) * 3)
    x, y, z = (float(edge) for edge in size[:3])
    if shape_type == sim.primitiveshape_cuboid:
        return Box((x, y, z))
    if shape_type == sim.primitiveshape_spheroid:
        return Sphere(max(x, y, z) / 2)
    if shape_type == sim.primitiveshape_cylinder:
        return Cylinder(max(x, y) / 2, z)
    if shape_type == sim.primitiveshape_cone:
        return Cone(max(x, y) / 2, z)
    if shape_type == sim.primitiveshape_capsule:
        return Capsule(max(x, y) / 2, z - max(x, y))
    raise ModelError(f"the obstacle {path} is no cuboid, sphere, cylinder, cone or capsule")


NONE = -1
"""Handle of no object; distance to nothing."""


class SceneSensors:
    """The sensors of one arm.

    Parameters
    ----------
    force_path : str
        Path of the force sensor; empty: none.
    ranges : sequence of RangeSensor
        Range sensors; each names a proximity sensor, or is left out where the scene has none of its name.

    Attributes
    ----------
    force_handle : int
        Handle of the force sensor; -1 for none.
    unseen : tuple of str
        Names of the range sensors that are left out.
    """

    def __init__(self, model: RobotModel, force_path: str, ranges: Sequence[RangeSensor]) -> None:
        self._model, self._force_path, self._ranges = model, force_path, ranges
        self.force_handle = NONE
        self.unseen: tuple[str, ...] = ()
        self._proximity: dict[str, int] = {}
        self.take((), ())

    def find(self, sim: Any) -> None:
        """Find the sensors in the open scene of CoppeliaSim's API ``sim``.

        A ModelError where one that is named is missing, or is another object.
        """
        if self._force_path:
            self.force_handle = find_object(sim, self._force_path)
            _require(sim, self._force_path, self.force_handle, sim.object_forcesensor_type, "force sensor")
        handles = {sensor: _proximity_sensor(sim, sensor) for sensor in self._ranges}
        self.unseen = tuple(sensor.name for sensor, handle in handles.items() if handle == NONE)
        self._proximity = {sensor.name: handle for sensor, handle in handles.items() if handle != NONE}

    @property
    def handles(self) -> tuple[int, list[int]]:
        """Handle of the force sensor, and those of the proximity sensors."""
        return self.force_handle, list(self._proximity.values())

    def take(self, force: Sequence[float], distances: Sequence[float]) -> None:
        """Take note of what was read.

        A ModelError where there are more or fewer numbers.

        Parameters
        ----------
        force : sequence of float
            Force [N] and moment [N m] on the force sensor, six numbers; empty before it has measured.
        distances : sequence of float
            Distance of each proximity sensor in :attr:`handles` [m]; below 0 for nothing.
        """
        if len(force) not in (0, 6) or len(distances) != len(self._proximity):
            given = f"{len(force)} numbers of force and {len(distances)} distances"
            raise ModelError(f"CoppeliaSim tells {given} of {len(self._proximity)} proximity sensors")
        self._force = np.array(force, dtype=float)
        self._distances = dict(zip(self._proximity, map(float, distances), strict=True))

    def wrench(self, q: Array, X_BF: Pose) -> Array | None:
        """Equation (1) at joint positions q (nq,) [rad or m], shape (6,) [N, N m]; None without a measurement."""
        if not self._force.size or not np.isfinite(self._force).all():
            return None
        X_EF = self._model.pose(q).inverse() @ X_BF
        return Force(self._force[:3], self._force[3:]).in_parent(X_EF).vector()

    def distance(self, sensor: RangeSensor) -> float | None:
        """What a range sensor reports [m]; None for one without a proximity sensor."""
        distance = self._distances.get(sensor.name)
        return None if distance is None else sensor.reported(np.inf if distance < 0.0 else distance)


def _proximity_sensor(sim: Any, sensor: RangeSensor) -> int:
    path = sensor.object or f"/{sensor.name}"
    handle = find_object(sim, path) if sensor.object else find(sim, path)
    if handle != NONE:
        _require(sim, path, handle, sim.object_proximitysensor_type, "proximity sensor")
    return handle


def _require(sim: Any, path: str, handle: int, kind: int, name: str) -> None:
    if sim.getObjectType(handle) != kind:
        raise ModelError(f"{path} in CoppeliaSim is no {name}")
