"""Operational space control."""
