"""The robot as its URDF describes it: read safely, checked, and cut down to the part that is wanted."""

from arm_control.description.urdf import Urdf, load_urdf

__all__ = ["Urdf", "load_urdf"]
