"""Replay without ROS: recorded states through a controller, stepping on their stamps; and the comparison of torques.

The messages of the bag go through the parts of the controller's node, in the order in which they were written: goals
wait for their stamps, obstacles for theirs, and each state is answered (:mod:`arm_control.control.loop`). Where the bag
has commands, the replay leaves out the states without one: the node did not read them. So a recording in lock step, or
of a simulation, is replayed to the last bit on the same machine.

Not in a bag, and not replayed: service calls, changed parameters, the moment at which a plan was ready in real time, a
``disturbance``. A goal with stamp 0 takes effect with the first state after the one that it was written behind.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.bags.bag import Bag
from arm_control.control import LoopParameters, Measurement
from arm_control.controllers import CONTROLLERS, control_loop, controller_file
from arm_control.core import robot_names
from arm_control.exceptions import ArmControlError, BagError, InputError, cause_of
from arm_control.maths import Array
from arm_control.messages import JointStateReader, ObstacleTracker, Refused, goal_of, nanoseconds, sensor_reading_of
from arm_control.model import ArmParameters, RobotModel, arm_values_in, read_description
from arm_control.simulation import Scenario, Stamps, arm_and_parameters, scenario_names

COMMANDS = "joint_commands"
SENSOR = "measured_wrench"
StateKey = tuple[int, int]
"""A state: its stamp [ns], and the number of states with that stamp by then, since time may start over."""


@dataclass(frozen=True)
class Commands:
    """A stream of commands.

    Attributes
    ----------
    stamps : ndarray of int64, shape (n,)
        Stamp of each: that of the state it answers [ns]. Where time starts over, stamps are repeated.
    tau : ndarray, shape (n, nv)
        Torque [N m or N], in the model's joint order.
    """

    stamps: Stamps
    tau: Array

    def states(self) -> list[StateKey]:
        """Return the state that each command answers."""
        counts: Counter[int] = Counter()
        states = []
        for stamp_ns in self.stamps.tolist():
            counts[stamp_ns] += 1
            states.append((stamp_ns, counts[stamp_ns]))
        return states

    def once(self) -> Commands:
        """Return the first command of each stamp."""
        first = [k for k, (_, count) in enumerate(self.states()) if count == 1]
        return Commands(self.stamps[first], self.tau[first])


@dataclass(frozen=True)
class Comparison:
    """Differences of two streams of commands.

    Attributes
    ----------
    compared : int
        Number of states that both streams answer.
    missing : int
        Number of recorded commands without a replayed one.
    largest : ndarray, shape (nv,)
        Largest difference by joint, as a share of its torque limit.
    first : str
        The first torque that differs by more than is allowed; empty where none does.
    identical : bool
        Whether all compared commands are the same to the last bit.
    """

    compared: int
    missing: int
    largest: Array
    first: str
    identical: bool


def recorded_commands(bag: Bag, model: RobotModel) -> Commands:
    """Return the commands in a bag, the first one for each state; those with wrong values are counted as malformed."""
    states, tau = _recorded(bag, model)
    return Commands(np.array([stamp_ns for stamp_ns, _ in states], dtype=np.int64), tau)


def _recorded(bag: Bag, model: RobotModel) -> tuple[Collection[StateKey], Array]:
    """States with a command, and its torque, shape (n, nv) [N m or N]."""
    answered: dict[StateKey, None] = {}
    rows = array("d")
    stamp_counts = _StampCounts()
    for topic, log_ns, message in bag.contents("joint_states", COMMANDS):
        stamp_ns = nanoseconds(message.header.stamp)
        if topic == "joint_states":
            stamp_counts.add(stamp_ns)
            continue
        try:
            tau = model.in_joint_order(message.name, message.effort, "effort")
        except InputError as error:
            bag.refuse(COMMANDS, cause_of(error), log_ns)
            continue
        state = stamp_ns, stamp_counts.of(stamp_ns)
        if state not in answered:
            answered[state] = None
            rows.extend(tau)
    return answered.keys(), np.array(rows).reshape(-1, model.nv)


class _StampCounts:
    """Number of states with each stamp: several where time has started over; a repeated state counts once."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._last: int | None = None

    def add(self, stamp_ns: int) -> None:
        if stamp_ns != self._last:
            self._counts[stamp_ns] += 1
            self._last = stamp_ns

    def of(self, stamp_ns: int) -> int:
        """At least 1: a recorder may write a command before the state it answers."""
        return max(1, self._counts[stamp_ns])


def replayed_commands(bag: Bag, model: RobotModel, parameters: LoopParameters) -> Commands:
    """Answer the states of a bag again.

    Parameters
    ----------
    parameters : OscLoopParameters, JointLoopParameters or IlqrLoopParameters
        Parameters of the controller; their class selects it.

    Raises
    ------
    BagError
        When the bag has no state of this arm.
    """
    answered, _ = _recorded(bag, model)
    stamp_counts = _StampCounts()
    goals = dict.fromkeys(topic for row in CONTROLLERS.values() for topic in (*row.goals, *row.number_topics))
    player = _Player(bag, model, parameters)
    for topic, log_ns, message in bag.contents("joint_states", "obstacles", SENSOR, *goals):
        if topic == "joint_states":
            stamp_ns = nanoseconds(message.header.stamp)
            stamp_counts.add(stamp_ns)
            if answered and (stamp_ns, stamp_counts.of(stamp_ns)) not in answered:
                continue
        try:
            player.take(topic, log_ns, message)
        except ArmControlError as error:
            bag.refuse(topic, cause_of(error), log_ns)
    if not player.answers:
        raise BagError(f"{bag.path} has no joint_states of {', '.join(model.joint_names)}{_causes(bag)}")
    stamps, tau = zip(*player.answers, strict=True)
    return Commands(np.array(stamps, dtype=np.int64), np.array(tau))


@dataclass
class _Player:
    """The parts of a controller's node, with messages from a bag."""

    bag: Bag
    model: RobotModel
    parameters: LoopParameters
    answers: list[tuple[int, Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reader = JointStateReader(self.model, 0.0)
        self._obstacles = ObstacleTracker(self.model)
        self._loop = control_loop(self.model, self.parameters)

    def take(self, topic: str, log_ns: int, message: object) -> None:
        if topic == "joint_states":
            reading = self._reader.read(message, {"source_timestamp": 0})
            if isinstance(reading, Refused):
                raise reading.error
            if isinstance(reading, Measurement):
                self._answer(reading)
        elif topic == "obstacles":
            for error in self._obstacles.update(message):
                self.bag.refuse(topic, cause_of(error), log_ns)
        else:
            now_ns = self.answers[-1][0] if self.answers else 0
            if topic == SENSOR:
                self._loop.wrench.measure(sensor_reading_of(message, self.model, now_ns))
            else:
                self._loop.controller.add(goal_of(topic, message, self.model, now_ns))

    def _answer(self, measurement: Measurement) -> None:
        stamp_ns = measurement.stamp_ns
        if measurement.is_restart and self.answers:
            self._obstacles.restart(stamp_ns)
        obstacles = self._obstacles.obstacles(stamp_ns, measurement.q)
        self.answers.append((stamp_ns, self._loop.tick(measurement, obstacles).gate.tau))


def compare(recorded: Commands, replayed: Commands, model: RobotModel, tolerance: float) -> Comparison:
    """Compare two streams of commands, state by state; the tolerance is a share of a joint's torque limit."""
    index_of = {state: j for j, state in enumerate(replayed.states())}
    pairs = [(i, index_of[state]) for i, state in enumerate(recorded.states()) if state in index_of]
    i, j = np.array(pairs, dtype=int).reshape(-1, 2).T
    before = recorded.tau[i]
    after = replayed.tau[j]
    share = np.abs(after - before) / model.tau_max
    too_large = np.argwhere(~(share <= tolerance))  # NaN is too large
    first = ""
    if len(too_large):
        k, joint = too_large[0]
        stamp, name = 1e-9 * int(recorded.stamps[i[k]]), model.joint_names[joint]
        was, now = float(before[k, joint]), float(after[k, joint])
        first = f"{COMMANDS} at {stamp:.9f} s: effort[{name}] was {was:.12g} and is {now:.12g}"
    largest = share.max(axis=0, initial=0.0)
    n_missing = len(recorded.stamps) - len(pairs)
    return Comparison(len(pairs), n_missing, largest, first, bool((before == after).all()))


def _causes(bag: Bag) -> str:
    causes = "; ".join(f"{topic}: {cause} ({count})" for (topic, cause), count in bag.malformed.items())
    return f"; {causes}" if causes else ""


# -- arm and controller, from the scenario that a bag names or from the command line ---------------------------------


@dataclass(frozen=True)
class ReplayOptions:
    """Arm and controller by the command line; the bag has what is empty here.

    Attributes
    ----------
    scenario, variant : str
        Name or path of a scenario, and of its variant.
    params_file : str
        ROS parameter file; its values override the scenario's.
    urdf : str
        Name of a robot, or path of a URDF or xacro file.
    changes : dict
        Parameters of the controller that override all others.
    trust : bool
        Whether a xacro file that ``scenario`` names is expanded; one that a bag names never is.
    """

    scenario: str = ""
    variant: str = ""
    controller: str = ""
    params_file: str = ""
    urdf: str = ""
    changes: dict[str, Any] = field(default_factory=dict)
    trust: bool = False


def description_in(bag: Bag, urdf: str = "") -> str:
    """Return the text of a URDF; empty where there is none.

    Parameters
    ----------
    urdf : str
        Name of a robot, or path of a URDF or xacro file; empty: the description in the bag.
    """
    if urdf:
        return read_description(urdf)
    for _, _, message in bag.contents("robot_description"):
        return str(message.data)
    return ""


def scenario_of(bag: Bag, options: ReplayOptions) -> Scenario | None:
    """Return the scenario of a recording, with the variant, robot and parameters of the run; None where there is none.

    A BagError when the bag names a scenario that is not on this machine.
    """
    name = options.scenario or bag.custom.get("scenario", "")
    if options.controller:
        return None
    if not name:
        return _scenario_of_controller(bag)
    if not options.scenario and name not in scenario_names() and not Path(name).is_file():
        raise BagError(f"{bag.path} was recorded in the scenario {name}, which is not here: --scenario names another")
    notes = bag.custom if not options.scenario else {}
    scenario = Scenario.load(name, trust=options.trust or not options.scenario)
    robot = notes.get("robot", "")
    variant = options.variant or notes.get("variant", "")
    is_other_robot = bool(robot) and robot != scenario.robot
    scenario = scenario.with_options(variant=variant, robot=robot, targets=not is_other_robot)
    if not options.scenario and scenario.robot not in robot_names():  # a bag may come from anyone: it names no file
        scenario = replace(scenario, robot="")
    return _with_parameters(scenario, _recorded_parameters(bag, notes.get("parameters", "{}")))


def _scenario_of_controller(bag: Bag) -> Scenario | None:
    """The controller that a recording names without a scenario, as that of an arm by itself."""
    name = bag.custom.get("controller", "")
    if name not in CONTROLLERS:
        return None
    recorded = _recorded_parameters(bag, bag.custom.get("parameters", "{}"))
    return Scenario(name, "", "", {name: recorded.get(name, {})})


def controller_of(bag: Bag, options: ReplayOptions) -> tuple[RobotModel, LoopParameters]:
    """Return arm and parameters of the controller of a replay.

    Raises
    ------
    BagError
        When neither the bag nor the options name a controller.
    ParameterError
        When a parameter is unknown or not allowed.
    """
    scenario = scenario_of(bag, options)
    if scenario is None and not options.controller:
        raise BagError(f"{bag.path} names no scenario: --scenario NAME or --controller, or --model, is needed")
    scenario = scenario or Scenario(options.controller, "", "", {options.controller: {}})
    description = description_in(bag, options.urdf)
    if not description and not scenario.robot:
        raise BagError(f"{bag.path} has no robot_description: --robot FILE is needed")
    overrides = {node: {**controller_file(options.params_file, node), **options.changes} for node in CONTROLLERS}
    return arm_and_parameters(_with_parameters(scenario, overrides), description)


def arm_of(bag: Bag, options: ReplayOptions, names: Sequence[str]) -> RobotModel:
    """Return the arm of a recording, whether or not its controller is known.

    A BagError when there is no description of it.
    """
    scenario = None if options.urdf else scenario_of(bag, options)
    if scenario is not None:
        return controller_of(bag, options)[0]
    description = description_in(bag, options.urdf)
    if not description:
        raise BagError(f"{bag.path} has no robot_description of {', '.join(names)}: --robot FILE is needed")
    return ArmParameters.from_mapping(
        {**arm_values_in(options.params_file, tuple(CONTROLLERS)), **options.changes}
    ).model(description)


def _recorded_parameters(bag: Bag, text: str) -> dict[str, dict[str, Any]]:
    """Parameters by node, as a recorder writes them."""
    try:
        parameters = json.loads(text)
    except ValueError:
        parameters = None
    if not isinstance(parameters, dict) or not all(isinstance(values, dict) for values in parameters.values()):
        raise BagError(f"{bag.path}: its parameters are not those of nodes: {text[:60]!r}")
    return parameters


def _with_parameters(scenario: Scenario, overrides: dict[str, dict[str, Any]]) -> Scenario:
    """The scenario with other parameters of its controllers."""
    for node, values in overrides.items():
        if node in scenario.nodes:
            scenario.nodes[node].update(values)
    return scenario
