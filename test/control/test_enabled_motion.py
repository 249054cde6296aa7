"""Braked on its way and enabled again, an arm of any controller stands until a new goal acts, and then reaches that."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from arm_control.control import ControlLoop, LoopParameters, Measurement, TickResult, resolve_parameters
from arm_control.controllers import (
    AttractorLoopParameters,
    IlqrLoopParameters,
    JointLoopParameters,
    OscLoopParameters,
    PrimitiveLoopParameters,
    control_loop,
)
from arm_control.exceptions import InputError
from arm_control.gate import EffortGate, GateOutput, GateParameters, GateReport, GatesBehind, GateState
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion import Goal, JointGoal, Target
from arm_control.primitives import Demonstration, Primitive, PrimitiveFile
from arm_control.simulation import PlantProperties, make_simulator, true_arm

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
PERIOD = 0.002
"""Time between two states [s]."""
SLOWEST = 0.02
"""Largest joint speed of an arm that is enabled [rad/s]."""
WAY = np.array([-0.1, 0.3, -0.1])
"""Of the hand, to its first goal [m]."""
TURN = np.array([0.6, 0.2, -0.3, 0.2, 0.3, 0.5])
"""The same of the joints [rad]."""


class Case(NamedTuple):
    """A controller: class of its parameters, values, time in which it reaches a goal [s]."""

    parameters: type[LoopParameters]
    values: dict[str, Any]
    seconds: float = 3.0

    @property
    def is_of_joints(self) -> bool:
        return self.parameters is JointLoopParameters or self.values.get("file") == "joints"

    @property
    def knows_loads(self) -> bool:
        return bool(self.values.keys() & {"disturbance_observer", "adaptive_torque"})


ADAPTATION = {"adaptive_torque": True, "adaptation_neurons": 256}
CASES = {
    "osc": Case(OscLoopParameters, {}),
    "osc with observer": Case(OscLoopParameters, {"disturbance_observer": True}),
    "osc with adaptation": Case(OscLoopParameters, ADAPTATION),
    "osc with both": Case(OscLoopParameters, {"disturbance_observer": True, **ADAPTATION}),
    "osc among obstacles": Case(OscLoopParameters, {"avoid_obstacles": True}),
    "attractor": Case(AttractorLoopParameters, {"attractor.variant": "ideal"}, 5.0),
    "joint": Case(JointLoopParameters, {}),
    "joint with observer": Case(JointLoopParameters, {"disturbance_observer": True}),
    "primitive of joints": Case(PrimitiveLoopParameters, {"file": "joints"}, 4.0),
    "primitive of the hand": Case(PrimitiveLoopParameters, {"file": "sweep"}, 5.0),
    "ilqr": Case(IlqrLoopParameters, {}, 4.0),
}
LOADED = PlantProperties(payload_mass=1.0)


@pytest.fixture(scope="module")
def joint_file(ur5: RobotModel, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A primitive of the joints, from home by TURN in two seconds."""
    T = np.linspace(0.0, 2.0, 201)
    s = T / 2.0
    q = HOME + (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5)[:, None] * TURN
    path = tmp_path_factory.mktemp("primitives") / "joints.yaml"
    PrimitiveFile(Primitive.learn(Demonstration(T, q, names=ur5.joint_names))).save(path)
    return str(path)


class Cell:
    """An arm, its controller and, if there is one, a gate behind that; a state each two milliseconds."""

    def __init__(self, model: RobotModel, loop: ControlLoop, plant: PlantProperties, *, has_gate_behind: bool) -> None:
        self.model, self.loop = model, loop
        self.simulator = make_simulator(model, HOME, plant, timestep=PERIOD)
        self.k = 0
        self.speeds: list[float] = []
        self.hands: list[Array] = []
        self.applied: list[Array] = []
        self.results: list[TickResult] = []
        self.gate = loop.gate
        if has_gate_behind:
            self.gate = EffortGate(model, GateParameters())
            loop.gates_behind = GatesBehind(["gate"], lambda: self.now)

    @property
    def now(self) -> float:
        return self.k * PERIOD

    @property
    def stamp_ns(self) -> int:
        return round(self.now * 1e9)

    @property
    def hand(self) -> Array:
        return self.model.pose(true_arm(self.simulator).q).p

    def step(self) -> None:
        sim = self.simulator
        dt = PERIOD if self.k else 0.0
        result = self.loop.tick(Measurement(self.stamp_ns, sim.q.copy(), sim.v.copy(), dt, self.k == 0))
        output = result.gate if self.gate is self.loop.gate else self._pass_on(result, dt)
        sim.step(output.tau)
        arm = true_arm(sim)
        self.k += 1
        self.results.append(result)
        self.speeds.append(float(np.abs(arm.v).max()))
        self.hands.append(self.hand)
        self.applied.append(output.tau)

    def _pass_on(self, result: TickResult, dt: float) -> GateOutput:
        """Through the gate behind, which reports what it does."""
        try:
            if result.gate.state is GateState.BRAKING:
                self.gate.offer_brake(result.gate.reason)
            self.gate.offer(self.model.joint_names, result.gate.tau)
        except InputError:
            pass
        output = self.gate.tick(result.law.terms, dt or PERIOD)
        if self.loop.gates_behind is None:
            return output
        names = tuple(self.model.joint_names)
        self.loop.gates_behind.hear(GateReport("gate", output.state.value, output.reason, 0, output.tau, names))
        return output

    def go_on(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD)):
            self.step()

    def goal(self, case: Case, share: float) -> Goal:
        """For the newest state, so much of the way from the start, in any direction that the controller takes."""
        stamp_ns = self.stamp_ns
        if case.is_of_joints:
            return JointGoal(stamp_ns, HOME + share * TURN)
        X = self.model.pose(HOME)
        return Target(stamp_ns, self.model.base, Pose(X.R, X.p + share * WAY))

    def distance(self, case: Case, share: float) -> float:
        """Of the hand from the place of such a goal [m]."""
        X = self.model.pose(HOME + share * TURN) if case.is_of_joints else None
        p = self.model.pose(HOME).p + share * WAY if X is None else X.p
        return float(np.linalg.norm(self.hand - p))


@pytest.fixture
def make_cell(ur5: RobotModel, joint_file: str) -> Any:
    def make(case: Case, plant: PlantProperties, *, has_gate_behind: bool = False) -> Cell:
        values = {**case.values, **({"file": joint_file} if case.values.get("file") == "joints" else {})}
        has_gains = case.parameters not in (JointLoopParameters, IlqrLoopParameters)
        parameters = (
            resolve_parameters(case.parameters, values, ur5) if has_gains else case.parameters.from_mapping(values)
        )
        loop = control_loop(ur5, parameters, waits_for_commands=False)
        return Cell(ur5, loop, plant, has_gate_behind=has_gate_behind)

    return make


def braked(cell: Cell, case: Case) -> None:
    """On its way to a goal, for a second."""
    cell.step()
    cell.loop.controller.add(cell.goal(case, 1.0))
    cell.go_on(0.6)
    assert cell.speeds[-1] > 5.0 * SLOWEST
    cell.gate.brake("a test")
    cell.go_on(1.0)


def enabled(cell: Cell, seconds: float = 2.0) -> float:
    """Top speed of a joint after *enable* [rad/s]."""
    n = len(cell.speeds)
    cell.gate.enable()
    cell.go_on(seconds)
    return max(cell.speeds[n:])


@pytest.mark.parametrize(("name", "has_gate_behind"), [(name, k % 2 > 0) for k, name in enumerate(CASES)])
def test_an_arm_that_is_enabled_stands_until_a_new_goal_acts_and_reaches_that(
    make_cell: Any, name: str, has_gate_behind: bool
):
    """Where a load is not compensated, it ends as near to the goal as an arm that was never braked."""
    case, plant = CASES[name], PlantProperties() if has_gate_behind else LOADED
    cell = make_cell(case, plant, has_gate_behind=has_gate_behind)
    braked(cell, case)
    assert enabled(cell) <= SLOWEST
    assert cell.loop.gate.state is GateState.HOLDING
    assert cell.loop.gate.reason == EffortGate.ENABLED_REASON
    cell.loop.controller.add(cell.goal(case, 0.3))
    cell.step()
    assert cell.loop.gate.state is cell.gate.state is GateState.PASSING
    cell.go_on(case.seconds)
    assert cell.loop.gate.state is cell.gate.state is GateState.PASSING
    if plant.is_ideal or case.knows_loads:
        assert cell.distance(case, 0.3) < 2e-3
        return
    undisturbed = make_cell(case, plant)
    undisturbed.step()
    undisturbed.loop.controller.add(undisturbed.goal(case, 0.3))
    undisturbed.go_on(2.0 + case.seconds)
    assert cell.distance(case, 0.3) < undisturbed.distance(case, 0.3) + 0.01


@pytest.mark.parametrize(("name", "has_gate_behind"), [("osc with both", True), ("joint with observer", False)])
def test_what_the_gate_has_carried_is_the_first_estimate_of_the_observer(
    make_cell: Any, name: str, has_gate_behind: bool
):
    """The law begins with the torque that holds the arm; for a goal where it stands, the hand hardly moves."""
    case = CASES[name]
    cell = make_cell(case, LOADED, has_gate_behind=has_gate_behind)
    braked(cell, case)
    enabled(cell)
    X, q = cell.model.pose(cell.simulator.q), cell.simulator.q.copy()
    before, carried = cell.results[-1].gate.tau, cell.loop.gate.carried
    assert np.abs(carried).max() > 5.0
    here = JointGoal(cell.stamp_ns, q) if case.is_of_joints else Target(cell.stamp_ns, cell.model.base, X)
    cell.loop.controller.add(here)
    cell.step()
    compensation = cell.results[-1].compensation
    assert compensation is not None
    np.testing.assert_allclose(compensation, carried, rtol=0, atol=0.02)
    np.testing.assert_allclose(cell.results[-1].gate.tau, before, rtol=0, atol=0.1)
    cell.go_on(2.0)
    assert max(np.linalg.norm(hand - X.p) for hand in cell.hands[-1000:]) < 2e-3


def test_without_an_observer_the_torque_that_was_carried_fades(make_cell: Any):
    """By c <- c T / (T + dt), from the torque that held the arm."""
    cell = make_cell(CASES["osc"], LOADED)
    braked(cell, CASES["osc"])
    enabled(cell)
    carried, n = cell.loop.gate.carried, len(cell.results)
    cell.loop.controller.add(cell.goal(CASES["osc"], 0.3))
    cell.go_on(1.0)
    added = np.array([result.tau - result.law.tau for result in cell.results[n:]])
    shares = (0.5 / (0.5 + PERIOD)) ** np.arange(len(added))
    np.testing.assert_allclose(added, shares[:, None] * carried, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("values", "largest_way"),
    [
        ({}, 0.005),
        ({"set": "real", "payload_mass": 3.0}, 0.035),
    ],
)
def test_a_brake_stops_an_arm_that_is_not_its_model_within_centimetres(
    ur5: RobotModel, make_cell: Any, values: dict[str, Any], largest_way: float
):
    """The spring joins within a tenth of a second, and the arm does not creep from there."""
    cell = make_cell(CASES["osc with observer"], PlantProperties(**values).of(ur5))
    cell.step()
    cell.loop.controller.add(cell.goal(CASES["osc with observer"], 1.0))
    cell.go_on(0.8)
    start = cell.hand
    cell.gate.brake("a test")
    cell.go_on(0.1)
    assert cell.gate.is_held
    cell.go_on(0.9)
    after_a_second = cell.hand
    cell.go_on(2.0)
    assert max(np.linalg.norm(hand - start) for hand in cell.hands[-1500:]) < largest_way
    assert np.linalg.norm(cell.hand - after_a_second) < 1e-3
    assert cell.speeds[-1] < 5e-3
