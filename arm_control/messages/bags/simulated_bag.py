"""A simulated run as a bag, in the form that the nodes' topics have; two runs give the same bytes.

Times in the bag are the states' stamps. Orders and obstacles reach the controller as messages say them, as they do
among nodes: a quaternion stands for a rotation, an obstacle is told for every 20 ms, ahead of time.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np

from arm_control.control.avoidance.proximity import Obstacle
from arm_control.control.loop import TickResult
from arm_control.core.files import urdf_path
from arm_control.maths.poses import Array
from arm_control.messages.bags.message_definitions import plain
from arm_control.messages.bags.writer import BagWriter, Published
from arm_control.messages.build import (
    FLOAT64,
    JOINT_STATE,
    JOINT_TRAJECTORY,
    MARKER_ARRAY,
    POSE_STAMPED,
    POSE_TRAJECTORY,
    STRING,
)
from arm_control.messages.fields import goal_of
from arm_control.messages.obstacle_tracker import ObstacleTracker
from arm_control.model.urdf.load import read_source
from arm_control.motion.goals import Goal, PoseMotion, Target
from arm_control.motion.joint_trajectory import Waypoints
from arm_control.simulation.obstacle_schedule import ObstacleSchedule
from arm_control.simulation.offline import Simulation
from arm_control.simulation.scenario import Scenario, scenario_names

TELEMETRY = 20
"""States between two sets of torque terms and figures, as the nodes' ``telemetry_every``."""
LATCHED = Published(latched=True)
STATIC = Published(latched=True, depth=1)


class SimulatedBag:
    """Writes what happens in a simulation; a context manager, and the simulation's witness.

    Parameters
    ----------
    path : str or Path
        The bag's folder; it must not be there yet.
    simulation : Simulation
        What is going to run; its orders are changed for what messages say of them.
    scenario : Scenario
        Where it comes from.
    variant : str
        Name of its variant; empty for the only one.
    storage : str
        ``mcap`` or ``sqlite3``.

    Raises
    ------
    BagError
        When the bag cannot be written.
    """

    def __init__(
        self, path: str | Path, simulation: Simulation, scenario: Scenario, variant: str = "", storage: str = "mcap"
    ) -> None:
        self._model, self._names = simulation.model, simulation.model.joint_names
        self._effort: Array | None = None
        self._count = 0
        self._schedule = ObstacleSchedule(simulation.world) if simulation.world.movers else None
        self._obstacles = ObstacleTracker(simulation.model)
        reference = scenario.name if scenario.name in scenario_names() else scenario.source
        custom = {"scenario": reference, "variant": variant or next(iter(scenario.variants), "")}
        self._bag = BagWriter(path, storage, {**custom, "recorded": "simulation"}, compressed=storage == "mcap")
        self._bag.add("/robot_description", STRING, STATIC)
        self._bag.put("/robot_description", 0, plain.string(read_source(urdf_path(scenario.robot))[0]))
        simulation.queue = [self._told(goal) for goal in simulation.queue]
        for topic in ("/joint_states", "/joint_commands"):
            self._bag.add(topic, JOINT_STATE)
        if self._schedule is not None:
            self._bag.add("/obstacles", MARKER_ARRAY)

    def __enter__(self) -> SimulatedBag:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._bag.close()

    def obstacles(self, stamp_ns: int, q: Array) -> list[Obstacle]:
        """See :class:`arm_control.simulation.offline.Witness`."""
        for time_ns, updates in self._schedule.updates(stamp_ns) if self._schedule is not None else ():
            message = plain.markers(updates, self._model.base, time_ns)
            self._bag.put("/obstacles", stamp_ns, message)
            self._obstacles.update(message)
        return self._obstacles.obstacles(stamp_ns, q)

    def see(self, result: TickResult) -> None:
        """See :class:`arm_control.simulation.offline.Witness`."""
        stamp_ns, state = result.measurement.stamp_ns, result.measurement
        effort = {} if self._effort is None else {"effort": self._effort}
        self._joints("/joint_states", stamp_ns, position=state.q, velocity=state.v, **effort)
        self._joints("/joint_commands", stamp_ns, effort=result.gate.tau)
        self._effort = result.gate.tau
        if self._count % TELEMETRY == 0:
            self._tell(stamp_ns, result)
        self._count += 1

    def _joints(self, topic: str, stamp_ns: int, **values: Array) -> None:
        self._bag.put(topic, stamp_ns, plain.joint_state(self._names, stamp_ns, **values))

    def _tell(self, stamp_ns: int, result: TickResult) -> None:
        """Torque by terms, and figures, as a controller's node publishes them."""
        law, gate = result.law, result.gate
        for name, tau in {**result.torque_terms, "gate": gate.tau - result.tau}.items():
            topic = f"/torque_terms/{name}"
            if not self._bag.knows(topic):
                self._bag.add(topic, JOINT_STATE)
            self._joints(topic, stamp_ns, effort=tau)
        figures = {
            "position_error": float(np.linalg.norm(law.X_WT.p - law.terms.X_WE.p)),
            "saturation": float(np.abs(result.tau / self._model.tau_max).max()),
            "braking": float(not gate.is_passing),
        }
        for name, value in figures.items():
            topic = f"/controller_state/{name}"
            if not self._bag.knows(topic):
                self._bag.add(topic, FLOAT64)
            self._bag.put(topic, stamp_ns, plain.float64(value))

    def _told(self, goal: Goal) -> Goal:
        """Write an goal, and return what a controller that hears of it takes it for."""
        if isinstance(goal, Target):
            topic, kind = "target_pose", POSE_STAMPED
            message = plain.pose_stamped(goal.X_FT, goal.frame, goal.stamp_ns)
        elif isinstance(goal, PoseMotion):
            topic, kind = "pose_trajectory", POSE_TRAJECTORY
            message = plain.pose_trajectory("", goal.points, goal.frame, goal.stamp_ns)
        else:
            assert isinstance(goal.destination, Waypoints)
            topic, kind = "joint_trajectory", JOINT_TRAJECTORY
            message = plain.joint_trajectory(self._names, goal.destination, goal.stamp_ns)
        if not self._bag.knows(f"/{topic}"):
            self._bag.add(f"/{topic}", kind, LATCHED)
        self._bag.put(f"/{topic}", 0, message)
        return goal_of(topic, message, self._model, 0)
