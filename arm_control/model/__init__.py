"""The robot: a URDF, checked, and the kinematics and dynamics computed from it."""

from arm_control.model.robot_model import RobotModel
from arm_control.model.terms import Terms
from arm_control.model.tool import Tool
from arm_control.model.urdf import Urdf, load_urdf

__all__ = ["RobotModel", "Terms", "Tool", "Urdf", "load_urdf"]
