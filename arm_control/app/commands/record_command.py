"""``arm_control record``."""

from __future__ import annotations

import argparse
import os
import time

EXAMPLES = ("record", "record joint_states joint_commands -o my_bag")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topics", nargs="*", help="names of topics; default: all of known types")
    parser.add_argument("-o", "--output", default="", metavar="FOLDER", help="the bag; default: a name with the time")
    parser.add_argument("--storage", default="mcap", choices=("mcap", "sqlite3"))
    parser.add_argument("--namespace", default="", help="only topics in it")


def run(options: argparse.Namespace) -> int:
    """Record topics until Ctrl-C: all of known types as they appear, or the named ones.

    Exit status: 0, or 1 when no message was received.
    """
    from arm_control.nodes import TopicSelection, record

    path = options.output or time.strftime("bag_%Y_%m_%d-%H_%M_%S")
    selection = TopicSelection(tuple(options.topics), options.namespace)
    topics = ", ".join(selection.topics) or "all topics"
    greeting = f"recording {topics} into the folder {path}; Ctrl-C ends it"
    count = record(path, options.storage, selection, {}, greeting=greeting)
    print(f"{path}: {count} messages" if count else _explain_silence(path))
    return 0 if count else 1


def _explain_silence(path: str) -> str:
    names = ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE")
    settings = ", ".join(f"{name} ({os.environ.get(name) or 'not set'})" for name in names)
    return f"no message was received, {path} was not written: does a node publish, with the same {settings} as here?"
