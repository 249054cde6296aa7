"""ROS 2 nodes: thin adapters from messages to the package's functions and back."""
