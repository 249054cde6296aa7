"""Joint trajectories: closed forms, derivatives by differences, continuity."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.motion import JointReference, JointTrajectory, Waypoints, whole_turns
from arm_control.motion.joint_trajectory import rest_to_rest

RNG = np.random.default_rng(5)
TIMES = np.array([0.7, 1.2, 2.5, 3.1])
MOVING = JointReference(np.array([0.3, -0.2]), np.array([0.5, -1.0]), np.array([-2.0, 1.0]))


def points(kind: str, times: Array = TIMES) -> Waypoints:
    """Random points of two joints with positions, and what else ``kind`` says."""
    qs, vs, as_ = (np.random.default_rng(i).uniform(-1, 1, (times.size, 2)) for i in range(3))
    vs[-1] = as_[-1] = 0.0
    return Waypoints(times, qs, None if kind == "linear" else vs, as_ if kind == "quintic" else None)


def test_from_rest_to_rest_it_is_the_quintic_of_the_course():
    """q = q0 + D (10/T^3 t^3 - 15/T^4 t^4 + 6/T^5 t^5)."""
    q0, D, T = np.array([0.2, -0.4]), np.array([1.0, -0.7]), 3.0
    way = JointTrajectory.through(JointReference.at_rest(q0), Waypoints(np.array([T]), (q0 + D)[None]))
    for t in np.linspace(0.0, T, 31):
        s = t / T
        now = way.sample(t)
        np.testing.assert_allclose(
            now.q_des, q0 + D * (10 / T**3 * t**3 - 15 / T**4 * t**4 + 6 / T**5 * t**5), atol=1e-14
        )
        np.testing.assert_allclose(now.v_des, D / T * 30 * s**2 * (1 - s) ** 2, atol=1e-14)
        np.testing.assert_allclose(now.a_des, D / T**2 * 60 * s * (1 - s) * (1 - 2 * s), atol=1e-14)


@pytest.mark.parametrize("kind", ["linear", "cubic", "quintic"])
def test_it_goes_through_the_points_with_what_they_state(kind: str):
    given = points(kind)
    way = JointTrajectory.through(MOVING, given)
    for i, t in enumerate(TIMES):
        now = way.sample(t)
        np.testing.assert_allclose(now.q_des, given.qs[i], rtol=0, atol=1e-12)
        if given.vs is not None:
            np.testing.assert_allclose(now.v_des, given.vs[i], rtol=0, atol=1e-11)
        if given.as_ is not None:
            np.testing.assert_allclose(now.a_des, given.as_[i], rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["linear", "cubic", "quintic"])
def test_velocity_and_acceleration_are_the_derivatives(kind: str):
    way, h = JointTrajectory.through(MOVING, points(kind)), 1e-5
    for t in RNG.uniform(0.0, TIMES[-1], 40):
        if np.abs(way.knots - t).min() > 2 * h:
            before, now, after = (way.sample(t + d) for d in (-h, 0.0, h))
            np.testing.assert_allclose((after.q_des - before.q_des) / (2 * h), now.v_des, rtol=0, atol=1e-6)
            np.testing.assert_allclose((after.v_des - before.v_des) / (2 * h), now.a_des, rtol=0, atol=1e-5)


def test_before_the_start_and_after_the_end():
    way = JointTrajectory.through(MOVING, points("linear"))
    np.testing.assert_array_equal(way.sample(-1.0).q_des, MOVING.q_des)
    for t in (TIMES[-1], TIMES[-1] + 100.0):
        np.testing.assert_allclose(way.sample(t).q_des, points("linear").qs[-1], rtol=0, atol=1e-12)
        assert not way.sample(t).v_des.any()
        assert not way.sample(t).a_des.any()


def test_a_point_at_time_0_must_be_where_the_start_is():
    times, qs = np.array([0.0, 1.0]), np.array([MOVING.q_des + 0.004, [1.0, 1.0]])
    way = JointTrajectory.through(MOVING, Waypoints(times, qs), start_tolerance=0.005)
    np.testing.assert_array_equal(way.sample(0.0).q_des, MOVING.q_des)
    np.testing.assert_array_equal(way.knots, times)
    with pytest.raises(InputError, match=r"the point at time 0 is 0\.0040 from .*, allowed: 0\.003"):
        JointTrajectory.through(MOVING, Waypoints(times, qs), start_tolerance=0.003)


def test_a_joint_without_an_end_takes_the_short_way_and_then_all_turns_that_are_asked_for():
    given = Waypoints(np.array([1.0, 2.0]), np.array([[6.2, 6.2], [13.0, 13.0]]))
    way = JointTrajectory.through(JointReference.at_rest(np.zeros(2)), given, continuous=[True, False])
    np.testing.assert_allclose(way.sample(1.0).q_des, [6.2 - 2 * np.pi, 6.2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(way.sample(2.0).q_des, [13.0 - 2 * np.pi, 13.0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(whole_turns(np.array([-13.0, 3.0]), True), [-4 * np.pi, 0.0])


# -- a position without a time -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("v_max", "a_max", "T"), [(0.5, 1e3, 15 / 8 / 0.5), (1e3, 2.0, np.sqrt(10 / np.sqrt(3) / 2.0))]
)
def test_from_rest_the_limit_is_just_reached(v_max: float, a_max: float, T: float):
    limits = np.full(2, v_max), np.full(2, a_max)
    way = rest_to_rest(JointReference.at_rest(np.zeros(2)), np.array([1.0, -0.2]), *limits)
    assert way.duration == pytest.approx(T, rel=1e-12)
    t = np.linspace(0, T, 100_001)
    motion = [way.sample(x) for x in t[:: len(t) // 2000]]
    share = max(np.abs([m.v_des for m in motion]).max() / v_max, np.abs([m.a_des for m in motion]).max() / a_max)
    assert share == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_from_a_motion_the_limits_are_kept(seed: int):
    """Those of the target, or the present speed and acceleration where these are larger."""
    rng = np.random.default_rng(seed)
    start = JointReference(rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3), np.zeros(3))
    goal, v_max, a_max = rng.uniform(-2, 2, 3), np.full(3, 0.8), np.full(3, 2.0)
    way = rest_to_rest(start, goal, v_max, a_max)
    motion = [way.sample(t) for t in np.linspace(0.0, way.duration, 500)]
    assert (np.abs([m.v_des for m in motion]) <= np.maximum(v_max, np.abs(start.v_des)) * 1.01).all()
    assert (np.abs([m.a_des for m in motion]) <= a_max * 1.01).all()
    np.testing.assert_allclose(way.sample(way.duration).q_des, goal, rtol=0, atol=1e-12)


def test_samples_are_those_of_every_moment():
    way = JointTrajectory.through(MOVING, points("quintic"))
    times, q, v, a = way.samples()
    assert times[0] == 0.0
    for t, q_t, v_t, a_t in zip(times, q, v, a, strict=True):
        if np.abs(way.knots - t).min() > 1e-9:
            now = way.sample(t)
            np.testing.assert_allclose(now.q_des, q_t, rtol=0, atol=1e-12)
            np.testing.assert_allclose(now.v_des, v_t, rtol=0, atol=1e-11)
            np.testing.assert_allclose(now.a_des, a_t, rtol=0, atol=1e-10)
