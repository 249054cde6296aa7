"""Nodes by name, in one process with one executor: ``python -m arm_control.nodes NODE... [--ros-args ...]``."""

from arm_control.nodes.support.running import main

if __name__ == "__main__":
    main()
