"""Nodes by name, in one process with one executor: ``python -m arm_control.nodes NODE... [--ros-args ...]``."""

from __future__ import annotations

import itertools
import sys

from arm_control.core import refuse_unknown
from arm_control.exceptions import ParameterError
from arm_control.nodes.support.arm_node import run
from arm_control.nodes.support.node_classes import NODES, node_factory


def main() -> None:
    """Entry point: run the nodes named on the command line."""
    program, *arguments = sys.argv
    names = list(itertools.takewhile(lambda argument: not argument.startswith("-"), arguments))
    if not names:
        sys.exit(f"arm_control: name the nodes to run, of {', '.join(NODES)}")
    try:
        refuse_unknown(dict.fromkeys(names), NODES, "arm_control.nodes")
    except ParameterError as error:
        sys.exit(f"arm_control: {error}")
    run(*map(node_factory, names), arguments=[program, *arguments[len(names) :]])


if __name__ == "__main__":
    main()
