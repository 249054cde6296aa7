"""The controllers, by the names of their nodes."""

OSC = "osc"
"""Operational space control."""
CONTROLLERS = (OSC, "joint", "ilqr", "primitive", "attractor")
"""Nodes that control an arm: a scenario, a bag and a running arm have one of them."""
GATES_BEHIND = ("gate", "simulator", "coppeliasim_bridge")
"""Nodes with a gate between a controller and the motors, in the order in which torque passes them."""
OSC_CONTROLLERS = (OSC, "attractor")
"""Those of operational space control towards goals, with its parameters."""
