"""Planning by random trees: motions from a start to a goal that are proved free of contact."""
