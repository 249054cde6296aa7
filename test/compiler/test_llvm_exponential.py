"""Exponentials in machine code against NumPy's, over the whole range."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from program_runs import in_lanes

from arm_control.compiler import Law, python_kernel
from arm_control.maths import columns, exp, rows

Function = Callable[[np.ndarray], np.ndarray]
EDGES = [709.782712893384, np.nextafter(709.782712893384, 710.0), 710.0, 1e300, np.inf]
TINY = [-708.39, -708.4, -745.13, -745.1332191019411, -745.1332191019412, -745.2, -746.5, -1e300, -np.inf]


@pytest.fixture(scope="module", params=[2, 8])
def exponentials(request: pytest.FixtureRequest) -> Function:
    """Exponentials of many numbers in vectors of a width."""
    compute = in_lanes(Law("exponentials", lambda x: {"y": exp(x["x"])}, {"x": 1}), request.param)
    return lambda x: compute(x[:, None])[:, 0]


def units(found: np.ndarray, x: np.ndarray) -> float:
    """Largest error in units of the last place, by NumPy's long double."""
    exact = np.exp(x.astype(np.longdouble))
    return float(np.max(np.abs(found - exact) / np.spacing(exact.astype(float))))


def test_it_is_right_to_one_unit_over_the_whole_range(exponentials: Function):
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(-708.0, 709.7, 20_000), rng.uniform(-1.0, 1.0, 20_000)])
    assert units(exponentials(x), x) < 1.0
    small = np.concatenate([sign * np.logspace(-320, 0, 1000) for sign in (-1.0, 1.0)])
    assert units(exponentials(small), small) < 1.0


def test_it_overflows_and_underflows_where_numpy_does(exponentials: Function):
    with np.errstate(all="ignore"):
        for x in (np.array(EDGES), np.array(TINY), np.linspace(-746.0, -700.0, 1001)):
            np.testing.assert_allclose(exponentials(x), np.exp(x), rtol=4e-16, atol=5e-324)
    assert exponentials(np.array([0.0, -0.0])).tolist() == [1.0, 1.0]


def test_floats_columns_arrays_and_generated_python_agree():
    x = np.array([-800.0, -3.0, 0.0, 2.0, 709.0, 720.0, np.nan])
    with np.errstate(all="ignore"):
        expected = np.exp(x)
        np.testing.assert_allclose([exp(float(value)) for value in x], expected, rtol=4e-16)
        np.testing.assert_array_equal(rows(exp(columns(x[None])), len(x))[0], expected)
        np.testing.assert_array_equal(exp(x), expected)
    kernel = python_kernel(Law("of a test", lambda inputs: {"y": exp(inputs["x"])}, {"x": 6}))
    kernel.inputs["x"][:] = x[:6]
    assert not kernel.call()
    np.testing.assert_allclose(kernel.outputs["y"], expected[:6], rtol=4e-16)
