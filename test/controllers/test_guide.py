"""A guided arm is carried and nothing else: it floats, keeps its energy, and is held behind a brake."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.control import ControlLoop, Measurement
from arm_control.controllers import control_loop
from arm_control.controllers.guide import GuideLoopParameters
from arm_control.exceptions import InputError
from arm_control.gate import GateState
from arm_control.maths import Array
from arm_control.motion import Modulation, TwistJog
from arm_control.simulation import MujocoSimulator

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
MS = 1_000_000


class Run:
    """A guided UR5 in MuJoCo; its model knows the payload or not."""

    def __init__(self, known_payload: float = 0.0, payload: float = 0.0, **values: float) -> None:
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
