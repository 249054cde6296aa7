"""Dynamic movement primitives: motions learned from a demonstration, reshaped while they run."""
