"""Pose trajectories: exact derivatives, what the points state, rest at both ends; and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, rotation_from_vector, rotation_vector
from arm_control.motion import PosePoints, PoseTrajectory, Reference
from arm_control.motion.pose_trajectory import SERIES, _coefficients, join_points, transform_reference

TIMES = np.array([0.5, 1.0, 1.8, 2.5, 3.5])
H = 1e-5


def draw(n: int = 5, turn: float = 0.9, seed: int = 0) -> tuple[Pose, ...]:
    rng = np.random.default_rng(seed)
    return tuple(Pose(rotation_from_vector(turn * rng.normal(size=3)), rng.normal(size=3)) for _ in range(n))


def rows(seed: int) -> Array:
    values = np.random.default_rng(seed).normal(size=(5, 6))
    values[-1] = 0.0
    return values


def difference(a: Pose, b: Pose) -> Array:
    return np.concatenate([b.p - a.p, rotation_vector(b.R @ a.R.T)])


KINDS = {"points alone": (None, None), "twists": (rows(1), None), "accelerations": (rows(1), rows(2))}


@pytest.fixture(params=KINDS)
def motion(request: pytest.FixtureRequest) -> PoseTrajectory:
    return PoseTrajectory(PosePoints(TIMES, draw(), *KINDS[request.param]))


def test_twist_and_acceleration_are_the_derivatives_of_the_pose(motion: PoseTrajectory):
    turned = 0.0
    for t in np.linspace(0.502, 3.498, 60):
        if np.abs(TIMES - t).min() < 2 * H:
            continue
        a, now, b = (motion.sample(t + d) for d in (-H, 0.0, H))
        np.testing.assert_allclose(now.V_des, difference(a.X_WT, b.X_WT) / (2 * H), rtol=0, atol=1e-6)
        np.testing.assert_allclose(now.A_des, (b.V_des - a.V_des) / (2 * H), rtol=0, atol=2e-6)
        turned = max(turned, float(np.linalg.norm(now.V_des[3:])))
    assert turned > 1.0, "it does turn"


def test_it_goes_through_its_points_with_what_they_state(motion: PoseTrajectory):
    points = motion.points
    for i, t in enumerate(TIMES[:-1]):
        before, at = motion.sample(t - 1e-9), motion.sample(t)
        assert np.abs(difference(at.X_WT, points.poses[i])).max() < 1e-12
        if i:
            np.testing.assert_allclose(before.V_des, at.V_des, rtol=0, atol=1e-6)
        if points.Vs is not None:
            np.testing.assert_allclose(at.V_des, points.Vs[i], rtol=0, atol=1e-12)
        if points.As is not None:
            np.testing.assert_allclose(at.A_des, points.As[i], rtol=0, atol=1e-10)
            if i:
                np.testing.assert_allclose(before.A_des, at.A_des, rtol=0, atol=1e-4)


def test_without_twists_it_starts_and_ends_at_rest_and_no_acceleration_jumps():
    motion = PoseTrajectory(PosePoints(TIMES, draw()))
    for t in TIMES:
        a, b = motion.sample(t - 1e-7), motion.sample(t + 1e-7)
        assert np.abs(b.A_des - a.A_des).max() < 1e-3
    for t in (TIMES[0], TIMES[-1] - 1e-9):
        assert np.abs(motion.sample(t).V_des).max() < 1e-6
    way = [motion.sample(t).X_WT.p for t in (0.99, 1.01)]
    assert np.linalg.norm(way[1] - way[0]) > 0.01, "a point in between is no stop"


@pytest.mark.parametrize("t", [-1.0, 0.0, 0.4999])
def test_before_its_first_point_and_after_its_last_it_rests(motion: PoseTrajectory, t: float):
    for moment, i in ((t, 0), (3.5, -1), (9.0 + t, -1)):
        reference = motion.sample(moment)
        np.testing.assert_array_equal(reference.X_WT.R, motion.points.poses[i].R)
        np.testing.assert_array_equal(reference.X_WT.p, motion.points.poses[i].p)
        assert not reference.V_des.any()
        assert not reference.A_des.any()


def test_the_series_meets_the_closed_form_and_nothing_is_lost_at_small_angles():
    below, above = (np.array(_coefficients((SERIES * x) ** 2)) for x in (1 - 1e-9, 1 + 1e-9))
    np.testing.assert_allclose(below, above, rtol=1e-9)
    np.testing.assert_allclose(_coefficients(0.0), [1 / 2, 1 / 6, -1 / 12, -1 / 60], rtol=1e-15)
    for angle in np.logspace(-12, np.log10(3.0), 8):
        turn = Pose(rotation_from_vector([angle, 0, 0]), np.zeros(3))
        motion = PoseTrajectory(PosePoints(np.array([0.0, 1.0]), (Pose(np.eye(3), np.zeros(3)), turn)))
        np.testing.assert_allclose(motion.sample(0.5).V_des[3], 15 / 8 * angle, rtol=1e-6, atol=1e-15)


def test_a_frame_at_rest_turns_everything():
    X, there = draw(2, seed=3)
    seen = transform_reference(X, Reference(there, np.arange(6.0), -np.arange(6.0)))
    np.testing.assert_array_equal(seen.X_WT.p, X.R @ there.p + X.p)
    np.testing.assert_allclose(seen.V_des, np.concatenate([X.R @ [0, 1, 2], X.R @ [3, 4, 5]]), rtol=1e-12)
    np.testing.assert_array_equal(seen.A_des, -seen.V_des)


@pytest.mark.parametrize("missing", ["Vs", "As"])
def test_parts_without_velocities_or_accelerations_are_refused(missing: str):
    rows = {"Vs": np.zeros((1, 6)), "As": np.zeros((1, 6))}
    part = PosePoints(np.array([1.0]), (Pose.identity(),), **rows)
    incomplete = PosePoints(np.array([1.0]), (Pose.identity(),), **{**rows, missing: None})
    with pytest.raises(InputError, match="need velocities and accelerations"):
        join_points(part, incomplete)


BEND = Pose(rotation_from_vector([0, 0, 3.1]), np.zeros(3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"poses": (), "times": []}, "no points: at least one"),
        ({"times": [0.0, 1.0]}, "times of 2 points, poses of 5"),
        ({"times": [0, 1, 2, 2, 3]}, "times do not increase"),
        ({"poses": draw(1), "times": [0.0]}, "no time: the last point must be later"),
        ({"accelerations": rows(1)}, "accelerations without velocities"),
        ({"twists": np.ones((5, 6))}, "it must be at rest"),
        ({"twists": np.ones((4, 6))}, "5 rows of 6 finite"),
        ({"poses": (*draw(4), Pose(np.eye(3), np.array([np.nan, 0, 0])))}, "a position is not finite"),
        ({"poses": (Pose(np.eye(3), np.zeros(3)), BEND), "times": [0, 1]}, "points 0 and 1 are 178 deg apart"),
    ],
)
def test_bad_points_are_refused(change: dict[str, Any], message: str):
    good = {"times": TIMES, "poses": draw()}
    PosePoints.checked(**good)
    with pytest.raises(InputError, match=message):
        PosePoints.checked(**{**good, **change})
