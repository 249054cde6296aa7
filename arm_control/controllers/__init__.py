"""Control laws: pure functions of the state and the reference. No ROS here."""

from arm_control.controllers.osc import OperationalSpaceController, OscOutput, OscParameters

__all__ = ["OperationalSpaceController", "OscOutput", "OscParameters"]
