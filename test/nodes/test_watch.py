"""``arm_control gate``, ``watch`` and ``topics``: what they print, and their exit status."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from rig import HOME, Rig
from sensor_msgs.msg import JointState

from arm_control import RobotModel, urdf_path
from arm_control.nodes import ros
from arm_control.nodes.tools import topic_commands


def test_it_shows_that_a_gate_brakes_and_says_so_in_its_exit_status(
    rig: Rig, ur5: RobotModel, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(topic_commands, "HEARING_TIME", 60.0)  # of a busy machine; what is there is heard at once
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
    assert rig.command("topics", "gate/state", "--once") == 0
    status = yaml.safe_load(rig.log("topics").removesuffix("---\n"))
    assert (status["level"], status["name"]) == (2, "/gate")
    assert rig.command("topics", label="list") == 0
    rows = [line.split() for line in rig.log("list").splitlines()]
    assert ["/gate/state", "diagnostic_msgs/msg/DiagnosticStatus", "1"] in [row[:3] for row in rows]
    monkeypatch.setattr(topic_commands, "HEARING_TIME", 0.2)
    assert rig.command("topics", "gate/nothing", "--once", label="nothing") == 2
    assert "nobody publishes or hears /gate/nothing; topics: " in rig.log("nothing")


def test_a_gate_is_started_with_the_arguments_of_ros(rig: Rig):
    description = {"robot_description": urdf_path("ur5").read_text(), "max_age": 1.0}
    file = rig.folder / "gate.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": description}}))
    words = ("gate", "--params-file", str(file), "-r", "joint_commands:=driver/commands", "-p", "rate_limit:=50.0")
    heard = lambda: rig.node.count_publishers("driver/commands")  # noqa: E731
    assert rig.command(*words, interrupted_when=heard) == 0
    assert rig.command("gate", "-r", "joint_commands", label="wrong") == 2
    assert "-r joint_commands: allowed: NAME:=VALUE" in rig.log("wrong")
    assert rig.command("node", "osc", "--params-file", "none.yaml", label="no file") == 2
    assert "there is no parameter file 'none.yaml'" in rig.log("no file")
