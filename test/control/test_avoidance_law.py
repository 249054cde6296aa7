"""Obstacle avoidance: rows against the model's Jacobian and finite differences, the law, scenes in simulation."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from file_modules import module_of
from hypothesis import given, settings
from hypothesis import strategies as st
from moving_obstacles import SHAPES, moving_obstacles

from arm_control.collision import ROOM, Proximity
from arm_control.control import (
    Avoidance,
    AvoidanceOutput,
    AvoidanceParameters,
    ControlLoop,
    Measurement,
    OscParameters,
    OscTuning,
)
from arm_control.controllers import OscController
from arm_control.exceptions import InputError, ModelError, ParameterError
from arm_control.gate import GateParameters
from arm_control.maths import (
    Array,
    Box,
    Obstacle,
    Pose,
    Sphere,
    rotation_from_vector,
)
from arm_control.model import RobotModel

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
STRONG = AvoidanceParameters(threshold=0.2, smallest_distance=0.02, takeover_distance=0.0, self_threshold=0.0)


@pytest.fixture(scope="module")
def law(ur5: RobotModel) -> Avoidance:
    """Far reaching, without takeover and without pairs of links."""
    return Avoidance(ur5, STRONG)


@pytest.fixture(scope="module")
def around() -> list[Obstacle]:
    """One of each shape, about the end effector of an arm that stands somewhere like HOME, all moving."""
    rng = np.random.default_rng(1)
    return [
        Obstacle(shape, Pose(rotation_from_vector(rng.normal(size=3)), p), rng.uniform(-0.2, 0.2, 6))
        for shape, p in zip(SHAPES, np.array([0.5, 0.1, 0.5]) + rng.uniform(-0.35, 0.35, (6, 3)), strict=True)
    ]


def postures(n: int, seed: int = 2, spread: float = 0.4) -> Array:
    return HOME + np.random.default_rng(seed).uniform(-spread, spread, (n, 6))


def moved(obstacle: Obstacle, seconds: float) -> Obstacle:
    V = np.asarray(obstacle.V_WO)
    R = rotation_from_vector(V[3:] * seconds) @ obstacle.X_WO.R
    return replace(obstacle, X_WO=Pose(R, obstacle.X_WO.p + V[:3] * seconds))


# -- what is near ---------------------------------------------------------------------------------------


def test_the_rate_of_the_distance_is_its_derivative(ur5: RobotModel, around: list[Obstacle]):
    model, near = ur5, Proximity(ur5).near
    rng, step, compared = np.random.default_rng(3), 1e-6, 0
    for q in rng.uniform(np.maximum(model.q_min, -2), np.minimum(model.q_max, 2), (20, model.nq)):
        v = rng.uniform(-1, 1, model.nv)
        pairs, before, after = (near(q + v * s, [moved(o, s) for o in around], 1.0, 1.0) for s in (0.0, -step, step))
        if not len(pairs.rho):
            continue
        assert pairs.names == before.names == after.names
        numeric = (after.rho - before.rho) / (2 * step)
        away = pairs.rho > 0.0
        error = np.abs(pairs.J_n @ v - pairs.v_n - numeric)[away]
        assert (error < 1e-4).mean() > 0.97, "apart from where another capsule of the link becomes the nearest"
        compared += error.size
    assert compared > 100


def test_links_that_are_neighbours_or_close_by_design_are_not_watched(ur5: RobotModel):
    watched = Proximity(ur5).link_pairs
    assert ("upper_arm_link", "wrist_2_link") in watched
    assert ("shoulder_link", "wrist_3_link") in watched
    for pair in (("shoulder_link", "upper_arm_link"), ("wrist_1_link", "wrist_3_link")):
        assert pair not in watched


def test_an_arm_folded_onto_itself_is_pushed_apart(ur5: RobotModel):
    law = Avoidance(ur5, AvoidanceParameters(self_threshold=0.1))
    q = np.array([0.0, -1.4, 2.72, -1.3, 0.0, 0.0])
    t = ur5.evaluate(q, np.zeros(6))
    output = law.tick(t, [])
    assert output.pairs.is_self.all()
    nearest = int(output.pairs.rho.argmin())
    assert output.pairs.rho[nearest] < 0.1
    assert output.pairs.J_n[nearest] @ np.linalg.solve(t.M, output.tau) > 0.0
    assert not len(Avoidance(ur5, AvoidanceParameters(self_threshold=0.0)).tick(t, []).pairs.rho)


# -- the law --------------------------------------------------------------------------------------------


def ball_beside(model: RobotModel, q: Array, gap: float, V: Array | None = None) -> Obstacle:
    """A ball whose surface is ``gap`` away from the last wrist's, sideways."""
    law, p = Proximity(model), model.pose(q).p
    ball = Obstacle(Sphere(0.05), Pose(np.eye(3), p + [0.0, 0.3, 0.0]), np.zeros(6) if V is None else V)
    for _ in range(50):
        rho = law.near(q, [ball], 1.0, 0.0).rho.min()
        ball = replace(ball, X_WO=Pose(np.eye(3), ball.X_WO.p + [0.0, gap - rho, 0.0]))
    return ball


def test_beyond_the_threshold_there_is_nothing(ur5: RobotModel, law: Avoidance):
    t = ur5.evaluate(HOME, np.ones(6))
    tau = np.arange(6.0)
    for obstacles in ([], [ball_beside(ur5, HOME, 0.201)]):
        output = law.tick(t, obstacles, tau)
        np.testing.assert_array_equal(output.tau_total, tau)
        assert (output.distance, output.task_share, output.takeover) == (np.inf, 1.0, False)


def test_below_the_takeover_distance_the_task_is_gone(ur5: RobotModel):
    law = Avoidance(ur5, AvoidanceParameters(takeover_distance=0.02, self_threshold=0.0))
    ball = ball_beside(ur5, HOME, 0.015)
    pairs = law.tick(ur5.evaluate(HOME, np.zeros(6)), [ball]).pairs
    v = 0.3 * np.linalg.pinv(pairs.J_n[pairs.rho.argmin()][None])[:, 0]
    t, tau = ur5.evaluate(HOME, v), 20.0 * np.ones(6)
    output = law.tick(t, [ball], tau)
    assert output.takeover
    np.testing.assert_array_equal(output.tau_total, law.tick(t, [ball]).tau_total)
    J_e = output.pairs.J_n[output.pairs.J_n @ v > 0.0]
    assert len(J_e)
    damping, M_inv = 10.0 * t.M @ v, np.linalg.inv(t.M)
    damping = damping - J_e.T @ np.linalg.pinv(J_e @ M_inv @ J_e.T, rcond=1e-9) @ J_e @ M_inv @ damping
    np.testing.assert_allclose(output.tau_total, t.h - damping + output.tau, rtol=0, atol=1e-9)
    np.testing.assert_allclose(J_e @ np.linalg.solve(t.M, damping), 0.0, rtol=0, atol=1e-9)
    assert v @ damping >= 0.0
    shares = [law.tick(t, [ball_beside(ur5, HOME, gap)]).task_share for gap in (0.0199, 0.021, 0.03, 0.039, 0.0401)]
    assert shares == sorted(shares)
    assert shares[0] == 0.0 < shares[1] < 0.02 < shares[2] < 0.98 < shares[3] < 1.0 == shares[4]


def test_what_the_arm_cannot_avoid_does_not_take_over(ur5: RobotModel):
    table = Obstacle(Box((0.02, 0.02, 0.02)), Pose(np.eye(3), np.array([0.0, 0.0, 0.01])))
    q = np.array([0.0, -np.pi / 2, 0.0, 0.0, 0.0, 0.0])
    output = Avoidance(ur5, AvoidanceParameters(self_threshold=0.0)).tick(ur5.evaluate(q, np.zeros(6)), [table])
    assert output.distance < 0.05
    assert output.task_share == 1.0
    assert np.abs(output.tau).max() < 1e-6


def test_inside_an_obstacle_the_push_is_bounded_and_leads_out(ur5: RobotModel):
    law = Avoidance(ur5, AvoidanceParameters(self_threshold=0.0))
    for q in postures(6):
        t = ur5.evaluate(q, np.zeros(6))
        ball = Obstacle(Sphere(0.1), Pose(np.eye(3), t.X_WE.p + [0.0, 0.0, -0.08]))
        output = law.tick(t, [ball])
        assert output.distance < 0.0
        assert output.takeover
        assert (np.abs(output.tau) <= ur5.tau_max * (1 + 1e-12)).all()
        acceleration = output.pairs.J_n @ np.linalg.solve(t.M, output.tau)
        assert acceleration[output.pairs.rho.argmin()] > 0.0


def scenes(model: RobotModel, n: int) -> list[tuple[Array, Array, list[Obstacle]]]:
    """Random states, and obstacles about the end effector, some of them around its origin."""
    rng, drawn = np.random.default_rng(7), []
    low, high = np.maximum(model.q_min, -2.0), np.minimum(model.q_max, 2.0)
    for i in range(n):
        q, v = rng.uniform(low, high), rng.uniform(-1.0, 1.0, model.nv)
        p, spread = model.pose(q).p, (0.6, 0.3, 0.1)[i % 3]
        turns = [rotation_from_vector(rng.normal(size=3)) for _ in SHAPES * 2]
        places = p + rng.uniform(-spread, spread, (len(turns), 3))
        poses = map(Pose, turns, places)
        drawn.append(
            (q, v, [Obstacle(s, X, rng.uniform(-0.2, 0.2, 6)) for s, X in zip(SHAPES * 2, poses, strict=True)])
        )
    return drawn


def test_the_law_is_the_one_of_the_page_written_with_matrices(ur5: RobotModel):
    """Equations (1) to (9) once more, straight from the pairs."""
    p = AvoidanceParameters(threshold=0.2, self_threshold=0.1, takeover_distance=0.05)
    law, shares, cut, tau_task = Avoidance(ur5, p), [], [], np.arange(6.0)
    for q, v, obstacles in scenes(ur5, 30):
        t = ur5.evaluate(q, v)
        output = law.tick(t, obstacles, tau_task)
        pairs, M_inv = output.pairs, np.linalg.inv(t.M)
        rho0 = np.where(pairs.is_self, 0.1, 0.2)
        rho = np.maximum(pairs.rho, 0.015)
        rho_dot = pairs.J_n @ v - pairs.v_n
        mobility = np.einsum("ni,ij,nj->n", pairs.J_n, M_inv, pairs.J_n)
        f = p.eta * (1 / rho - 1 / rho0) / rho**2 + 30.0 * (1 - rho / rho0) * np.maximum(0.0, -rho_dot)
        x = np.clip(pairs.rho / 0.05 - 1.0, 0.0, 1.0)
        share = 1.0 - np.clip(200.0 * mobility - 1.0, 0.0, 1.0) * (1.0 - 3.0 * x**2 + 2.0 * x**3)
        assert output.task_share == pytest.approx(share.min(initial=1.0), abs=1e-9)
        J_e = pairs.J_n[(rho_dot > 0.0) & (mobility > 1e-9)]
        damping = 10.0 * t.M @ v
        damping = damping - J_e.T @ np.linalg.pinv(J_e @ M_inv @ J_e.T, rcond=1e-9) @ J_e @ M_inv @ damping
        task = output.task_share * tau_task + (1.0 - output.task_share) * (t.h - damping)
        v_0, a, floor = v + 0.01 * M_inv @ (task - t.h), np.zeros(6), 0.02 * np.diag(ur5.tau_max / ur5.v_max)
        for these, H_inv in ((pairs.is_self, M_inv), (~pairs.is_self, np.linalg.inv(t.M + floor))):
            J_n, without = pairs.J_n[these], v_0 + 0.01 * a
            tau_k = J_n.T @ (f[these] / (np.einsum("ni,ij,nj->n", J_n, H_inv, J_n) + 0.01))
            for J, limit in ((t.J[:3], 0.5), (t.J[3:], 1.0)):
                W = J @ (without + 0.01 * H_inv @ tau_k)
                allowed = max(limit, np.linalg.norm(J @ without))
                cut.append(np.linalg.norm(W) > allowed)
                if cut[-1]:
                    K = J @ H_inv @ J.T
                    K = K + 1e-6 * np.trace(K) * np.eye(3)
                    tau_k = tau_k - J.T @ np.linalg.solve(K, (1.0 - allowed / np.linalg.norm(W)) * W) / 0.01
            a = a + H_inv @ tau_k
        tau = t.M @ a
        tau /= max(1.0, np.abs(tau / ur5.tau_max).max())
        np.testing.assert_allclose(output.tau, tau, rtol=0, atol=1e-7)
        np.testing.assert_allclose(output.tau_total, task + tau, rtol=0, atol=1e-6)
        shares.append(output.task_share)
    assert min(shares) == 0.0
    assert any(0.0 < share < 1.0 for share in shares)
    assert {True, False} == set(cut)


def test_no_push_makes_the_hand_faster_than_its_limits_or_than_it_would_be(ur5: RobotModel):
    """By the hand's twist within T of (5); its angular speed, which is cut last, also where the task fades."""
    law, limits = Avoidance(ur5, AvoidanceParameters(self_threshold=0.0)), np.array([0.5, 1.0])
    rng, cut = np.random.default_rng(8), 0
    for q in postures(60):
        t = ur5.evaluate(q, rng.uniform(-0.6, 0.6, 6))
        away = rng.normal(size=3)
        away *= 0.09 / np.linalg.norm(away)
        task = t.h + t.M @ rng.uniform(-20.0, 20.0, 6)
        for V in (np.zeros(3), 2.0 * away):
            ball = Obstacle(Sphere(0.01), Pose.at(t.X_WE.p - away), [*V, 0.0, 0.0, 0.0])
            output = law.tick(t, [ball], task)
            alone, speeds = (
                hand_speeds(t.V_WE + 0.01 * t.J @ np.linalg.solve(t.M, tau - t.h))
                for tau in (output.tau_total - output.tau, output.tau_total)
            )
            allowed = 1.002 * np.maximum(limits, alone)
            cut += bool((speeds > 0.998 * limits).any())
            if np.abs(output.tau / ur5.tau_max).max() < 1.0:
                assert speeds[1] <= allowed[1]
                assert speeds[0] <= allowed[0] or output.task_share < 1.0
    assert cut > 10


def test_a_controller_knows_the_speeds_of_its_hand(ur5: RobotModel):
    law = Avoidance(ur5, AvoidanceParameters())
    assert law.speed_limits == (0.5, 1.0)
    p = OscParameters(posture=tuple(HOME), speed_limit_linear=0.3)
    for parameters, limits in ((p, (0.3, 1.0)), (p.replace(tasks=("x y z",)), (0.3, 1e6))):
        OscController(ur5, OscTuning(parameters), None, None, law)
        assert law.speed_limits == limits


def hand_speeds(V: Array) -> Array:
    """Linear and angular speed of a twist."""
    return np.linalg.norm(np.reshape(V, (2, 3)), axis=1)


numbers = st.floats(-1.0, 1.0)


@settings(max_examples=20, derandomize=True)
@given(
    st.lists(st.floats(-3.1, 3.1), min_size=6, max_size=6),
    st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6),
    st.lists(st.tuples(st.sampled_from(SHAPES), numbers, numbers, numbers, numbers), max_size=4),
    st.floats(0.0, 1.0),
    st.floats(0.0, 0.04),
)
def test_the_torque_is_finite_and_within_the_limits_whatever_comes(law, ur5, q, v, drawn, eta, takeover):
    law.parameters = AvoidanceParameters(eta=eta, takeover_distance=takeover)
    obstacles = [
        Obstacle(s, Pose(rotation_from_vector([a, b, 0]), np.array([a, b, c])), [d] * 6) for s, a, b, c, d in drawn
    ]
    try:
        output = law.tick(ur5.evaluate(q, v), obstacles)
    finally:
        law.parameters = STRONG
    assert np.isfinite(output.tau_total).all()
    assert (np.abs(output.tau) <= ur5.tau_max * (1 + 1e-9)).all()
    assert 0.0 <= output.task_share <= 1.0


def test_wrong_obstacles_torques_and_parameters_are_refused(ur5: RobotModel, law: Avoidance):
    with pytest.raises(InputError, match=r"tau_task has shape \(5,\); 6 numbers are needed"):
        law.tick(ur5.evaluate(HOME, np.zeros(6)), [], np.zeros(5))
    good = Pose(np.eye(3), np.zeros(3))
    for pose, V in (
        (Pose(np.eye(3), np.array([0, 0, np.nan])), np.zeros(6)),
        (good, np.full(6, np.inf)),
        (good, [0.0]),
    ):
        with pytest.raises(InputError, match="obstacle"):
            Obstacle(Sphere(0.1), pose, V)
    for wrong in ({"smallest_distance": 0.1}, {"takeover_distance": 0.05}, {"eta": -1.0}):
        with pytest.raises(ParameterError):
            AvoidanceParameters(**wrong)


# -- in simulation --------------------------------------------------------------------------------------


def test_the_arm_goes_through_a_moving_obstacle_without_avoidance_and_not_with_it(ur5: RobotModel):
    campaign = module_of(Path(__file__).parents[2] / "benchmark" / "avoidance_campaign.py")
    contact, drawn = campaign.Contact(ur5), campaign.scene(ur5, 0, True, kinds="S")
    without = campaign.run(ur5, drawn, None, contact)
    assert without.distance < 0.0
    assert without.clearance <= 0.0
    assert without.error < campaign.ARRIVED
    with_it = campaign.run(ur5, drawn, AvoidanceParameters(), contact)
    assert with_it.distance > 0.0
    assert with_it.clearance > 0.0
    assert with_it.peak < 1.0
    np.testing.assert_array_less(with_it.speeds, (0.51, 1.16))  # limits of 0.5 m/s and 1 rad/s
    assert 0.05 <= np.linalg.norm(drawn.obstacle.V_WO) <= 0.2


# -- many obstacles ---------------------------------------------------------------------------------------


def crowd(n: int) -> list[Obstacle]:
    return moving_obstacles(n, np.random.default_rng(5), spread=0.7)


def test_a_short_reach_leaves_out_what_is_farther_and_nothing_else(ur5: RobotModel):
    """Of 10,000 pairs, as a search with a long reach finds them, which leaves out nothing on the way."""
    model = ur5
    proximity, obstacles, rng = Proximity(model), crowd(200), np.random.default_rng(6)
    n_near = 0
    for k in range(5):
        obstacles[k] = moved(obstacles[k], 0.3)
        q = rng.uniform(np.maximum(model.q_min, -2), np.minimum(model.q_max, 2))
        pairs, every = proximity.near(q, obstacles, 0.1, 0.03), proximity.near(q, obstacles, 100.0, 100.0)
        is_near = every.rho < np.where(every.is_self, 0.03, 0.1)
        assert pairs.names == [pair for pair, near in zip(every.names, is_near, strict=True) if near]
        for x, y in zip(pairs[1:], every[1:], strict=True):
            np.testing.assert_allclose(x, y[is_near], rtol=0, atol=1e-12)
        n_near += len(pairs.names)
    assert n_near > 3


def test_a_thousand_obstacles_and_more_are_measured(ur5: RobotModel):
    proximity, obstacles = Proximity(ur5), crowd(ROOM + 50)
    n_near = len(proximity.near(HOME, obstacles, 0.1, 0.03).names)
    assert n_near > 100
    far = [replace(o, X_WO=Pose(o.X_WO.R, o.X_WO.p + 5.0)) for o in obstacles]
    assert not len(proximity.near(HOME, far, 0.1, 0.0).names)
    assert len(proximity.near(HOME, [*far, *obstacles], 0.1, 0.03).names) == n_near


# -- the compiled call ------------------------------------------------------------------------------------


def is_equal(some: AvoidanceOutput, other: AvoidanceOutput) -> bool:
    """Whether two results are the same to the last bit, what is computed on request included."""
    pairs = zip(some.pairs[1:], other.pairs[1:], strict=True)
    return (
        some[2:4] == other[2:4]
        and np.array_equal(some.tau, other.tau)
        and np.array_equal(some.tau_total, other.tau_total)
        and all(np.array_equal(x, y) for x, y in pairs)
    )


def test_a_list_that_changes_in_place_is_noticed(ur5: RobotModel):
    law, t = Avoidance(ur5, AvoidanceParameters()), ur5.evaluate(HOME, np.ones(6))
    obstacles, rows = crowd(60), law._search.record.obstacles
    for k in range(30):
        if k % 3 == 0:
            obstacles[k] = replace(obstacles[k], shape=SHAPES[k % len(SHAPES)])
        elif k % 3 == 1:
            del obstacles[k]
        else:
            obstacles.insert(k, moved(obstacles[0], 0.1))
        expected = Avoidance(ur5, AvoidanceParameters()).tick(t, obstacles) if k % 5 == 0 else law.tick(t, [*obstacles])
        assert is_equal(law.tick(t, obstacles), expected)
        assert law.tick(t, obstacles).obstacles == tuple(obstacles)
    assert law._search.record.obstacles is rows, "another table"


def test_an_arm_whose_shape_is_not_known_cannot_avoid(ur5: RobotModel):
    """An error, not an arm that drives on as without."""
    text = ur5.urdf.text
    mesh = '<collision><geometry><mesh filename="package://nowhere/a.stl"/></geometry></collision></link>'
    incomplete = RobotModel.from_urdf(text.replace("</link>", mesh, 1))
    with pytest.raises(ModelError, match=r"'ur5.*whose shape is not complete: .*nowhere/a.stl.*does not exist.*--pack"):
        Avoidance(incomplete, AvoidanceParameters())
    bare = re.sub(r"<collision.*?</collision>", "", text, flags=re.DOTALL)
    with pytest.raises(ModelError, match=r"its URDF has no collision shapes.*set avoid_obstacles to false"):
        Avoidance(RobotModel.from_urdf(bare), AvoidanceParameters())


def overlapping_posture(law: Avoidance, model: RobotModel) -> Array:
    qs = np.random.default_rng(0).uniform(-np.pi, np.pi, (500, model.nq))
    return next(q for q in qs if len(law.proximity.overlapping(q)) == 1)


def test_links_that_overlap_at_the_start_do_not_push_each_other(ur5: RobotModel, caplog: pytest.LogCaptureFixture):
    law = Avoidance(ur5, AvoidanceParameters())
    q, v = overlapping_posture(law, ur5), np.zeros(6)
    pushed = law.tick(ur5.evaluate(q, v), [])
    (pair,) = law.proximity.overlapping(q)
    assert np.abs(pushed.tau).max() > 0.0
    assert pushed.distance <= 0.0
    law.begin(q)
    assert pair in law.proximity.link_pairs
    assert set(law.acting_pairs) == {*law.proximity.link_pairs} - {pair}
    n = len(law.proximity.link_pairs)
    not_acting = f"not acting: {pair[0]} - {pair[1]} (overlap at the start)"
    assert law.self_pairs == f"self-avoidance: {n - 1} of {n} pairs act; {not_acting}"
    assert f"{pair[0]} - {pair[1]}" in caplog.text
    assert "overlap at the start do not avoid each other" in caplog.text
    left_alone = law.tick(ur5.evaluate(q, v), [])
    assert pair not in left_alone.pairs.names
    assert left_alone.distance > 0.0
    law.begin(HOME)
    again = law.tick(ur5.evaluate(q, v), [])
    np.testing.assert_array_equal(again.tau, pushed.tau)
    assert pair in again.pairs.names


def test_a_run_begins_without_the_links_that_overlap(ur5: RobotModel):
    law = Avoidance(ur5, AvoidanceParameters())
    q = overlapping_posture(law, ur5)
    loop = ControlLoop(ur5, OscController(ur5, OscTuning(), None, None, law), GateParameters(), law)
    loop.tick(Measurement(0, q, np.zeros(6), 1e-3, is_restart=True))
    assert law.left_out == law.proximity.overlapping(q)
