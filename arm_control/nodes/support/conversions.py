"""ROS messages from arrays; the way back, which needs no ROS, is in :mod:`arm_control.messages.fields`."""

from __future__ import annotations

import importlib
from array import array
from functools import cache
from typing import Any

import numpy as np

from arm_control.exceptions import BagError
from arm_control.maths import Array
from arm_control.messages import MessageBuilder


@cache
def message_class(type_name: str) -> Any:
    """Return the class of a type, by its name, such as ``sensor_msgs/msg/JointState``.

    Raises
    ------
    BagError
        When it is not installed.
    """
    package, _, name = type_name.partition("/msg/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise BagError(f"type {type_name} is not installed") from error


def doubles(values: Array) -> array[float]:
    """Return the value of a ``float64[]`` field, without a check of each element."""
    result: array[float] = array("d")
    result.frombytes(np.ascontiguousarray(values, dtype=np.float64).tobytes())
    return result


def _new_message(type_name: str) -> Any:
    return message_class(type_name)()


ros = MessageBuilder(_new_message, doubles)
"""Builds messages of ROS."""
