"""Messages and bags, read and written by field names. No ROS here."""
