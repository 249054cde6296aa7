"""Planning for any dynamics and costs, in NumPy: for comparison, and for systems that are no arms."""
