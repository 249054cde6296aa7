"""Time scaling: closed forms, limits between the points of the grid, and no motion that could be faster."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from problems import planar

from arm_control import RobotModel
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import Tool
from arm_control.motion import JointTrajectory, powers, spline_path
from arm_control.planning import FREE, PathLimits, TimeScaler
from arm_control.planning.time_scaling import ScaledMotion

FINE = np.linspace(0.0, 1.0, 22)
WILD = [[0.2, 0.5], [1.0, -0.6], [0.1, -1.2], [-1.0, 0.4], [0.3, 1.5]]


@cache
def scaler(n: int = 60, **changes: float) -> TimeScaler:
    """Of the planar arm of two joints, with limits of which each one counts somewhere on the path."""
    model = planar(2)
    limits = PathLimits(np.full(2, 2.0), np.array([60.0, 25.0]), np.full(2, 6.0), 1.2)
    return TimeScaler(model, replace(limits, **{name: np.full(2, value) for name, value in changes.items()}), n)


def shares(model: RobotModel, motion: ScaledMotion, limits: PathLimits) -> Array:
    """Speed, acceleration, torque, tip speed over their limits at 20 places between grid points, shape (n, 4)."""
    path, s, x = motion.path, motion.s, motion.x
    piece = np.clip(np.searchsorted(path.knots, 0.5 * (s[:-1] + s[1:]), side="right") - 1, 0, len(path.pieces) - 1)
    rows = []
    for i, k in enumerate(piece):
        q, dq, ddq = powers(s[i] + FINE * (s[i + 1] - s[i]) - path.knots[k]) @ path.pieces[k]
        x_t = np.maximum(x[i] + FINE * (x[i + 1] - x[i]), 0.0)
        v, a = dq * np.sqrt(x_t)[:, None], dq * motion.u[i] + ddq * x_t[:, None]
        tau = np.array([model.inverse_dynamics(*row) for row in zip(q, v, a, strict=True)])
        tip = [np.linalg.norm(model.jacobian(q_t)[:3] @ v_t) for q_t, v_t in zip(q, v, strict=True)]
        parts = np.abs(v) / limits.v_max, np.abs(a) / limits.a_max, np.abs(tau) / limits.tau_max
        rows.append([*(part.max() for part in parts), max(tip) / limits.tip_speed])
    return np.array(rows)


def test_a_straight_path_takes_the_time_of_a_trapezoid():
    path = spline_path([[0.0, 0.5], [1.5, 1.25]])
    limits = PathLimits(np.full(2, 1.0), np.full(2, FREE), np.full(2, 4.0))
    motion = TimeScaler(planar(2), limits, 200).fastest(path)
    assert motion.duration == pytest.approx(1.5 / 1.0 + 1.0 / 4.0, rel=1e-4)
    faster = TimeScaler(planar(2), replace(limits, v_max=np.full(2, FREE)), 200).fastest(path)
    assert faster.duration == pytest.approx(2.0 * np.sqrt(1.5 / 4.0), rel=1e-6)


@pytest.mark.parametrize("n", [20, 200])
def test_limits_hold_between_the_points_and_one_of_them_is_used(n: int):
    scaling = scaler(n)
    motion = scaling.fastest(spline_path(WILD))
    found = shares(planar(2), motion, scaling._limits)
    assert found.max() <= 1.0
    largest = found.max(axis=0)
    assert (largest > 0.9).sum() >= 3, "limits that count"
    assert np.median(found.max(axis=1)) > 1.0 - 6.0 / n, "as fast as they allow"


def test_a_payload_counts_from_when_it_is_attached():
    model = RobotModel.from_urdf(planar(2).urdf.text)
    limits = replace(scaler()._limits, v_max=np.full(2, FREE), a_max=np.full(2, 1e3), tip_speed=FREE)
    scaling = TimeScaler(model, limits, 60)
    empty = scaling.fastest(spline_path(WILD))
    model.attach(Tool(mass=3.0))
    loaded = scaling.fastest(spline_path(WILD))
    assert loaded.duration > 1.2 * empty.duration
    assert 0.95 < shares(model, loaded, limits).max() <= 1.0


def test_samples_are_one_motion():
    motion = scaler().fastest(spline_path(WILD))
    h = 1e-5
    for t in np.linspace(0.05, motion.duration - 0.05, 37):
        before, now, after = (motion.sample(t + shift) for shift in (-h, 0.0, h))
        np.testing.assert_allclose((after.q_des - before.q_des) / (2 * h), now.v_des, atol=1e-3)
        np.testing.assert_allclose(now.v_des, 0.5 * (before.v_des + after.v_des), atol=1e-3)
    start, end = motion.sample(0.0), motion.sample(motion.duration + 1.0)
    np.testing.assert_allclose(start.q_des, WILD[0], atol=1e-12)
    np.testing.assert_allclose(end.q_des, WILD[-1], atol=1e-12)
    assert not start.v_des.any()
    assert not end.v_des.any()
    assert not motion.sample(-1.0).a_des.any()
    assert not end.a_des.any()


def corner() -> JointTrajectory:
    pieces = np.zeros((2, 6, 2))
    pieces[:, 1] = [1.0, 0.0], [0.0, 1.0]
    pieces[1, 0] = [1.0, 0.0]
    return JointTrajectory(np.array([0.0, 1.0, 2.0]), pieces)


def still() -> JointTrajectory:
    pieces = np.zeros((1, 6, 2))
    pieces[0, 2] = 1.0
    return JointTrajectory(np.array([0.0, 1.0]), pieces)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (corner(), "the path has a corner at s = 1: a motion along it would have to stop there"),
        (still(), "the path stands still at s = 0"),
        (spline_path(np.eye(3)), "a path of 3 joints; the arm has 2"),
    ],
)
def test_paths_that_no_motion_follows_are_refused(path: JointTrajectory, message: str):
    with pytest.raises(InputError, match=message):
        scaler().fastest(path)


def test_an_arm_too_weak_for_its_weight_is_told_where():
    heavy = RobotModel.from_urdf(planar(3).urdf.text, backend="python")
    limits = PathLimits(np.full(3, 1.0), np.full(3, 1.0), np.full(3, 1.0))
    with pytest.raises(InputError, match=r"cannot stand still at s = .* holds a weight of .* allowed are 1$"):
        TimeScaler(heavy, limits, 5).fastest(spline_path([[0.0, 0.1, 0.0], [0.5, 0.3, 0.2]]))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0.0, 0.0]], r"points of shape \(1, 2\)"),
        ([[0.0, np.nan], [1.0, 1.0]], "finite numbers"),
        ([[0.0, 0.0], [0.0, 0.0]], "points 0 and 1 are one"),
    ],
)
def test_points_that_make_no_path_are_refused(points: list[list[float]], message: str):
    with pytest.raises(InputError, match=message):
        spline_path(points)


def test_limits_of_another_arm_are_refused():
    limits = PathLimits(np.ones(3), np.ones(3))
    with pytest.raises(InputError, match=r"v_max has shape \(3,\); allowed: \(2,\)"):
        TimeScaler(planar(2), limits)


@pytest.mark.parametrize("share", [0.0, -0.5, 1.1, np.nan])
def test_no_more_than_the_limits_of_the_arm_is_shared(share: float):
    with pytest.raises(InputError, match="allowed is a part of the arm's limits, above 0 and up to 1"):
        PathLimits.of(planar(2), share=share)
    with pytest.raises(InputError, match=r"a_max has shape \(3,\); allowed: one number, or 2"):
        PathLimits.of(planar(2), a_max=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("changes", [{"v_max": 0.0}, {"tau_max": -1.0}, {"a_max": np.nan}])
def test_limits_that_are_none_are_refused(changes: dict[str, float]):
    with pytest.raises(InputError, match="positive numbers are needed"):
        scaler(60, **changes)


def test_on_a_coarse_grid_a_fast_arm_stops_nowhere():
    """As fast as it may at one point is not at rest at the next."""
    model, rng = planar(2), np.random.default_rng(0)
    scaling = TimeScaler(model, PathLimits(0.6 * model.v_max, 0.6 * model.tau_max), 20)
    for points in rng.uniform(-2.0, 2.0, (20, 5, 2)):
        try:
            motion = scaling.fastest(spline_path(points))
        except InputError as error:
            assert "20 intervals are too few near s = " in str(error)  # noqa: PT017
            continue
        assert np.isfinite(motion.duration)
        assert (motion.x[1:-1] >= 0.25 * motion.x[:-2] * (1.0 - 1e-9)).all()
