"""The command line, runs of scenarios, and launch descriptions."""
