"""``arm_control topics``."""

from __future__ import annotations

import argparse

from arm_control.core import printable

EXAMPLES = ("topics", "topics joint_states --once", "topics /osc/state --namespace left")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", default="", help="print its messages; left out: list all topics")
    parser.add_argument("--once", action="store_true", help="end after the first message")
    parser.add_argument("--namespace", default="", help="only topics in it")


def run(options: argparse.Namespace) -> int:
    """List topics with type, publishers and subscriptions, or print the messages of one until Ctrl-C, as YAML.

    Latched messages are printed, too. Exit status: 0, 1 no such topic or message.
    """
    from arm_control.nodes import echo_topic, list_topics
    from arm_control.report import text_table

    if options.topic:
        return int(not echo_topic(options.topic, options.namespace, lambda text: print(text, flush=True), options.once))
    rows = list_topics(options.namespace)
    if not rows:
        print("no topic: is something running, with the same ROS_DOMAIN_ID?")
        return 1
    head = ("topic", "type", "publishers", "subscriptions")
    print(text_table([head, *((printable(name), kind, str(n), str(m)) for name, kind, n, m in rows)], n_left=2))
    return 0
