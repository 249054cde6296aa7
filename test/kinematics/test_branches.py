"""All postures at a pose: their number, their names, and the curve of a redundant arm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_control.core import urdf_path
from arm_control.exceptions import InputError
from arm_control.kinematics import Branches, InverseKinematics
from arm_control.kinematics.closed_forms import NAMES, geometry_of
from arm_control.maths import Array, Pose, rotation_vector, wrap_angle
from arm_control.model import RobotModel, Tool


def load(name: str) -> RobotModel:
    return RobotModel.from_urdf(urdf_path(name))


@pytest.fixture(scope="module")
def ur5_ik(ur5: RobotModel) -> InverseKinematics:
    return InverseKinematics(ur5)


def postures(n: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-3.0, 3.0, (n, 6))


def distance(X: Pose, Y: Pose) -> float:
    return max(float(np.abs(X.p - Y.p).max()), float(np.abs(rotation_vector(X.R.T @ Y.R)).max()))


def is_among(q: Array, branches: Branches) -> bool:
    return any(np.abs(wrap_angle(q - x)).max() < 1e-5 for x in branches.q)


def assert_distinct_and_at(model: RobotModel, branches: Branches, X_WT: Pose) -> None:
    for i, (_, q) in enumerate(branches):
        assert distance(model.pose(q), X_WT) < 2e-6
        assert all(np.abs(wrap_angle(q - x)).max() > 1e-3 for x in branches.q[:i])


@pytest.mark.parametrize("name", ["ur5", "arm6"])
def test_every_posture_of_a_pose_is_found(name: str):
    """Those of random postures, of which each is one; as many as equations and many starts find."""
    model = load(name)
    ik, numbers = InverseKinematics(model), []
    for q in postures(10):
        X_WT = model.pose(q)
        branches = ik.all(X_WT)
        assert is_among(q, branches)
        assert_distinct_and_at(model, branches, X_WT)
        assert set(branches.names) <= set(NAMES)
        assert len(set(branches.names)) == len(branches)
        numbers.append(len(branches))
    assert max(numbers) == 8
    assert set(numbers) <= {2, 4, 6, 8}
    starts = np.random.default_rng(1).uniform(-3.0, 3.0, (120, 6))
    for q, number in list(zip(postures(10), numbers, strict=True))[:1]:
        X_WT = model.pose(q)
        found: list[Array] = []
        for x in ik.solve_batch([X_WT] * len(starts), starts).q:
            if all(np.abs(wrap_angle(x - y)).max() > 1e-2 for y in found):
                found.append(x)
        assert len(found) == number


def test_names_say_what_they_mean(ur5: RobotModel, ur5_ik: InverseKinematics):
    for q in postures(4):
        for name, x in ur5_ik.all(ur5.pose(q)):
            X_elbow, X_shoulder = ur5.pose(x, "forearm_link"), ur5.pose(x, "upper_arm_link")
            other = dict(ur5_ik.all(ur5.pose(q))).get(name.replace("elbow up", "elbow down"))
            if "elbow up" in name and other is not None:
                assert X_elbow.p[2] >= ur5.pose(other, "forearm_link").p[2]
            axis, across = X_shoulder.R[:, 2], ur5.pose(x, "wrist_2_link").p - X_shoulder.p
            assert ("shoulder left" in name) == (np.cross(axis, across)[2] > 0.0)


def test_angles_are_near_the_start_and_within_the_limits(ur5: RobotModel, ur5_ik: InverseKinematics):
    q = np.array([0.4, -1.0, 1.2, -0.5, 0.8, 0.3])
    start = q + 2 * np.pi * np.array([-1.0, 1.0, 0.0, 0.0, 0.0, -1.0])
    branches = ur5_ik.all(ur5.pose(q), start)
    assert min(np.abs(x - start).max() for x in branches.q) < 1e-6
    narrow = InverseKinematics(ur5, q_min=q - 1.0, q_max=q + 1.0).all(ur5.pose(q))
    np.testing.assert_allclose(narrow.q, [q], rtol=0, atol=1e-6)
    assert len(ur5_ik.all(Pose.at([2.0, 0.0, 0.0]))) == 0


def test_limits_may_be_anywhere_on_the_circle(load_robot: Callable[..., RobotModel]):
    """A joint from 47 to 313 degrees, one from 19 to 341."""
    model = load_robot("kinova")
    ik = InverseKinematics(model)
    rng = np.random.default_rng(2)
    for q in rng.uniform(np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi), (5, 6)):
        branches = ik.all(model.pose(q))
        assert is_among(q, branches)
        assert ((branches.q >= model.q_min) & (branches.q <= model.q_max)).all()


def test_a_tool_and_a_link_count(load_robot: Callable[..., RobotModel]):
    model = load_robot("ur5")
    ik, flange = InverseKinematics(model), InverseKinematics(model, frame="wrist_3_link")
    q = postures(1, 4)[0]
    for tool in (None, Tool(X_ET=Pose.at([0.1, 0.0, 0.2], [0.0, 0.5, 0.0, 1.0])), None):
        model.attach(tool)
        assert_distinct_and_at(model, ik.all(model.pose(q)), model.pose(q))
        assert is_among(q, ik.all(model.pose(q)))
        assert is_among(q, flange.all(model.pose(q, "wrist_3_link")))


def test_an_arm_that_was_calibrated_has_all_its_postures_too():
    """Its axes are not quite parallel, and its last ones do not quite meet."""
    text = urdf_path("ur5").read_text()
    changed = text.replace('xyz="-0.425 0 0" rpy="0 0 0"', 'xyz="-0.4253 0.0004 0.0002" rpy="0.0008 -0.0006 0.001"')
    assert changed != text
    model, exact = RobotModel.from_urdf(changed), load("ur5")
    ik, exact_ik = InverseKinematics(model, tolerance=1e-10), InverseKinematics(exact)
    for q in postures(4, 3):
        branches = ik.all(model.pose(q))
        assert is_among(q, branches)
        assert_distinct_and_at(model, branches, model.pose(q))
        assert len(branches) >= len(exact_ik.all(exact.pose(q))) - 2
        assert "shoulder" in branches.names[0]


@pytest.mark.parametrize("name", ["panda", "ur4"])
def test_other_arms_have_no_closed_form(name: str):
    tree = load(name).tree
    assert geometry_of(tree, tree.tip.body) is None


def test_an_arm_without_closed_form_has_numbers():
    model = load("ur4")
    ik = InverseKinematics(model)
    X_WT = Pose.at([-0.5, -0.2, 0.5], [np.sin(np.pi / 6), 0.0, 0.0, np.cos(np.pi / 6)])
    branches = ik.all(X_WT, [0.6, -2.0, -1.1, 1.0])
    assert branches.names == ("1", "2", "3", "4")
    np.testing.assert_allclose(branches.q[0], [0.58650, -2.04422, -1.10098, 1.05080], rtol=0, atol=1e-5)
    assert (np.diff([np.linalg.norm(q - [0.6, -2.0, -1.1, 1.0]) for q in branches.q]) >= 0.0).all()


def test_a_redundant_arm_moves_along_a_curve(panda: RobotModel):
    ik = InverseKinematics(panda)
    q = np.array([0.3, 0.2, -0.1, -1.8, 0.2, 2.0, 0.5])
    X_WT = panda.pose(q)
    curve = ik.self_motion(X_WT, q, step=0.05)
    steps = np.linalg.norm(np.diff(curve.q, axis=0), axis=1)
    assert len(curve.q) > 20
    assert 0.025 < steps.min() <= steps.max() < 0.1
    assert np.linalg.norm(curve.q - q, axis=1).min() < 1e-6
    assert max(distance(panda.pose(x), X_WT) for x in curve.q) < 2e-6
    assert ((curve.q >= panda.q_min) & (curve.q <= panda.q_max)).all()
    assert not curve.is_closed
    ends = np.minimum(curve.q - panda.q_min, panda.q_max - curve.q)[[0, -1]].min(axis=1)
    assert (ends < 0.05).all()  # a joint is at a limit at both ends
    free = InverseKinematics(panda, q_min=[-np.inf] * 7, q_max=[np.inf] * 7).self_motion(X_WT, q, step=0.1)
    assert free.is_closed
    assert np.linalg.norm(wrap_angle(free.q[-1] - free.q[0])) < 0.2


def test_what_has_no_curve_or_no_branches_is_refused(panda: RobotModel, ur5_ik: InverseKinematics):
    ik = InverseKinematics(panda)
    with pytest.raises(InputError, match=r"7 joints have a continuum of postures for 6 rows; .* self_motion"):
        ik.all(Pose.at([0.4, 0.0, 0.4]))
    with pytest.raises(InputError, match="6 joints and 6 rows; allowed for a self-motion: one joint more than rows"):
        ur5_ik.self_motion(Pose.identity())
    with pytest.raises(InputError, match="step is 0"):
        ik.self_motion(Pose.at([0.4, 0.0, 0.4]), step=0.0)
    with pytest.raises(InputError, match="the pose is not reached: out of reach"):
        ik.self_motion(Pose.at([4.0, 0.0, 0.4]))
    with pytest.raises(InputError, match=r"allowed: a rotation"):
        ur5_ik.all(Pose(np.zeros((3, 3)), np.zeros(3)))
