"""Planners of OMPL with the motion checks of this package; most of it runs where ompl is installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from ompl_planning import ompl_space, ompl_state, path_of

from arm_control import Pose, RobotModel, urdf_path
from arm_control.collision import Validity
from arm_control.exceptions import MissingExtra
from arm_control.maths import Obstacle, Sphere

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
