"""A guided arm floats, keeps its energy, and is held behind a brake; friction, locked rows, loads that nobody told."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.control import ControlLoop, LoadWatch, Measurement
from arm_control.controllers import control_loop
from arm_control.controllers.guide import GuideController, GuideLoopParameters, GuideParameters
from arm_control.exceptions import InputError, ParameterError
from arm_control.gate import GateState
from arm_control.maths import Array
from arm_control.motion import Modulation, TwistJog
from arm_control.simulation import MujocoSimulator

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
MS = 1_000_000


class Run:
    """A guided UR5 in MuJoCo; its model knows the payload or not."""

    def __init__(self, known_payload: float = 0.0, payload: float = 0.0, **values: float | str) -> None:
        self.model = RobotModel.from_urdf(urdf_path("ur5"), payload_mass=known_payload)
        self.true = RobotModel.from_urdf(urdf_path("ur5"), payload_mass=payload)
        parameters = GuideLoopParameters.from_mapping({"joint_limits": False, **values})
        self.loop: ControlLoop = control_loop(self.model, parameters)
        self.simulator = MujocoSimulator(self.true, HOME)
        self.k = 0

    def go(self, n: int, push: Array | None = None) -> Array:
        """Go on for some steps; returns the joint speeds, shape (n, nv)."""
        speeds = []
        for _ in range(n):
            q, v = self.simulator.q, self.simulator.v
            self.result = self.loop.tick(Measurement(self.k * MS, q, v, 1e-3 if self.k else 0.0, self.k == 0))
            self.simulator.step(self.result.gate.tau + (0.0 if push is None else push))
            self.k += 1
            speeds.append(self.simulator.v.copy())
        return np.array(speeds)

    @property
    def energy(self) -> float:
        """Kinetic energy [J]."""
        return 0.5 * float(self.simulator.v @ self.true.mass_matrix(self.simulator.q) @ self.simulator.v)


@pytest.mark.parametrize("payload", [0.0, 2.0])
def test_an_arm_that_is_let_go_stays_where_it_is(payload: float):
    run = Run(known_payload=payload, payload=payload)
    assert np.abs(run.go(2000)).max() < 1e-3
    np.testing.assert_allclose(run.simulator.q, HOME, rtol=0, atol=1e-4)


@pytest.mark.parametrize("damping", [0.0, 2.0])
def test_the_energy_of_a_push_stays_or_is_damped_as_the_law_says(damping: float):
    run = Run(guide_damping=damping)
    run.go(200, push=np.array([0.0, 5.0, 5.0, 0.0, 0.0, 0.0]))
    before, duration = run.energy, 0.3
    run.go(round(1e3 * duration))
    assert before > 0.01
    assert run.energy == pytest.approx(before * np.exp(-2.0 * damping * duration), rel=0.02)


def test_an_arm_with_a_payload_that_nobody_told_is_held_after_a_brake_until_it_is_released():
    run = Run(payload=1.0, guide_damping=10.0)
    run.go(300)
    run.loop.gate.brake("a test")
    run.go(1000)
    run.loop.gate.enable()
    run.loop.controller.add(Modulation(run.k * MS, "release", 0.0))
    assert np.abs(run.go(1000)).max() < 0.02
    assert run.result.gate.state is GateState.HOLDING
    run.loop.controller.add(Modulation(run.k * MS, "release", 1.0))
    assert np.abs(run.go(1000)).max() > 0.02
    assert run.result.gate.state is GateState.PASSING


def test_other_goals_are_refused():
    controller = Run().loop.controller
    for goal in (TwistJog(0, 0, "base_link", np.zeros(6)), Modulation(0, "amplitude", 1.0)):
        with pytest.raises(InputError, match="follows a hand"):
            controller.add(goal)


def tick_at(controller: GuideController, q: Array, v: Array) -> Array:
    """The torque of a controller in one state."""
    return controller.tick(Measurement(0, q, v, 1e-3), None).tau


def test_friction_is_compensated_in_part_in_motion_and_not_at_rest():
    friction = {"coulomb_friction": [4.0, 4.0, 4.0, 1.0, 1.0, 1.0], "viscous_friction": 0.5}
    model = RobotModel.from_urdf(urdf_path("ur5"), **friction)
    controller = GuideController(model, GuideParameters(guide_friction=0.8))
    controller.restart(HOME)
    v = np.array([1.0, -1.0, 1.0, -1.0, 0.0, 1.0])
    np.testing.assert_array_equal(tick_at(controller, HOME, 0.0 * v), model.gravity(HOME))
    added = tick_at(controller, HOME, v) - model.gravity(HOME)
    np.testing.assert_allclose(added, 0.8 * np.sign(v) * (model.coulomb + 0.5), rtol=0, atol=1e-12)
    with pytest.raises(ParameterError, match="identify"):
        GuideController(RobotModel.from_urdf(urdf_path("ur5")), GuideParameters(guide_friction=0.8))


def test_an_observer_leaves_the_arm_to_the_hand():
    push = np.array([0.0, 5.0, 5.0, 0.0, 0.0, 2.0])
    alone, observed = Run(), Run(disturbance_observer=True, weighing_time=0.5)  # it is not held to be weighed
    np.testing.assert_allclose(observed.go(300, push), alone.go(300, push), rtol=0, atol=1e-9)
    assert observed.result.gate.state is GateState.PASSING
    assert not observed.loop.controller.is_holding


def test_an_arm_that_a_load_pulls_down_is_held_and_says_why():
    run = Run(payload=2.0, guide_damping=8.0, disturbance_observer=True)
    p_0 = run.model.pose(HOME).p
    ways = []
    for _ in range(60):
        run.go(20)
        ways.append(float(np.linalg.norm(run.model.pose(run.simulator.q).p - p_0)))
    assert max(ways) < 0.02
    assert ways[-1] - ways[-20] < 1e-3
    assert run.loop.gate.reason.startswith("2 kg or more pull the arm down, and no hand has begun to move it")


@pytest.mark.parametrize(("growth", "is_load"), [(0.0, True), (0.04, False)])
def test_a_load_pulls_as_strongly_in_the_first_millimetre_as_later(growth: float, is_load: bool):
    model = RobotModel.from_urdf(urdf_path("ur5"))
    watch, pull = LoadWatch(model), model.jacobian(HOME)[:3].T @ model.gravity_W  # of 1 kg
    said = ""
    for k in range(100):
        t = model.evaluate(HOME + 0.0002 * k * np.eye(6)[1], 0.2 * np.eye(6)[1])
        said = watch.look(t, (1.0 + growth * k) * pull, 1e-3) or said
    assert bool(said) == is_load


@pytest.mark.parametrize("force", [(0.0, 0.0, -20.0), (20.0, 0.0, 0.0), (0.0, 0.0, 20.0)])
def test_a_hand_that_begins_to_pull_is_no_load(force: tuple[float, ...]):
    run = Run(guide_damping=8.0, disturbance_observer=True)
    J = run.model.jacobian(HOME)[:3]
    for k in range(60):
        run.go(10, J.T @ (min(0.01 * k / 0.3, 1.0) * np.array(force)))  # in 0.3 s
    assert run.result.gate.state is GateState.PASSING
    assert np.linalg.norm(run.model.pose(run.simulator.q).p - run.model.pose(HOME).p) > 0.05


@pytest.mark.parametrize("lock", ["z", "x z", "x y z", "x y z rx ry", "x y rx ry rz"])
def test_locked_rows_accelerate_back_as_a_damped_unit_mass_on_a_spring(lock: str):
    parameters = GuideParameters(lock=lock, lock_frame="target", lock_stiffness=400.0)
    model, free = RobotModel.from_urdf(urdf_path("ur5")), GuideParameters()
    torques = []
    for each in (parameters, free):
        controller = GuideController(model, each)
        controller.restart(HOME)
        q = HOME + np.array([1e-4, -1e-4, 2e-4, 1e-4, -2e-4, 1e-4])
        v = np.array([0.02, -0.01, 0.01, 0.03, -0.02, 0.01])
        torques.append(tick_at(controller, q, v))
    X_0, t = model.pose(HOME), model.evaluate(q, v)
    a = t.J @ np.linalg.solve(t.M, torques[0] - torques[1])
    off = np.concatenate([X_0.p - t.X_WE.p, (model.jacobian(HOME) @ (HOME - q))[3:]])
    expected = 400.0 * off - 40.0 * t.V_WE
    a, expected = (np.concatenate([X_0.R.T @ x[:3], X_0.R.T @ x[3:]])[list(parameters.rows)] for x in (a, expected))
    np.testing.assert_allclose(a, expected, rtol=0, atol=0.02 * np.abs(expected).max())


def test_a_locked_line_is_kept_under_a_push_across_and_free_along():
    run = Run(guide_damping=2.0, lock="x z rx ry rz")
    J = run.model.jacobian(HOME)[:3]
    for _ in range(40):
        run.go(10, J.T @ np.array([10.0, 10.0, -10.0]))
        J = run.model.jacobian(run.simulator.q)[:3]
    way = run.model.pose(run.simulator.q).p - run.model.pose(HOME).p
    assert way[1] > 0.1
    assert np.abs(way[[0, 2]]).max() < 0.003


def test_unknown_rows_are_refused():
    with pytest.raises(ParameterError, match="unknown w"):
        GuideParameters(lock="x w")
