"""The planner of motions within a file of constraints, judged by the rows of a tick."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.constraints import read_constraints
from arm_control.exceptions import ParameterError
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.planning import MotionAnswer, MotionPlanner, MotionPlannerParameters, MotionRequest
from arm_control.report import KeptConstraints

CELL = """constraints:
  - {name: table, kind: half_space, of: arm, point: [0, 0, 0], normal: [0, 0, 1]}
  - {name: box, kind: box, centre: [0.4, 0, 0.45], size: [0.9, 1.0, 0.8]}
  - {name: glass, kind: upright, up: [0, 0, -1], angle: 0.6}
  - {name: slow, kind: speed, limit: 0.25}
  - {name: people, kind: clearance, distance: 0.03}
"""
START = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])


@pytest.fixture(scope="module")
def ur5() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("ur5"))


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("constraints") / "cell.yaml"
    file.write_text(CELL)
    return file


@pytest.fixture(scope="module")
def planner(ur5: RobotModel, cell: Path) -> MotionPlanner:
    return MotionPlanner(MotionPlannerParameters(constraints=str(cell)), ur5)


def answer(planner: MotionPlanner, goal: Pose | Array, *obstacles: Obstacle, start: Array = START) -> MotionAnswer:
    planner.request(MotionRequest(1, start, goal, obstacles))
    answered = planner.poll()
    assert isinstance(answered, MotionAnswer)
    return answered


def broken(model: RobotModel, cell: Path, found: MotionAnswer) -> tuple[str, ...]:
    """What a motion breaks, every 5 ms, by the rows of a tick."""
    assert found.plan is not None, found.reason
    motion = found.plan.motion
    times = np.arange(0.0, motion.duration, 0.005)
    points = [motion.sample(t) for t in times.tolist()]
    kept = KeptConstraints(model, read_constraints(str(cell)).constraints)
    return kept.along(times, np.array([p.q_des for p in points]), np.array([p.v_des for p in points]))


@pytest.mark.parametrize("y", [-0.35, 0.1, 0.4])
def test_plans_keep_the_constraints_that_plans_without_break(
    ur5: RobotModel, cell: Path, planner: MotionPlanner, y: float
):
    goal = Pose(ur5.pose(START).R, np.array([0.6, y, 0.2]))
    assert broken(ur5, cell, answer(planner, goal)) == ()
    free = MotionPlanner(MotionPlannerParameters(), ur5)
    assert any("'slow'" in text for text in broken(ur5, cell, answer(free, goal)))


def test_a_plan_among_moving_obstacles_keeps_them_too(ur5: RobotModel, cell: Path, planner: MotionPlanner):
    """A ball that goes away, far off: its motion makes it a plan in time."""
    goal = START + np.array([0.5, 0.1, -0.1, 0.0, 0.0, 0.3])
    ball = Obstacle(Sphere(0.05), Pose.at([0.0, 2.0, 0.5]), (0.0, 0.1, 0.0, 0.0, 0.0, 0.0))
    assert broken(ur5, cell, answer(planner, goal, ball)) == ()


def test_what_constraints_forbid_is_said_by_name(ur5: RobotModel, cell: Path, planner: MotionPlanner):
    inside = ur5.pose(START)
    outside = answer(planner, Pose(inside.R, np.array([0.5, -0.6, 0.3])))
    assert "'box' (hand at -y) is violated by 100 mm" in outside.reason
    assert outside.reason.startswith("the first of")
    tilted = START + np.array([0.0, 0.0, 0.0, 0.9, 0.0, 0.0])
    assert "the start is not allowed: constraint 'glass' (hand) is violated by 17.2 degrees" in (
        answer(planner, START, start=tilted).reason
    )


def test_a_file_that_is_not_there_is_an_error(ur5: RobotModel):
    with pytest.raises(ParameterError, match="nowhere"):
        MotionPlanner(MotionPlannerParameters(constraints="nowhere"), ur5)
