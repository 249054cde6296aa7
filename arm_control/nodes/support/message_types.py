"""Classes of messages by the names that bags have for them."""

from __future__ import annotations

import importlib
from typing import Any

from arm_control.exceptions import BagError


def message_type(kind: str) -> Any:
    """Return the class of a type such as ``sensor_msgs/msg/JointState``.

    Raises
    ------
    BagError
        When it is not installed.
    """
    package, _, name = kind.partition("/msg/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise BagError(f"type {kind} is not installed") from error
