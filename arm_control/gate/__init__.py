"""The gate: which states are believed, which torque may reach an actuator, how an arm is braked and held."""
