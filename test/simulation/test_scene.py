"""One file format for scenarios and planning scenes, and the old words of its entries."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from mesh_files import UNIT_CUBE, dented, write_stl

from arm_control.core import read_yaml, yaml_path
from arm_control.exceptions import ParameterError
from arm_control.simulation import PlanFile, Scenario, Simulation
from arm_control.simulation.scene import ENTRIES, OLD_WORDS, read_scene

OLD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "world.obstacles": ({"world": {"obstacles": []}}, {"obstacles": []}),
    "world.pushes": ({"world": {"pushes": []}}, {"pushes": []}),
    "world.floor": ({"world": {"floor": -1.0}}, {"floor": -1.0}),
    "plan.goal": ({"plan": {"goal": [0.0], "speed": 0.5}}, {"goal": [0.0], "plan": {"speed": 0.5}}),
    "plan.pose": ({"plan": {"pose": {}}}, {"pose": {}, "plan": {}}),
    "plan.margin": ({"plan": {"margin": 0.1}}, {"margin": 0.1, "plan": {}}),
    "plan.horizon": ({"plan": {"horizon": 2.0}}, {"horizon": 2.0, "plan": {}}),
    "nodes.simulator.initial_position": (
        {"nodes": {"simulator": {"initial_position": [0.5], "timestep": 0.01}}},
        {"nodes": {"simulator": {"timestep": 0.01}}, "start": [0.5]},
    ),
    "tip": ({"tip": "hand", "arm": {"base": "rail"}}, {"arm": {"base": "rail", "tip": "hand"}}),
}


def write(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


def read(path: Path, content: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in read_scene(write(path, content)).items() if value or key != "variants"}


@pytest.mark.parametrize("word", OLD)
def test_an_old_word_is_read_with_a_warning(word: str, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    old, new = OLD[word]
    with caplog.at_level(logging.WARNING, "arm_control.scene"):
        assert read(tmp_path / "new.yaml", new) == new
        assert not caplog.messages
        assert read(tmp_path / "old.yaml", old) == new
    before, now = (name.replace(".", ": ") for name in (word, OLD_WORDS[word]))
    assert caplog.messages == [f"{tmp_path / 'old.yaml'}: '{before}' is an old word: write '{now}'"]


def test_every_old_word_is_tried():
    assert OLD.keys() == OLD_WORDS.keys()


def test_old_words_of_variants_are_read(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    nodes = {"simulator": {"initial_position": [0.0]}, "joint": {}}
    content = {"nodes": nodes, "variants": {"a": {"simulator": {"initial_position": [0.5]}}, "b": {}}}
    scenario = Scenario.load(str(write(tmp_path / "a.yaml", content)))
    starts = [scenario.variant(name).nodes["simulator"]["initial_position"] for name in ("a", "b")]
    assert starts == [[0.5], [0.0]]
    assert [message.partition(": ")[2].partition(" is")[0] for message in caplog.messages] == [
        "'nodes: simulator: initial_position'", "a: 'simulator: initial_position'",
    ]  # fmt: skip


def test_an_alias_is_renamed_wherever_it_stands(tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_text("nodes: {simulator: &s {initial_position: [0.5]}}\nvariants: {a: {simulator: *s}}\n")
    content = read_scene(path)
    assert (content["start"], content["variants"]["a"]["start"]) == ([0.5], [0.5])


def test_an_old_word_beside_its_present_one_is_refused(tmp_path: Path):
    with pytest.raises(ParameterError, match="'world: floor' is the old word for 'floor', which is there, too"):
        read(tmp_path / "a.yaml", {"world": {"floor": 0.0}, "floor": 0.0})


def test_a_mesh_is_found_from_the_folder_of_its_file_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """In it, above it and in a package, wherever the process runs."""
    above = write_stl(tmp_path / "meshes" / "cube.stl", UNIT_CUBE)
    write_stl(tmp_path / "scenes" / "meshes" / "cube.stl", dented())
    write_stl(tmp_path / "packages" / "stones" / "cube.stl", UNIT_CUBE)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "packages"))
    for name in ("meshes/cube.stl", "../meshes/cube.stl", "package://stones/cube.stl", str(above), f"file://{above}"):
        obstacle = {"mesh": name, "scale": 0.1, "position": [0.5, 0.0, 0.0], "velocity": [0.1, 0.0, 0.0], "until": 2.0}
        path = write(tmp_path / "scenes" / "a.yaml", {"obstacles": [obstacle], "variants": {"b": {}}})
        scenario = Scenario.load(str(path))
        (mover,) = scenario.world.movers
        assert mover.obstacle.shape.extent == pytest.approx(0.1 * np.sqrt(3.0))
        assert (mover.span.end, mover.at(1.0).X_WO.p.tolist()) == (2.0, [0.6, 0.0, 0.0])
        assert bool(mover.obstacle.shape.note) == (name == "meshes/cube.stl")
        assert repr(PlanFile.load(str(path)).obstacles("b")) == repr(scenario.world.movers)


def test_a_mesh_that_is_not_convex_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    write_stl(tmp_path / "bowl.stl", dented())
    path = str(write(tmp_path / "a.yaml", {"obstacles": [{"mesh": "bowl.stl", "position": [0.0, 0.0, 0.0]}]}))
    for _ in range(2):
        assert Scenario.load(path).world.movers
    assert caplog.messages == ["the mesh bowl.stl is not convex: its hull is taken, up to 0.1 m outside of it"]


MESH = {"mesh": "cube.stl", "position": [0.0, 0.0, 0.0]}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "gone": (
        {"mesh": "none.stl"},
        "obstacles: 0: the mesh none.stl does not exist in the folder of the file or one above",
    ),
    "outside": (
        {"mesh": "/etc/hostname"},
        "the mesh /etc/hostname does not exist in the folder of the file or one above",
    ),
    "web": ({"mesh": "http://a/b.stl"}, "the mesh http://a/b.stl does not exist"),
    "no mesh": ({"mesh": "a.yaml"}, "obstacles: 0: the mesh .*a.yaml cannot be read: No suitable reader found"),
    "fine": ({"mesh": "fine.stl"}, "obstacles: 0: .*triangles; allowed are 1000, because each check goes through all"),
    "flat": ({"mesh": "flat.stl"}, "obstacles: 0: the hull of the mesh flat.stl is flat"),
    "scale": ({"scale": -1.0}, "obstacles: 0: scale = -1.0: a finite number, 0 or more, is needed"),
    "shape": ({"shape": "box"}, "obstacles: 0: a mesh has neither 'shape' nor 'size'"),
    "scale alone": ({"mesh": None, "shape": "sphere", "size": 1, "scale": 2.0}, "obstacles: 0: 'scale' without 'mesh'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mesh_that_cannot_be_an_obstacle_is_one_sentence(case: str, tmp_path: Path):
    changes, sentence = WRONG[case]
    entry = {key: value for key, value in (MESH | changes).items() if value is not None}
    ball = np.random.default_rng(0).normal(size=(200, 3, 3))
    write_stl(tmp_path / "fine.stl", ball / np.linalg.norm(ball, axis=2, keepdims=True))
    write_stl(tmp_path / "flat.stl", UNIT_CUBE[:2])
    write_stl(tmp_path / "cube.stl", UNIT_CUBE)
    with pytest.raises(ParameterError, match=sentence):
        Scenario.load(str(write(tmp_path / "a.yaml", {"obstacles": [entry]})))


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
