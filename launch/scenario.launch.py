"""Any scenario, by its name or path: ``ros2 launch arm_control scenario.launch.py scenario:=ur5_star``."""

from launch import LaunchDescription

from arm_control.app import scenario_launch_description


def generate_launch_description() -> LaunchDescription:
    """What ``ros2 launch arm_control scenario.launch.py scenario:=NAME`` starts."""
    return scenario_launch_description()
