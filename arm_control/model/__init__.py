"""The robot: the kinematics and dynamics computed from its description."""

from arm_control.model.robot_model import RobotModel
from arm_control.model.terms import Terms
from arm_control.model.tool import Tool

__all__ = ["RobotModel", "Terms", "Tool"]
