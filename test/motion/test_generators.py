"""Motions as points: where they lead, how fast, and that they start and end at rest."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.motion import PosePoints, PoseTrajectory
from arm_control.motion.target_files import FONT, circle, curve, digits, polyline, strokes_of

X = Pose(rotation_from_vector([0.4, -0.7, 0.2]), np.array([0.3, -0.1, 0.5]))


def motion_of(points: PosePoints, n: int = 801) -> tuple[Array, Array, Array, Array]:
    """Times, and position, velocity and acceleration in the frame of X."""
    motion = PoseTrajectory(PosePoints.checked(points.times, points.poses, points.Vs, points.As))
    times = np.linspace(0.0, motion.duration, n)
    references = [motion.sample(t) for t in times]
    p = np.array([X.R.T @ (r.X_WT.p - X.p) for r in references])
    V, A = (np.array([getattr(r, name)[:3] @ X.R for r in references]) for name in ("V_des", "A_des"))
    assert all(not r.V_des[3:].any() for r in references)
    assert not V[[0, -1]].any()
    return times, p, V, A


@pytest.mark.parametrize("turns", [0.5, 3.25])
def test_a_circle_is_round_and_as_fast_as_said(turns: float):
    times, p, V, _ = motion_of(circle(X, 0.1, 2.0, turns), 2001)
    np.testing.assert_allclose(np.linalg.norm(p[:, :2], axis=1), 0.1, rtol=0, atol=1e-7)
    assert np.abs(p[:, 2]).max() < 1e-12
    np.testing.assert_allclose(p[0], [0.1, 0, 0], rtol=0, atol=1e-12)
    angle = np.unwrap(np.arctan2(p[:, 1], p[:, 0]))
    assert angle[-1] == pytest.approx(2 * np.pi * turns, abs=1e-9)
    speed = np.linalg.norm(V, axis=1)
    assert speed.max() == pytest.approx(2 * np.pi * 0.1 / 2.0, rel=1e-4)
    if turns > 2:
        middle = np.abs(times - times[-1] / 2) < 0.5 * (turns - 2) * 2.0
        np.testing.assert_allclose(speed[middle], 0.1 * np.pi, rtol=1e-4)


def test_a_polyline_rests_at_its_corners_and_keeps_its_speed_and_acceleration():
    corners = np.array([[0, 0, 0], [0.4, 0, 0], [0.4, 0, 0], [0.4, 0.3, 0.0], [0.4, 0.3, 0.01]])
    points = polyline(X, corners, 0.2, 1.5)
    np.testing.assert_allclose([X.R.T @ (x.p - X.p) for x in points.poses], corners[[0, 1, 3, 4]], rtol=0, atol=1e-12)
    _, p, V, A = motion_of(points, 2001)
    assert np.linalg.norm(V, axis=1).max() == pytest.approx(0.2, rel=1e-4)
    assert np.linalg.norm(A, axis=1).max() == pytest.approx(1.5, rel=1e-3)
    motion = PoseTrajectory(points)
    assert all(np.abs(motion.sample(t).V_des).max() < 1e-9 for t in points.times)
    assert np.linalg.norm(np.cross(p[: len(p) // 3], [1, 0, 0]), axis=1).max() < 1e-12, "straight"


def test_a_curve_is_gone_along_without_a_stop():
    angle = np.linspace(0, np.pi, 400)
    half = 0.1 * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    _, p, V, _ = motion_of(curve(X, half, 0.25, 3.0))
    np.testing.assert_allclose(np.linalg.norm(p, axis=1), 0.1, rtol=0, atol=2e-4)
    np.testing.assert_allclose(p[[0, -1]], half[[0, -1]], rtol=0, atol=1e-12)
    speed = np.linalg.norm(V, axis=1)
    assert speed.max() == pytest.approx(0.25, rel=0.02)
    assert speed[100:-100].min() > 0.02


def test_digits_are_written_on_the_sheet_and_the_pen_is_lifted_in_between():
    _, p, V, _ = motion_of(digits("4 2", X, 0.1, 0.2, lift=0.03), 3001)
    np.testing.assert_allclose([p[0, 2], p[-1, 2], p[:, 2].max()], 0.03, rtol=0, atol=1e-9)
    assert p[:, 2].min() > -1e-9
    down = p[:, 2] < 1e-6
    strokes = 1 + np.count_nonzero(np.diff(np.flatnonzero(down)) > 1)
    assert strokes == len(FONT["4"]) + len(FONT["2"])
    drawn = p[down]
    assert drawn[:, 1].min() >= -1e-4
    assert drawn[:, 1].max() <= 0.1 + 1e-4
    assert 0.18 < drawn[:, 0].max() < 0.24, "the third place of the line"
    assert np.linalg.norm(V, axis=1).max() < 0.21


def test_every_stroke_is_drawn_to_its_end():
    """What is drawn comes near every point of the font, and never far from it."""
    for digit in FONT:
        _, p, _, _ = motion_of(digits(digit, X, 0.1, 0.2), 601)
        drawn, wanted = p[p[:, 2] < 1e-6], np.vstack(list(strokes_of(digit, 0.1)))
        between = np.vstack([np.linspace(a, b, 50) for s in strokes_of(digit, 0.1) for a, b in itertools.pairwise(s)])
        assert all(np.linalg.norm(drawn - x, axis=1).min() < 1e-3 for x in wanted), digit
        assert all(np.linalg.norm(between - x, axis=1).min() < 2e-3 for x in drawn[::10]), digit


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: digits("1a", X, 0.1, 0.2), "'a' is neither a digit nor a space"),
        (lambda: digits("  ", X, 0.1, 0.2), "has no digit"),
        (lambda: circle(X, 0.1, 0.0), "period = 0.0: a positive number"),
        (lambda: polyline(X, [[0, 0, 0]], 0.1), "at least two different points"),
        (lambda: curve(X, [[0, 0, 0], [np.nan, 0, 0]], 0.1), "rows of 3 finite numbers"),
        (lambda: polyline(X, [[0, 0, 0], [1, 0, 0]], np.inf), "speed = inf"),
    ],
)
def test_motions_that_make_no_sense_are_refused(make, message: str):
    with pytest.raises(InputError, match=message):
        make()
