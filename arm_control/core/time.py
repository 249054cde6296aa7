"""Units of time."""

NANOSECONDS = 1_000_000_000
"""Nanoseconds in a second."""
LARGEST_STAMP = 2**31 * NANOSECONDS
"""Stamps of states are below it [ns]."""
