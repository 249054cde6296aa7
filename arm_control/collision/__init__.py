"""Shapes of arms and obstacles: distances, nearest pairs, and motions proven free of contact."""
