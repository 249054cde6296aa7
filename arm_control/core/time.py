"""Units of time."""

NANOSECONDS = 1_000_000_000
"""Nanoseconds in a second."""
LARGEST_STAMP = 2**31 * NANOSECONDS
"""Stamps of states are below it [ns]."""
BEGINNING_NS = 100_000_000
"""Stamps behind the first one by less, after later ones, are those of a plant that has started over [ns]."""
