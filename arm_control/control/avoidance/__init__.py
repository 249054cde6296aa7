"""Avoidance of obstacles and of the arm itself, with the whole arm."""
