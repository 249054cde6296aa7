"""Movement primitives: learned from demonstrations, rolled out, run live beside goals and obstacles."""
