"""The node ``primitive``: a UR5 follows a learned motion live, with its goal moved on the way."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PoseStamped
from rig import HOME, LATCHED, PATIENCE, Rig, stamp
from std_msgs.msg import Float64
from std_srvs.srv import SetBool

from arm_control import RobotModel, urdf_path
from arm_control.maths import Pose, rotation_from_rpy, rotation_vector
from arm_control.messages import BRAKED
from arm_control.nodes import ros

STEP = 0.004


def test_a_ur5_follows_a_primitive_whose_goal_moves_on_the_way(rig: Rig, ur5: RobotModel):
    own = {"file": "sweep", "period": 0.8, "rate": 1.0 / STEP, "robot_description": urdf_path("ur5").read_text()}
    rig.start("primitive", lock_step=True, publish_effort_array=False, **own)
    amplitude = rig.publisher(Float64, "primitive/amplitude")
    for value in (0.0, np.nan):
        amplitude.publish(Float64(data=value))
    known = rig.hear(Float64, "controller_state/targets", LATCHED)
    targets = rig.publisher(PoseStamped, "target_pose", LATCHED)
    X_0 = ur5.pose(HOME)
    first, last = X_0.p + [-0.1, 0.15, 0.05], Pose(rotation_from_rpy([0.0, 0.2, 0.3]) @ X_0.R, X_0.p + [0.0, 0.2, 0.0])
    targets.publish(ros.pose_stamped(Pose(X_0.R, first), "base_link", 0))
    targets.publish(ros.pose_stamped(last, "base_link", 400_000_000))
    plant = {"robot": "ur5", "initial_position": HOME, "timestep": STEP, "loss_time": PATIENCE}
    rig.start("simulator", lock_step=True, start_paused=True, **plant)
    rig.spin(lambda: all(rig.matched()) and known and known[-1].data == 2, "both topics and targets")
    rig.call("simulator/pause", SetBool.Request(data=False))
    rig.until(1.6)
    assert "primitive/amplitude refused: amplitude nan" in rig.log("primitive")
    assert not any(command.header.frame_id.startswith(BRAKED) for command in rig.commands)
    path = {stamp(m): ur5.pose(ur5.in_joint_order(m.name, m.position)) for m in rig.states}
    early = np.array([X.p for t, X in path.items() if t < 0.4]) - X_0.p
    along = (first - X_0.p) / np.linalg.norm(first - X_0.p)
    assert (early @ along).max() > 0.05, "it is under way"
    assert np.linalg.norm(early - np.outer(early @ along, along), axis=1).max() < 2e-3, "straight: no amplitude"
    X = path[max(path)]
    assert np.linalg.norm(X.p - last.p) < 1e-3
    assert np.linalg.norm(rotation_vector(X.R @ last.R.T)) < 3e-3
