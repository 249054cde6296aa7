"""Inverse kinematics: poses of random postures are reached, every answer checked by forward kinematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from arm_control.control import pose_error, rows_of, task_rotation
from arm_control.core import urdf_path
from arm_control.exceptions import FrameNotFound, InputError
from arm_control.kinematics import IkResult, InverseKinematics
from arm_control.maths import Array, Pose, rotation_vector
from arm_control.model import RobotModel, Tool


@pytest.fixture(scope="module")
def ik(ur5: RobotModel) -> InverseKinematics:
    return InverseKinematics(ur5)


def random_postures(model: RobotModel, n: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return rng.uniform(np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi), (n, model.nq))


def distance(X: Pose, Y: Pose) -> float:
    return max(float(np.abs(X.p - Y.p).max()), float(np.abs(rotation_vector(X.R.T @ Y.R)).max()))


def is_within_limits(model: RobotModel, q: Array) -> bool:
    return bool(((q >= model.q_min) & (q <= model.q_max)).all())


def test_every_pose_of_a_posture_is_reached_within_the_limits(robot: RobotModel):
    """Also those of four to seven joints, with joints that turn without end, or whose range is less than a turn."""
    poses = [robot.pose(q) for q in random_postures(robot, 25)]
    ik = InverseKinematics(robot)
    found = ik.solve_batch(poses)
    assert found.converged.all()
    for q, X_WT in zip(found.q, poses, strict=True):
        assert is_within_limits(robot, q)
        if len(ik.rows.numbers) == 6:
            assert distance(robot.pose(q), X_WT) < 2e-6
        assert np.abs(ik.error(q, X_WT)).max() < 1.1e-6


@pytest.mark.parametrize("backend", ["llvm", "python"])
def test_one_pose_is_solved_as_among_others(backend: str, load_robot: Callable[..., RobotModel]):
    """To the last bit; and without a compiler from the same start."""
    model = load_robot("panda", backend=backend)
    n = 24 if backend == "llvm" else 6
    poses = [model.pose(q) for q in random_postures(model, n, 1)]
    ik = InverseKinematics(model, n_starts=8)
    batch = ik.solve_batch(poses)
    compiled = InverseKinematics(load_robot("panda"), n_starts=8).solve_batch(poses)
    np.testing.assert_array_equal(batch.iterations, compiled.iterations)
    np.testing.assert_allclose(batch.q, compiled.q, rtol=0, atol=1e-6)
    assert backend == "python" or batch.iterations.max() > 20  # more than one start
    for i in range(0, n, 8):
        one = ik.solve(poses[i])
        np.testing.assert_array_equal(one.q, batch.q[i])
        assert (one.converged, one.iterations) == (batch[i].converged, batch[i].iterations)


def test_the_answer_is_near_the_start_and_turned_to_it(ur5: RobotModel, ik: InverseKinematics):
    for q in random_postures(ur5, 10, 2):
        np.testing.assert_allclose(ik.solve(ur5.pose(q), q + 1e-3).q, q, rtol=0, atol=0.1)
    q = np.array([0.4, -1.0, 1.2, -0.5, 0.8, 0.3])
    turned = q + 2 * np.pi * np.array([-1.0, 1.0, 0.0, 0.0, 0.0, -1.0])
    np.testing.assert_allclose(ik.solve(ur5.pose(q), turned).q, turned, rtol=0, atol=1e-6)
    outside = turned - 4 * np.pi * np.array([1.0, 0, 0, 0, 0, 0])  # beyond -2 pi: the nearest turn within the limits
    np.testing.assert_allclose(ik.solve(ur5.pose(q), outside).q, turned, rtol=0, atol=1e-6)


def test_limits_act_inside_the_iteration(ur5: RobotModel):
    q = np.array([0.4, -1.0, 1.2, -0.5, 0.8, 0.3])
    low, high = q - 0.3, q + [0.3, 1e-3, 0.3, 0.3, 0.3, 0.3]
    narrow = InverseKinematics(ur5, q_min=low, q_max=high)
    for start in (low, high, np.full(6, 3.0)):
        result = narrow.solve(ur5.pose(q), start)
        assert result.converged
        assert ((result.q >= low) & (result.q <= high)).all()


@pytest.mark.parametrize(
    ("rows", "task_frame"),
    [
        ("x y z", "world"),
        ("x z ry", "target"),
        ("x y z rx ry", "end_effector"),
        ("z rx", "end_effector"),
    ],
)
def test_rows_are_those_of_the_controllers(rows: str, task_frame: str, ur5: RobotModel):
    ik = InverseKinematics(ur5, rows, task_frame=task_frame)
    for q in random_postures(ur5, 5, 3):
        X_WT = ur5.pose(q)
        result = ik.solve(X_WT)
        X_WE = ur5.pose(result.q)
        assert result.converged
        assert result.error.shape == (len(rows.split()),)
        error = pose_error(X_WE, X_WT, rows_of([rows])[0], task_rotation(task_frame, X_WE, X_WT))
        np.testing.assert_allclose(error, 0.0, rtol=0, atol=2e-6)
        assert distance(X_WE, X_WT) > 1e-3


def test_a_tool_and_a_link_count(load_robot: Callable[..., RobotModel]):
    model = load_robot("ur5")
    ik, elbow = InverseKinematics(model), InverseKinematics(model, "x y z", frame="forearm_link")
    q = np.array([0.4, -1.0, 1.2, -0.5, 0.8, 0.3])
    forearm = model.pose(q, "forearm_link")
    for X_ET in (Pose.at([0.1, 0.0, 0.2], [0.0, 0.5, 0.0, 1.0]), Pose.at([0.0, 0.0, -0.1])):
        model.attach(Tool(X_ET=X_ET))
        X_WT = model.pose(q)
        assert distance(model.pose(ik.solve(X_WT).q), X_WT) < 2e-6
        assert np.abs(model.pose(elbow.solve(forearm).q, "forearm_link").p - forearm.p).max() < 2e-6
    model.attach(None)
    assert distance(model.pose(ik.solve(X_WT).q), X_WT) < 2e-6


def result_why(result: IkResult) -> str:
    assert not result.converged
    assert np.isfinite(result.q).all()
    return result.why


def test_why_a_direction_is_not_reached_by_a_tip_on_the_last_axis():
    """The last joint does not move the tip: along its axes rounding decided whether it presses on a limit."""
    panda = RobotModel.from_urdf(urdf_path("panda"))
    pen = InverseKinematics(panda, "x y z rx ry", task_frame="end_effector")
    why = result_why(pen.solve(Pose.at([0.75, 0.0, 0.05])))
    assert why.startswith("out of reach with this orientation: the nearest is ")


def test_why_a_pose_is_not_reached(ur5: RobotModel, ur4: RobotModel, ik: InverseKinematics):
    far = ik.solve(Pose.at([2.0, 0.0, 0.0]))
    assert result_why(far) == "out of reach: the end effector comes to 1.05 m of the position"
    assert np.linalg.norm(far.error[:3]) > 1.05
    places = InverseKinematics(ur5, "x y z")
    stretched = places.solve(Pose.at([0.3, 1.3, 0.3]))
    assert result_why(stretched) == "out of reach: the end effector comes to 0.401 m of the position"
    just_beyond = ur5.pose(stretched.q).p + 5e-4 * stretched.error / np.linalg.norm(stretched.error)
    assert result_why(places.solve(Pose.at(just_beyond))).startswith(
        "a singular posture: the pose is missed by 5.0e-04"
    )
    near = ik.solve(Pose.at([0.1, 0.0, 0.1]))
    assert result_why(near) == "out of reach with this orientation: the nearest is 0.00909 m and 0.0429 degrees off"
    all_rows = InverseKinematics(ur4, "x y z rx ry rz").solve(Pose.at([0.3, 0.3, 0.3], [0.0, 0.3, 0.2, 1.0]))
    assert result_why(all_rows).endswith("4 joints serve 'x y z rx' along the axes of end_effector")
    q = np.array([0.4, -1.0, 1.2, -0.5, 0.8, 0.3])
    limited = InverseKinematics(ur5, q_min=np.full(6, -0.3), q_max=np.full(6, 0.3))
    why = result_why(limited.solve(ur5.pose(q)))
    assert why.startswith("out of reach within the joint limits: it takes ")
    assert "allowed -0.3 to 0.3" in why
    single = InverseKinematics(ur5, n_starts=1)
    failures = single.solve_batch([ur5.pose(q) for q in random_postures(ur5, 40, 5)])
    i = int(np.argmin(failures.converged))
    assert (
        result_why(failures[i]) == "one start leads to local minima only; the pose is within reach: allow more starts"
    )
    assert ik.solve(ur5.pose(q)).why == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([Pose(np.eye(3), np.array([np.nan, 0.0, 0.0]))], r"pose 0 has R .*, p \[nan, 0.0, 0.0\]; allowed: a rotation"),
        ([Pose(np.diag([1.0, 1.0, -1.0]), np.array([0.5, 0.0, 5.0]))], "allowed: a rotation"),
        ([np.eye(4)], "a target is no pose; allowed: Pose.at"),
        ([Pose.identity(), [1.0, 2.0]], "6 joint names with 2 start values"),
        ([Pose.identity(), [np.nan] * 6], "start is not finite"),
    ],
)
def test_a_pose_or_a_start_that_is_none_is_refused(arguments: list[Any], message: str, ik: InverseKinematics):
    with pytest.raises(InputError, match=message):
        ik.solve(*arguments)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"rows": "x foo"}, "rows: unknown foo; allowed: x y z rx ry rz"),
        ({"task_frame": "tool", "rows": "x"}, "task_frame is 'tool'; allowed: world"),
        ({"frame": "hand"}, "unknown frame 'hand'; the model has: base_link"),
        ({"frame": "base_link"}, "no joint moves base_link"),
        ({"q_min": [1.0] * 6, "q_max": [2.0] * 5 + [0.5]}, "limits of wrist_3_joint cross"),
        ({"q_max": [1.0]}, r"q_max has shape \(1,\); allowed: \(6,\)"),
        ({"n_starts": 0}, "n_starts is 0"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(choices: dict[str, Any], message: str, ur5: RobotModel):
    with pytest.raises((InputError, FrameNotFound), match=message):
        InverseKinematics(ur5, **choices)


def test_rows_that_no_joint_moves_are_refused():
    planar = RobotModel.from_urdf(urdf_path("planar3"))
    with pytest.raises(InputError, match=r"no joint moves row y, rx of .*; this arm serves 'x z ry'"):
        InverseKinematics(planar, "x y rx")


def test_a_batch_takes_arrays_and_its_own_starts(ur5: RobotModel, ik: InverseKinematics):
    qs = random_postures(ur5, 10, 6)
    poses = [ur5.pose(q) for q in qs]
    matrices = np.array([X.matrix() for X in poses])
    np.testing.assert_array_equal(ik.solve_batch(matrices).q, ik.solve_batch(poses).q)
    np.testing.assert_allclose(ik.solve_batch(poses, qs).q, qs, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(ik.solve_batch(poses, qs[0])[7].q, ik.solve(poses[7], qs[0]).q)
    assert len(ik.solve_batch([])) == 0
    with pytest.raises(InputError, match=r"starts have shape \(2,\); allowed"):
        ik.solve_batch(poses, [1.0, 2.0])
    with pytest.raises(InputError, match="pose 3 has R"):
        ik.solve_batch([*poses[:3], Pose(np.eye(3), np.array([0.0, np.inf, 0.0])), *poses[3:]])


def test_along_poses_the_branch_stays_and_ends_where_one_is_out_of_reach(ur5: RobotModel, ik: InverseKinematics):
    start = np.array([0.3, -1.2, 1.5, -1.9, -1.4, 0.2])
    qs = start + 0.4 * np.sin(np.outer(np.arange(20) / 19.0, np.arange(1, 7)))
    poses = [ur5.pose(q) for q in qs]
    np.testing.assert_allclose(ik.along(poses, start), qs, atol=1e-5)
    far = Pose(poses[12].R, poses[12].p + [0.0, 0.0, 2.0])
    assert len(ik.along([*poses[:12], far, *poses[13:]], start)) == 12
    assert ik.along([], start).shape == (0, 6)
    turned = start + 2.0 * np.pi * np.array([0, 0, 0, 1, 0, -1])
    np.testing.assert_allclose(ik.along(poses[:1], turned)[0], turned, atol=1e-5)
    for wrong in (start[:5], np.full(6, np.nan)):
        with pytest.raises(InputError, match="starts have shape"):
            ik.along(poses, wrong)


def test_the_work_space_is_that_of_one_thread(lock_depths: Callable[[Any, Any, Sequence[str]], list[int]]):
    """For one pose, for a batch, for all postures and along a curve."""
    model = RobotModel.from_urdf(urdf_path("planar3"))
    ik, other = InverseKinematics(model), InverseKinematics(model, "x z")
    X = model.pose([0.3, 0.4, 0.5])
    searches: list[tuple[InverseKinematics, str, Callable[[], object]]] = [
        (ik, "first", lambda: ik.solve(X)),
        (ik, "all_poses", lambda: ik.solve_batch([X])),
        (ik, "follow_tool", lambda: ik.all(X)),
        (other, "run", lambda: other.self_motion(X, step=0.5)),
    ]
    for owner, name, search in searches:
        depths = lock_depths(owner, owner._search, (name,))
        search()
        assert set(depths) == {1}, name
    with pytest.raises(InputError):
        ik.solve(X, [np.nan] * 3)
    depths = lock_depths(ik, ik._search, ("first",))
    ik.solve(X)
    assert depths == [1]
