"""Joint space control: identities, then tracking and steps in simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_control.control import JointParameters, JointSpaceController
from arm_control.control.joint_space import pd_gains
from arm_control.exceptions import ParameterError
from arm_control.maths import Array, wrap_angle
from arm_control.model import RobotModel
from arm_control.motion import JointReference
from arm_control.simulation import MujocoSimulator

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
States = Callable[..., list[tuple[Array, Array]]]


def references(model: RobotModel, n: int) -> list[JointReference]:
    rng = np.random.default_rng(3)
    return [JointReference(*(rng.uniform(-1, 1, model.nv) for _ in range(3))) for _ in range(n)]


def test_computed_torque_gives_the_acceleration_it_commands(robot: RobotModel, states: States):
    """Through the forward dynamics, which know nothing of the controller: a = a_cmd."""
    p = JointParameters(kp=80.0, damping_ratio=0.7)
    controller = JointSpaceController(robot, p)
    for (q, v), want in zip(states(robot, 8), references(robot, 8), strict=True):
        output = controller.tick(robot.evaluate(q, v), want)
        e = np.where(np.isinf(robot.q_max), wrap_angle(want.q_des - q), want.q_des - q)
        a_cmd = want.a_des + 1.4 * np.sqrt(80.0) * (want.v_des - v) + 80.0 * e
        a = robot.forward_dynamics(q, v, output.tau)
        np.testing.assert_allclose(a, a_cmd, rtol=0, atol=1e-8 * max(1.0, np.abs(a_cmd).max()))
        np.testing.assert_allclose(sum(output.terms.values()), output.tau, rtol=0, atol=1e-11)
        np.testing.assert_array_equal(output.error, e)


@pytest.mark.parametrize("law", ["computed_torque", "pd"])
def test_known_friction_is_added_by_the_desired_speed(law: str, ur5: RobotModel, load_robot, states: States):
    """The measured speed does not count, so that noise at rest moves nothing."""
    rubbing = load_robot("ur5", coulomb_friction=[3.0] * 6, viscous_friction=2.0)
    parameters = JointParameters(law=law)
    v_des = np.array([0.5, -0.5, 0.0, 1.0, -1.0, 0.0])
    for q, v in states(ur5, 2):
        reference = JointReference(q, v_des, 0.0 * q)
        tau, smooth = (
            JointSpaceController(model, parameters).tick(model.evaluate(q, v), reference) for model in (rubbing, ur5)
        )
        expected = 3.0 * np.sign(v_des) + 2.0 * v_des
        np.testing.assert_allclose(tau.tau - smooth.tau, expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(sum(tau.terms.values()), tau.tau)


def test_pd_is_a_spring_a_damper_and_gravity(ur5: RobotModel, states: States):
    K_p, K_v = np.arange(1.0, 7.0), np.arange(7.0, 1.0, -1.0)
    p = JointParameters(law="pd", stiffness=tuple(K_p), damping=tuple(K_v))
    controller = JointSpaceController(ur5, p)
    for (q, v), want in zip(states(ur5, 10), references(ur5, 10), strict=True):
        output = controller.tick(ur5.evaluate(q, v), want)
        expected = K_p * (want.q_des - q) + K_v * (want.v_des - v) + ur5.gravity(q)
        np.testing.assert_allclose(output.tau, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("law", ["computed_torque", "pd"])
def test_shares_of_the_gains_scale_springs_and_dampers(law: str, ur5: RobotModel, states: States):
    """The energy of the springs and the power of the dampers are those of the torque that they give."""
    controller = JointSpaceController(ur5, JointParameters(law=law))
    for (q, v), want in zip(states(ur5, 5), references(ur5, 5), strict=True):
        t = ur5.evaluate(q, v)
        spring, damper = (controller.tick(t, want, *shares).terms["feedback"] for shares in ((1.0, 0.0), (0.0, 1.0)))
        both = controller.tick(t, want, 0.3, 0.6).terms["feedback"]
        np.testing.assert_allclose(both, 0.3 * spring + 0.6 * damper, rtol=1e-9, atol=1e-11)
        assert controller.energy(t, want, 1.0) == pytest.approx(0.5 * (want.q_des - q) @ spring)
        assert controller.power(t, want, 1.0) == pytest.approx((want.v_des - v) @ damper)


@pytest.mark.parametrize("law", ["computed_torque", "pd"])
def test_shares_of_each_joint_leave_springs_springs_and_dampers_dampers(law: str, ur5: RobotModel, states: States):
    """The torque of the springs is the gradient of their energy; equal shares are one share of all."""
    controller = JointSpaceController(ur5, JointParameters(law=law))
    rng, h = np.random.default_rng(0), 1e-6
    for (q, v), want in zip(states(ur5, 5), references(ur5, 5), strict=True):
        t, s = ur5.evaluate(q, v), rng.uniform(0.01, 1.0, 6)
        spring = controller.tick(t, want, s, 0.0).terms["feedback"]
        ends = [
            [controller.energy(t, want._replace(q_des=want.q_des + d), s) for d in (h * e, -h * e)] for e in np.eye(6)
        ]
        np.testing.assert_allclose(spring, [(a - b) / (2.0 * h) for a, b in ends], rtol=1e-6, atol=1e-5)
        damper = controller.tick(t, want, 0.0, s).terms["feedback"]
        assert controller.power(t, want, s) == pytest.approx((want.v_des - v) @ damper)
        assert controller.power(t, want, s) > 0.0
        one, all_ = (controller.tick(t, want, x, x).tau for x in (0.3, np.full(6, 0.3)))
        np.testing.assert_allclose(all_, one, rtol=1e-9, atol=1e-9)


def test_the_controller_knows_which_joints_have_no_end(load_robot):
    pendulum = load_robot("double_pendulum")
    for law in ("computed_torque", "pd"):
        controller = JointSpaceController(pendulum, JointParameters(law=law))
        t = pendulum.evaluate([3.0, 0.0], [0.0, 0.0])
        output = controller.tick(t, JointReference.at_rest(np.array([-3.0, 2 * np.pi])))
        np.testing.assert_allclose(output.error, [2 * np.pi - 6.0, 0.0], atol=1e-14)


# -- gains ----------------------------------------------------------------------------------------------


def test_proposed_pd_gains_damp_every_mode_and_stand_torque_that_is_held(robot: RobotModel, states: States):
    """Modes of M a + K_v v + K_p q = 0 at other poses than the gains were made from."""
    damping_ratio = 1.5
    p = JointParameters(law="pd", damping_ratio=damping_ratio)
    K_p, K_v = pd_gains(robot, p)
    k_v = np.unique((K_v / K_p * 2.0 * damping_ratio).round(9))
    assert k_v.size == 1, "one time constant for all joints"
    for q, _ in states(robot, 15, seed=9):
        M = robot.mass_matrix(q)
        A = np.block([[np.zeros_like(M), np.eye(robot.nv)], [-np.linalg.solve(M, np.diag(K)) for K in (K_p, K_v)]])
        poles = np.linalg.eigvals(A)
        assert (-poles.real / np.abs(poles)).min() > 0.97 * min(1.0, damping_ratio)
        assert np.linalg.eigvals(np.linalg.solve(M, np.diag(K_v))).real.max() * p.period < 1.2


def test_gains_are_not_lowered_where_the_rate_allows_them(ur5: RobotModel):
    K_p, K_v = pd_gains(ur5, JointParameters(law="pd", kp=30.0))
    np.testing.assert_allclose(K_v / K_p, 2.0 / np.sqrt(30.0))
    lowered_p, lowered_v = pd_gains(ur5, JointParameters(law="pd", kp=30.0, period=5e-3))
    assert (lowered_v < 0.6 * K_v).all()
    assert (lowered_p < 0.36 * K_p).all()


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ({"stiffness": (1.0,) * 5, "damping": (1.0,) * 6}, "stiffness has 5 gains, the arm 6 joints"),
        ({"stiffness": (1.0,) * 6}, "damping has 0 gains, the arm 6 joints"),
        ({"damping": (1.0,) * 6}, "stiffness has 0 gains"),
    ],
)
def test_gains_that_do_not_fit_the_arm_are_refused(gains: dict[str, tuple[float, ...]], message: str, ur5: RobotModel):
    with pytest.raises(ParameterError, match=message):
        JointSpaceController(ur5, JointParameters(law="pd", **gains))


# -- in simulation --------------------------------------------------------------------------------------


def simulate_step(model: RobotModel, law: str, q: Array, goal: Array, steps: int) -> Array:
    controller, simulator = JointSpaceController(model, JointParameters(law=law)), MujocoSimulator(model, q)
    qs = []
    for _ in range(steps):
        t = model.evaluate(simulator.q, simulator.v)
        simulator.step(controller.tick(t, JointReference.at_rest(goal)).tau)
        qs.append(simulator.q)
    return np.array(qs)


def test_a_step_is_critically_damped(ur5: RobotModel):
    """q = q_0 + D (1 - (1 + w t) exp(-w t)), w = sqrt(kp), in every joint at once."""
    qs, t = simulate_step(ur5, "computed_torque", HOME, HOME + 0.1, 1500), np.arange(1, 1501)[:, None] * 1e-3
    np.testing.assert_allclose(qs, HOME + 0.1 * (1.0 - (1.0 + 10.0 * t) * np.exp(-10.0 * t)), rtol=0, atol=5e-4)
    assert (qs <= HOME + 0.1 + 1e-9).all()
