"""A mesh among the obstacles of a scene: each path of it gives what the box of its corners gives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from mesh_files import UNIT_CUBE, write_stl

from arm_control.app import cli
from arm_control.bags import (
    ReplayOptions,
    SimulatedBag,
    compare,
    controller_of,
    plain,
    read_bag,
    recorded_commands,
    replayed_commands,
)
from arm_control.core import read_yaml, yaml_path
from arm_control.exceptions import InputError
from arm_control.maths import Hull
from arm_control.messages import MOST_BYTES
from arm_control.report import figures_of_simulation
from arm_control.simulation import ObstacleSchedule, PlanFile, Scenario, ScenePlanner, Simulation, Trace, World

EDGE, CORNER = 0.06, [-0.01, 0.37, -0.03]
AS_MESH = {"mesh": "meshes/cube.stl", "scale": EDGE, "position": CORNER}
AS_BOX = {"shape": "box", "size": [EDGE] * 3, "position": (np.array(CORNER) + EDGE / 2).tolist()}


@pytest.fixture
def scenes(tmp_path: Path) -> dict[str, str]:
    """Files of `planar2_obstacle` with a cube in the way, as a mesh and as a box."""
    write_stl(tmp_path / "meshes" / "cube.stl", UNIT_CUBE)
    content: dict[str, Any] = read_yaml(yaml_path("scenarios", "planar2_obstacle"))
    (tmp_path / "kept.yaml").write_text("constraints: [{name: away, kind: clearance, distance: 0.02}]\n")
    content["variants"]["kept"] = {"osc": {"constraints": str(tmp_path / "kept.yaml")}}
    for name, obstacle in (("mesh", AS_MESH), ("box", AS_BOX)):
        scene = content | {"obstacles": [obstacle], "goal": [1.6, 0.9], "margin": 0.005}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(scene))
    return {name: str(tmp_path / f"{name}.yaml") for name in ("mesh", "box")}


def run(path: str, variant: str) -> tuple[Trace, dict[str, float]]:
    scenario = replace(Scenario.load(path), plan={})
    simulation = Simulation(scenario, variant)
    trace = simulation.run(1.5)
    return trace, figures_of_simulation(trace, simulation.model, simulation.targets, None)


@pytest.mark.parametrize("variant", ["with", "without", "kept"])
def test_a_mesh_is_avoided_or_touched_as_the_box_that_it_is(variant: str, scenes: dict[str, str]):
    (as_mesh, figures), (as_box, expected) = (run(scenes[name], variant) for name in ("mesh", "box"))
    assert expected["touches"] == (variant == "without")
    assert figures["touches"] == expected["touches"]
    assert figures["clearance"] == pytest.approx(expected["clearance"], abs=1e-6)
    np.testing.assert_allclose(as_mesh.q, as_box.q, rtol=0, atol=1e-6)
    np.testing.assert_allclose(as_mesh.distance, as_box.distance, rtol=0, atol=1e-6)
    if variant == "kept":
        assert figures["clearance"] == pytest.approx(0.02, abs=1e-3)


def test_a_recorded_mesh_is_replayed_to_the_last_bit(scenes: dict[str, str], tmp_path: Path):
    scenario = replace(Scenario.load(scenes["mesh"]), plan={})
    simulation = Simulation(scenario, "with")
    with SimulatedBag(tmp_path / "bag", simulation, scenario, "with") as recorder:
        trace = simulation.run(1.5, recorder=recorder)
    bag = read_bag(tmp_path / "bag")
    model, parameters = controller_of(bag, ReplayOptions())
    replayed = replayed_commands(bag, model, parameters)
    assert compare(recorded_commands(bag, model), replayed, model, 0.0).identical
    assert trace.distance.min() < 0.03, "it acts"
    assert np.isfinite(trace.distance).all()


def test_a_plan_past_a_mesh_is_free_by_coal(scenes: dict[str, str]):
    run = ScenePlanner(PlanFile.load(scenes["mesh"]).scene()).plan(0)
    assert run.check is not None
    assert run.check.problems == ()
    assert 0.005 <= run.check.clearance < 0.3


def test_the_command_distance_measures_a_mesh(scenes: dict[str, str], capsys: pytest.CaptureFixture[str]):
    found = []
    for name in ("mesh", "box"):
        assert cli.main(["distance", "planar2", "--at", "0.3,1.6", "--obstacles", scenes[name], "--json"]) == 0
        pairs = json.loads(capsys.readouterr().out)["pairs"]
        found.append({pair["link"]: pair["distance"] for pair in pairs if pair["other"] == "obstacle 0"})
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    assert len(found[0]) == 2


def test_many_corners_go_in_several_messages_and_too_many_in_none():
    def messages(n: int, count: int) -> list[Any]:
        """About the same hulls of n points on a sphere."""
        points = np.random.default_rng(0).normal(size=(n, 3))
        hull = Hull.of_points(points / np.linalg.norm(points, axis=1, keepdims=True))
        (mover,) = World.from_mapping({"obstacles": [AS_BOX]}, "here").movers
        movers = (replace(mover, obstacle=replace(mover.obstacle, shape=hull)),) * count
        parts = ObstacleSchedule(World(movers), 0.0).updates(0)
        return [plain.markers(part, "base_link", stamp_ns) for stamp_ns, part in parts]

    for n, count, expected in ((202, 5, [2, 2, 1]), (40, 20, [10, 10]), (8, 20, [16, 4])):
        sent = messages(n, count)
        assert [len(message.markers) for message in sent] == expected
        assert max(sum(24 * len(m.points) + 300 for m in message.markers) for message in sent) < MOST_BYTES
    with pytest.raises(
        InputError, match="a hull of 404 triangles cannot be a marker: allowed are 400, simplify the mesh"
    ):
        messages(204, 1)
