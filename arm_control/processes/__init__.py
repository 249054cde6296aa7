"""What runs for one message: controller, gate, planner and monitor without ROS, with or without Python in between."""
