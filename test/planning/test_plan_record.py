"""Plans as files: what is read is what was written, and what is no plan is a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.maths import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Hull,
    Mover,
    Obstacle,
    Pose,
    Span,
    Sphere,
    rotation_from_vector,
)
from arm_control.planning import PlanRecord

STONE = Hull(0.1 * np.eye(4, 3), np.array([[3, 1, 0], [3, 0, 2], [3, 2, 1], [0, 1, 2]]))
SHAPES = (Sphere(0.1), Box((0.1, 0.2, 0.3)), Cylinder(0.1, 0.2), Capsule(0.1, 0.2), Cone(0.1, 0.2), STONE)
TURNED = Pose(rotation_from_vector(np.array([0.3, -0.2, 0.5])), np.array([0.1, 0.2, 0.3]))
TWIST = (0.1, 0.0, -0.2, 0.0, 0.5, 0.0)
PLAN = PlanRecord(
    "planar2",
    np.array([0.0, 1.0, 3.0]),
    np.array([[0.0, 0.0], [1.0, 0.5], [1.0, -0.5]]),
    tuple(Mover(Obstacle(shape, TURNED, TWIST), Span(0.5 * k, 2.0 + k)) for k, shape in enumerate(SHAPES))
    + (Mover(Obstacle(Sphere(0.2), TURNED), Span()),),
    "ee_link",
    np.arange(8.0).reshape(2, 2, 2),
)


def test_what_is_read_is_what_was_written(tmp_path: Path):
    PLAN.save(tmp_path / "plan.json")
    read = PlanRecord.load(tmp_path / "plan.json")
    assert (read.robot, read.tip) == ("planar2", "ee_link")
    for ours, theirs in ((read.times, PLAN.times), (read.qs, PLAN.qs), (read.tree, PLAN.tree)):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(read.obstacles, PLAN.obstacles, strict=True):
        assert (ours.span, ours.obstacle.shape, tuple(ours.obstacle.V_WO)) == (
            theirs.span,
            theirs.obstacle.shape,
            tuple(theirs.obstacle.V_WO),
        )
        np.testing.assert_allclose(ours.obstacle.X_WO.matrix(), theirs.obstacle.X_WO.matrix(), atol=1e-15)
    PlanRecord("planar2", np.zeros(1), np.zeros((1, 2))).save(tmp_path / "still.json")
    assert PlanRecord.load(tmp_path / "still.json").tree.shape == (0, 2, 0)


def test_postures_and_obstacles_over_time():
    np.testing.assert_allclose(PLAN.at(2.0), [1.0, 0.0])
    np.testing.assert_array_equal(PLAN.at(9.0), [1.0, -0.5])
    at = PLAN.obstacles_at(0.7)
    assert [obstacle is None for obstacle in at] == [False, False, True, True, True, True, False]
    assert at[1] is not None
    np.testing.assert_allclose(at[1].X_WO.p, TURNED.p + 0.2 * np.array(TWIST[:3]))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"times": [0.0, 2.0, 1.0]}, "a plan of 3 postures at times .*: one time for each, increasing from 0 on"),
        ({"positions": [[0.0], [1.0]]}, "a plan of 2 postures"),
        ({"positions": [[float("nan")] * 2] * 3}, "a number of the plan is not finite"),
        ({"tree": [[[0.0], [1.0]]]}, r"edges of shape \(1, 2, 1\); needed: \(k, 2, 2\)"),
        ({"obstacles": [{"shape": "teapot"}]}, "shape 'teapot'; allowed: sphere, box, cylinder, capsule, cone, hull"),
        ({"obstacles": [{"shape": "sphere"}]}, "KeyError: 'sizes'"),
        ({"obstacles": 3}, "TypeError"),
    ],
)
def test_what_is_no_plan_is_a_sentence(tmp_path: Path, change, sentence: str):
    file = tmp_path / "plan.json"
    PLAN.save(file)
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(InputError, match=f"plan.json is not the file of a plan: {sentence}"):
        PlanRecord.load(file)


def test_no_file_and_no_json_are_sentences(tmp_path: Path):
    with pytest.raises(InputError, match="FileNotFoundError"):
        PlanRecord.load(tmp_path / "none.json")
    (tmp_path / "text.json").write_text("[1, 2")
    with pytest.raises(InputError, match="JSONDecodeError"):
        PlanRecord.load(tmp_path / "text.json")
