"""A robot with sliders for its joints, in RViz: ``ros2 launch arm_control view_robot.launch.py robot:=ur5``."""

from launch import LaunchDescription

from arm_control.app import view_launch_description


def generate_launch_description() -> LaunchDescription:
    """What ``ros2 launch arm_control view_robot.launch.py`` starts."""
    return view_launch_description()
