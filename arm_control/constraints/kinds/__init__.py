"""The kinds of constraints, a file each: the class of a file is the one that it defines."""
