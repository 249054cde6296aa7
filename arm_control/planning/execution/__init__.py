"""Plans as motions in time: rounded, checked against limits, proved free, watched and stopped."""
