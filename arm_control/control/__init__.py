"""Control laws, what limits their torque, and the loop that runs them. No ROS here."""
