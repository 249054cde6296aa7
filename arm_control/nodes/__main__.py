"""Nodes by name, in one process with one executor: ``python -m arm_control.nodes NODE... [--ros-args ...]``."""

from arm_control.core import die_with_parent

die_with_parent()  # loading what follows takes seconds on a busy machine
from arm_control.nodes.support.running import main  # noqa: E402

if __name__ == "__main__":
    main()
