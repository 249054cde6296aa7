"""An arm in CoppeliaSim under torque control, step by step, with the interface of the MuJoCo simulator.

A step is three requests: one script call that writes all torques, ``sim.step``, one script call that reads the whole
state. The script is ``coppeliasim/bridge.lua``; its watchdog pauses the simulation when this client is silent.
Simulated time must advance by exactly one step: otherwise another client steps it, and the simulator counts as lost.

All settings that affect the physics are written and read back, or compared with the model; a difference is an error
with both values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.core import Parameters, parameter, share_path
from arm_control.exceptions import ModelError, SimulationDiverged, SimulatorLost
from arm_control.maths import Array, Pose, Shape, rotation_from_quaternion
from arm_control.model import RobotModel
from arm_control.simulation.coppeliasim.arm_scene import (
    SceneSensors,
    build,
    find,
    find_joints,
    find_object,
    joint_paths,
    shape_of,
)
from arm_control.simulation.coppeliasim.coppeliasim_client import Connection
from arm_control.simulation.coppeliasim.physics_checks import (
    ENGINES,
    ROUNDING,
    check_gravity,
    check_links,
    check_simulated,
    checked_version,
    set_engine,
    set_timestep,
    set_torque_mode,
)
from arm_control.simulation.sensors import RangeSensor

SERVING_TIME = 2e-4
"""Time for which the server waits for another request before it goes on [s]; its default of 2 ms halves the rate."""


@dataclass(frozen=True)
class CoppeliasimParameters(Parameters):
    """Address of CoppeliaSim, and the objects of its scene."""

    host: str = parameter("127.0.0.1", "host of CoppeliaSim; its ZMQ remote API has no password")
    port: int = parameter(23000, "port of its ZMQ remote API", lower=1, upper=65535)
    scene: str = parameter(
        "",
        "scene to load (.ttt), a path on its machine; empty: the open one, the arm is built if missing",
    )
    engine: str = parameter("mujoco", "physics engine", choices=ENGINES)
    joint_paths: tuple[str, ...] = parameter((), "paths of joint objects other than '/name', as 'name:path'")
    base_object: str = parameter("", "object at the arm's base frame; empty: the origin of the scene")
    target_object: str = parameter("/target", "object whose pose is published as target when it moves; empty: none")
    obstacle_objects: tuple[str, ...] = parameter((), "paths of primitive shapes that are obstacles")
    force_sensor: str = parameter(
        "", "path of the force sensor behind the last joint that measures wrench; empty: none, and no such topic"
    )
    watchdog_time: float = parameter(
        0.5,
        "wall time without a request after which CoppeliaSim pauses itself",
        unit="s",
        lower=0.2,
        upper=10.0,
    )


class CoppeliasimSimulator:
    """A torque-controlled arm in a running CoppeliaSim; call :meth:`connect` first.

    Parameters
    ----------
    q_initial : array_like, shape (nq,), optional
        Joint positions at the start [rad or m]; by default those of the scene.
    timestep : float
        Duration of one step [s].
    ranges : sequence of RangeSensor
        Range sensors; each has a proximity sensor in the scene.

    Attributes
    ----------
    q, v, effort : ndarray, shape (nv,)
        Joint positions [rad or m], velocities [rad/s or m/s], and torques of the motors, minus ``getJointForce``
        [N m or N].
    steps : int
        Steps since the start or the last :meth:`reset`.
    is_paused, is_stopped : bool
        Whether the simulation was paused or stopped in CoppeliaSim: no step is made then.
    """

    def __init__(
        self,
        model: RobotModel,
        q_initial: Array | None,
        *,
        timestep: float,
        parameters: CoppeliasimParameters,
        ranges: Sequence[RangeSensor] = (),
    ) -> None:
        if q_initial is not None and np.shape(q_initial) != (model.nq,):
            raise ModelError(f"{np.size(q_initial)} initial positions for {model.nq} joints")
        if model.tree.has_mimic:  # CoppeliaSim couples only joints that are not torque-controlled
            raise ModelError("CoppeliaSim cannot simulate mimic joints under torque: leave them locked")
        self.timestep, self.parameters = timestep, parameters
        self._robot = model
        self._q_initial = None if q_initial is None else np.array(q_initial, dtype=float)
        self._connection: Connection | None = None
        self._has_started = False
        self.version = 0
        self.steps = 0
        self._request_time = 0.0
        self.q, self.v, self.effort, self._load = np.zeros((4, model.nv))
        self.is_paused = self.is_stopped = False
        self.obstacles: tuple[tuple[str, Shape], ...] = ()
        self._poses: list[Pose] = []
        self._sensors = SceneSensors(model, parameters.force_sensor, ranges)

    # -- connecting ------------------------------------------------------------------------------

    def connect(self) -> None:
        """Connect, find or build the arm, check it, and start at rest, at time zero.

        Raises
        ------
        SimulatorLost
            When CoppeliaSim does not answer.
        ModelError
            When the scene or a setting differs from the model.
        """
        self.close()
        self._connection = Connection(self.parameters.host, self.parameters.port)
        try:
            with self._connection.errors():
                self._prepare(self._connection)
            self.reset()
            self._check_step()
            self.reset()
        except BaseException:
            self.close()
            raise

    def _prepare(self, connection: Connection) -> None:
        sim = connection.sim
        self.version = checked_version(sim)
        end_earlier_bridge(connection)
        if self.parameters.scene:
            with connection.long_timeout():
                sim.loadScene(self.parameters.scene)
        paths = joint_paths(self._robot, self.parameters.joint_paths)
        if not self.parameters.scene and all(find(sim, path) < 0 for path in paths.values()):
            q = self._q_initial
            build(sim, self._robot, np.zeros(self._robot.nq) if q is None else q)
        self._handles = find_joints(sim, paths)
        set_engine(sim, self.parameters.engine, self._handles, self._robot.armature)
        set_timestep(sim, self.timestep)
        set_torque_mode(sim, dict(zip(paths, self._handles, strict=True)))
        frame = find_object(sim, self.parameters.base_object) if self.parameters.base_object else sim.handle_world
        R_WF = np.eye(3) if frame == sim.handle_world else _pose(sim.getObjectPose(frame, sim.handle_world)).R
        check_gravity(self._robot, sim.getArrayParam(sim.arrayparam_gravity), R_WF)
        self._script = create_script(sim)
        links = connection.call(self._script, "arm_links", self._handles, frame)
        check_links(self._robot, links, [sim.getJointPosition(handle) for handle in self._handles])
        self._watch(sim, frame)

    def _check_step(self) -> None:
        """Make a step without torque: only then CoppeliaSim tells what its engine moves."""
        self.step(np.zeros(self._robot.nv))
        connection = self._connected()
        with connection.errors():
            check_simulated(connection.sim, dict(zip(self._robot.joint_names, self._handles, strict=True)))

    def _watch(self, sim: Any, frame: int) -> None:
        """Set the objects that are read with every state: the target, if there is one, then the obstacles."""
        p = self.parameters
        target = find(sim, p.target_object) if p.target_object else -1
        handles = {path: find_object(sim, path) for path in p.obstacle_objects}
        self.obstacles = tuple((path, shape_of(sim, path, handle)) for path, handle in handles.items())
        self._has_target = target >= 0
        self._sensors.find(sim)
        force = [self._sensors.force_handle] if self._sensors.force_handle >= 0 else []
        self._watched = [*([target] if self._has_target else []), *handles.values(), *force], frame

    # -- running ---------------------------------------------------------------------------------

    @property
    def X_BT(self) -> Pose | None:
        """Pose of the target in the arm's base; None when there is none."""
        return self._poses[0] if self._poses and self._has_target else None

    @property
    def X_BO(self) -> list[Pose]:
        """Poses of the obstacles in the arm's base."""
        return self._poses[self._has_target :][: len(self.obstacles)]

    @property
    def unseen(self) -> tuple[str, ...]:
        """Range sensors without a proximity sensor in the scene."""
        return self._sensors.unseen

    def wrench(self) -> Array | None:
        """What the force sensor has measured, about the end effector and in its axes, shape (6,) [N, N m]."""
        return self._sensors.wrench(self.q, self._poses[-1]) if self._poses else None

    def distance(self, sensor: RangeSensor) -> float | None:
        """What a range sensor reports [m]; None without a proximity sensor, or before it has measured."""
        return self._sensors.distance(sensor) if self.steps else None

    def step(self, tau: Array) -> None:
        """Apply a torque, shape (nv,) [N m or N], for one time step; not while the simulation is paused or stopped.

        Raises
        ------
        SimulatorLost
            When CoppeliaSim does not answer, or its time did not advance by one step.
        SimulationDiverged
            When the state is no longer finite.
        """
        connection = self._connected()
        with connection.errors():
            connection.call(self._script, "arm_write", (np.asarray(tau, dtype=float) + self._load).tolist())
            connection.sim.step()
        self._read(self.steps + 1)

    def load(self, tau: Array) -> None:
        """Set a torque on the joints beside that of the motors, shape (nv,) [N m or N], until the next call."""
        self._load = np.asarray(tau, dtype=float)

    def keep_alive(self) -> None:
        """Send a request if the last one was long ago, for the watchdog."""
        if time.monotonic() - self._request_time > KEEP_ALIVE:
            self._read(self.steps)

    def reset(self, q: Sequence[float] | Array | None = None) -> None:
        """Start again at rest, at time zero, at ``q``, shape (nq,) [rad or m], or the initial positions.

        Raises
        ------
        SimulatorLost
            When CoppeliaSim does not answer, or does not stop and start.
        ModelError
            When the arm does not start at these positions.
        """
        connection = self._connected()
        q_start = self._q_initial if q is None else np.asarray(q, dtype=float)
        with connection.errors():
            sim = connection.sim
            stop(sim)
            if q_start is not None:
                for handle, x in zip(self._handles, q_start.tolist(), strict=True):
                    sim.setJointPosition(handle, x)
            sim.setStepping(True)
            sim.startSimulation()
            self._has_started = True
            wait_until(lambda: sim.getSimulationState() != sim.simulation_stopped, "start")
            sim.setThreadSwitchTiming(SERVING_TIME)
            setup = (self._handles, *self._watched, self.parameters.watchdog_time, *self._sensors.handles)
            connection.call(self._script, "arm_setup", *setup)
        self.steps = 0
        self._load = np.zeros(self._robot.nv)
        self.is_stopped = False
        self._read(0)
        if q_start is not None and np.abs(self.q - q_start).max() > ROUNDING:
            raise ModelError(f"the arm starts at {self.q.round(6).tolist()} in CoppeliaSim, not at {list(q_start)}")

    def close(self) -> None:
        """Stop the simulation, if this client has started it, and disconnect."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with suppress(SimulatorLost, ModelError), connection.errors():
            if self._has_started and not connection.is_silent:
                connection.sim.stopSimulation()
        connection.close()
        self._has_started = False

    def _connected(self) -> Connection:
        if self._connection is None:
            raise SimulatorLost(f"CoppeliaSim at {self.parameters.host}:{self.parameters.port}: not connected")
        return self._connection

    def _read(self, steps: int) -> None:
        """Read the state after a number of steps."""
        connection = self._connected()
        with connection.errors():
            self._take_state(connection, steps)

    def _take_state(self, connection: Connection, steps: int) -> None:
        t, q, v, effort, poses, ended, state, force, distances = connection.call(self._script, "arm_read")
        self._request_time = time.monotonic()
        if ended:
            raise SimulatorLost("CoppeliaSim got no request for too long: its watchdog has paused the simulation")
        was_stopped = self.is_stopped
        sim, was_paused = connection.sim, self.is_paused
        self.is_paused = state == sim.simulation_paused
        self.is_stopped = state in [getattr(sim, f"simulation_{name}", None) for name in STOPPED]
        if self.is_stopped:
            return
        if was_stopped:
            raise SimulatorLost("the simulation in CoppeliaSim was stopped and started by hand")
        if not self._is_at(t, steps):
            if self.is_paused and self._is_at(t, self.steps):
                steps = self.steps  # it was paused before this step
            elif was_paused and self._is_at(t, steps + 1):
                steps += 1  # since July 2025 play makes the step during which it was paused
            else:
                due = steps * self.timestep
                raise SimulatorLost(f"CoppeliaSim is at {t:.4f} s, not at {due:.4f} s: another client has stepped it")
        values = np.array([q, v, effort], dtype=float).reshape(3, self._robot.nv)
        poses = [_pose(pose) for pose in poses or ()]  # an empty table comes as an empty map
        if len(poses) != len(self._watched[0]):
            raise ModelError(f"CoppeliaSim tells {len(poses)} poses of {len(self._watched[0])} objects")
        self._sensors.take(force or (), distances or ())
        if not np.isfinite(values).all():
            raise SimulationDiverged(t, self.q, self.v)
        self.steps = steps
        self.q, self.v, total_effort = values
        self.effort = total_effort - self._load
        self._poses = poses

    def _is_at(self, t: float, steps: int) -> bool:
        return abs(t - steps * self.timestep) <= ROUNDING * max(1.0, t)


def _pose(numbers: Sequence[float]) -> Pose:
    return Pose(rotation_from_quaternion(numbers[3:7]), np.array(numbers[:3], dtype=float))


SCRIPT = "arm_control_bridge"
SETTLING_TIME = 5.0
"""Longest wall time in which a simulation starts or stops [s]."""
STOPPED = ("stopped", "advancing_abouttostop", "advancing_lastbeforestop")
"""States in which it stops or stands; sources later than 4.10.0 rev. 0 dropped the second."""
KEEP_ALIVE = 0.1
"""Longest wall time between two requests, for the watchdog [s]."""


def create_script(sim: Any) -> int:
    """Create the script in the open scene; return its handle."""
    text = share_path("coppeliasim", "bridge.lua").read_text(encoding="utf-8")
    script = int(sim.createScript(sim.scripttype_customization, text))
    sim.setObjectAlias(script, SCRIPT)
    sim.initScript(script)
    return script


def end_earlier_bridge(connection: Connection) -> None:
    """Stop the simulation of an earlier bridge, and remove its script.

    A ModelError where the simulation belongs to another program or to a running bridge; it is left alone.
    """
    sim = connection.sim
    script = find(sim, f"/{SCRIPT}")
    if sim.getSimulationState() != sim.simulation_stopped:
        if script < 0:
            raise ModelError("a simulation is running in CoppeliaSim: stop it first")
        if _is_in_use(connection, script):
            raise ModelError("another bridge moves an arm in this CoppeliaSim: end it first")
        stop(sim)
    if script >= 0:
        sim.removeObjects([script])


def _is_in_use(connection: Connection, script: int) -> bool:
    """Return whether a running bridge sends requests to a script."""
    try:
        before = connection.call(script, "arm_heard")
        time.sleep(3 * KEEP_ALIVE)
        after = connection.call(script, "arm_heard")
        return isinstance(after, (int, float)) and after != before  # nothing after a simulation that was stopping
    except ModelError:  # the script has ended
        return False


def stop(sim: Any) -> None:
    """Stop the simulation, if it is running or paused; a SimulatorLost where it does not stop."""
    if sim.getSimulationState() != sim.simulation_stopped:
        sim.stopSimulation()
        wait_until(lambda: sim.getSimulationState() == sim.simulation_stopped, "stop")


def wait_until(condition: Callable[[], bool], verb: str) -> None:
    """Poll a condition of CoppeliaSim, which answers once in each cycle of its main loop.

    A SimulatorLost where the condition does not hold within :data:`SETTLING_TIME`.
    """
    end = time.monotonic() + SETTLING_TIME
    while not condition():
        if time.monotonic() > end:
            raise SimulatorLost(f"the simulation in CoppeliaSim does not {verb} within {SETTLING_TIME:g} s")
