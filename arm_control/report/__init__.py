"""Figures, pages and pictures of runs, simulations and bags. No ROS here."""
