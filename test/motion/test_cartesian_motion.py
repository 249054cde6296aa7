"""Paths of the end effector, and the joints on them: all three levels, the branch, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Pose, rotation_from_rpy, rotation_from_vector, rotation_vector
from arm_control.model import RobotModel
from arm_control.motion import (
    JointTrajectory,
    PosePoints,
    PoseTrajectory,
    arc,
    blended,
    follow_path,
    line,
    load_trajectory,
)

Q_0 = np.array([-np.pi, -np.pi / 8, -np.pi / 6, 0.0])
TARGET = Pose(rotation_from_rpy([np.pi / 3, 0.0, -2.0]), np.array([-0.5, -0.2, 0.5]))
NEAR = np.array([-2.9670835, 0.0305840, -1.4904073, -0.6345719])


@pytest.fixture(scope="module")
def ik(ur4: RobotModel) -> InverseKinematics:
    return InverseKinematics(ur4)


def way_of_hand(model: RobotModel, motion: JointTrajectory, n: int = 1000) -> tuple[float, float]:
    """Length of the hand's way and its largest distance from the line through both ends [m]."""
    p = np.array([model.pose(motion.sample(t).q_des).p for t in np.linspace(0.0, motion.duration, n)])
    d = (p[-1] - p[0]) / np.linalg.norm(p[-1] - p[0])
    off = p - p[0] - np.outer((p - p[0]) @ d, d)
    return float(np.linalg.norm(np.diff(p, axis=0), axis=1).sum()), float(np.linalg.norm(off, axis=1).max())


def test_a_line_is_straight_at_all_three_levels(ur4: RobotModel, ik: InverseKinematics):
    motion = PoseTrajectory(PosePoints(np.array([0.0, 3.0]), (ur4.pose(Q_0), TARGET)))
    joints = follow_path(ik, motion, Q_0, 100)
    way, off = way_of_hand(ur4, joints, 400)
    assert off < 1e-12
    assert way == pytest.approx(np.linalg.norm(TARGET.p - ur4.pose(Q_0).p), abs=1e-12)
    np.testing.assert_allclose(joints.end.q_des, NEAR, atol=1e-6)
    for t in np.linspace(0.1, 2.9, 12):
        state, wanted = joints.sample(t), motion.sample(t)
        terms = ur4.evaluate(state.q_des, state.v_des)
        np.testing.assert_allclose(terms.V_WE[:3], wanted.V_des[:3], atol=1e-10)
        acceleration = terms.J @ state.a_des + terms.Jdot_v
        np.testing.assert_allclose(acceleration[:3], wanted.A_des[:3], atol=1e-7)
        assert ik.error(state.q_des, wanted.X_WT)[3] == pytest.approx(0.0, abs=1e-12)


def test_paths_that_cannot_be_followed_are_refused(ur4: RobotModel, ik: InverseKinematics):
    X = ur4.pose(Q_0)
    away = Pose(X.R, X.p - [1.5, 0.0, 0.0])
    with pytest.raises(InputError, match=r"cannot be followed at .*: .*|through a singularity at"):
        follow_path(ik, PoseTrajectory(line(X, away)), Q_0, 30)
    with pytest.raises(InputError, match=r"the start is .* from the first pose"):
        follow_path(ik, PoseTrajectory(line(X, TARGET)), NEAR)
    with pytest.raises(InputError, match=r"leave the path by .* 3 pieces are too few"):
        follow_path(ik, PoseTrajectory(line(X, TARGET)), Q_0, 3)
    jump = PosePoints(np.array([0.0, 1e-3]), (X, TARGET))
    with pytest.raises(InputError, match="leave the path"):
        follow_path(ik, PoseTrajectory(jump), Q_0, 1)


def test_one_or_two_places_along_turning_axes_are_refused(ur5: RobotModel):
    q = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
    along_tool = InverseKinematics(ur5, "x y", task_frame="end_effector")
    with pytest.raises(InputError, match="one or two places along axes that turn"):
        follow_path(along_tool, PoseTrajectory(line(ur5.pose(q), Pose(ur5.pose(q).R, ur5.pose(q).p + 0.1))), q)


def corners() -> tuple[Pose, Pose, Pose]:
    turned = rotation_from_vector([0.0, 0.0, 0.5])
    return (
        Pose(np.eye(3), np.zeros(3)),
        Pose(turned, np.array([0.3, 0.0, 0.0])),
        Pose(turned @ rotation_from_vector([0.4, 0.0, 0.0]), np.array([0.3, 0.2, 0.0])),
    )


def test_a_blend_joins_lines_without_a_step():
    path = PoseTrajectory(blended(corners(), 0.05))
    assert path.duration == pytest.approx(0.5)
    for knot in path.points.times[1:-1]:
        before, after = path.sample(knot - 1e-10), path.sample(knot)
        np.testing.assert_allclose(before.V_des, after.V_des, atol=1e-6)
        np.testing.assert_allclose(before.A_des, after.A_des, atol=1e-5)
    for s in (0.1, 0.24, 0.4):  # on the lines
        assert np.linalg.norm(path.sample(s).V_des[:3]) == pytest.approx(1.0, abs=1e-12)
        assert np.abs(path.sample(s).A_des[:3]).max() < 1e-9
    middle = path.sample(0.3).X_WT.p
    assert 0.005 < np.linalg.norm(middle - corners()[1].p) < 0.05
    np.testing.assert_allclose(path.sample(0.5).X_WT.R, corners()[2].R, atol=1e-12)


def test_an_arc_is_a_circle_and_turns_evenly():
    end = Pose(rotation_from_vector([0.0, 0.6, 0.0]), np.array([0.0, 1.0, 0.0]))
    path = PoseTrajectory(arc(Pose(np.eye(3), np.array([1.0, 0.0, 0.0])), [np.sqrt(0.5), np.sqrt(0.5), 0.0], end))
    assert path.duration == pytest.approx(np.pi / 2)
    for s in np.linspace(0.01, path.duration - 0.01, 9):
        here = path.sample(s)
        np.testing.assert_allclose(here.X_WT.p, [np.cos(s), np.sin(s), 0.0], atol=1e-12)
        np.testing.assert_allclose(here.V_des[:3], [-np.sin(s), np.cos(s), 0.0], atol=1e-9)
        np.testing.assert_allclose(rotation_vector(here.X_WT.R), [0.0, 0.6 * s / path.duration, 0.0], atol=1e-12)
        np.testing.assert_allclose(here.V_des[3:], [0.0, 0.6 / path.duration, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: line(X[0], X[0]), "poses 0 and 1 are one"),
        (lambda X: line(X[0], Pose(np.diag([1.0, -1.0, -1.0]), X[1].p)), "180 deg apart"),
        (lambda X: blended(X[:1], 0.1), "at least two are needed"),
        (lambda X: blended(X, 0.0), "a blend needs a positive distance"),
        (lambda X: arc(X[0], [0.1, 0.0, 0.0], X[1]), "lie on a line: no arc"),
    ],
)
def test_poses_that_make_no_path_are_refused(call, message: str):
    with pytest.raises(InputError, match=message):
        call(corners())


def test_the_line_of_the_scenario_is_this_one(ur4: RobotModel, ik: InverseKinematics):
    """To write the file anew: python docs/draw_trajectories.py."""
    _, points = load_trajectory("ur4_line")
    motion = PoseTrajectory(PosePoints(np.array([0.0, 3.0]), (ur4.pose(Q_0), TARGET)))
    joints = follow_path(ik, motion, Q_0, 50)
    np.testing.assert_allclose(points.times, joints.knots[1:], atol=1e-12)
    for t, q, v, a in zip(points.times, points.qs, points.vs, points.as_, strict=True):
        state = joints.sample(t)
        np.testing.assert_allclose(np.array([q, v, a]), list(state), atol=1e-9)
