"""Pictures of a run: charts, the path in space, and the arm moving. No ROS here."""

from arm_control.exceptions import MissingExtra

try:
    import matplotlib
except ImportError as error:
    raise MissingExtra("matplotlib", "pictures") from error
