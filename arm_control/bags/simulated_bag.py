"""A simulated run as a bag, with the topics of the nodes; two runs give the same bytes.

Times in the bag are the stamps of the states. Goals and obstacles reach the controller as their messages have them, as
they do among nodes: a quaternion stands for a rotation, an obstacle is sent for every 20 ms, ahead of time.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np

from arm_control.bags.message_definitions import plain
from arm_control.bags.writer import BagWriter
from arm_control.control import SensorReading, TickResult
from arm_control.controllers import row_of
from arm_control.maths import Array, Obstacle, Pose
from arm_control.messages import (
    FLOAT64,
    JOINT_STATE,
    MARKER_ARRAY,
    RANGE,
    STRING,
    WRENCH_STAMPED,
    ObstacleTracker,
    goal_of,
)
from arm_control.model import read_description
from arm_control.motion import (
    ChunkGoal,
    Goal,
    JointGoal,
    JointJog,
    JointStiffness,
    Modulation,
    PoseChunk,
    PoseMotion,
    PosePoints,
    Target,
    TwistJog,
    Waypoints,
    WrenchGoal,
)
from arm_control.simulation import ObstacleSchedule, Sampling, Scenario, SimulatedSensors, Simulation, scenario_names

TELEMETRY = 20
"""Number of states between two sets of torque terms and figures, as the nodes' ``telemetry_every``."""


class SimulatedBag:
    """Writes the messages of a simulation; a context manager, and the simulation's recorder.

    Parameters
    ----------
    simulation : Simulation
        The simulation before it runs; its goals are replaced by those that their messages give.
    variant : str
        Name of its variant; empty for the only one.

    Raises
    ------
    BagError
        When the bag cannot be written, or its folder is there already.
    """

    def __init__(self, path: str | Path, simulation: Simulation, scenario: Scenario, variant: str = "") -> None:
        self._model = simulation.model
        self._names, self._controller = simulation.model.joint_names, row_of(simulation.parameters).name
        self._effort: Array | None = None
        self._count = 0
        self._schedule = ObstacleSchedule(simulation.world) if simulation.world.movers else None
        self._obstacles = ObstacleTracker(simulation.model)
        reference = scenario.name if scenario.name in scenario_names() else scenario.source
        custom = {"scenario": reference, "variant": variant or next(iter(scenario.variants), "")}
        self._bag = BagWriter(path, custom={**custom, "recorded": "simulation"}, compressed=True)
        self._bag.add("/robot_description", STRING, latched=True, depth=1)
        self._bag.put("/robot_description", 0, plain.string(read_description(scenario.robot)))
        simulation.queue = [self._written(goal) for goal in simulation.queue]
        for topic in ("/joint_states", "/joint_commands"):
            self._bag.add(topic, JOINT_STATE)
        if self._schedule is not None:
            self._bag.add("/obstacles", MARKER_ARRAY)
        if simulation.world.solids:
            self._bag.add("/measured_wrench", WRENCH_STAMPED)
        self._wrench_sampling = Sampling(simulation.wrench_rate)
        if simulation.wrench_rate:
            self._bag.add("/wrench", WRENCH_STAMPED)
        self._ranges = [(sensor, Sampling(sensor.rate)) for sensor in simulation.range_sensors]
        for sensor in simulation.range_sensors:
            self._bag.add(f"/range/{sensor.name}", RANGE)

    def __enter__(self) -> SimulatedBag:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._bag.close()

    def obstacles(self, stamp_ns: int, q: Array) -> list[Obstacle]:
        """See :class:`arm_control.simulation.offline.SimulationRecorder`."""
        for time_ns, updates in self._schedule.updates(stamp_ns) if self._schedule is not None else ():
            message = plain.markers(updates, self._model.base, time_ns)
            self._bag.put("/obstacles", stamp_ns, message)
            self._obstacles.update(message)
        return self._obstacles.obstacles(stamp_ns, q)

    def sensor(self, reading: SensorReading) -> None:
        """See :class:`arm_control.simulation.offline.SimulationRecorder`."""
        message = plain.wrench_stamped(reading.wrench.tolist(), reading.frame, reading.stamp_ns)
        self._bag.put("/measured_wrench", reading.stamp_ns, message)

    def sense(self, stamp_ns: int, sensors: SimulatedSensors) -> None:
        """See :class:`arm_control.simulation.offline.SimulationRecorder`."""
        if self._wrench_sampling.is_due(stamp_ns):
            message = plain.wrench_stamped(sensors.wrench().tolist(), self._model.tip, stamp_ns)
            self._bag.put("/wrench", stamp_ns, message)
        for sensor, sampling in self._ranges:
            if sampling.is_due(stamp_ns):
                message = plain.range_reading(sensor, sensors.distance(sensor), sensor.frame(self._model.tip), stamp_ns)
                self._bag.put(f"/range/{sensor.name}", stamp_ns, message)

    def record(self, result: TickResult) -> None:
        """See :class:`arm_control.simulation.offline.SimulationRecorder`."""
        state = result.measurement
        stamp_ns = state.stamp_ns
        effort = {} if self._effort is None else {"effort": self._effort}
        self._write_joints("/joint_states", stamp_ns, position=state.q, velocity=state.v, **effort)
        self._write_joints("/joint_commands", stamp_ns, effort=result.gate.tau)
        self._effort = result.gate.tau
        if self._count % TELEMETRY == 0:
            self._write_telemetry(stamp_ns, result)
        self._count += 1

    def _write_joints(self, topic: str, stamp_ns: int, **values: Array) -> None:
        self._bag.put(topic, stamp_ns, plain.joint_state(self._names, stamp_ns, **values))

    def _write_telemetry(self, stamp_ns: int, result: TickResult) -> None:
        """Torque by terms, and figures, as a controller's node publishes them."""
        law = result.law
        gate = result.gate
        for name, tau in {**result.torque_terms, "gate": gate.tau - result.tau}.items():
            topic = f"/torque_terms/{name}"
            self._bag.add(topic, JOINT_STATE)
            self._write_joints(topic, stamp_ns, effort=tau)
        figures = {
            "position_error": float(np.linalg.norm(law.X_WT.p - law.terms.X_WE.p)),
            "saturation": float(np.abs(result.tau / self._model.tau_max).max()),
            "braking": float(not gate.is_passing),
        }
        for name, value in figures.items():
            topic = f"/controller_state/{name}"
            self._bag.add(topic, FLOAT64)
            self._bag.put(topic, stamp_ns, plain.float64(value))

    def _written(self, goal: Goal) -> Goal:
        """Write a goal, and return the goal that its message gives."""
        names, stamp_ns = self._names, goal.stamp_ns
        match goal:
            case Target():
                topic, message = "target_pose", plain.pose_stamped(goal.X_FT, goal.frame, stamp_ns)
            case PoseMotion():
                topic, message = "pose_trajectory", plain.pose_trajectory("", goal.points, goal.frame, stamp_ns)
            case TwistJog():
                topic, message = "target_twist", plain.twist_stamped(goal.velocity, goal.frame, stamp_ns)
            case JointJog():
                topic, message = "target_velocity", plain.joint_state(names, stamp_ns, velocity=goal.velocity)
            case WrenchGoal():
                topic, message = "target_wrench", plain.wrench_stamped(goal.wrench, goal.frame, stamp_ns)
            case ChunkGoal(chunk=PoseChunk() as chunk):
                places = tuple(Pose.at(x[:3], x[3:]) for x in np.asarray(chunk.poses))
                path = PosePoints(np.asarray(chunk.times), places)
                topic, message = "pose_chunk", plain.pose_trajectory("", path, chunk.frame, chunk.stamp_ns)
            case ChunkGoal(chunk=chunk):
                points = Waypoints(*map(np.asarray, chunk[1:3]))
                topic, message = "joint_chunk", plain.joint_trajectory(names, points, chunk.stamp_ns)
            case JointStiffness(chunk_ns=chunk_ns, stiffness=s, damping=d):
                topic, message = "joint_stiffness", plain.joint_state(names, chunk_ns, position=s, velocity=d)
            case Modulation():
                topic, message = f"{self._controller}/{goal.quantity}", plain.float64(goal.value)
            case JointGoal(destination=Waypoints() as points):
                topic, message = "joint_trajectory", plain.joint_trajectory(names, points, stamp_ns)
            case JointGoal():
                q = np.asarray(goal.destination)
                topic, message = "target_joint", plain.joint_state(names, stamp_ns, position=q)
        sent_ns = (
            goal.stamp_ns if isinstance(goal, Modulation | ChunkGoal | JointStiffness) else 0
        )  # no stamp of it is in its message
        self._bag.add(f"/{topic}", message.__msgtype__, latched=True)
        self._bag.put(f"/{topic}", sent_ns, message)
        return goal_of(topic, message, self._model, sent_ns)
