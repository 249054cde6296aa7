"""An arm in CoppeliaSim, under torque and step by step, with the interface of the simulator of our own.

A step is three requests: one script call that writes every torque, ``sim.step``, one script call that reads the whole
state. The script is ``coppeliasim/bridge.lua``; it also watches whether we are still there. Simulated time must
go on by exactly one step: when it does not, somebody else has a hand in it, and the simulator counts as lost.

Nothing that decides about the physics is taken on trust. What can be set is set and read back, what cannot is compared
with the model, and a difference is an error that says what and how much.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from arm_control.exceptions import ModelError, SimulationDiverged, SimulatorLost
from arm_control.maths.poses import Array, Pose, rotation_from_quaternion
from arm_control.maths.shapes import Shape
from arm_control.model import RobotModel
from arm_control.simulation.coppeliasim.arm_scene import build, find, find_joints, joint_paths, shape_of
from arm_control.simulation.coppeliasim.bridge_script import KEEP_ALIVE, create_script, end_what_runs, stop, until
from arm_control.simulation.coppeliasim.coppeliasim_client import Connection
from arm_control.simulation.coppeliasim.coppeliasim_parameters import CoppeliasimParameters
from arm_control.simulation.coppeliasim.physics_checks import (
    ROUNDING,
    SIGNED_TORQUE,
    check_gravity,
    check_links,
    checked_version,
    set_engine,
    set_timestep,
    set_torque_mode,
)

SERVING_TIME = 2e-4
"""Time in which the server waits for another request before it goes on; its own 2 ms halve the rate [s]."""


class CoppeliasimSimulator:
    """A torque-controlled arm in a CoppeliaSim that runs already; :meth:`connect` before anything else.

    Parameters
    ----------
    model : RobotModel
        The arm.
    q_initial : array_like, shape (nq,), optional
        Joint positions at the start [rad or m]; by default those of the scene.
    timestep : float
        Duration of one step [s].
    parameters : CoppeliasimParameters
        Where it is.

    Attributes
    ----------
    q, v, effort : ndarray, shape (nv,)
        Joint positions, velocities, and what the motors give, minus ``getJointForce`` [N m or N].
    steps : int
        Steps since the start or the last :meth:`reset`.
    version : int
        CoppeliaSim's, such as 40900.
    obstacles : tuple of (str, Shape)
        Path and shape of each obstacle.
    is_paused, is_stopped : bool
        Whether somebody has paused or stopped the simulation there: no step is made then.
    """

    def __init__(
        self, model: RobotModel, q_initial: Array | None, *, timestep: float, parameters: CoppeliasimParameters
    ) -> None:
        if q_initial is not None and np.shape(q_initial) != (model.nq,):
            raise ModelError(f"{np.size(q_initial)} initial positions for {model.nq} joints")
        if model.tree.has_mimic:  # it couples only joints that are not torque-controlled
            raise ModelError("CoppeliaSim cannot simulate mimic joints under torque: leave them locked")
        self.timestep, self.parameters = timestep, parameters
        self._robot = model
        self._q_initial = None if q_initial is None else np.array(q_initial, dtype=float)
        self._connection: Connection | None = None
        self._is_ours = False
        self.version, self.steps, self._spoke_at = 0, 0, 0.0
        self.q, self.v, self.effort, self._load = np.zeros((4, model.nv))
        self.is_paused = self.is_stopped = False
        self.obstacles: tuple[tuple[str, Shape], ...] = ()
        self._poses: list[Pose] = []

    # -- connecting ------------------------------------------------------------------------------

    def connect(self) -> None:
        """Connect, find or build the arm, check everything, and start: at rest, at time zero.

        Raises
        ------
        SimulatorLost
            When nobody answers.
        ModelError
            When what is there is not what is wanted; the message says what.
        """
        self.close()
        self._connection = Connection(self.parameters.host, self.parameters.port)
        try:
            with self._connection.errors():
                self._prepare(self._connection)
            self.reset()
        except BaseException:
            self.close()
            raise

    def _prepare(self, connection: Connection) -> None:
        sim = connection.sim
        self.version = checked_version(sim)
        end_what_runs(connection)
        if self.parameters.scene:
            with connection.patience():
                sim.loadScene(self.parameters.scene)
        paths = joint_paths(self._robot, self.parameters.joint_paths)
        if not self.parameters.scene and all(find(sim, path) < 0 for path in paths.values()):
            q = self._q_initial
            build(sim, self._robot, np.zeros(self._robot.nq) if q is None else q)
        self._handles = find_joints(sim, paths)
        set_engine(sim, self.parameters.engine, self._handles, self._robot.armature)
        set_timestep(sim, self.timestep)
        set_torque_mode(sim, dict(zip(paths, self._handles, strict=True)), self.version)
        frame = self._object(sim, self.parameters.base_object) if self.parameters.base_object else sim.handle_world
        R_WF = np.eye(3) if frame == sim.handle_world else _pose(sim.getObjectPose(frame, sim.handle_world)).R
        check_gravity(self._robot, sim.getArrayParam(sim.arrayparam_gravity), R_WF)
        self._script = create_script(sim)
        links = connection.call(self._script, "arm_links", self._handles, frame)
        check_links(self._robot, links, [sim.getJointPosition(handle) for handle in self._handles])
        self._watch(sim, frame)

    def _watch(self, sim: Any, frame: int) -> None:
        """Note what is read with every state: the target, if there is one, then the obstacles."""
        p = self.parameters
        target = find(sim, p.target_object) if p.target_object else -1
        handles = {path: self._object(sim, path) for path in p.obstacle_objects}
        self.obstacles = tuple((path, shape_of(sim, path, handle)) for path, handle in handles.items())
        self._has_target = target >= 0
        self._watched = [*([target] if self._has_target else []), *handles.values()], frame

    def _object(self, sim: Any, path: str) -> int:
        handle = find(sim, path)
        if handle < 0:
            raise ModelError(f"the scene in CoppeliaSim lacks {path}")
        return handle

    # -- running ---------------------------------------------------------------------------------

    @property
    def X_BT(self) -> Pose | None:
        """Where the target is, in the arm's base; None where there is none."""
        return self._poses[0] if self._poses and self._has_target else None

    @property
    def X_BO(self) -> list[Pose]:
        """Where the obstacles are, in the arm's base."""
        return self._poses[self._has_target :] if self._poses else []

    def step(self, tau: Array) -> None:
        """Apply a torque for one time step; nothing happens while the simulation is paused or stopped.

        Parameters
        ----------
        tau : ndarray, shape (nv,)
            Joint torque [N m or N].

        Raises
        ------
        SimulatorLost
            When CoppeliaSim does not answer, or its time did not go on by one step.
        SimulationDiverged
            When the state is no longer finite.
        """
        connection = self._here()
        with connection.errors():
            connection.call(self._script, "arm_write", (np.asarray(tau, dtype=float) + self._load).tolist())
            connection.sim.step()
        self._read(self.steps + 1)

    def load(self, tau: Array) -> None:
        """Let something else than the motors act on the joints, (nv,) [N m or N], until told otherwise."""
        self._load = np.asarray(tau, dtype=float)

    def keep_alive(self) -> None:
        """Tell the watchdog that we are there, if it has not heard of us for a while."""
        if time.monotonic() - self._spoke_at > KEEP_ALIVE:
            self._read(self.steps)

    def reset(self, q: Sequence[float] | Array | None = None) -> None:
        """Start again at rest, at ``q`` or the initial positions, at time zero.

        Raises
        ------
        SimulatorLost
            When CoppeliaSim does not answer, or does not stop and start.
        ModelError
            When the arm does not start where it should.
        """
        connection = self._here()
        wanted = self._q_initial if q is None else np.asarray(q, dtype=float)
        with connection.errors():
            sim = connection.sim
            stop(sim)
            if wanted is not None:
                for handle, x in zip(self._handles, wanted.tolist(), strict=True):
                    sim.setJointPosition(handle, x)
            sim.setStepping(True)
            sim.startSimulation()
            self._is_ours = True
            until(lambda: sim.getSimulationState() != sim.simulation_stopped, "start")
            sim.setThreadSwitchTiming(SERVING_TIME)
            signed = self.version >= SIGNED_TORQUE
            setup = (self._handles, *self._watched, signed, self.parameters.watchdog_time)
            connection.call(self._script, "arm_setup", *setup)
        self.steps, self._load, self.is_stopped = 0, np.zeros(self._robot.nv), False
        self._read(0)
        if wanted is not None and np.abs(self.q - wanted).max() > ROUNDING:
            raise ModelError(f"the arm starts at {self.q.round(6).tolist()} in CoppeliaSim, not at {list(wanted)}")

    def close(self) -> None:
        """Stop the simulation, if it is ours, and leave; one that does not answer is left as it is."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with suppress(SimulatorLost, ModelError), connection.errors():
            if self._is_ours and not connection.is_silent:
                connection.sim.stopSimulation()
        connection.close()
        self._is_ours = False

    def _here(self) -> Connection:
        if self._connection is None:
            raise SimulatorLost(f"CoppeliaSim at {self.parameters.host}:{self.parameters.port}: not connected")
        return self._connection

    def _read(self, steps: int) -> None:
        """Read the state, which is the one after so many steps."""
        connection = self._here()
        t, q, v, effort, poses, ended, state = connection.call(self._script, "arm_read")
        self._spoke_at = time.monotonic()
        if ended:
            raise SimulatorLost("CoppeliaSim did not hear of us for too long: its watchdog has paused the simulation")
        was_stopped, sim = self.is_stopped, connection.sim
        self.is_paused = state == sim.simulation_paused
        about_to = sim.simulation_advancing_abouttostop, sim.simulation_advancing_lastbeforestop
        self.is_stopped = state in (sim.simulation_stopped, *about_to)
        if self.is_stopped:
            return
        if was_stopped:
            raise SimulatorLost("the simulation in CoppeliaSim was stopped and started by hand")
        if not self._is_at(t, steps):
            if not (self.is_paused and self._is_at(t, self.steps)):
                due = steps * self.timestep
                raise SimulatorLost(f"CoppeliaSim is at {t:.4f} s, not at {due:.4f} s: somebody else has stepped it")
            steps = self.steps  # it was paused before this one
        values = np.array([q, v, effort], dtype=float)
        if not np.isfinite(values).all():
            raise SimulationDiverged(t, self.q, self.v)
        self.steps = steps
        self.q, self.v, given = values
        self.effort = given - self._load
        self._poses = [_pose(pose) for pose in poses or ()]  # an empty table comes as an empty map

    def _is_at(self, t: float, steps: int) -> bool:
        return abs(t - steps * self.timestep) <= ROUNDING * max(1.0, t)


def _pose(numbers: Sequence[float]) -> Pose:
    return Pose(rotation_from_quaternion(numbers[3:7]), np.array(numbers[:3], dtype=float))
