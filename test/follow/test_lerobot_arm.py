"""The example that is a robot of LeRobot follows actions; LeRobot itself, which brings PyTorch, is stood in for."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "lerobot_arm.py"


class Robots(ModuleType):
    """What the example needs of ``lerobot.robots``."""

    class Robot:
        def __init__(self, config: object) -> None:
            self.id = None

    class RobotConfig:
        known: dict[str, type] = {}  # noqa: RUF012

        @classmethod
        def register_subclass(cls, name: str) -> object:
            return lambda kind: cls.known.setdefault(name, kind)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setitem(sys.modules, "lerobot", ModuleType("lerobot"))
    monkeypatch.setitem(sys.modules, "lerobot.robots", Robots("lerobot.robots"))
    specification = importlib.util.spec_from_file_location(EXAMPLE.stem, EXAMPLE)
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, EXAMPLE.stem, module)
    specification.loader.exec_module(module)
    return module


def test_actions_are_reached(example: ModuleType):
    config = example.ArmControlRobotConfig()
    assert example.RobotConfig.known == {"arm_control": example.ArmControlRobotConfig}
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
