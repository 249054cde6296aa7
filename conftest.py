"""What pytest does not import on a machine without ROS 2's launch, which is not on PyPI."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("launch_ros") else ["arm_control/launching.py"]
