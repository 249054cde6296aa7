"""Plans in space-time as motions: corners rounded by their equation, limits kept, free by another library."""

from __future__ import annotations

import numpy as np
import pytest
from planar_arm import planar_validity, plate, smallest_distance

from arm_control.collision import Validity, from_time, present
from arm_control.exceptions import InputError
from arm_control.maths import Array, Mover, Obstacle, Pose, Span, Sphere
from arm_control.motion import JointReference, JointTrajectory
from arm_control.planning import LimitCheck, PathLimits, PlannerInTime, contact_time, points_of, rest_of, stop
from arm_control.planning.motion_monitor import agree
from arm_control.planning.planner_in_time import Polyline, round_in_time, spreads
from arm_control.planning.plans import Effort, free_path

LINE = Polyline(
    np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.5], [1.0, 0.5], [0.2, 1.0]]),
    np.array([0.0, 1.0, 1.6, 2.0, 3.0]),
    np.zeros(2),
)
A_MAX = np.array([8.0, 8.0])


@pytest.fixture(scope="module")
def validity() -> Validity:
    return planar_validity(margin=0.01)


@pytest.fixture(scope="module")
def limits(validity: Validity) -> PathLimits:
    return PathLimits.of(validity.shape.model, a_max=8.0, share=0.9)


def ball(x: float, y: float, velocity: tuple[float, float] = (0.0, 0.0), radius: float = 0.1) -> Obstacle:
    return Obstacle(Sphere(radius), Pose(np.eye(3), np.array([x, y, 0.0])), (*velocity, 0.0, 0.0, 0.0, 0.0))


def sampled(trajectory: JointTrajectory, n: int = 2000) -> tuple[Array, Array, Array, Array]:
    times = np.linspace(0.0, trajectory.duration * (1.0 - 1e-9), n)
    states = [trajectory.sample(t) for t in times.tolist()]
    return (times, *(np.array([getattr(state, name) for state in states]) for name in ("q_des", "v_des", "a_des")))


def rounded() -> tuple[JointTrajectory, Array]:
    h = spreads(LINE, A_MAX)
    return round_in_time(LINE, h, -0.3, 3.3), h


def test_corners_are_left_as_far_as_the_equation_says():
    trajectory, h = rounded()
    off = trajectory.sample(1.3).q_des - LINE.qs[1]
    assert np.allclose(off, LINE.steps[1] * h[1] / 6.0)
    for k in range(1, 4):  # behind a corner the polyline is met again
        t = LINE.times[k] + h[k]
        q = [np.interp(t, LINE.times, LINE.qs[:, j]) for j in range(2)]
        assert np.allclose(trajectory.sample(0.3 + t).q_des, q)
    assert np.allclose(trajectory.sample(0.0).q_des, LINE.qs[0])
    assert np.allclose(trajectory.end.q_des, LINE.qs[-1])
    assert trajectory.duration == pytest.approx(3.6)


def test_velocity_and_acceleration_are_continuous_derivatives_within_their_limits():
    trajectory, _ = rounded()
    t, q, v, a = sampled(trajectory)
    dt = t[1]
    assert np.allclose(np.diff(q, axis=0) / dt, 0.5 * (v[1:] + v[:-1]), atol=1e-4)
    assert np.allclose(np.diff(v, axis=0) / dt, 0.5 * (a[1:] + a[:-1]), atol=0.1)
    assert np.abs(np.diff(a, axis=0)).max() < 0.15
    assert np.abs(a).max() <= 8.0 + 1e-9
    assert np.abs(a).max() > 7.9
    straight = np.abs(np.diff(LINE.qs, axis=0) / np.diff(LINE.times)[:, None]).max()
    assert np.abs(v).max() <= straight + 1e-9
    assert not v[0].any()
    assert np.abs(trajectory.sample(trajectory.duration - 1e-9).v_des).max() < 1e-6


def test_a_moving_start_is_met_with_its_velocity_and_acceleration():
    start = JointReference(np.array([0.1, -0.2]), np.array([0.5, -1.0]), np.array([2.0, 3.0]))
    line = Polyline(np.array([start.q_des + 0.2 * start.v_des, [1.0, 1.0]]), np.array([0.0, 2.5]), start.v_des)
    trajectory = round_in_time(line, spreads(line, A_MAX), -0.2, 2.7, start.a_des)
    begin = trajectory.sample(0.0)
    for found, wanted in zip(begin, start, strict=True):
        assert np.allclose(found, wanted)
    assert np.allclose(trajectory.end.q_des, [1.0, 1.0])


def test_a_plan_among_moving_balls_is_executed_free_and_within_limits(validity: Validity, limits: PathLimits):
    balls = [ball(1.9, -1.5, (0.0, 0.7)), ball(-0.4, 1.9, (0.5, -0.1), 0.2)]
    planner = PlannerInTime(validity, limits, 6.0)
    goal = np.array([1.4, 0.4])
    timed = planner.plan(JointReference.at_rest(np.array([-1.0, 0.5])), goal, balls, hold=5.0)
    trajectory = timed.trajectory
    assert trajectory is not None, timed.reason
    times, q, v, a = sampled(trajectory, 1500)
    assert (np.abs(v) <= limits.v_max + 1e-9).all()
    assert (np.abs(a) <= A_MAX + 1e-6).all()
    model = validity.shape.model
    torque = np.array([model.inverse_dynamics(*state) for state in zip(q, v, a, strict=True)])
    assert (np.abs(torque) <= limits.tau_max).all()
    assert smallest_distance(validity, free_path(q, times, Effort()), balls, step=0.01) > 0.009
    assert np.allclose(trajectory.end.q_des, goal)
    points = points_of(trajectory)
    for name, wanted in (("qs", "q_des"), ("vs", "v_des"), ("as_", "a_des")):  # what a controller follows
        assert np.allclose(getattr(points, name)[3], getattr(trajectory.sample(float(points.times[3])), wanted))


def test_what_cannot_be_executed_is_a_sentence(validity: Validity, limits: PathLimits):
    planner = PlannerInTime(validity, limits, 6.0)
    rest = JointReference.at_rest(np.zeros(2))
    cage = [plate(1.25, 0.15, 2.0, 0.1), plate(1.25, -0.15, 2.0, 0.1), ball(50.0, 0.0)]
    assert planner.plan(rest, [1.0, 0.0], cage, speeds=(0.9,)).reason == "no motion was found in 300 rounds of samples"
    fast = JointReference(np.array([2.99, 0.0]), np.array([1.8, 0.0]), np.zeros(2))
    assert "start is beyond the limits: 'shoulder' at 3.3" in planner.plan(fast, [1.0, 0.0], []).reason
    weak = PlannerInTime(validity, PathLimits(limits.v_max, np.full(2, 0.5), A_MAX), 6.0)
    assert "of its largest torque after" in weak.plan(rest, [1.0, 0.0], []).reason
    with pytest.raises(InputError, match="a_max is None"):
        PlannerInTime(validity, PathLimits(limits.v_max, limits.tau_max), 6.0)
    with pytest.raises(InputError, match=r"horizon = 0.1 s; more than 0.41 s are needed for the corners"):
        PlannerInTime(validity, limits, 0.1)


def test_a_stop_stays_on_the_path_within_the_limits(validity: Validity, limits: PathLimits):
    trajectory, _ = rounded()
    check = LimitCheck(validity.shape.model, limits)
    brake = stop(check, trajectory, 1.25)
    assert 0.1 < brake.duration < 0.65
    _, q, _, a = sampled(brake, 400)
    _, path, _, _ = sampled(rest_of(trajectory, 1.25), 4000)
    assert max(np.abs(path - state).max(axis=1).min() for state in q) < 1e-3
    assert not check.excess(brake)
    assert np.abs(a).max() > 4.0  # and no longer than needed
    begin = trajectory.sample(1.25)
    assert np.allclose(brake.sample(0.0).v_des, begin.v_des)
    assert np.allclose(brake.sample(0.0).a_des, begin.a_des)
    assert stop(check, trajectory, 99.0).end.q_des.tolist() == trajectory.end.q_des.tolist()


def test_the_rest_of_a_trajectory_is_the_same_motion_from_beside_a_knot_too():
    trajectory, _ = rounded()
    for begin in [1.23, *np.add.outer(trajectory.knots[1:], [-2e-9, -1e-9, -1e-16, 0.0, 1e-10]).ravel().tolist()]:
        rest = rest_of(trajectory, begin)
        assert rest.duration > 0.0
        for t in (0.0, 0.1, 9.0):
            assert np.allclose(rest.sample(t).q_des, trajectory.sample(begin + t).q_des)
            assert np.allclose(rest.sample(t).a_des, trajectory.sample(begin + t).a_des, atol=1e-6)


def test_the_time_of_contact_counts_the_rest_at_the_end(validity: Validity):
    trajectory, _ = rounded()
    end = validity.shape.model.pose(trajectory.end.q_des).p
    v = 0.5
    late = ball(end[0] + 3.0, end[1], (-v, 0.0), 0.1)  # 3 m from the resting tip, less its radii
    validity.place([late])
    assert contact_time(validity, trajectory, 0.0, 5.0) == np.inf
    t = contact_time(validity, trajectory, 0.0, 10.0)
    assert t == pytest.approx(6.0 - 0.14 / v, abs=0.15)
    assert contact_time(validity, trajectory, 1.0, 10.0) == pytest.approx(t)


def test_told_obstacles_on_another_clock():
    moving, flash = ball(1.0, 0.0, (0.5, 0.0)), Mover(ball(3.0, 0.0, (0.0, 1.0)), Span(1.0, 2.0))
    told = [moving, flash, [flash, Mover(ball(4.0, 0.0), Span(2.0))]]
    shifted = from_time(told, 1.5)
    for t in (0.0, 0.3, 0.7):
        now, before = present(shifted, t), present(told, t + 1.5)
        assert np.allclose([o.X_WO.p for o in now], [o.X_WO.p for o in before])
    assert len(from_time(told, 2.5)) == 2
    (last,) = from_time([flash], 2.0)  # it is there in the last moment of its span
    assert (last.span, last.obstacle.X_WO.p.tolist()) == (Span(0.0, 0.0), [3.0, 1.0, 0.0])
    assert agree(present(told, 1.2), present(told, 1.2)[::-1])
    assert not agree([moving], [ball(1.01, 0.0, (0.5, 0.0))])
    assert not agree([moving], [ball(1.0, 0.0, (0.4, 0.0))])
    assert not agree([moving], [])
    assert not agree([], [moving])
