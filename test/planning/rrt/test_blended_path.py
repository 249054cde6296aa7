"""Plans as motions: rounded corners stay free, limits hold, the arm stops where it has to."""

from __future__ import annotations

import numpy as np
import pytest
from planar_arm import planar_validity, plate, smallest_distance, wall_with_gap

from arm_control.collision import Validity
from arm_control.exceptions import InputError
from arm_control.motion import JointTrajectory
from arm_control.planning import (
    PathLimits,
    Plan,
    RrtConnect,
    SearchParameters,
    TimeScaler,
    fastest_motion,
    rounded_paths,
    shorten,
)
from arm_control.planning.plans import Effort, free_path

SHARP = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])


@pytest.fixture(scope="module")
def validity() -> Validity:
    return planar_validity()


def plan_of(path: np.ndarray) -> Plan:
    return free_path(path, np.zeros(len(path)), Effort())


def points(paths: tuple[JointTrajectory, ...], n: int = 400) -> np.ndarray:
    return np.concatenate([[path.sample(s).q_des for s in np.linspace(0.0, path.duration, n)] for path in paths])


def test_a_corner_becomes_the_parabola_of_its_equation(validity: Validity):
    validity.place([])
    (path,) = rounded_paths(validity, plan_of(SHARP))
    assert path.knots.tolist() == pytest.approx([0.0, 0.7, 1.3, 2.0])
    assert np.allclose(path.sample(1.0).q_des, [0.925, 0.075])  # half way: a quarter of d from both motions
    for s in (0.7, 1.3):  # no step of the direction
        assert np.allclose(path.sample(s - 1e-9).v_des, path.sample(s).v_des, atol=1e-7)
    assert np.allclose(path.end.q_des, SHARP[-1])


def test_the_rounded_path_of_a_plan_is_free_and_its_motion_within_limits(validity: Validity):
    validity.place(wall_with_gap())
    plan = shorten(validity, RrtConnect(validity).plan([0.0, 0.0], [1.6, 0.0]))
    paths = rounded_paths(validity, plan)
    q = points(paths, 100)
    rounded = plan_of(q)
    assert smallest_distance(validity, rounded, wall_with_gap(), step=0.05) > 0.0
    model = validity.shape.model
    limits = PathLimits.of(model, a_max=10.0)
    motion = fastest_motion(TimeScaler(model, limits, 200), validity, plan)
    assert motion.duration > np.abs(np.diff(plan.path, axis=0)).sum(axis=0).max() / 2.0 * 0.8
    for t in np.linspace(0.0, motion.duration, 60):
        reference = motion.sample(t)
        assert (np.abs(reference.v_des) <= limits.v_max + 1e-9).all()
        assert (np.abs(reference.a_des) <= 10.0 + 1e-6).all()
        assert np.linalg.norm(q - reference.q_des, axis=1).min() < 0.03
    assert np.allclose(motion.sample(-1.0).q_des, plan.path[0])
    assert np.allclose(motion.sample(motion.duration + 1.0).q_des, plan.path[-1])


def test_the_arm_stops_where_the_path_turns_back(validity: Validity):
    validity.place([])
    back = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.01], [0.0, 1.0]])
    paths = rounded_paths(validity, plan_of(back))
    assert [path.sample(0.0).q_des.tolist() for path in paths] == [[0.0, 0.0], [1.0, 0.0]]
    assert np.allclose(paths[0].end.q_des, [1.0, 0.0])
    motion = fastest_motion(
        TimeScaler(validity.shape.model, PathLimits.of(validity.shape.model), 200), validity, plan_of(back)
    )
    assert len(motion.parts) == 2
    stop = motion.sample(motion.parts[0].duration)
    assert np.allclose(stop.q_des, [1.0, 0.0])
    assert np.allclose(stop.v_des, 0.0)


def test_what_is_no_path_at_rest_is_refused_with_a_sentence(validity: Validity):
    validity.place([plate(1.25, 0.15, 2.0, 0.1), plate(1.25, -0.15, 2.0, 0.1)])
    caged = RrtConnect(validity, SearchParameters(rounds=2)).plan([0.0, 0.0], [1.6, 0.0])
    with pytest.raises(InputError, match="a plan without a path: no path was found in 2 rounds of samples"):
        rounded_paths(validity, caged)
    with pytest.raises(InputError, match="the plan has times of its own"):
        rounded_paths(validity, free_path(SHARP, np.arange(3.0), Effort()))
    with pytest.raises(InputError, match="the plan does not move"):
        rounded_paths(validity, plan_of(np.zeros((2, 2))))
