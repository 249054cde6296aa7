"""Planning in NumPy, for any dynamics and costs: to compare with, and for systems that are not arms."""
