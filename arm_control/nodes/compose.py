"""Several nodes in one process, with one single-threaded executor: ``compose NODE... [--ros-args ...]``."""

from __future__ import annotations

import itertools
import sys

from arm_control.core.parameters import refuse_unknown
from arm_control.exceptions import ParameterError
from arm_control.nodes.support.arm_node import run
from arm_control.nodes.support.node_classes import NODE_CLASSES, node_class


def main() -> None:
    """Entry point: run the nodes named on the command line."""
    program, *arguments = sys.argv
    names = list(itertools.takewhile(lambda argument: not argument.startswith("-"), arguments))
    try:
        refuse_unknown(dict.fromkeys(names), NODE_CLASSES, "compose")
    except ParameterError as error:
        sys.exit(f"arm_control: {error}")
    run(*map(node_class, names), arguments=[program, *arguments[len(names) :]])


if __name__ == "__main__":
    main()
