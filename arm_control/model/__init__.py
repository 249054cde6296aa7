"""The robot: the kinematics and dynamics computed from its description."""

from typing import TYPE_CHECKING

from arm_control.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from arm_control.model.robot_model import RobotModel
    from arm_control.model.terms import Terms
    from arm_control.model.tool import Tool

__all__ = ["RobotModel", "Terms", "Tool"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # else a type checker would find every name here
    __getattr__ = lazy_names(__name__, {"RobotModel": "robot_model", "Terms": "terms", "Tool": "tool"})
