"""Checks of command line arguments that several commands share."""

from __future__ import annotations

import argparse
import re

from arm_control.exceptions import InputError

MOST = 1_000_000
"""Largest count that is taken."""


def positive(text: str) -> float:
    """Read a positive, finite number; an argument type of argparse."""
    if not 0.0 < _number(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return _number(text)


def count(text: str) -> int:
    """Read a whole number from 1 to a million; an argument type of argparse."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 to {MOST}")
    return int(text)


def not_negative(text: str) -> float:
    """Read a finite number that is zero or positive; an argument type of argparse."""
    if not 0.0 <= _number(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is negative, or not a number")
    return _number(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def check_namespace(namespace: str) -> None:
    """Refuse an invalid ROS namespace with one sentence; ROS itself raises a long exception.

    A slash at the begin or at the end is optional.

    Raises
    ------
    InputError
        When ROS would refuse the namespace.
    """
    inner = namespace.removeprefix("/").removesuffix("/")
    if inner and not re.fullmatch(r"[A-Za-z_]\w*(/[A-Za-z_]\w*)*", inner, re.ASCII):
        raise InputError(f"'{namespace}' is not a namespace; allowed: words of letters, digits and _, joined by /")


def is_xacro_argument(word: str) -> bool:
    """Whether a word of the command line has the form ``name:=value``."""
    return re.match(r"\w+:=", word) is not None
