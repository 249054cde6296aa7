"""The control loop without Python: a compiled procedure takes states, runs law and gate, and publishes torque."""
