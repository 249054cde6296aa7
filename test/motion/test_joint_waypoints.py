"""Points that are refused, and the sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.model import RobotModel
from arm_control.motion import JointReference, JointTrajectory, Waypoints, check_limits
from arm_control.motion.joint_trajectory import identification_sweep

ZERO = [0.0] * 6
GOOD: dict[str, Any] = {"times": [1.0, 2.0], "positions": [[0.1] * 6, [0.2] * 6]}


def test_columns_are_matched_by_name(ur5: RobotModel):
    names, row = tuple(reversed(ur5.joint_names)), [0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    points = Waypoints.checked(ur5, names, [1.0], [row], [ZERO], [row])
    np.testing.assert_array_equal(points.qs, [row[::-1]])
    np.testing.assert_array_equal(points.as_, [row[::-1]])
    assert Waypoints.checked(ur5, names, **GOOD).vs is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": [], "positions": []}, "no points: at least one is needed"),
        ({"times": [0.0], "positions": [ZERO]}, "no time: the last point must be later"),
        ({"times": [2.0, 2.0]}, "times do not increase"),
        ({"times": [1.0, np.inf]}, "times do not increase"),
        ({"positions": [ZERO]}, "positions of 1 points, times of 2"),
        ({"positions": [ZERO, [np.nan] * 6]}, "positions"),
        ({"velocities": [ZERO]}, "velocities of 1 points, times of 2"),
        ({"velocities": [ZERO, [0, 0, 0, 0, 0, 0.1]]}, "the last point moves at"),
        ({"accelerations": [ZERO, ZERO]}, "accelerations without velocities"),
        ({"velocities": [ZERO, ZERO], "accelerations": [ZERO, [np.nan] * 6]}, "accelerations"),
        (
            {"positions": [ZERO, [0, 0, 3.5, 0, 0, 0]]},
            r"position beyond the limit: elbow_joint at 3\.5000 after 2\.000 s, allowed -3\.1416 to 3\.1416",
        ),
        (
            {"velocities": [[0, -3.3, 0, 0, 0, 0], ZERO]},
            r"velocity beyond the limit: shoulder_lift_joint at -3\.3000 after 1\.000 s, allowed -3\.1\d+ to 3\.1\d+",
        ),
    ],
)
def test_what_no_arm_should_follow_is_refused(change: dict[str, Any], message: str, ur5: RobotModel):
    with pytest.raises(InputError, match=message):
        Waypoints.checked(ur5, ur5.joint_names, **{**GOOD, **change})


@pytest.mark.parametrize(
    "names", [["shoulder_pan_joint"] * 6, ["a", "b", "c", "d", "e", "f"]], ids=["twice", "missing"]
)
def test_joints_must_be_named_once(names: list[str], ur5: RobotModel):
    with pytest.raises(InputError, match="shoulder_pan_joint"):
        Waypoints.checked(ur5, names, **GOOD)


def test_a_start_beyond_a_limit_may_stay_there_and_go_no_further(ur5: RobotModel):
    q, t = np.zeros((1, 6)), np.zeros(1)
    q[0, 2] = ur5.q_max[2] + 0.1
    fast = np.zeros((1, 6))
    fast[0, 2] = ur5.v_max[2] + 0.2
    start = JointReference(q[0], fast[0], np.zeros(6))
    check_limits(ur5, q, fast, t, start)
    for what, values in (("position", (q + 0.01, fast)), ("velocity", (q, fast + 0.01))):
        with pytest.raises(InputError, match=f"{what} beyond the limit: elbow_joint"):
            check_limits(ur5, *values, t, start)
    with pytest.raises(InputError, match="position beyond"):
        check_limits(ur5, q, None, t)


def test_the_sweep_turns_one_joint_after_the_other_by_45_degrees_in_a_second():
    home = np.linspace(-0.5, 0.5, 7)
    way = JointTrajectory.through(JointReference.at_rest(home), identification_sweep(home))
    assert way.duration == 14.0
    for joint in range(7):
        expected = home.copy()
        expected[joint] += np.pi / 4
        np.testing.assert_allclose(way.sample(2.0 * joint + 1.0).q_des, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(way.sample(2.0 * joint + 2.0).q_des, home, rtol=0, atol=1e-12)
        middle = way.sample(2.0 * joint + 0.5)
        assert np.flatnonzero(np.abs(middle.v_des) > 1e-9).tolist() == [joint]
        assert middle.v_des[joint] == pytest.approx(15 / 8 * np.pi / 4)
