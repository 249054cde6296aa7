"""A scenario for any arm: its targets are within reach, and the limits it gets carry the arm."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.collision import Proximity
from arm_control.control import AvoidanceParameters, reachability
from arm_control.motion import TargetList
from arm_control.simulation import Scenario, Simulation, proposed_limits, start_posture, write_scenario
from arm_control.simulation.own_arm import target_postures


@pytest.mark.parametrize("robot", ["planar2", "panda", "arm6"])
def test_its_targets_are_within_reach_and_apart(robot: str, tmp_path: Path):
    scenario = Scenario.load(str(write_scenario(tmp_path, robot, {})))
    model = RobotModel.from_urdf(urdf_path(robot))
    start = np.array(scenario.nodes["simulator"]["initial_position"])
    assert np.all((model.q_min <= start) & (start <= model.q_max))
    assert np.abs(model.gravity(start) / model.tau_max).max() < 0.7
    targets = TargetList.load(scenario.nodes["targets"]["file"]).targets
    assert len(targets) == 5
    assert all(reachability(model, X, start).is_reached for X in targets)
    assert np.linalg.norm(targets[0].p - targets[1].p) > 0.01
    assert all(X.p[2] >= 0.0 for X in targets), "above the plate that the base stands on"


def test_avoidance_of_its_own_links_acts_nowhere_between_its_targets():
    panda = RobotModel.from_urdf(urdf_path("panda"))
    postures, links = target_postures(panda, start_posture(panda)), Proximity(panda)
    for before, after in pairwise([*postures[-1:], *postures]):
        assert links.clearances(np.linspace(before, after, 11)).min() > AvoidanceParameters().self_threshold
    near = links.clearances(np.random.default_rng(0).uniform(panda.q_min, panda.q_max, (50, 7)))
    assert near.min() < AvoidanceParameters().self_threshold, "elsewhere it does"


def test_limits_that_a_urdf_does_not_state_are_proposed_and_carry_the_arm(tmp_path: Path):
    file = tmp_path / "arm.urdf"
    file.write_text(re.sub(r' (effort|velocity)="[^"]*"', "", urdf_path("planar2").read_text()))
    limits = proposed_limits(str(file), {})
    names = [entry.partition(":")[0] for entry in limits["effort_limits"]]
    assert names == [entry.partition(":")[0] for entry in limits["velocity_limits"]] != []
    assert proposed_limits(str(file), limits) == {}
    kept = proposed_limits(str(file), {"effort_limits": [f"{names[0]}:7.0"]})
    assert kept["effort_limits"][0] == f"{names[0]}:7.0"
    model = RobotModel.from_urdf(
        file,
        **{what: {n: float(x) for n, _, x in (e.partition(":") for e in limits[what])} for what in limits},
    )
    share = [np.abs(model.gravity(q) / model.tau_max).max() for q in np.random.default_rng(2).uniform(-3, 3, (50, 2))]
    assert max(share) < 0.5
    path = write_scenario(tmp_path, str(file), limits, start_posture(model))
    trace = Simulation(Scenario.load(str(path))).run(3.0)
    assert np.linalg.norm(trace.error[-1, :3]) < 1e-3
