"""A UR5 moves along plans past a ball; other scenarios: ``scenario.launch.py scenario:=NAME planner:=true``."""

from launch import LaunchDescription

from arm_control.app import scenario_launch_description


def generate_launch_description() -> LaunchDescription:
    """What ``ros2 launch arm_control planner.launch.py`` starts."""
    return scenario_launch_description("ur5_obstacle", planner=True)
