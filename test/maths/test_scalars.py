"""Entry by entry: the same on floats, on other scalars, and on a tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from program_runs import run

from arm_control.compiler import Tape
from arm_control.maths import Array, clamp, largest, maximum, minimum, select

FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "maximum": (maximum, np.maximum),
    "minimum": (minimum, np.minimum),
    "clamp": (lambda x, y: clamp(x, y, 0.5), lambda x, y: np.minimum(np.maximum(x, y), 0.5)),
    "select": (lambda x, y: select(x, x, y), lambda x, y: np.where(x > 0.0, x, y)),
    "largest": (lambda x, y: largest(x - y), lambda x, y: (x - y).max(axis=-1)),
    "abs": (lambda x, y: np.abs(x - y), lambda x, y: np.abs(x - y)),
}


def traced(function: Callable[..., Any], x: Array, y: Array) -> Array:
    tape = Tape()
    nodes = [tape.inputs(name, a.size).reshape(a.shape) for name, a in (("x", x), ("y", y))]
    program = tape.program({"z": function(*nodes)})
    return run(program, {"x": x.ravel(), "y": y.ravel()})["z"].astype(float)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_kind_of_scalar_gives_what_numpy_gives(name: str):
    rng, (ours, numpys) = np.random.default_rng(0), FUNCTIONS[name]
    for shapes in (((4,), (4,)), ((2, 3), (3,)), ((2, 3), (2, 3))):
        x, y = (rng.choice([-1.5, -0.3, 0.0, 0.4, 2.0, np.inf], shape) for shape in shapes)
        y = np.where(np.isinf(y), 3.0, y)
        expected = numpys(x, y)
        np.testing.assert_array_equal(ours(x, y), expected)
        assert np.asarray(ours(x, y)).dtype == float
        np.testing.assert_array_equal(np.asarray(ours(x.astype(object), y.astype(object))).astype(float), expected)
        np.testing.assert_array_equal(traced(ours, x, y), expected)


def test_what_is_no_number_is_not_above_zero():
    x = np.array([np.nan, 1.0, -1.0])
    np.testing.assert_array_equal(select(x, 1.0, 0.0), [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(traced(lambda x, y: select(x, 1.0, y), x, np.zeros(3)), [0.0, 1.0, 0.0])
