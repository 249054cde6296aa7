"""References and where they come from: trajectories, followers, generated motions, target files."""
