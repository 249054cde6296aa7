"""Points that are refused, and the sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.model import RobotModel
from arm_control.motion import JointReference, Waypoints, check_limits

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
