"""Faults between a controller, a gate and a driver, in simulated time."""
