"""Walking: the gait data of the package, and the rhythm that is learnt from them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from arm_control.core import read_yaml, share_path
from arm_control.exceptions import ParameterError
from arm_control.maths import Array
from arm_control.primitives import Demonstration, Primitive, load_demonstration

STANDING = np.radians([-90.0, 0.0, 90.0])
BOUNDS = np.array([0.06, 0.17, 0.11])
"""Largest errors with 25 functions: hip, knee, ankle [deg]."""


@pytest.fixture(scope="module")
def gait() -> Demonstration:
    return load_demonstration("gait")


def third_cycle(gait: Demonstration, n_basis: int, method: str = "least_squares") -> Array:
    """Root of the mean square of the errors in the third cycle from a standing leg, shape (3,) [deg]."""
    primitive = Primitive.learn(gait, "rhythmic", n_basis=n_basis, method=method)
    times = 2.0 * gait.duration + gait.times[:-1]
    error = primitive.rollout(times, start=STANDING).q - gait.positions[:-1]
    return np.degrees(np.sqrt(np.mean(error**2, axis=0)))


def test_the_angles_are_those_of_a_walking_human(gait: Demonstration):
    assert "Winter" in read_yaml(share_path("config", "demonstrations", "gait.yaml"))["source"]
    hip, knee, ankle = (np.degrees(gait.positions) * [1.0, -1.0, 1.0] + [90.0, 0.0, -90.0]).T
    percent = 100.0 * gait.times / gait.duration
    assert gait.names == ("joint0", "joint1", "joint2")
    for angle, least, most in ((hip, -17.0, 25.5), (knee, -1.5, 60.5), (ankle, -26.0, 9.0)):
        assert angle.min() == pytest.approx(least, abs=0.5)
        assert angle.max() == pytest.approx(most, abs=0.5)
    assert 45.0 < percent[hip.argmin()] < 60.0, "stretched before the toes leave the ground"
    assert 65.0 < percent[knee.argmax()] < 78.0, "bent in the swing"
    assert 58.0 < percent[ankle.argmin()] < 68.0, "stretched when the toes leave the ground"
    np.testing.assert_allclose(gait.positions[-1], gait.positions[0], rtol=0, atol=1e-12)


def test_least_squares_reproduce_the_gait(gait: Demonstration):
    errors = third_cycle(gait, 25)
    assert (errors < BOUNDS).all(), errors
    assert (third_cycle(gait, 10) > 4.0 * errors).all()
    assert (third_cycle(gait, 100) < 0.2 * errors).all()


def test_weights_fitted_one_by_one_reproduce_it_thirty_times_worse(gait: Demonstration):
    ratio = third_cycle(gait, 25, "locally_weighted") / third_cycle(gait, 25)
    assert ((ratio > 30.0) & (ratio < 80.0)).all(), ratio


def test_the_page_has_the_errors_of_today(gait: Demonstration):
    page = (Path(__file__).parents[2] / "docs" / "primitive_law.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*?) \| (.*?) \| \d+ \|$", page, flags=re.MULTILINE)
    assert [int(row[0]) for row in rows] == [10, 25, 50, 100, 1000]
    for n_basis, together, alone in rows[:3]:
        for method, cell in (("least_squares", together), ("locally_weighted", alone)):
            errors = third_cycle(gait, int(n_basis), method)
            np.testing.assert_allclose([float(x) for x in cell.split(" / ")], errors, rtol=0.06)


def test_many_functions_do_not_jerk_where_the_cycle_closes(gait: Demonstration):
    t = np.linspace(0.0, gait.duration, 501)
    a = np.abs(Primitive.learn(gait, "rhythmic", n_basis=200).rollout(t).a)
    assert (np.vstack([a[:10], a[-10:]]).max(axis=0) < 0.8 * a.max(axis=0)).all()
    assert (a.max(axis=0) < [13.0, 40.0, 45.0]).all()


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
