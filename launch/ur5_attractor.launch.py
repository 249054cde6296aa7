"""A UR5 moves as a point attractor in spiking neurons does."""

from launch import LaunchDescription

from arm_control.app import scenario_launch_description


def generate_launch_description() -> LaunchDescription:
    """What ``ros2 launch arm_control ur5_attractor.launch.py`` starts."""
    return scenario_launch_description("ur5_attractor")
