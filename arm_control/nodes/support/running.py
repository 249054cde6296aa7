"""Nodes by name, and their run in one process with one executor."""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from arm_control.control import ArmNodeParameters
from arm_control.core import PARENT, die_with_parent, module_names, refuse_unknown
from arm_control.exceptions import ArmControlError, ParameterError
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.node_parameters import NODES, class_in
from arm_control.nodes.support.node_process import ProcessEnd, check_environment, describe_reach, security_explained
from arm_control.nodes.support.polling import spin
from arm_control.nodes.support.real_time import highest_priority, stay_below, take_real_time_priority

NodeFactory = Callable[[], ArmNode[ArmNodeParameters]]


def node_factory(node: str) -> NodeFactory:
    """Return what makes a node: its class, or for a controller without one the common class."""
    if node not in module_names("nodes"):
        from arm_control.nodes.support.controller_node import controller_node

        return partial(controller_node, node)
    return class_in(node, ArmNode)


def run(*factories: Callable[[], ArmNode[ArmNodeParameters]], arguments: Sequence[str] | None = None) -> None:
    """Run nodes in one process with one single-threaded executor, until a signal ends it.

    Parameters
    ----------
    *factories : callable
        Each makes one node.
    arguments : sequence of str, optional
        Command line, ``sys.argv`` by default.
    """
    check_environment()
    die_with_parent()
    end = ProcessEnd()  # rclpy's own handlers, which call these, end the loop
    is_slow = any(getattr(factory, "ENDS_AT_REST", False) for factory in factories)
    with security_explained():
        rclpy.init(
            args=sys.argv if arguments is None else list(arguments),
            signal_handler_options=SignalHandlerOptions.NO if is_slow else None,
        )
    nodes: list[ArmNode[ArmNodeParameters]] = []
    status = 0
    try:
        if end.signals:  # before rclpy listened
            return
        executor = SingleThreadedExecutor()  # before a signal can end its context: half of one leaves a traceback
        _start(factories, nodes)
        for node in nodes:
            executor.add_node(node)
        gc.collect()
        gc.freeze()
        paths = [node.control_path for node in nodes]
        spin(executor, paths, lambda: end.is_reached(lambda: all(node.may_end() for node in nodes)))
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except ArmControlError as error:
        print(f"arm_control: {error}", file=sys.stderr)
        status = 2
    except Exception:
        if rclpy.ok():  # else a signal has shut the context down in the middle of a callback
            raise
    finally:
        for node in nodes:
            node.destroy_node()
        gc.collect()  # a node that was refused in the middle goes before its context, too
        rclpy.try_shutdown()
    if status:
        raise SystemExit(status)


def _start(factories: Sequence[Callable[[], ArmNode[ArmNodeParameters]]], nodes: list[ArmNode[Any]]) -> None:
    """Make nodes, and give the process the nice level and the priority that they ask for; ``nodes`` has those made."""
    with security_explained():
        nodes.extend(factory() for factory in factories)
    if PARENT not in os.environ:  # else the parent says it, once for all nodes
        nodes[0].get_logger().info(describe_reach())
    os.nice(min(node.NICE for node in nodes))
    if priority := highest_priority(node.parameters for node in nodes):
        nodes[0].get_logger().info(take_real_time_priority(priority))
        stay_below(priority)


def run_named(names: Sequence[str], arguments: Sequence[str]) -> None:
    """Run nodes by name in one process; ``arguments`` are those of ROS."""
    run(*map(node_factory, names), arguments=[sys.argv[0], *arguments])


def main() -> None:
    """Entry point of ``python -m arm_control.nodes NODE... [--ros-args ...]``: run the nodes named there."""
    arguments = sys.argv[1:]
    names = list(itertools.takewhile(lambda argument: not argument.startswith("-"), arguments))
    if not names:
        sys.exit(f"arm_control: name the nodes to run, of {', '.join(NODES)}")
    try:
        refuse_unknown(dict.fromkeys(names), NODES, "arm_control.nodes")
    except ParameterError as error:
        sys.exit(f"arm_control: {error}")
    run_named(names, arguments[len(names) :])
