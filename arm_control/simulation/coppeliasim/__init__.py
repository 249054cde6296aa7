"""An arm in CoppeliaSim."""
