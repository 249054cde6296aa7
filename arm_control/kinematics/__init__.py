"""Kinematics: from poses of the end effector to joint positions."""
