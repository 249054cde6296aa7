"""Task-constrained planning among moving obstacles: the end effector keeps to a path, the other joints evade."""
