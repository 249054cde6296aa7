"""The part of CoppeliaSim's API that the bridge uses, over a scene of objects whose physics is MuJoCo.

Handles, units, argument orders and what a function returns are CoppeliaSim's. A scene is a tree of objects with
matrices; when a simulation starts, MuJoCo's model is made from these objects and from nothing else, so that what
was built wrong moves wrong. Scripts are the real Lua text, run by the Lua in ``lupa``.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
from lupa import lua54

NAMES = (
    *("physics_bullet", "physics_ode", "physics_vortex", "physics_newton", "physics_mujoco"),
    *("joint_revolute_subtype", "joint_prismatic_subtype", "jointmode_dynamic", "jointmode_kinematic"),
    *("jointdynctrl_force", "jointdynctrl_velocity", "jointdynctrl_position", "jointintparam_dynctrlmode"),
    *(
        "shapeintparam_static",
        "shapeintparam_respondable",
        "shapeintparam_kinematic",
        "object_shape_type",
        "mujoco_joint_armature",
    ),
    *("primitiveshape_cuboid", "primitiveshape_spheroid", "primitiveshape_cylinder", "primitiveshape_cone"),
    *("primitiveshape_capsule", "primitiveshape_plane", "intparam_program_version", "intparam_dynamic_engine"),
    *("object_forcesensor_type", "object_proximitysensor_type", "proximitysensor_ray"),
    *("floatparam_simulation_time_step", "floatparam_dynamic_step_size", "arrayparam_gravity"),
    *("boolparam_realtime_simulation", "scripttype_customization", "verbosity_scripterrors"),
)
CONSTANTS = {name: number for number, name in enumerate(NAMES, start=100)} | {
    "handle_world": -1,
    "simulation_stopped": 0,
    "simulation_paused": 8,
    "simulation_advancing_running": 17,
    "simulation_advancing_abouttostop": 21,
    "simulation_advancing_lastbeforestop": 22,
    "objectspecialproperty_collidable": 0x001,
    "objectspecialproperty_detectable": 0x1F0,
}
C = type("C", (), CONSTANTS)
TYPES = {
    "shape": C.object_shape_type,
    "force sensor": C.object_forcesensor_type,
    "proximity sensor": C.object_proximitysensor_type,
}
"""Type of an object, by its kind."""
GEOMS = {
    C.primitiveshape_cuboid: (mujoco.mjtGeom.mjGEOM_BOX, [0, 1, 2]),
    C.primitiveshape_spheroid: (mujoco.mjtGeom.mjGEOM_SPHERE, [0, 1, 2]),
    C.primitiveshape_cylinder: (mujoco.mjtGeom.mjGEOM_CYLINDER, [0, 2, 2]),
}
"""Shapes that proximity sensors detect, as MuJoCo has them, and which edges are their sizes there."""
PLAY_STEPS = 41000
"""Version from which on *play* ends the step of a pause, and ``simulation_advancing_abouttostop`` is gone."""


@dataclass
class Item:
    """One object: its pose in its parent (after the parent's joint has moved), and what its kind has."""

    kind: str
    alias: str = ""
    parent: int = -1
    local: np.ndarray = field(default_factory=lambda: np.eye(4))
    size: tuple[float, ...] = ()
    subtype: int = 0
    mass: float = 1.0
    inertia: np.ndarray = field(default_factory=lambda: 1e-3 * np.eye(3))
    com: np.ndarray = field(default_factory=lambda: np.eye(4))
    q: float = 0.0
    v: float = 0.0
    mode: int = C.jointmode_kinematic
    target_force: float = 0.0
    target_velocity: float = 0.0
    properties: int = C.objectspecialproperty_collidable | C.objectspecialproperty_detectable
    numbers: dict[int, Any] = field(default_factory=dict)


class World:
    """A CoppeliaSim without a window; every method that a client may call is in :meth:`api`."""

    def __init__(self, version: int = 40900, **faults: Any) -> None:
        self.version, self.faults = version, faults
        self.items: dict[int, Item] = {}
        self._handles = itertools.count(20)
        self.state, self.steps, self.log = C.simulation_stopped, 0, []
        self.is_about_to_pause = False
        self.params = {
            C.intparam_program_version: version,
            C.intparam_dynamic_engine: C.physics_bullet,
            C.floatparam_simulation_time_step: 0.05,
            C.floatparam_dynamic_step_size: 0.005,
            C.arrayparam_gravity: [0.0, 0.0, -9.81],
            C.boolparam_realtime_simulation: False,
        }
        self.scripts: dict[int, Any] = {}  # an error that leaves one ends it
        self.clock: Callable[[], float] = time.monotonic
        self._start: dict[int, tuple[np.ndarray, float, float]] = {}

    # -- API -------------------------------------------------------------------------------------

    def constants(self) -> dict[str, int]:
        """Those of its version, by name."""
        dropped = ["simulation_advancing_abouttostop"] if self.version >= PLAY_STEPS else []
        return {name: value for name, value in CONSTANTS.items() if name not in dropped}

    def api(self) -> dict[str, Callable[..., Any]]:
        """Functions by name; each returns what CoppeliaSim's returns, a tuple for several values."""
        return {name[4:]: getattr(self, name) for name in dir(self) if name.startswith("sim_")}

    def sim_getObject(self, path: str, options: Any = None) -> int:
        name = path.strip("/").split("/")[-1]
        for handle, item in self.items.items():
            if item.alias == name:
                return handle
        if options and options["noError"]:
            return -1
        raise ValueError(f"Object does not exist. (in function 'sim.getObject', {path})")

    def _new(self, item: Item) -> int:
        handle = next(self._handles)
        self.items[handle] = item
        return handle

    def sim_createPrimitiveShape(self, kind: int, size: list[float], _options: int = 0) -> int:
        return self._new(Item("shape", "Shape", size=tuple(size), subtype=kind))

    def sim_createDummy(self, _size: float) -> int:
        return self._new(Item("dummy", "Dummy"))

    def sim_createJoint(self, kind: int, mode: int, _options: int = 0, _size: Any = None) -> int:
        return self._new(Item("joint", "Joint", subtype=kind, mode=mode, target_force=2.5))  # its default

    def sim_removeObjects(self, handles: list[int]) -> None:
        for handle in handles:
            del self.items[handle]
            self.scripts.pop(handle, None)

    def sim_setObjectAlias(self, handle: int, alias: str) -> None:
        self.items[handle].alias = re.sub(r"[^A-Za-z0-9_]", "_", alias)

    def sim_setObjectMatrix(self, handle: int, matrix: list[float], relative_to: int) -> None:
        world = self.world(relative_to) @ _matrix(matrix)
        self.items[handle].local = np.linalg.inv(self.inner(self.items[handle].parent)) @ world

    def sim_setObjectParent(self, handle: int, parent: int, keep: bool) -> None:
        assert keep
        world = self.world(handle)
        self.items[handle].parent = parent
        self.items[handle].local = np.linalg.inv(self.inner(parent)) @ world

    def sim_getObjectType(self, handle: int) -> int:
        return TYPES.get(self.items[handle].kind, -1)

    def sim_readForceSensor(self, handle: int) -> tuple[int, list[float], list[float]]:
        """What was put there by a test; nothing before the first step."""
        reading = list(self.items[handle].size) if self.steps else [0.0] * 6
        return int(self.steps > 0), reading[:3], reading[3:]

    def sim_createProximitySensor(self, _kind: int, _subtype: int, _options: int, _ints: Any, floats: Any) -> int:
        return self._new(Item("proximity sensor", "Proximity_sensor", size=(floats[1],)))

    def sim_readProximitySensor(self, handle: int) -> tuple[int, float, list[float], int, list[float]]:
        """A ray along the axis z of the sensor, to primitive shapes that are detectable, the arm's too."""
        world, detectable = self.world(handle), C.objectspecialproperty_detectable
        seen = [h for h, item in self.items.items() if item.kind == "shape" and item.properties & detectable]
        distances = [self._ray(other, world) for other in seen]
        nearest = min((d for d in distances if 0.0 <= d <= self.items[handle].size[0]), default=-1.0)
        return int(nearest >= 0.0), max(nearest, 0.0), [0.0, 0.0, max(nearest, 0.0)], -1, [0.0, 0.0, 0.0]

    def _ray(self, other: int, world: np.ndarray) -> float:
        item = self.items[other]
        if item.subtype not in GEOMS:
            return -1.0
        seen, (geom, edges) = np.linalg.inv(self.world(other)) @ world, GEOMS[item.subtype]
        frame = np.zeros(3), np.eye(3).ravel(), 0.5 * np.array([*item.size, 0.0, 0.0])[edges]
        return float(mujoco.mju_rayGeom(*frame, seen[:3, 3], seen[:3, 2], geom))

    def sim_getObjectParent(self, handle: int) -> int:
        return self.items[handle].parent

    def sim_getObjectMatrix(self, handle: int, relative_to: int) -> list[float]:
        return (np.linalg.inv(self.inner(relative_to)) @ self.world(handle))[:3].ravel().tolist()

    def sim_getObjectPose(self, handle: int, relative_to: int) -> list[float]:
        seen = np.linalg.inv(self.inner(relative_to)) @ self.world(handle)
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, seen[:3, :3].ravel())
        return [*seen[:3, 3].tolist(), *quat[[1, 2, 3, 0]].tolist()]

    def sim_setObjectPosition(self, handle: int, position: list[float], relative_to: int = -1) -> None:
        world = self.world(handle)
        world[:3, 3] = position
        self.sim_setObjectMatrix(handle, world[:3].ravel().tolist(), relative_to)

    def sim_getObjectsInTree(self, base: int, kind: int, options: int) -> list[int]:
        assert (kind, options) == (C.object_shape_type, 1), "shapes only, without the base itself"
        return [h for h, item in self.items.items() if item.kind == "shape" and base in self.above(h)]

    def sim_setObjectInt32Param(self, handle: int, name: int, value: int) -> None:
        if name != self.faults.get("stubborn"):
            self.items[handle].numbers[name] = value

    def sim_getObjectInt32Param(self, handle: int, name: int) -> int:
        return self.items[handle].numbers.get(name, 0)

    def sim_setObjectSpecialProperty(self, handle: int, properties: int) -> None:
        self.items[handle].properties = properties

    def sim_getObjectSpecialProperty(self, handle: int) -> int:
        return self.items[handle].properties

    def sim_setEngineFloatParam(self, name: int, handle: int, value: float) -> None:
        self.items[handle].numbers[name] = value

    def sim_getEngineFloatParam(self, name: int, handle: int) -> float:
        return self.items[handle].numbers.get(name, 0.0) + self.faults.get("armature_error", 0.0)

    def sim_setShapeMass(self, handle: int, mass: float) -> None:
        self.items[handle].mass = mass * self.faults.get("mass_factor", 1.0)

    def sim_getShapeMass(self, handle: int) -> float:
        return self.items[handle].mass

    def sim_setShapeInertia(self, handle: int, inertia: list[float], com: list[float]) -> None:
        self.items[handle].inertia, self.items[handle].com = np.reshape(inertia, (3, 3)), _matrix(com)

    def sim_getShapeInertia(self, handle: int) -> tuple[list[float], list[float]]:
        return self.items[handle].inertia.ravel().tolist(), self.items[handle].com[:3].ravel().tolist()

    def sim_getShapeGeomInfo(self, handle: int) -> tuple[int, int, list[float]]:
        return 2, self.items[handle].subtype, [*self.items[handle].size, 0.0]

    def sim_setJointInterval(self, handle: int, cyclic: bool, interval: list[float]) -> None:
        assert isinstance(cyclic, bool)
        item, (low, width) = self.items[handle], interval
        assert width > 0.0
        item.q = item.q if cyclic else min(max(item.q, low), low + width)

    def sim_setJointMode(self, handle: int, mode: int, _options: int) -> None:
        self.items[handle].mode = self.faults.get("joint_mode", mode)

    def sim_getJointMode(self, handle: int) -> tuple[int, int]:
        return self.items[handle].mode, 0

    def sim_setJointPosition(self, handle: int, q: float) -> None:
        self.items[handle].q = q + self.faults.get("position_error", 0.0)

    def sim_getJointPosition(self, handle: int) -> float:
        return self.items[handle].q

    def sim_getJointVelocity(self, handle: int) -> float:
        return self.items[handle].v

    def sim_setJointTargetForce(self, handle: int, force: float, signed: bool = False) -> None:
        assert signed or force >= 0.0
        self.items[handle].target_force = force

    def sim_getJointTargetForce(self, handle: int) -> float:
        return self.items[handle].target_force

    def sim_setJointTargetVelocity(self, handle: int, velocity: float) -> None:
        self.items[handle].target_velocity = velocity

    def sim_isDynamicallyEnabled(self, handle: int) -> bool:
        """Nothing is before the first step, and nothing without the plugin of the engine."""
        return self.steps > 0 and any(handle == moving for moving, _, _ in self.moving)

    def sim_getJointForce(self, handle: int) -> float:
        return -self.torque(self.items[handle])

    def _set(self, name: int, value: Any) -> None:
        if name not in self.faults.get("fixed", {}):
            self.params[name] = value

    sim_setInt32Param = sim_setFloatParam = sim_setBoolParam = sim_setArrayParam = _set

    def _get(self, name: int) -> Any:
        return self.faults.get("fixed", {}).get(name, self.params[name])

    sim_getInt32Param = sim_getFloatParam = sim_getBoolParam = sim_getArrayParam = _get

    def sim_getSimulationTime(self) -> float:
        return self.steps * self.params[C.floatparam_simulation_time_step]

    def sim_getSystemTime(self) -> float:
        return self.clock()

    def sim_getSimulationState(self) -> int:
        return self.state

    def sim_startSimulation(self) -> None:
        if self.state == C.simulation_stopped:
            self._start = {h: (item.local.copy(), item.q, item.target_force) for h, item in self.items.items()}
            self.compile()
        elif self.state == C.simulation_paused and self.version >= PLAY_STEPS:
            self.steps += 1
        self.state = C.simulation_advancing_running

    def sim_setThreadSwitchTiming(self, seconds: float) -> None:
        assert seconds > 0.0, "zero means for ever"

    def sim_pauseSimulation(self) -> None:
        """At once; since July 2025 at the end of a step, which play counts."""
        if self.version >= PLAY_STEPS:
            self.is_about_to_pause = self.state == C.simulation_advancing_running
        elif self.state != C.simulation_stopped:
            self.state = C.simulation_paused

    def sim_stopSimulation(self, _wait: bool = True) -> None:
        if self.state == C.simulation_stopped:
            return
        self.state, self.steps, self.is_about_to_pause = C.simulation_stopped, 0, False
        for handle, (local, q, force) in self._start.items():  # the scene is again what it was
            if handle in self.items:
                item = self.items[handle]
                item.local, item.q, item.v, item.target_force = local, q, 0.0, force
        self.callback("sysCall_afterSimulation")

    def sim_addLog(self, _level: int, text: str) -> None:
        self.log.append(text)

    def sim_loadScene(self, path: str) -> None:
        if path != "empty.ttt":
            raise ValueError(f"Scene could not be read. (in function 'sim.loadScene', {path})")
        self.items.clear()
        self.scripts.clear()

    # -- scripts ---------------------------------------------------------------------------------

    def sim_createScript(self, _kind: int, text: str, _options: int = 0, _lang: str = "") -> int:
        handle = self._new(Item("script", "Script"))
        self.scripts[handle] = lua_with(text, self.api())
        return handle

    def sim_initScript(self, handle: int) -> None:
        self.scripts[handle].globals().sysCall_init()

    def sim_callScriptFunction(self, name: str, handle: int, *arguments: Any) -> Any:
        lua = self.scripts.get(handle)
        if lua is None:
            raise ValueError("356: in sim.callScriptFunction: script is not initialized (or has already ended)")
        try:
            result = lua.globals()[name](*(to_lua(lua, argument) for argument in arguments))
        except Exception:
            del self.scripts[handle]
            raise ValueError("356: in sim.callScriptFunction: error in script function.") from None
        return tuple(map(to_python, result)) if isinstance(result, tuple) else to_python(result)

    def callback(self, name: str) -> None:
        """Call this function of every script that has it."""
        for handle, lua in list(self.scripts.items()):
            try:
                if lua.globals()[name] is not None:
                    lua.globals()[name]()
            except lua54.LuaError:
                del self.scripts[handle]

    # -- physics ---------------------------------------------------------------------------------

    def above(self, handle: int) -> list[int]:
        """Ancestors of an object, the nearest first."""
        found, handle = [], self.items[handle].parent
        while handle >= 0:
            found.append(handle)
            handle = self.items[handle].parent
        return found

    def world(self, handle: int) -> np.ndarray:
        """Pose of an object in the world, a joint's without its motion, shape (4, 4)."""
        return np.eye(4) if handle < 0 else self.inner(self.items[handle].parent) @ self.items[handle].local

    def inner(self, handle: int) -> np.ndarray:
        """The same, a joint's with its motion: what its children are seen from."""
        return self.world(handle) @ _motion(self.items[handle]) if handle >= 0 else np.eye(4)

    def compile(self) -> None:
        """MuJoCo's model of the objects that move, all joints at zero."""
        spec = mujoco.MjSpec()
        spec.compiler.balanceinertia = False
        spec.option.gravity = self.params[C.arrayparam_gravity]
        spec.option.timestep = self.params[C.floatparam_dynamic_step_size]
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        joints = {h: item for h, item in self.items.items() if item.kind == "joint"}
        positions = {h: item.q for h, item in joints.items()}
        for item in joints.values():
            item.q = 0.0
        bodies: dict[int, Any] = {}
        frames: dict[int, np.ndarray] = {}
        for handle, item in self.items.items():
            carrier = next((h for h in self.above(handle) if h in joints), None)
            moves = item.kind == "shape" and not item.numbers.get(C.shapeintparam_static, 1)
            if not moves or carrier is None:
                continue
            below = next((h for h in self.above(carrier) if h in bodies), None)
            parent, frame = (spec.worldbody, np.eye(4)) if below is None else (bodies[below], frames[below])
            bodies[handle], frames[handle] = _body(parent, frame, item, self.world(handle)), self.world(handle)
            _hinge(bodies[handle], np.linalg.inv(frames[handle]) @ self.world(carrier), joints[carrier], str(carrier))
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        is_there = self.params[C.intparam_dynamic_engine] != self.faults.get("missing_engine")
        self.moving = [(h, joints[h], self.model.joint(str(h))) for h in joints if is_there and self.has(str(h))]
        for handle, item, joint in self.moving:
            self.model.dof_armature[joint.dofadr[0]] = item.numbers.get(C.mujoco_joint_armature, 0.0)
            self.data.qpos[joint.qposadr[0]] = positions[handle]
        for handle, item in joints.items():
            item.q = positions[handle]
        mujoco.mj_forward(self.model, self.data)

    def has(self, name: str) -> bool:
        return mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, name) >= 0

    def torque(self, item: Item) -> float:
        """What a motor gives now."""
        if item.numbers.get(C.jointintparam_dynctrlmode) == C.jointdynctrl_velocity:
            return float(np.copysign(item.target_force, item.target_velocity))
        return item.target_force

    def advance(self) -> None:
        """One step of a simulation that runs, after the scripts have had their say before it."""
        for _, item, joint in self.moving:
            self.data.qfrc_applied[joint.dofadr[0]] = self.torque(item)
        mujoco.mj_step(self.model, self.data)
        for _, item, joint in self.moving:
            item.q, item.v = float(self.data.qpos[joint.qposadr[0]]), float(self.data.qvel[joint.dofadr[0]])
        if self.is_about_to_pause:
            self.state, self.is_about_to_pause = C.simulation_paused, False
        else:
            self.steps += 1


def lua_with(text: str, functions: dict[str, Callable[..., Any]], **modules: dict[str, Any]) -> Any:
    """A Lua that has run a text which requires ``sim`` and other modules of these functions."""
    lua = lua54.LuaRuntime(unpack_returned_tuples=True, register_eval=False, attribute_filter=_nothing)
    tables = {"sim": {**CONSTANTS, **functions}, **modules}
    lua.globals().require = lambda name: lua.table_from(
        {key: _from_lua(lua, value) if callable(value) else value for key, value in tables[name].items()}
    )
    lua.execute(text)
    return lua


def _nothing(_object: Any, _name: str, _setting: bool) -> Any:
    raise AttributeError("Lua has no business inside Python")


def _from_lua(lua: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    def called(*arguments: Any) -> Any:
        result = function(*(to_python(argument) for argument in arguments))
        return tuple(to_lua(lua, x) for x in result) if isinstance(result, tuple) else to_lua(lua, result)

    return called


def to_lua(lua: Any, value: Any) -> Any:
    """Lists and mappings as tables, all the way down."""
    if isinstance(value, (list, tuple)):
        return lua.table_from([to_lua(lua, x) for x in value])
    if isinstance(value, dict):
        return lua.table_from({key: to_lua(lua, x) for key, x in value.items()})
    return value


def to_python(value: Any) -> Any:
    """Tables as lists, or as mappings when they are none; an empty table is a mapping, as over the real wire."""
    if lua54.lua_type(value) != "table":
        return value
    if len(value) and len(value) == len(list(value.keys())):
        return [to_python(value[i + 1]) for i in range(len(value))]
    return {key: to_python(x) for key, x in value.items()}


def _matrix(rows: list[float]) -> np.ndarray:
    return np.vstack([np.reshape(rows, (3, 4)), [0.0, 0.0, 0.0, 1.0]])


def _motion(item: Item) -> np.ndarray:
    X = np.eye(4)
    if item.kind == "joint" and item.subtype == C.joint_prismatic_subtype:
        X[2, 3] = item.q
    elif item.kind == "joint":
        c, s = np.cos(item.q), np.sin(item.q)
        X[:2, :2] = [[c, -s], [s, c]]
    return X


def _body(parent: Any, frame: np.ndarray, item: Item, world: np.ndarray) -> Any:
    X = np.linalg.inv(frame) @ world
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, X[:3, :3].ravel())
    I = item.com[:3, :3] @ item.inertia @ item.com[:3, :3].T
    full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    return parent.add_body(
        name=item.alias, pos=X[:3, 3], quat=quat, mass=item.mass, ipos=item.com[:3, 3], fullinertia=full,
        explicitinertial=True,
    )  # fmt: skip


def _hinge(body: Any, X: np.ndarray, item: Item, name: str) -> None:
    slides = item.subtype == C.joint_prismatic_subtype
    kind = mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE
    body.add_joint(name=name, type=kind, pos=X[:3, 3], axis=X[:3, 2])
