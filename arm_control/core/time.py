"""Units of time."""

NANOSECONDS = 1_000_000_000
"""Nanoseconds in a second."""
