"""The robot as its URDF describes it: read safely, checked, reduced to the selected part."""
