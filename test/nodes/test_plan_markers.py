"""Markers of a plan: what they show, and the way back from messages to the plan."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import Pose, RobotModel
from arm_control.exceptions import ArmControlError
from arm_control.maths import Box, Capsule, Obstacle, Sphere, rotation_from_vector
from arm_control.messages import ADD, DELETEALL, plan_markers, record_of, scene_markers
from arm_control.motion import Waypoints
from arm_control.nodes import ros
from arm_control.planning import MotionPlan

TURNED = Pose(rotation_from_vector(np.array([0.0, 0.4, 0.0])), np.array([0.3, 0.2, 0.1]))
OBSTACLES = (
    Obstacle(Box((0.1, 0.2, 0.3)), TURNED, (0.1, -0.2, 0.0, 0.0, 0.0, 0.5)),
    Obstacle(Sphere(0.1), TURNED),
    Obstacle(Capsule(0.05, 0.4), TURNED, (0.0, 0.0, 0.3, 0.2, 0.0, 0.0)),
)
PLAN = MotionPlan(Waypoints(np.array([0.0, 1.0]), np.array([[0.0, 0.0], [1.0, 0.5]])), 7_000_000_000, OBSTACLES)


class MarkerList:
    """The field of a ``MarkerArray`` that is read."""

    def __init__(self, markers) -> None:
        self.markers = markers


def test_messages_lead_back_to_the_plan(planar2: RobotModel):
    names = planar2.joint_names
    record = record_of(
        planar2, ros.joint_trajectory(names, PLAN.points, 0), MarkerList(scene_markers(ros, PLAN, "base"))
    )
    np.testing.assert_array_equal(record.qs, PLAN.points.qs)
    np.testing.assert_array_equal(record.times, PLAN.points.times)
    for t in (0.0, 1.0):
        for ours, theirs in zip(record.obstacles_at(t), PLAN.obstacles_at(t), strict=True):
            assert ours is not None
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours.X_WO.p, theirs.X_WO.p, atol=1e-6)
            np.testing.assert_allclose(np.array(ours.V_WO), np.array(theirs.V_WO), atol=1e-6)
    with pytest.raises(ArmControlError, match="nose"):
        record_of(planar2, ros.joint_trajectory(["nose", "ear"], PLAN.points, 0), MarkerList([]))


def test_what_is_drawn(planar2: RobotModel):
    markers = plan_markers(ros, planar2, PLAN, "base")
    assert (markers[0].action, markers[0].ns) == (DELETEALL, "")
    assert {m.action for m in markers[1:]} == {ADD}
    assert len({(m.ns, m.id) for m in markers}) == len(markers), "no marker takes the place of another one"
    (line,) = (m for m in markers if m.ns == "plan")
    end = planar2.pose(PLAN.points.qs[-1]).p
    np.testing.assert_allclose([line.points[-1].x, line.points[-1].y, line.points[-1].z], end, atol=1e-12)
    moving = [m for m in markers if m.ns == "plan_obstacle"]
    assert len(moving) == 8, "two obstacles that move, at four later moments"
    assert all(m.header.frame_id == "base" for m in markers[1:])
