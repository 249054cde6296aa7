"""What an arm can reach: poses of its own postures, and not what is farther away than its links are long."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import Pose, RobotModel, urdf_path
from arm_control.control import ON_THE_WAY, REACHED, STOPPED, Approach, reachability

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])


def test_the_pose_of_a_posture_is_within_reach(ur5: RobotModel):
    for q in np.random.default_rng(1).uniform(-2.5, 2.5, (4, 6)):
        found = reachability(ur5, ur5.pose(q), HOME)
        assert found.is_reached
        assert np.linalg.norm(ur5.pose(found.q).p - ur5.pose(q).p) < 1e-3
    assert str(found) == "within reach"


def test_a_pose_beyond_the_links_is_out_of_reach_by_the_distance_left():
    """Two links of a plane, 1 m each: the nearest point of the circle is on the ray to the target."""
    arm = RobotModel.from_urdf(urdf_path("planar2"))
    length = float(np.linalg.norm(arm.pose([0.0, 0.0]).p - arm.pose([np.pi, 0.0]).p)) / 2
    away = arm.pose([0.3, 0.0]).p
    centre = (arm.pose([0.0, 0.0]).p + arm.pose([np.pi, 0.0]).p) / 2
    target = Pose(arm.pose([0.3, 0.0]).R, centre + 1.25 * (away - centre))
    found = reachability(arm, target, np.array([1.0, 1.0]))
    assert not found.is_reached
    assert not found.is_position_reached
    assert found.position_error == pytest.approx(0.25 * length, rel=0.05)
    assert str(found).startswith("out of reach: the hand comes to")


def test_an_orientation_that_limits_forbid_is_said_with_the_joints(tmp_path):
    text = urdf_path("ur5").read_text()
    file = tmp_path / "arm.urdf"
    file.write_text(text)
    arm = RobotModel.from_urdf(file)
    low, high = arm.q_min.copy(), arm.q_max.copy()
    arm.q_min[3:], arm.q_max[3:] = HOME[3:] - 0.1, HOME[3:] + 0.1
    X = arm.pose(HOME)
    found = reachability(arm, Pose(X.R @ np.diag([1.0, -1.0, -1.0]), X.p), HOME)
    arm.q_min[:], arm.q_max[:] = low, high
    assert not found.is_reached
    assert found.is_position_reached
    assert found.joints_at_limit
    assert str(found).startswith("out of reach with this orientation: ")
    assert found.joints_at_limit[-1] in str(found)


# -- on the way -----------------------------------------------------------------------------------------

SECOND = 1_000_000_000


def test_an_arm_that_comes_nearer_is_on_the_way_until_it_is_there(ur5: RobotModel):
    approach = Approach(ur5, ur5.pose(HOME))
    for k in range(10):
        approach.update(k * SECOND, HOME + 0.3 * 0.7**k)
        assert approach.state == ON_THE_WAY
    approach.update(10 * SECOND, HOME + 1e-5)
    assert approach.state == REACHED
    assert str(approach).startswith("reached, 0.0")


def test_an_arm_that_stays_away_has_stopped_and_the_reason_is_said(ur5: RobotModel):
    X = ur5.pose(HOME)
    far, held = Approach(ur5, Pose(X.R, X.p + [1.0, 0.0, 0.0])), Approach(ur5, ur5.pose(HOME + 0.05))
    for approach in (far, held):
        for stamp_ns, state in ((0, ON_THE_WAY), (SECOND, ON_THE_WAY), (2 * SECOND, STOPPED), (1, ON_THE_WAY)):
            approach.update(stamp_ns, HOME)
            assert approach.state == state
    assert far.reason(HOME).startswith("out of reach: the hand comes to")
    assert "an obstacle, or the arm itself, is 20 mm away" in held.reason(HOME, 0.02)
    assert Approach(ur5, held.X_WT).reason(HOME).startswith("within reach, but held: by friction")
