"""``arm_control simulate``: a scenario without ROS and without a clock: states, law, gate, arm, one after the other.

What decides is the same as in the nodes: the law, what it follows, avoidance, the gate. Here one loop calls them.
Obstacles are known exactly, with their velocities; a push reaches the arm as ``J^T F``, past the gate.

A scenario without a controller is a :class:`FreeMotion`: an arm whose motors give no torque moves from rest, and its
energy is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from arm_control.collision import Proximity, clearance
from arm_control.control import (
    ControlLoop,
    Measurement,
    SensorReading,
    StallWatch,
    TickResult,
    compensated_share,
    condition_number,
    pose_errors,
    rotate_to,
)
from arm_control.controllers import JointLoopParameters, control_loop
from arm_control.core import progress_bar
from arm_control.exceptions import ParameterError, SimulationDiverged
from arm_control.follow import chunks_along
from arm_control.kinematics import pose_rank
from arm_control.maths import Array, Obstacle, Pose
from arm_control.model import ArmParameters, RobotModel, read_description
from arm_control.motion import ChunkGoal, Goal, JointGoal, PoseMotion, Target, Waypoints, load_trajectory
from arm_control.planning import TaskPath
from arm_control.simulation.engine import EngineParameters, RealArm, SimulatedArm, engine_of, make_simulator, true_arm
from arm_control.simulation.planned_motion import PlannedScenarioMotion
from arm_control.simulation.plant_properties import PlantProperties, properties_of
from arm_control.simulation.recording import Trace, goal_poses
from arm_control.simulation.rigid_body import end_stops
from arm_control.simulation.scenario import Scenario, arm_and_parameters
from arm_control.simulation.sensors import SimulatedSensors

COARSE = 10
"""Ticks between two looks at the condition number and the obstacles."""
LOOK = 20
"""Ticks between two looks for joints that do not move, as the nodes' ``telemetry_every``."""
SECONDS = 10.0
"""Duration where nothing says another one [s]."""


class SimulationRecorder(Protocol):
    """Records a simulation, tick by tick; obstacles are known to the controller through it."""

    def obstacles(self, stamp_ns: int, q: Array) -> list[Obstacle]:
        """What the controller knows of obstacles in a state: its stamp [ns] and positions (nv,) [rad or m]."""

    def sensor(self, reading: SensorReading) -> None:
        """Record what the arm's sensor of force measures."""

    def sense(self, stamp_ns: int, sensors: SimulatedSensors) -> None:
        """Record what the other sensors of the arm measure in the state with a stamp [ns]."""

    def record(self, result: TickResult) -> None:
        """Record the result of a tick."""


class Simulation:
    """One variant of a scenario.

    Parameters
    ----------
    variant : str
        Name of the variant; empty: the first, or the only way there is.

    Attributes
    ----------
    duration : float
        How long the scenario takes [s].
    stall : str
        Which joints did not move in the last run though they were asked to; empty for none.
    velocities : str
        How the velocities were filtered in the last run; empty: not at all.
    self_pairs : str
        How many pairs of links pushed each other in the last run, and which did not; empty without avoidance.
    wrench_rate : float
        Measurements per second of the wrench at the end effector [Hz]; 0: none.
    plant : tuple of str
        How the arm of a plant file differs from the model, in the last run.

    Raises
    ------
    ParameterError
        When the scenario has no controller, or a parameter is unknown or not allowed.
    """

    def __init__(self, scenario: Scenario, variant: str = "") -> None:
        self._scenario = chosen = scenario.variant(variant)
        self.model, self.parameters = arm_and_parameters(chosen)
        self._q0, self._properties, self._options = _plant(chosen, self.model.nq)
        wrench_rate = chosen.nodes.get("simulator", {}).get("wrench_rate", 0.0)
        self.range_sensors, self.wrench_rate = chosen.range_sensors, float(wrench_rate)
        self.targets, self.motion = chosen.targets(), chosen.motion()
        self.planned = self._plan()
        self.duration = chosen.duration or self._own_duration()
        self.queue: list[Goal] = self._goals()
        self.stall = self.pressed = self.velocities = self.self_pairs = ""
        self.plant: tuple[str, ...] = ()

    def run(self, duration: float = 0.0, title: str | None = None, recorder: SimulationRecorder | None = None) -> Trace:
        """Simulate from the start.

        Parameters
        ----------
        duration : float
            How long [s]; 0: as long as the scenario takes.
        title : str, optional
            What a bar on the terminal says; None: no bar.
        recorder : SimulationRecorder, optional
            Who sees every tick, and says what the controller knows of obstacles; without one it knows everything.
        """
        simulator = make_simulator(self.model, self._q0, self._properties, movers=self.world.movers, **self._options)
        self.plant = simulator.differences
        n = max(2, round((duration or self.duration) / simulator.timestep))
        log, trouble = _Log(self.model, n, round(simulator.timestep * 1e9)), ""
        loop = _Loop(self, simulator, log, recorder)
        try:
            for k in _numbered(n, title):
                loop.tick(k)
        except SimulationDiverged as error:
            trouble = str(error)
        gate, avoidance = loop.control.gate, loop.control.avoidance
        self.stall, self.velocities = loop.stall_watch.last, gate.describe_velocities()
        self.pressed = "" if loop.control.push is None else loop.control.push.sentence
        self.self_pairs = "" if avoidance is None else avoidance.self_pairs
        touching = simulator.touching_steps if self._properties.contacts == "arm" else None
        return log.trace(tuple(t for t in self.queue if isinstance(t, Target)), trouble, touching)

    def sensors(self) -> SimulatedSensors | None:
        """Return the sensors of the arm beside those of its joints; None without any."""
        if not (self.range_sensors or self.wrench_rate):
            return None
        arm = ArmParameters.from_mapping(self._scenario.arm())
        return SimulatedSensors(self.model, self.world, self.range_sensors, arm, self._properties)

    def loop(self) -> ControlLoop:
        """Return the control loop, with all its goals."""
        loop = control_loop(self.model, self.parameters)
        for goal in self.queue:
            loop.controller.add(goal)
        return loop

    @property
    def world(self) -> Any:
        """What is around."""
        return self._scenario.world

    @property
    def task(self) -> TaskPath | None:
        """Path that the end effector follows in a motion that was planned for it."""
        return None if self.planned is None else self.planned.task

    def _plan(self) -> PlannedScenarioMotion | None:
        """The motion that is planned before the run, where the scenario has one."""
        chosen = self._scenario
        if not chosen.plan:
            return None
        if not isinstance(self.parameters, JointLoopParameters):
            raise ParameterError(f"{chosen.name}: plan: its motion is of the joints, and needs the controller joint")
        return PlannedScenarioMotion(self.model, chosen.plan, chosen.world, self._q0, f"{chosen.name}: plan")

    def _own_duration(self) -> float:
        sender = self._scenario.nodes.get("targets", {})
        name = sender.get("trajectory") or sender.get("policy", "")
        if self.planned is not None:
            return float(self.planned.points.times[-1]) + 1.0
        if self.targets is not None:
            return self.targets.period * len(self.targets.targets)
        if self.motion is not None:
            return float(self.motion.points.times[-1]) + 1.0
        return float(load_trajectory(name)[1].times[-1]) + 1.0 if name else SECONDS

    def _goals(self) -> list[Goal]:
        """The trajectory, the motion, or targets of the list, round and round."""
        if self.planned is not None:
            return [self.planned.goal()]
        if isinstance(self.parameters, JointLoopParameters):
            name = self._scenario.nodes.get("targets", {}).get("trajectory", "")
            return [JointGoal(0, self._waypoints(name))] if name else []
        if policy := self._scenario.nodes.get("targets", {}).get("policy", ""):
            chunks = chunks_along(self._waypoints(policy), self._q0, self.duration)
            return [ChunkGoal(at_ns, chunk) for at_ns, chunk in chunks]
        if self.motion is not None:
            return [PoseMotion(0, self.motion.frame, self.motion.points)]
        if self.targets is None:
            return []
        count = self._scenario.nodes["targets"].get("count", 0) or int(np.ceil(self.duration / self.targets.period))
        poses, period = self.targets.targets, self.targets.period
        targets = [Target(round(k * period * 1e9), self.targets.frame, poses[k % len(poses)]) for k in range(count)]
        return [*targets, *self.targets.wrench_goals(count)]

    def _waypoints(self, name: str) -> Waypoints:
        joints, points = load_trajectory(name)
        rows = points.times.tolist(), points.qs, points.vs, points.as_
        return Waypoints.checked(self.model, joints, *rows)


def _plant(chosen: Scenario, n: int) -> tuple[Array, PlantProperties, dict[str, Any]]:
    """Where a simulated arm of n joints starts, how it differs from its model, and what else makes it."""
    values, where = chosen.nodes.get("simulator", {}), f"{chosen.name}: simulator"
    q = np.array(values.get("initial_position") or np.zeros(n), dtype=float)
    options: dict[str, Any] = {name: values[name] for name in ("timestep", "damping") if name in values}
    options |= {"engine": engine_of(values, where), "solids": chosen.world.solids}
    return q, properties_of(values, where), options


def _numbered(n: int, title: str | None) -> Iterator[int]:
    """Numbers of n steps; with a bar on the terminal, which is drawn every hundredth of them."""
    for block in progress_bar(range(0, n, 100), title):
        yield from range(block, min(block + 100, n))


class _Loop:
    """The parts of a run, and what happens in one tick."""

    def __init__(
        self,
        simulation: Simulation,
        simulator: SimulatedArm | RealArm,
        log: _Log,
        recorder: SimulationRecorder | None,
    ) -> None:
        self._model, self._world, self._simulator, self._log = simulation.model, simulation.world, simulator, log
        self.control, self._dt, self._recorder = simulation.loop(), simulator.timestep, recorder
        self._proximity = Proximity(self._model) if simulation.world.movers else None
        self._sensors = simulation.sensors() if recorder is not None else None
        self._planned = simulation.planned
        if self._planned is not None:
            self._planned.begin()
        parameters = simulation.parameters
        self.stall_watch = StallWatch(
            self._model, compensated_share(self._model, parameters.observer, parameters.adaptation)
        )

    def tick(self, k: int) -> None:
        q, v, t = self._simulator.q, self._simulator.v, k * self._dt
        stamp_ns, there = round(t * 1e9), self._world.obstacles(t)
        known = there if self._recorder is None else self._recorder.obstacles(stamp_ns, q)
        if self._planned is not None:
            self._planned.look(t, there, self.control.controller)
        if self._world.solids:
            self._measure(stamp_ns, q)
        if self._sensors is not None and self._recorder is not None:
            self._sensors.observe(stamp_ns, true_arm(self._simulator))
            self._recorder.sense(stamp_ns, self._sensors)
        result = self.control.tick(Measurement(stamp_ns, q, v, self._dt if k else 0.0, is_restart=k == 0), known)
        self._log.take(k, result)
        if self._recorder is not None:
            self._recorder.record(result)
        if k % COARSE == 0:
            distance = np.inf if self._proximity is None else clearance(self._proximity, q, there)
            margins = {} if (kept := self.control.gate.constraints) is None else kept.margins
            self._log.look(result.law.terms.J, distance, margins)
        if k % LOOK == 0:
            self.stall_watch.look(result)
        if self._world.pushes:
            self._simulator.load(result.law.terms.J.T @ self._world.wrench(t, result.law.terms))
        self._simulator.step(result.gate.tau)

    def _measure(self, stamp_ns: int, q: Array) -> None:
        """Let the controller, and the records, have the wrench of solid obstacles."""
        F_W, tip = self._simulator.contact_wrench, self._model.tip
        reading = SensorReading(stamp_ns, tip, rotate_to(self._model.pose(q).R, F_W))
        self._log.contact.append(F_W)
        if self._recorder is not None:
            self._recorder.sensor(reading)
        self.control.wrench.measure(reading)


class _Log:
    """What is kept of every tick."""

    def __init__(self, model: RobotModel, n: int, step_ns: int) -> None:
        self._model, self._step_ns, self._done = model, step_ns, 0
        self._q, self._v, self._tau, self._asked = (np.zeros((n, model.nv)) for _ in range(4))
        self._braking = np.zeros(n, dtype=bool)
        self._X_WE: list[Pose] = []
        self._X_WT: list[Pose] = []
        self._V_WE: list[Array] = []
        self._terms: dict[str, Array] = {}
        self._looks: list[tuple[Array, float, Mapping[str, float]]] = []
        self.contact: list[Array] = []
        self._wanted: list[Array] = []

    def take(self, k: int, result: TickResult) -> None:
        terms, X_WT = result.law.terms, result.law.X_WT
        self._q[k], self._v[k], self._tau[k] = terms.q, terms.v, result.gate.tau
        self._asked[k], self._braking[k] = result.tau, not result.gate.is_passing
        self._X_WE.append(terms.X_WE)
        self._X_WT.append(X_WT)
        self._V_WE.append(terms.V_WE)
        if (hand := result.law.hand) is not None:
            self._wanted.append(hand.in_world(hand.F_target))
        for name, part in result.torque_terms.items():
            if name not in self._terms:
                self._terms[name] = np.zeros_like(self._tau)
            self._terms[name][k] = part
        self._done = k + 1

    def look(self, J: Array, distance: float, margins: Mapping[str, float]) -> None:
        self._looks.append((J.copy(), distance, margins))

    def trace(self, targets: tuple[Target, ...], trouble: str, touching: int | None) -> Trace:
        n, stamps = self._done, np.arange(self._done, dtype=np.int64) * self._step_ns
        shown = tuple(target for target in targets if target.stamp_ns <= stamps[-1])
        goals = goal_poses(shown, stamps, self._q, self._model)
        condition = condition_number(np.array([look[0] for look in self._looks]), pose_rank(self._model))
        distance = np.array([look[1] for look in self._looks])
        names = dict.fromkeys(name for look in self._looks for name in look[2])
        margins = {name: np.array([look[2].get(name, np.nan) for look in self._looks]) for name in names}
        p, p_des = (np.array([X.p for X in poses]) for poses in (self._X_WE, self._X_WT))
        motion = p, np.array(self._V_WE), pose_errors(self._X_WE, self._X_WT), goals
        terms = {name: x[:n] for name, x in self._terms.items()}
        looks = stamps[::COARSE], condition, distance
        gate = self._asked[:n], self._braking[:n]
        contact, wanted = (np.array(rows[:n]).reshape(-1, 6) for rows in (self.contact, self._wanted))
        return Trace(
            *(stamps, self._q[:n], self._v[:n], stamps, self._tau[:n], shown, *motion, p_des, terms, *looks, *gate),
            end_reason=trouble,
            contact=contact,
            wanted=wanted,
            touching=touching,
            margins=margins,
        )


FREE_SECONDS = 5.0
"""Duration where nothing says another one [s]."""


@dataclass(frozen=True)
class FreeTrace:
    """A recorded motion.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Time of each state, from 0 [s].
    q, v : ndarray, shape (n, nv)
        Joint positions [rad or m] and velocities [rad/s or m/s].
    kinetic, potential : ndarray, shape (n,)
        Energy, by the model [J].
    beyond : ndarray, shape (n, nv)
        How far each joint is beyond an end stop [rad or m]; 0 between the stops, and without any.
    end_reason : str
        Reason for an early end; empty without one.
    """

    t: Array
    q: Array
    v: Array
    kinetic: Array
    potential: Array
    beyond: Array
    has_stops: bool
    end_reason: str = ""

    @property
    def energy_change(self) -> Array:
        """Energy gained since the start, shape (n,) [J]."""
        energy = self.kinetic + self.potential
        return energy - energy[0]

    def save(self, path: str) -> None:
        """Write the arrays to a NumPy file."""
        np.savez(path, t=self.t, q=self.q, v=self.v, kinetic=self.kinetic, potential=self.potential, beyond=self.beyond)


class FreeMotion:
    """One variant of a scenario without a controller.

    Parameters
    ----------
    scenario : Scenario
        The scenario; its only node that counts is ``simulator``.
    variant : str
        Name of the variant; empty: the first, or the only way there is.

    Raises
    ------
    ParameterError
        When the scenario has no simulator, or something that pushes the arm, or a parameter is not allowed.
    """

    def __init__(self, scenario: Scenario, variant: str = "") -> None:
        chosen = scenario.variant(variant)
        values = chosen.nodes.get("simulator")
        if values is None or chosen.world.pushes:
            raise ParameterError(f"{chosen.name} has no controller: a node simulator, and no pushes, are needed")
        arm = {name: value for name, value in values.items() if name in ArmParameters.types()}
        self.model: RobotModel = ArmParameters.from_mapping(arm).model(read_description(chosen.robot))
        self.duration = chosen.duration or FREE_SECONDS
        q, properties, options = _plant(chosen, self.model.nq)
        self.engine: EngineParameters = options["engine"]
        self._simulator = make_simulator(self.model, q, properties, **options)

    def run(self, duration: float = 0.0, title: str | None = None) -> FreeTrace:
        """Simulate from the start.

        Parameters
        ----------
        duration : float
            How long [s]; 0: as long as the scenario takes.
        title : str, optional
            What a bar on the terminal says; None: no bar.
        """
        simulator, tau, reason = self._simulator, np.zeros(self.model.nv), ""
        simulator.reset()
        rows = [(simulator.q, simulator.v)]
        n = max(1, round((duration or self.duration) / simulator.timestep))
        try:
            for _ in _numbered(n, title):
                simulator.step(tau)
                rows.append((simulator.q, simulator.v))
        except SimulationDiverged as error:
            reason = str(error)
        q, v = (np.array(column) for column in zip(*rows, strict=True))
        return replace(self._trace(q, v), end_reason=reason)

    def _trace(self, q: Array, v: Array) -> FreeTrace:
        energy = self.model.batch("kinetic_energy", "potential_energy")(q, v)
        kinetic, potential = (energy[name].reshape(-1) for name in ("kinetic_energy", "potential_energy"))
        stops = self.engine.rigid_body
        has_stops = self.engine.engine == "rigid_body" and stops.has_stops
        lower, upper = end_stops(self.model, stops) if has_stops else (-np.inf, np.inf)
        is_stopped = np.array(stops.stop_stiffness) > 0.0 if has_stops else False
        beyond = np.where(is_stopped, np.maximum(np.maximum(q - upper, lower - q), 0.0), 0.0)
        return FreeTrace(self._simulator.timestep * np.arange(len(q)), q, v, kinetic, potential, beyond, has_stops)
