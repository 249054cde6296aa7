"""One file format for scenarios and planning scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from arm_control.core import read_yaml, yaml_path
from arm_control.simulation import PlanFile, Scenario, Simulation
from arm_control.simulation.scene import ENTRIES


def write(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


def test_a_file_is_a_scenario_and_a_planning_scene(tmp_path: Path):
    scene = read_yaml(yaml_path("plans", "planar4_disc"))
    scene |= scene.pop("variants")["through"]
    scenario = read_yaml(yaml_path("scenarios", "planar4_disc"))
    content = scenario | scene | {"plan": {"speed": 0.9}, "margin": 0.01}
    assert content.keys() <= set(ENTRIES)
    path = str(write(tmp_path / "both.yaml", content))
    points = Simulation(Scenario.load(path)).planned.points
    expected = Simulation(Scenario.load("planar4_disc")).planned.points
    np.testing.assert_array_equal(points.qs, expected.qs)
    assert repr(Scenario.load(path).world) == repr(Scenario.load("planar4_disc").world)
    planned = PlanFile.load(path).scene()
    assert repr(planned.obstacles) == repr(PlanFile.load("planar4_disc").scene("through").obstacles)
    assert (planned.margin, planned.start.tolist()) == (0.01, scene["start"])


def test_the_arm_of_a_file_is_that_of_all_nodes_and_of_its_plan(tmp_path: Path):
    arm = {"tip": "forearm_link", "payload_mass": 2.0}
    nodes = {"simulator": {}, "osc": {"payload_mass": 3.0}}
    content = {"robot": "ur5", "arm": arm, "start": [0.0] * 3, "goal": [0.1] * 3, "nodes": nodes}
    path = str(write(tmp_path / "a.yaml", content))
    taken = Scenario.load(path).nodes
    assert taken["simulator"] == {"initial_position": [0.0] * 3, **arm}
    assert taken["osc"] == arm | {"payload_mass": 3.0}
    model = PlanFile.load(path).scene().model
    assert (model.tip, model.nq) == ("forearm_link", 3)
    bare = PlanFile.load(str(write(tmp_path / "b.yaml", content | {"arm": {"tip": "forearm_link"}}))).scene().model
    assert np.abs(model.gravity(np.zeros(3)) - bare.gravity(np.zeros(3))).max() > 1.0
