"""Walking: the gait data of the package, and the rhythm that is learnt from them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from arm_control.exceptions import ParameterError
from arm_control.maths import Array
from arm_control.primitives import Demonstration, Primitive, load_demonstration

STANDING = np.radians([-90.0, 0.0, 90.0])


@pytest.fixture(scope="module")
def gait() -> Demonstration:
    return load_demonstration("gait")


def third_cycle(gait: Demonstration, n_basis: int, method: str = "least_squares") -> Array:
    """Root of the mean square of the errors in the third cycle from a standing leg, shape (3,) [deg]."""
    primitive = Primitive.learn(gait, "rhythmic", n_basis=n_basis, method=method)
    times = 2.0 * gait.duration + gait.times[:-1]
    error = primitive.rollout(times, start=STANDING).q - gait.positions[:-1]
    return np.degrees(np.sqrt(np.mean(error**2, axis=0)))


def test_the_page_has_the_errors_of_today(gait: Demonstration):
    page = (Path(__file__).parents[2] / "docs" / "primitive_law.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*?) \| (.*?) \| \d+ \|$", page, flags=re.MULTILINE)
    assert [int(row[0]) for row in rows] == [10, 25, 50, 100, 1000]
    for n_basis, together, alone in rows[:3]:
        for method, cell in (("least_squares", together), ("locally_weighted", alone)):
            errors = third_cycle(gait, int(n_basis), method)
            np.testing.assert_allclose([float(x) for x in cell.split(" / ")], errors, rtol=0.06)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"percent": [0.0, 50.0]}, "positions have shape"),
        ({"percent": [0.0, 0.0, 100.0]}, "is there twice"),
        ({"period": -1.0}, "decrease"),
        ({"joints": [{"name": "a", "factor": 1.0, "offset": 0.0, "degrees": [0.0, "x", 1.0]}]}, "could not convert"),
        ({"joints": [{"name": "a", "degrees": [0.0, 2.0, 1.0]}]}, "KeyError: 'factor'"),
        ({"joints": [{"name": "a", "radians": [0.0, 2.0, 1.0]}]}, "radians"),
        ({"joints": 7}, "TypeError"),
        ({"joint": []}, "joint"),
    ],
)
def test_a_bad_file_is_refused_with_a_sentence(change: dict, sentence: str, tmp_path: Path):
    joint = {"name": "a", "factor": 2.0, "offset": 10.0, "degrees": [0.0, 2.0, 1.0]}
    good = {"period": 3.0, "percent": [0, 50, 100], "joints": [joint]}
    file = tmp_path / "it.yaml"
    file.write_text(yaml.safe_dump(good))
    loaded = load_demonstration(str(file))
    np.testing.assert_allclose(loaded.times, [0.0, 1.5, 3.0])
    np.testing.assert_allclose(np.degrees(loaded.positions.ravel()), [10.0, 14.0, 12.0])
    file.write_text(yaml.safe_dump(good | change))
    with pytest.raises(ParameterError, match=sentence):
        load_demonstration(str(file))
