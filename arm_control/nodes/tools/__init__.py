"""Nodes that a command line runs, and what it asks of others."""
