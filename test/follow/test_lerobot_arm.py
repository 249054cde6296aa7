"""Examples for LeRobot: a robot reaches actions, a topic gives them; LeRobot, which brings PyTorch, is stood in for."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from arm_control.bags import plain
from arm_control.maths import Pose
from arm_control.model import RobotModel

EXAMPLES = Path(__file__).parents[2] / "examples"


class Device:
    """What the examples need of a robot and of a teleoperator."""

    def __init__(self, config: object) -> None:
        self.id = None


class Config:
    """What they need of their configurations."""

    known: dict[str, type] = {}  # noqa: RUF012

    @classmethod
    def register_subclass(cls, name: str) -> object:
        return lambda kind: cls.known.setdefault(name, kind)


def loaded(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An example on stand-ins for LeRobot."""
    monkeypatch.setitem(sys.modules, "lerobot", ModuleType("lerobot"))
    for part, kinds in (
        ("robots", ("Robot", "RobotConfig")),
        ("teleoperators", ("Teleoperator", "TeleoperatorConfig")),
    ):
        stand_in = ModuleType(f"lerobot.{part}")
        stand_in.__dict__.update(zip(kinds, (Device, Config), strict=True))
        monkeypatch.setitem(sys.modules, f"lerobot.{part}", stand_in)
    specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, name, module)
    specification.loader.exec_module(module)
    return module


def test_a_topic_of_joints_or_poses_gives_actions(ur5: RobotModel, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("rclpy")
    example = loaded("lerobot_topic", monkeypatch)
    assert Config.known["arm_control_topic"] is example.TopicTeleoperatorConfig
    joints = example.TopicTeleoperator(example.TopicTeleoperatorConfig())
    start = np.array(joints.config.start)
    assert list(joints.get_action().values()) == joints.config.start
    joints.take(plain.joint_state(ur5.joint_names[::-1], 7, position=start[::-1] + 0.1))
    assert joints.get_action()["elbow_joint.pos"] == pytest.approx(start[2] + 0.1)
    joints.take(plain.joint_state(ur5.joint_names[1:], 7, position=start[1:]))
    assert "shoulder_pan_joint" in joints.refused
    assert joints.get_action()["elbow_joint.pos"] == pytest.approx(start[2] + 0.1)
    poses = example.TopicTeleoperator(example.TopicTeleoperatorConfig(kind="poses"))
    for q in start + np.outer([0.05, 0.1], np.arange(6)):
        poses.take(plain.pose_stamped(ur5.pose(q, "base").inverse() @ ur5.pose(q), "base", 7))
        np.testing.assert_allclose(poses.q, q, atol=1e-5)
    poses.take(plain.pose_stamped(Pose.at([3.0, 0.0, 0.0]), "base", 7))
    assert poses.refused.startswith("the pose is not reached")
    np.testing.assert_allclose(poses.q, q, atol=1e-5)
    assert not poses.is_connected


def test_actions_are_reached(monkeypatch: pytest.MonkeyPatch):
    example = loaded("lerobot_arm", monkeypatch)
    config = example.ArmControlRobotConfig()
    assert Config.known["arm_control"] is example.ArmControlRobotConfig
    robot = example.ArmControlRobot(config)
    assert not robot.is_connected
    robot.connect()
    try:
        here = robot.get_observation()
        assert list(here) == list(robot.observation_features) == list(robot.action_features)
        np.testing.assert_allclose(list(here.values()), config.start, atol=1e-3)
        there = {name: q + 0.05 for name, q in here.items()}
        end = time.monotonic() + 60.0
        while abs(robot.get_observation()["elbow_joint.pos"] - there["elbow_joint.pos"]) > 1e-3:
            assert robot.send_action(there) == there
            assert time.monotonic() < end
            time.sleep(0.03)
        counts = robot.loop.controller.follower.counts
        assert counts["refuse"] == 0 < counts["pass"]
    finally:
        robot.disconnect()
    assert not robot.is_connected
