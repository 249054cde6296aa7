"""A hand that does not move where it is asked to presses with a bounded force."""

from __future__ import annotations

import numpy as np
import pytest
from driven_arm import driven, observing

from arm_control.control import PushLimit, resolve_parameters
from arm_control.control.push_limit import RATE, share_within
from arm_control.controllers import OscLoopParameters, control_loop
from arm_control.maths import Array, Box, Obstacle, Pose
from arm_control.model import RobotModel
from arm_control.motion import Target
from arm_control.simulation import PlantProperties, RealArm
from arm_control.simulation.tip_contact import TIP_RADIUS

DT = 1e-3
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])


def pressed(model: RobotModel, depth: float, seconds: float, **values: float) -> tuple[Array, str, float]:
    """Force on the table at a target below its top, then away from it; the sentence; error at the end [N, -, m]."""
    X = model.pose(HOME)
    table = Obstacle(Box((0.5, 0.5, 0.1)), Pose(np.eye(3), X.p - [0.0, 0.0, 0.08]))
    arm = RealArm(model, HOME, timestep=DT, properties=PlantProperties(set="real"), solids=[table])
    loop = control_loop(model, observing(model, 1000.0, **values))
    inside = Pose(X.R, X.p + [0.0, 0.0, -0.03 + TIP_RADIUS - depth])
    loop.controller.add(Target(0, model.frames[0], inside))
    loop.controller.add(Target(round((seconds - 1.5) * 1e9), model.frames[0], X))
    forces = [float(np.linalg.norm(arm.contact_wrench[:3])) for _ in driven(loop, arm, seconds)]
    assert loop.push is not None or values["push_limit"] == 0.0
    sentence = "" if loop.push is None else loop.push.sentence
    return np.array(forces), sentence, float(np.linalg.norm(model.pose(arm.arm.q).p - X.p))


def test_a_target_3_cm_inside_a_wall_is_pressed_for_with_50_N(ur5: RobotModel):
    force, sentence, error = pressed(ur5, 0.03, 4.0)
    assert force.max() > 100.0  # when it hits
    assert force[1800:2500].max() < 57.0
    assert sentence.startswith("the hand presses with 1")
    assert sentence.endswith(" N against something that does not give way: cut to push_limit = 50 N")
    assert error < 2e-3


def test_without_the_limit_the_observer_presses_on(ur5: RobotModel):
    force, *_ = pressed(ur5, 0.03, 2.5, push_limit=0.0)
    assert force[800:1000].min() > 100.0


def ask(
    model: RobotModel, push: PushLimit, F: Array, r: Array, v: Array, seconds: float, K: float = 80.0
) -> list[float]:
    """Forces that are left of one that a law asks for, in a state, while the observer has estimated r [N]."""
    t, left = model.evaluate(HOME, v), []
    law = t.h + t.J[:3].T @ F
    for _ in range(round(seconds / DT)):
        tau, r = push.limited(t, law, law - r, r, K, DT)
        left.append(float(np.linalg.norm(np.linalg.lstsq(t.J.T, tau - t.h, rcond=None)[0][:3])))
    return left


def test_the_force_falls_at_its_rate_and_grows_again(ur5: RobotModel):
    push, none = PushLimit(ur5.tau_max, 50.0), np.zeros(6)
    down = np.array([0.0, 0.0, -90.0])
    left = ask(ur5, push, down, none, none, 0.6)
    assert left[195] == pytest.approx(90.0, abs=0.5)  # 0.2 s have not passed
    assert left[300] == pytest.approx(90.0 - RATE * 0.1, abs=1.5)  # it looks every 4.5 ms at first
    assert left[-1] == pytest.approx(50.0, abs=0.1)
    moving = np.linalg.lstsq(ur5.jacobian(HOME), np.array([0.0, 0.0, -0.025, 0.0, 0.0, 0.0]), rcond=None)[0]
    left = ask(ur5, push, down, none, moving, 0.4)
    assert left[50] == pytest.approx(60.0, abs=1.0)
    assert left[-1] == pytest.approx(90.0, abs=0.5)


@pytest.mark.parametrize("K", [80.0, 30.0])
def test_a_slower_observer_has_more_time_to_overcome_friction(ur5: RobotModel, K: float):
    """30 1/s: behind velocities of 14 bits at 250 Hz, at which a UR10 was left 2 degrees from its target."""
    left = ask(ur5, PushLimit(ur5.tau_max, 50.0), np.array([0.0, 0.0, -90.0]), np.zeros(6), np.zeros(6), 0.7, K)
    first = next(k for k, f in enumerate(left) if f < 89.0)
    assert first * DT == pytest.approx(16.0 / K, abs=2e-2)


def test_what_the_observer_has_learnt_goes_first(ur5: RobotModel):
    t = ur5.evaluate(HOME, np.zeros(6))
    push, r = PushLimit(ur5.tau_max, 50.0), -t.J[:3].T @ np.array([0.0, 0.0, -60.0])
    law = t.h + t.J[:3].T @ np.array([0.0, 0.0, -30.0])
    for _ in range(600):
        tau, left = push.limited(t, law, law - r, r, 80.0, DT)
    np.testing.assert_allclose(left, r / 3.0, atol=0.05)
    np.testing.assert_allclose(tau, law - left, atol=1e-9)


@pytest.mark.parametrize("force", [4.0, 45.0])
def test_a_small_force_and_one_that_nothing_asks_for_stay(ur5: RobotModel, force: float):
    """A hand at its target that carries a heavy payload presses nothing."""
    push, payload = PushLimit(ur5.tau_max, 50.0), ur5.jacobian(HOME)[:3].T @ np.array([0.0, 0.0, -80.0])
    r = payload if force == 4.0 else np.zeros(6)
    left = ask(ur5, push, np.array([0.0, 0.0, force]), r, np.zeros(6), 0.5)
    assert left[-1] == pytest.approx(left[0], abs=1e-6)
    assert push.sentence == ""


def test_the_share_is_the_largest_within_the_bound():
    rng = np.random.default_rng(0)
    for own, learnt in rng.normal(size=(50, 2, 3)) * 40.0:
        x = share_within(own, learnt, 50.0)
        shares = np.linspace(0.0, 1.0, 2001)
        inside = shares[np.linalg.norm(own + shares[:, None] * learnt, axis=1) <= 50.0]
        if np.linalg.norm(own) <= 50.0:
            assert x == pytest.approx(inside.max(), abs=1e-3)


def test_a_hand_that_is_to_press_has_no_such_limit(ur5: RobotModel):
    values = {"rate": 1000.0, "disturbance_observer": True, "force_axes": ["z"]}
    loop = control_loop(ur5, resolve_parameters(OscLoopParameters, values, ur5))
    assert loop.push is None
