"""What the nodes are made of."""
