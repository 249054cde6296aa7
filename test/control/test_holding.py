"""A brake ends every goal, whatever the controller: enabled again, the arm is held until a new goal acts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.control import ControlLoop, Measurement, TickResult, resolve_parameters
from arm_control.controllers import (
    AttractorLoopParameters,
    IlqrLoopParameters,
    JointLoopParameters,
    OscController,
    OscLoopParameters,
    PrimitiveLoopParameters,
    control_loop,
)
from arm_control.maths import Array, Pose
from arm_control.motion import Goal, JointJog, Target, TwistJog, WrenchGoal
from arm_control.primitives import Demonstration, Primitive, PrimitiveFile

MS = 1_000_000
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
BRAKED_AT, ENABLED_AT = 100, 120
"""States in which the gate begins and ends to brake [ms]."""


class Case(NamedTuple):
    """A controller: class of its parameters, values, arm."""

    parameters: type
    values: dict[str, object]
    arm: str = "ur5"


def rhythm() -> Primitive:
    T = np.linspace(0.0, 2.0, 201)
    q = HOME + 0.2 * np.sin(np.pi * T)[:, None] * [1.0, 0.5, 0.0, 0.0, 0.0, 1.0]
    return Primitive.learn(Demonstration(T, q, names=RobotModel.from_urdf(urdf_path("ur5")).joint_names), "rhythmic")


CASES = {
    "osc": Case(OscLoopParameters, {}),
    "osc with another posture": Case(OscLoopParameters, {"posture": [0.3, 0.8, 0.4]}, "planar3"),
    "osc with contact": Case(OscLoopParameters, {"impedance": True, "force_axes": ["z"]}),
    "osc among obstacles": Case(OscLoopParameters, {"avoid_obstacles": True}),
    "attractor": Case(AttractorLoopParameters, {"attractor.variant": "ideal"}),
    "attractor of neurons": Case(AttractorLoopParameters, {"attractor.radius": 0.3}),
    "joint": Case(JointLoopParameters, {}),
    "ilqr": Case(IlqrLoopParameters, {"tube": 10.0}),
    "primitive of the hand": Case(PrimitiveLoopParameters, {"file": "sweep", "starts_at_once": True}),
    "primitive of joints": Case(PrimitiveLoopParameters, {"file": "rhythm", "starts_at_once": True}),
}


class Run:
    """A control loop, a state each millisecond, of an arm that stands still."""

    def __init__(self, model: RobotModel, loop: ControlLoop) -> None:
        self.model, self.loop, self.ms = model, loop, 0
        self.q = HOME[: model.nv].copy() if model.nv == 6 else np.array([0.5, 0.6, 0.7])
        self.held = self.q + 0.03
        self.results: list[TickResult] = []

    @property
    def is_holding(self) -> bool:
        return self.loop.controller.is_holding

    def target(self, ms: int, way: float = 0.05) -> Target:
        X = self.model.pose(self.q)
        return Target(ms * MS, self.model.base, Pose(X.R, X.p + [way, way, 0.0]))

    def until(self, ms: int, is_restart: bool = False) -> list[TickResult]:
        """Go on until a state, and return the results."""
        results = []
        while self.ms < ms:
            dt = 0.0 if is_restart else 1e-3
            results.append(self.loop.tick(Measurement(self.ms * MS, self.q, 0.0 * self.q, dt, is_restart)))
            self.ms, is_restart = self.ms + 1, False
        return results

    def brake(self) -> None:
        """Be braked elsewhere than at the start, and enabled."""
        assert not self.is_holding
        self.loop.gate.brake("a test")
        self.q = self.held
        for result in self.until(ENABLED_AT):
            self.assert_held([result])
        self.loop.gate.enable()

    def assert_held(self, results: Iterable[TickResult]) -> None:
        for result in results:
            np.testing.assert_allclose(result.law.tau, self.model.gravity(self.held), rtol=0, atol=1e-8)
            np.testing.assert_allclose(
                result.law.X_WT.matrix(), self.model.pose(self.held).matrix(), rtol=0, atol=1e-12
            )
        assert self.is_holding

    def assert_moving(self, results: list[TickResult]) -> None:
        tau = [result.law.tau for result in results]
        assert np.abs(tau - self.model.gravity(self.q)).max() > 0.01
        assert not self.is_holding


@pytest.fixture
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    def make(name: str, **values: object) -> Run:
        case = CASES[name]
        own = case.values | values
        if own.get("file") == "rhythm":
            own["file"] = str(tmp_path_factory.mktemp("primitives") / "rhythm.yaml")
            PrimitiveFile(rhythm()).save(own["file"])
        model = RobotModel.from_urdf(urdf_path(case.arm))
        has_gains = case.parameters not in (JointLoopParameters, IlqrLoopParameters)
        parameters = resolve_parameters(case.parameters, own, model) if has_gains else case.parameters.from_mapping(own)
        return Run(model, control_loop(model, parameters))

    return make


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("osc", "attractor", "joint", "ilqr")])
def test_after_a_brake_the_arm_is_held_until_a_new_goal_acts(run_of: Callable[[str], Run], name: str):
    """The new goal is for the newest state, and that one was the last of the brake, as with stamp 0 in a message."""
    run = run_of(name)
    run.loop.controller.add(run.target(1))
    run.assert_moving(run.until(BRAKED_AT, is_restart=True))
    run.brake()
    run.assert_held(run.until(ENABLED_AT + 1000))
    run.loop.gate.brake("a test")
    run.assert_held(run.until(run.ms + 2))
    run.loop.gate.enable()
    run.loop.controller.add(run.target(run.ms - 1))
    run.assert_moving(run.until(run.ms + 200))


@pytest.mark.parametrize("name", ["osc", "ilqr"])
def test_a_goal_that_waits_acts_when_it_is_due(run_of: Callable[[str], Run], name: str):
    run = run_of(name)
    for goal in (run.target(1), run.target(50, 0.04), run.target(110, 0.03), run.target(300, 0.02)):
        run.loop.controller.add(goal)
    run.until(BRAKED_AT, is_restart=True)
    run.brake()
    run.assert_held(run.until(300))
    run.assert_moving(run.until(500))


@pytest.mark.parametrize("name", ["osc", "primitive of joints"])
def test_when_time_starts_over_so_do_the_goals(run_of: Callable[[str], Run], name: str):
    run = run_of(name)
    run.loop.controller.add(run.target(10))
    begin = run.q
    first = run.until(BRAKED_AT, is_restart=True)
    run.brake()
    run.assert_held(run.until(200))
    run.ms, run.q = 0, begin
    again = run.until(BRAKED_AT, is_restart=True)
    assert not run.is_holding
    np.testing.assert_array_equal([r.law.tau for r in again], [r.law.tau for r in first])


@pytest.mark.parametrize("name", ["primitive of the hand", "primitive of joints"])
def test_a_primitive_that_begins_at_once_does_not_begin_after_a_brake(run_of: Callable[[str], Run], name: str):
    run = run_of(name)
    run.loop.gate.brake("a test")
    run.held = run.q
    run.assert_held(run.until(1, is_restart=True))
    run.loop.gate.enable()
    run.assert_held(run.until(500))


def jog(name: str, ms: int) -> Goal:
    if name == "joint":
        return JointJog(ms * MS, ms * MS, np.full(6, 0.2))
    return TwistJog(ms * MS, ms * MS, "tool0", np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize(("name", "period_ms"), [("osc", 5), ("attractor", 100), ("joint", 100)])
def test_a_stream_of_velocities_counts_again_after_a_pause(run_of: Callable[[str], Run], name: str, period_ms: int):
    run = run_of(name)
    for ms in (*range(0, 400, period_ms), 501, 551):
        run.loop.controller.add(jog(name, ms))
    run.assert_moving(run.until(BRAKED_AT, is_restart=True))
    run.brake()
    run.assert_held(run.until(501 if period_ms == 100 else 490))
    run.assert_moving(run.until(700))


def test_a_native_loop_is_told_that_the_reference_stands_still_until_the_next_goal(run_of: Callable[[str], Run]):
    run = run_of("osc")
    controller = run.loop.controller
    assert isinstance(controller, OscController)
    for goal in (run.target(1), run.target(400, 0.02), *(jog("osc", ms) for ms in range(0, 200, 50))):
        controller.add(goal)
    run.until(BRAKED_AT, is_restart=True)
    run.brake()
    run.until(200)
    steady = controller.steady_reference(199 * MS)
    assert steady is not None
    np.testing.assert_array_equal(steady[0].X_WT.matrix(), run.model.pose(run.held).matrix())
    assert steady[1] == 400 * MS
    run.until(401)
    steady = controller.steady_reference(400 * MS)
    assert steady is not None


def test_the_posture_of_the_parameters_counts_again_with_a_new_goal(run_of: Callable[[str], Run]):
    run = run_of("osc with another posture")
    controller = run.loop.controller
    assert isinstance(controller, OscController)

    def posture() -> Array:
        return controller.page.gains(controller.page.numbers).posture

    run.until(BRAKED_AT, is_restart=True)
    run.brake()
    run.until(200)
    np.testing.assert_array_equal(posture(), run.held)
    controller.configure(controller._parameters)
    np.testing.assert_array_equal(posture(), run.held, err_msg="other gains do not end the hold")
    controller.add(run.target(200))
    run.until(201)
    np.testing.assert_array_equal(posture(), [0.3, 0.8, 0.4])
    run.loop.gate.brake("a test")
    run.until(210)
    run.ms = 0
    run.loop.gate.enable()
    run.until(1, is_restart=True)
    np.testing.assert_array_equal(posture(), [0.3, 0.8, 0.4])


def test_a_wrench_that_is_only_repeated_presses_no_more(run_of: Callable[[str], Run]):
    run = run_of("osc with contact")
    for ms in (*range(0, 1000, 100), 1501):
        run.loop.controller.add(WrenchGoal(ms * MS, run.model.base, (0.0, 0.0, -5.0, 0.0, 0.0, 0.0)))
    run.assert_moving(run.until(BRAKED_AT, is_restart=True))
    run.brake()
    run.assert_held(run.until(1500))
    run.assert_moving(run.until(1700))
