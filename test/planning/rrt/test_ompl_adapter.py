"""Planners of OMPL with the motion checks of this package; most of it runs where ompl is installed."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from arm_control import Pose, RobotModel, urdf_path
from arm_control.collision import Validity
from arm_control.exceptions import MissingExtra
from arm_control.maths import Obstacle, Sphere
from arm_control.planning import ompl_space, ompl_state, path_of

REPO = Path(__file__).parents[3]
START, GOAL = np.array([-0.8, 0.0]), np.array([0.8, 0.0])


@pytest.fixture(scope="module")
def validity() -> Validity:
    """A planar arm, and a disc between start and goal, which it goes around folded."""
    validity = Validity(RobotModel.from_urdf(urdf_path("planar2")))
    validity.place([Obstacle(Sphere(0.05), Pose.at([0.5, 0.0, 0.0]))])
    return validity


def test_a_missing_library_is_named(validity: Validity, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ompl", None)
    with pytest.raises(MissingExtra, match="'ompl' is not installed"):
        ompl_space(validity)


def test_checks_are_those_of_validity(validity: Validity):
    """The middle of the motion is in contact, its ends are not."""
    pytest.importorskip("ompl")
    space = ompl_space(validity)
    start, goal, middle = (ompl_state(space, q) for q in (START, GOAL, np.zeros(2)))
    assert [space.isValid(state) for state in (start, goal, middle)] == [True, True, False]
    assert not space.checkMotion(start, goal)
    assert space.checkMotion(start, ompl_state(space, START + 0.1))


def test_a_path_of_ompl_is_free_without_a_gap(validity: Validity):
    pytest.importorskip("ompl")
    from ompl import base, geometric

    space = ompl_space(validity)
    problem = base.ProblemDefinition(space)
    problem.setStartAndGoalStates(ompl_state(space, START), ompl_state(space, GOAL))
    planner = geometric.RRTConnect(space)
    planner.setProblemDefinition(problem)
    planner.setup()
    assert planner.solve(base.timedPlannerTerminationCondition(20.0))
    path = path_of(problem.getSolutionPath(), 2)
    np.testing.assert_allclose(path[[0, -1]], [START, GOAL], rtol=0, atol=1e-9)
    assert len(path) > 2
    assert validity.free_motions(path[:-1], path[1:]).all()


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("ompl")
    (example,) = re.findall(r"```py\n(.*?)```", (REPO / "docs" / "planning.md").read_text(), re.DOTALL)
    assert len(example.splitlines()) <= 20
    exec(example, {})
    assert "Exact solution" in capsys.readouterr().out


def test_the_baseline_of_the_benchmark_finds_the_path(validity: Validity):
    pytest.importorskip("ompl")
    file = REPO / "benchmark" / "ompl_baseline.py"
    specification = importlib.util.spec_from_file_location(file.stem, file)
    baseline = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(baseline)
    plan = baseline.plan_with_ompl(validity, START, [GOAL], 20.0)
    assert plan.is_found
    assert validity.free_motions(plan.path[:-1], plan.path[1:]).all()
    assert plan.ms > 0.0
