"""``arm_control watch`` beside a gate: what it prints, and its exit status."""

from __future__ import annotations

import numpy as np
from rig import HOME, Rig
from sensor_msgs.msg import JointState

from arm_control import RobotModel, urdf_path
from arm_control.nodes import ros


def test_it_shows_that_a_gate_brakes_and_says_so_in_its_exit_status(rig: Rig, ur5: RobotModel):
    rig.start("gate", robot_description=urdf_path("ur5").read_text(), max_age=1.0)
    states = rig.publisher(JointState, "joint_states")
    for k in (1, 2):
        states.publish(ros.joint_state(ur5.joint_names, k * 1_000_000, position=HOME, velocity=np.zeros(6)))
        rig.spin(lambda k=k: len(rig.states) == k)
    shown = lambda: "braking  no state for" in rig.log("watch")  # noqa: E731
    assert rig.command("watch", interrupted_when=shown) == 0
    assert shown()
    assert rig.command("watch", "--once", label="once") == 1
    line = rig.log("once").splitlines()[-1]
    assert line.split()[1:6] == ["/gate", "braking", "no", "state", "for"]
    assert line.endswith("success rate 100 %")
