"""Bags: recordings of topics, read, written and replayed without ROS."""

from arm_control.exceptions import MissingExtra

try:
    import rosbags  # noqa: F401
except ImportError as error:
    raise MissingExtra("rosbags", "bags") from error
