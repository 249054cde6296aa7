"""A UR5 follows a joint trajectory under computed torque."""

from launch import LaunchDescription

from arm_control.app import scenario_launch_description


def generate_launch_description() -> LaunchDescription:
    """What ``ros2 launch arm_control ur5_joint.launch.py`` starts."""
    return scenario_launch_description("ur5_joint")
