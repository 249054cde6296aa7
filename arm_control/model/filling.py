"""Earlier results, filled anew: memory that is used again need not be made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from arm_control.compiler import INTO
from arm_control.exceptions import InputError
from arm_control.maths import Array

R = TypeVar("R")


def fill(into: R | None, result: R) -> R:
    """Copy a result into an earlier one, where there is one, and return that.

    Parameters
    ----------
    into : ndarray, or named tuple of such, or None
        The earlier result.
    result : of the same type
        The new one.

    Raises
    ------
    InputError
        When the two differ in type or shape, or an array to be filled is read-only or not of 64-bit floats. Then
        nothing is written.
    """
    if into is None:
        return result
    for array, values in list(_pairs(into, result, INTO)):
        array[...] = values
    return into


def _pairs(into: object, result: object, name: str) -> Iterator[tuple[Array, Array]]:
    """Arrays and what to fill them with."""
    if type(into) is not type(result):
        raise InputError(f"{name} is of type {type(into).__name__}; needed is {type(result).__name__}")
    if isinstance(into, np.ndarray) and isinstance(result, np.ndarray):
        yield _checked(into, result.shape, name), result
    elif isinstance(into, tuple) and isinstance(result, tuple):
        fields: tuple[str, ...] = getattr(result, "_fields")  # noqa: B009 - tuples here are named ones
        for field, part, values in zip(fields, into, result, strict=True):
            yield from _pairs(part, values, f"{name}.{field}")
    else:
        raise InputError(f"{name}: a {type(result).__name__} cannot be filled")


def _checked(array: Array, shape: tuple[int, ...], name: str) -> Array:
    if array.dtype != float:
        raise InputError(f"{name} has type {array.dtype}; needed is float64")
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; needed is {shape}")
    if not array.flags.writeable:
        raise InputError(f"{name} is read-only")
    return array
