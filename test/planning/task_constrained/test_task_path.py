"""Task paths: derivatives against differences, pieces against the path, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.planning import TaskPath, circle, ellipse, line

PATHS = {
    "line": line([1.0, -0.5], [1.2, 0.5]),
    "ellipse": ellipse([2.0, 1.0], [0.6, 0.0], [0.1, 0.3], phase=1.0, rows="x z"),
    "circle": circle([0.5, 0.0, 0.4], 0.2, normal=[1.0, 1.0, 0.5], turns=-1.0),
}


@pytest.mark.parametrize("name", PATHS)
def test_derivatives_are_those_of_the_path(name: str):
    path, h = PATHS[name], 1e-4
    s = np.linspace(0.01, 0.99, 41)
    before, at, after = (path.at(s + step) for step in (-h, 0.0, h))
    np.testing.assert_allclose(at.y_s, (after.y - before.y) / (2.0 * h), atol=1e-5)
    np.testing.assert_allclose(at.y_ss, (after.y_s - before.y_s) / (2.0 * h), atol=2e-3)


@pytest.mark.parametrize("name", PATHS)
def test_pieces_are_on_the_path(name: str):
    path, n = PATHS[name], 40
    u = np.linspace(0.0, 1.0 / n, 7)
    y = (u[:, None] ** np.arange(6)) @ path.pieces(n)
    s = np.arange(n)[:, None] / n + u
    np.testing.assert_allclose(y.reshape(-1, y.shape[2]), path.at(s.ravel()).y, atol=1e-7)


def test_a_circle_has_its_radius_and_begins_nearest_to_x():
    y = PATHS["circle"].at(np.linspace(0.0, 1.0, 9)).y - [0.5, 0.0, 0.4]
    np.testing.assert_allclose(np.linalg.norm(y, axis=1), 0.2, atol=1e-12)
    np.testing.assert_allclose(y @ [1.0, 1.0, 0.5], 0.0, atol=1e-12)
    assert y[0, 0] == pytest.approx(0.2 * np.sqrt(1.0 - 1.0 / 2.25))


def test_what_is_no_path_is_refused():
    corner = TaskPath(lambda s: (np.abs(s - 0.49)[:, None], np.sign(s - 0.49)[:, None], 0.0 * s[:, None]), ("x",))
    with pytest.raises(InputError, match="off the task path"):
        corner.pieces(10)
    with pytest.raises(InputError, match="end has 2 numbers, start has 3"):
        line([0.0, 0.0, 0.0], [1.0, 0.0])
    with pytest.raises(InputError, match="rows"):
        line([0.0, 0.0], [1.0, 0.0], rows="y x")
    with pytest.raises(InputError, match="as many of both"):
        line([0.0, 0.0], [1.0, 0.0], rows="x")
    with pytest.raises(InputError, match="finite"):
        ellipse([0.0, np.nan], [1.0, 0.0], [0.0, 1.0])
    with pytest.raises(InputError, match="above zero"):
        circle([0.0, 0.0], -1.0)
