"""Scenarios and simulated arms: state out, torque in, one step at a time. No ROS here."""
