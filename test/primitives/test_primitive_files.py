"""Files of movement primitives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from arm_control.exceptions import ParameterError
from arm_control.primitives import (
    Demonstration,
    Primitive,
    PrimitiveFile,
    coordinate_names,
    for_joints,
    primitive_names,
)

T = np.linspace(0.0, 2.0, 51)
PATH = np.column_stack([T**2 * (3.0 - T), np.sin(T) ** 2, 0.1 * T**3])


@pytest.fixture(scope="module")
def primitive() -> Primitive:
    return Primitive.learn(Demonstration(T, PATH, names=("a", "b", "c")), n_basis=9)


def test_a_file_brings_every_number_back(primitive: Primitive, tmp_path: Path):
    path = tmp_path / "reach.yaml"
    PrimitiveFile(primitive, "it's a reach: to the left").save(path)
    found, description = PrimitiveFile.load(str(path))
    assert description == "it's a reach: to the left"
    assert (found.kind, found.names, found.duration) == ("discrete", ("a", "b", "c"), 2.0)
    for name in ("start", "goal", "weights", "final_velocity"):
        np.testing.assert_array_equal(getattr(found, name), getattr(primitive, name))
    assert max(map(len, path.read_text().splitlines())) <= 120
    assert path.read_text().count("  # ") == 3, "a comment names the joint of each row"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 2}, "version 2; this package reads version 1"),
        ({"version": None}, "version None"),
        ({"speed": 1.0}, "unknown speed; allowed: "),
        ({"goal": [0.0]}, r"goal has shape \(1,\); allowed: 3 finite numbers"),
        ({"start": [0.0, float("nan"), 0.0]}, "3 finite numbers"),
        ({"weights": [[1.0], [2.0, 3.0], [1.0]]}, "weights is not an array of numbers"),
        ({"kind": "spiral"}, "kind = 'spiral'; allowed: discrete, rhythmic"),
        ({"duration": 0.0}, "duration = 0.0: a positive time"),
        ({"names": "abc"}, "names = 'abc'"),
        ({"names": ["a", "b"]}, "weights of 3 joints, names of 2"),
        ({"goal": ...}, "goal missing"),
    ],
)
def test_bad_content_is_refused_in_a_sentence_with_the_file(
    primitive: Primitive, tmp_path: Path, change: dict, sentence: str
):
    path = tmp_path / "bad.yaml"
    content = {"version": 1, "description": "", **primitive.as_mapping(), **change}
    path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value is not ...}))
    with pytest.raises(ParameterError, match=sentence) as error:
        PrimitiveFile.load(str(path))
    assert str(path) in str(error.value)


def test_an_unknown_name_is_told_with_those_there_are():
    with pytest.raises(ParameterError, match="no 'digit_4' in config/primitives; did you mean 'digit_3'"):
        PrimitiveFile.load("digit_4")


def test_joints_are_matched_by_name(primitive: Primitive):
    two = for_joints(primitive, ("c", "a"))
    rollout = two.rollout([0.7, 1.4])
    np.testing.assert_allclose(rollout.q, primitive.rollout([0.7, 1.4]).q[:, [2, 0]])
    assert coordinate_names(two) == ("c", "a")
    with pytest.raises(ParameterError, match="does not move d of this arm: it has a, b, c"):
        for_joints(primitive, ("a", "d"))
    with pytest.raises(ParameterError, match="it is one of the end effector"):
        for_joints(PrimitiveFile.load("sweep").primitive, ("a",))


@pytest.mark.parametrize("name", primitive_names())
def test_primitives_of_the_package_begin_and_end_where_they_say(name: str):
    primitive, description = PrimitiveFile.load(name)
    assert description
    motion = primitive.rollout([0.0, primitive.duration])
    if primitive.kind == "discrete":
        np.testing.assert_allclose(motion.q, [primitive.start, primitive.goal], atol=1e-6)
        np.testing.assert_allclose(motion.v[1], primitive.final_velocity, atol=1e-5)
    else:
        np.testing.assert_allclose(motion.q[1], motion.q[0], atol=1e-9)
