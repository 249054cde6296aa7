"""Scenarios, lists of targets and parameter files: every one that comes with the package, and bad ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from arm_control.control import PROPOSED, OscParameters
from arm_control.controllers import CONTROLLERS
from arm_control.core import read_yaml, urdf_path
from arm_control.exceptions import ArmControlError, ParameterError
from arm_control.gate import GateParameters
from arm_control.model import RobotModel
from arm_control.motion import Motion, PosePoints, TargetList, Waypoints, load_trajectory
from arm_control.primitives import load_demonstration
from arm_control.simulation import (
    NODES,
    Scenario,
    World,
    check_parameter_file,
    merged,
    scenario_in,
    scenario_names,
    with_values,
)
from arm_control.simulation.scene import ENTRIES

CONFIG = Path(__file__).parents[2] / "config"
SCENARIOS = sorted((CONFIG / "scenarios").glob("*.yaml"))
TARGETS = sorted((CONFIG / "targets").glob("*.yaml"))
MOTIONS = sorted((CONFIG / "motions").glob("*.yaml"))
TRAJECTORIES = sorted((CONFIG / "trajectories").glob("*.yaml"))
PRIMITIVES = sorted((CONFIG / "primitives").glob("*.yaml"))
DEMONSTRATIONS = sorted((CONFIG / "demonstrations").glob("*.yaml"))
CONSTRAINTS = sorted((CONFIG / "constraints").glob("*.yaml"))  # read by the scenarios that name them
PLANS = sorted((CONFIG / "plans").glob("*.yaml"))  # read in test_plan_scene.py
SWEEPS = sorted((CONFIG / "sweeps").glob("*.yaml"))  # read in test_sweep.py
PARAMETER_FILES = sorted(CONFIG.glob("*.yaml"))
LEFT_EARLY = {"planar2_draw", "ur5_primitive"}
"""Targets that move before they are reached: goals of a primitive on its way."""
PARAMETERS = {"osc": (OscParameters, GateParameters), "gate": (GateParameters,)}


def name(path: Path) -> str:
    return path.stem


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


# -- the files of the package --------------------------------------------------------------------------


def test_no_file_is_forgotten():
    groups = SCENARIOS, TARGETS, MOTIONS, TRAJECTORIES, PRIMITIVES, DEMONSTRATIONS, PLANS, PARAMETER_FILES
    assert all(groups)
    known = {path for group in (*groups, CONSTRAINTS, SWEEPS) for path in group}
    assert {path for path in CONFIG.rglob("*") if path.suffix in (".yaml", ".yml")} == known
    assert scenario_names() == tuple(map(name, SCENARIOS))


@pytest.mark.parametrize("path", SCENARIOS, ids=name)
def test_every_scenario_loads_by_name_and_by_path(path: Path):
    scenario = Scenario.load(path.stem)
    assert scenario == Scenario.load(str(path))
    assert scenario.name == path.stem
    assert scenario.description.endswith(".")
    assert set(scenario.nodes) <= set(NODES)
    model = RobotModel.from_urdf(urdf_path(scenario.robot))
    assert len(scenario.nodes["simulator"]["initial_position"]) == model.nv
    targets = scenario.targets()
    assert (targets is not None) == ("file" in scenario.nodes.get("targets", {}))
    assert (scenario.motion() is not None) == ("motion" in scenario.nodes.get("targets", {}))
    for todo in filter(None, (targets, scenario.motion())):
        assert todo.frame in model.frames


@pytest.mark.parametrize("path", SCENARIOS, ids=name)
def test_the_gate_of_the_simulator_passes_what_the_controller_may_send(path: Path):
    """Constraints change what a controller sends: they are no limits of what a simulator takes."""
    nodes, own = Scenario.load(path.stem).nodes, set(GateParameters.types()) - {"constraints"}
    limits = {key: x for node in CONTROLLERS for key, x in nodes.get(node, {}).items() if key in own}
    assert limits == {key: nodes["simulator"].get(key) for key in limits}


@pytest.mark.parametrize("path", TARGETS, ids=name)
def test_every_list_of_targets_loads_by_name_and_by_path(path: Path):
    by_name, by_path = TargetList.load(path.stem), TargetList.load(str(path))
    assert len(by_name.targets) == len(by_path.targets) >= 1
    assert by_name.period > 0.0
    is_left_early = path.stem in LEFT_EARLY
    counts = by_name.orientation_tolerance <= np.pi
    assert 0.0 < by_name.position_tolerance <= (0.15 if is_left_early else 0.01)
    assert 0.0 < by_name.orientation_tolerance <= (np.radians(12.0 if is_left_early else 1.0) if counts else np.inf)
    for X in by_name.targets:
        np.testing.assert_allclose(X.R @ X.R.T, np.eye(3), rtol=0, atol=1e-14)


@pytest.mark.parametrize("path", MOTIONS, ids=name)
def test_every_motion_loads_by_name_and_by_path(path: Path):
    by_name, by_path = Motion.load(path.stem), Motion.load(str(path))
    np.testing.assert_array_equal(by_name.points.times, by_path.points.times)
    assert by_name.points.times[0] == read_yaml(path)["start"] > 0.0, "there is time to get there"
    assert 0.0 < by_name.position_tolerance <= 0.01


@pytest.mark.parametrize("path", TRAJECTORIES, ids=name)
def test_every_trajectory_is_one_its_robot_may_follow(path: Path):
    joints, points = load_trajectory(path.stem)
    model = RobotModel.from_urdf(urdf_path(read_yaml(path)["robot"]))
    checked = Waypoints.checked(model, joints, points.times, points.qs, points.vs, points.as_)
    np.testing.assert_array_equal(checked.times, load_trajectory(str(path))[1].times)


@pytest.mark.parametrize("path", DEMONSTRATIONS, ids=name)
def test_every_demonstration_is_one_its_robot_may_follow(path: Path):
    demonstration = load_demonstration(path.stem)
    model = RobotModel.from_urdf(urdf_path(read_yaml(path)["robot"]))
    Waypoints.checked(model, demonstration.names, demonstration.times + 1.0, demonstration.positions)
    assert {*read_yaml(path)} >= {"description", "source"}


@pytest.mark.parametrize("path", PARAMETER_FILES, ids=name)
def test_every_parameter_file_names_parameters_there_are_with_values_they_may_have(path: Path):
    check_parameter_file(path, dict.fromkeys(NODES))
    for node, content in read_yaml(path).items():
        values = content["ros__parameters"]
        assert values
        assert set(values) <= {key for kind in PARAMETERS[node.rpartition("/")[2]] for key in kind.types()}
        for kind in PARAMETERS[node.rpartition("/")[2]]:
            taken = kind.from_mapping({key: value for key, value in values.items() if key in kind.types()})
            for key in values.keys() & kind.types():
                assert type(values[key]) is kind.types()[key], f"{key}: write 100.0, not 100"
                assert getattr(taken, key) == values[key]


def test_the_parameter_file_of_the_controller_writes_out_the_defaults():
    values = read_yaml(CONFIG / "osc.yaml")["/**/osc"]["ros__parameters"]
    assert OscParameters.from_mapping(values) == OscParameters()
    assert set(values) == {name for name in OscParameters.types() if getattr(OscParameters(), name) != ()}


# -- other files ---------------------------------------------------------------------------------------

GOOD = {
    "frame": "base_link",
    "period": 2,
    "position_tolerance": 1e-3,
    "orientation_tolerance": 0.01,
    "targets": [{"position": [0.1, 0.2, 0.3], "quat_xyzw": [0, 0, 0, 2.0]}],
}


def test_a_list_of_targets_holds_what_its_file_says(tmp_path: Path):
    targets = TargetList.load(str(write(tmp_path / "a.yaml", GOOD)))
    assert (targets.frame, targets.period, targets.position_tolerance) == ("base_link", 2.0, 1e-3)
    np.testing.assert_array_equal(targets.targets[0].p, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(targets.targets[0].R, np.eye(3))


RULE = {"kind": "star", "center": [0.1, 0.2, 0.3], "radius": 0.1, "directions": 4, "quat_xyzw": [0, 0, 1, 0]}


def patterned(**change: Any) -> dict[str, Any]:
    rule = {key: value for key, value in {**RULE, **change}.items() if value is not None}
    return {**{key: value for key, value in GOOD.items() if key != "targets"}, "pattern": rule}


def test_a_list_of_targets_may_be_made_by_a_rule(tmp_path: Path):
    targets = TargetList.load(str(write(tmp_path / "a.yaml", patterned()))).targets
    assert len(targets) == 9
    np.testing.assert_allclose(targets[1].p, [0.2, 0.2, 0.3], rtol=0, atol=1e-15)
    assert all((np.diag([-1.0, -1.0, 1.0]) == X.R).all() for X in targets)


CIRCLE = {"kind": "circle", "position": [0, 0, 1], "quat_xyzw": [0, 0, 0, 1], "radius": 0.1, "period": 2.0}
POINTS = {"kind": "points", "points": [{"time": t, "position": [t, 0, 0], "quat_xyzw": [0, 0, 0, 1]} for t in (0, 2)]}


def with_motion(motion: Any, **more: Any) -> dict[str, Any]:
    head = {"frame": "base_link", "position_tolerance": 1e-3, "orientation_tolerance": 0.01}
    return {**head, "motion": motion, **more}


def test_a_motion_holds_what_its_file_says(tmp_path: Path):
    def load(motion: Any, **more: Any) -> PosePoints:
        return Motion.load(str(write(tmp_path / "m.yaml", with_motion(motion, **more)))).points

    circle = load({**CIRCLE, "orientation": [0, 0, 1, 0]}, start=1.5)
    np.testing.assert_allclose(circle.poses[0].p, [0.1, 0, 1], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(circle.poses[5].R, np.diag([-1.0, -1.0, 1.0]))
    assert circle.times[0] == 1.5
    points = load(POINTS)
    np.testing.assert_array_equal(points.times, [0.0, 2.0])
    np.testing.assert_array_equal(points.poses[1].p, [2.0, 0, 0])
    line = {"position": [0, 0, 1], "quat_xyzw": [0, 0, 0, 1], "kind": "polyline", "speed": 0.1}
    assert len(load({**line, "corners": [[0, 0, 0], [1, 0, 0]]}).poses) == 2


TRAJECTORY = {"joints": ["a", "b"], "points": [{"time": 1, "positions": [1, 2]}, {"time": 2.5, "positions": [3, 4]}]}


def test_a_trajectory_holds_what_its_file_says(tmp_path: Path):
    joints, points = load_trajectory(str(write(tmp_path / "a.yaml", TRAJECTORY)))
    assert joints == ("a", "b")
    np.testing.assert_array_equal(points.times, [1.0, 2.5])
    np.testing.assert_array_equal(points.qs, [[1.0, 2.0], [3.0, 4.0]])
    assert points.vs is points.as_ is None
    full = [{"time": 1, "positions": [1, 2], "velocities": [3, 4], "accelerations": [5, 6]}]
    _, points = load_trajectory(str(write(tmp_path / "a.yaml", {**TRAJECTORY, "points": full})))
    np.testing.assert_array_equal(points.vs, [[3.0, 4.0]])
    np.testing.assert_array_equal(points.as_, [[5.0, 6.0]])


def with_target(**target: Any) -> dict[str, Any]:
    """A list with this one target."""
    return {**GOOD, "targets": [target]}


BAD: dict[Callable[[str], object], list[tuple[Any, str]]] = {  # what reads a file; its content, and the sentence
    TargetList.load: [
        ({**GOOD, "periode": 2.0}, r"a\.yaml: unknown periode; allowed: "),
        (with_target(position=[0, 0, 0], quat=[0, 0, 0, 1]), "target: unknown quat; allowed"),
        (with_target(position=[0, 0, 0]), r"a\.yaml: KeyError: 'quat_xyzw'"),
        (with_target(position=[0, 0, 0], quat_xyzw=[0, 0, 0, 0]), "a.yaml: quaternion .* is not a rotation"),
        ({**GOOD, "period": "long"}, r"a\.yaml: ValueError: .*'long'"),
        (patterned(kind="stars"), "kind = 'stars'; there are: star, grid, random"),
        (patterned(kind=None), "KeyError: 'kind'"),
        (patterned(size=1), "TypeError: .*unexpected keyword argument 'size'"),
        ({**patterned(), "targets": GOOD["targets"]}, "targets and pattern: one of them"),
    ],
    Motion.load: [
        (with_motion({**CIRCLE, "kind": "spiral"}), "kind = 'spiral'; there are: circle, polyline, curve, digits"),
        (with_motion({**CIRCLE, "speed": 1}), "TypeError: .*unexpected keyword argument 'speed'"),
        (with_motion({**POINTS, "radius": 1}), "motion: unknown radius"),
        (with_motion({"kind": "points", "points": [{"position": [0, 0, 0]}]}), "KeyError: 'time'"),
        (with_motion([1]), "motion: a mapping is needed, not list"),
    ],
    load_trajectory: [
        ({**TRAJECTORY, "joint": ["a"]}, r"a\.yaml: unknown joint; allowed: "),
        ({**TRAJECTORY, "points": [{"time": 1, "positions": [1, 2], "speed": 3}]}, r"a\.yaml: point: unknown speed"),
        ({**TRAJECTORY, "points": []}, r"a\.yaml: IndexError"),
        ({**TRAJECTORY, "points": [*TRAJECTORY["points"], {"time": 3, "positions": [1]}]}, r"a\.yaml: ValueError"),
    ],
    Scenario.load: [
        ({"robots": "ur5"}, f"unknown robots; allowed: {', '.join(sorted(ENTRIES))}"),
        ({"nodes": {"gates": {}}}, f"nodes: unknown gates; allowed: {', '.join(sorted(NODES))}"),
        ("[1, 2]", "a mapping is needed, not list"),
        ("", "a mapping is needed, the file is empty"),
        ({"nodes": ["osc"]}, r"a\.yaml: nodes: a mapping is needed, not list"),
        ("a: [", "line 1, column 5: expected the node content"),
        ({"nodes": {"osc": {}}, "variants": {"a": {"gate": {}}}}, "a: unknown gate; allowed: osc, start"),
        ({"variants": {"a": {}}, "checks": {"b": {}}}, "checks: unknown b; allowed: a, all"),
        ({"duration": "long"}, "duration = 'long': a number is needed"),
        ({"world": {"walls": []}}, "world: unknown walls"),
    ],
}


@pytest.mark.parametrize(("read", "content", "sentence"), [(read, *row) for read, rows in BAD.items() for row in rows])
def test_a_bad_file_is_refused(read: Callable[[str], object], content: Any, sentence: str, tmp_path: Path):
    with pytest.raises(ParameterError, match=sentence):
        read(str(write(tmp_path / "a.yaml", content)))


@pytest.mark.parametrize("kind", [Scenario, TargetList])
def test_a_name_that_is_none_is_refused_with_those_there_are(kind: type[Scenario | TargetList]):
    with pytest.raises(ArmControlError, match=r"no 'nothing' in config/(scenarios|targets); there are: .*ur5_"):
        kind.load("nothing")


# -- options -------------------------------------------------------------------------------------------


def test_options_change_a_copy_of_the_scenario():
    scenario = Scenario.load("ur5_osc")
    before = yaml.safe_dump(scenario.nodes)
    changed = scenario.with_options(robot="other", lock_step=True, start_paused=True, targets=False)
    assert yaml.safe_dump(scenario.nodes) == before
    assert changed.robot == changed.nodes["simulator"]["robot"] == "other"
    assert changed.nodes["simulator"]["start_paused"] is True
    assert "initial_position" not in changed.nodes["simulator"], "that of the scenario's own robot"
    assert all(parameters["lock_step"] is True for parameters in changed.nodes.values())


def test_targets_of_one_robot_are_not_for_another():
    with pytest.raises(ParameterError, match="the targets of ur5_osc are for ur5: leave them out"):
        Scenario.load("ur5_osc").with_options(robot="other")


def test_coppeliasim_takes_the_simulator_s_place_in_lock_step():
    """At 200 Hz gains for 1 kHz would be too hard: they are proposed anew, and what else is chosen stays."""
    scenario = Scenario.load("ur5_osc")
    own = scenario.with_options().nodes
    changed = scenario.with_options(simulator="coppeliasim", start_paused=True, robot="ur5")
    assert (changed.simulator, scenario.with_options().simulator) == ("coppeliasim_bridge", "simulator")
    assert scenario.with_options(simulator="none").simulator == ""
    assert list(changed.nodes) == ["coppeliasim_bridge", *list(own)[1:]]
    assert all(parameters["lock_step"] is True for parameters in changed.nodes.values())
    bridge, osc = changed.nodes["coppeliasim_bridge"], changed.nodes["osc"]
    assert (bridge["robot"], bridge["start_paused"]) == ("ur5", True)
    assert bridge["initial_position"] == own["simulator"]["initial_position"]
    assert osc["rate"] == 200.0
    assert not {*osc} & {*PROPOSED}
    assert osc["publish_effort_array"] is False
    physics = {"timestep": 1e-3, "engine": "rigid_body", "rigid_body.scheme": "rk4"}
    other = replace(scenario, nodes=merged(scenario.nodes, {"simulator": physics}))
    assert not physics.keys() & other.with_options(simulator="coppeliasim").nodes["coppeliasim_bridge"].keys()


def test_an_unknown_simulator_is_refused():
    with pytest.raises(ParameterError, match="simulator = 'gazebo', allowed mujoco, coppeliasim, none"):
        Scenario.load("ur5_osc").with_options(simulator="gazebo")


VARIANTS = {
    "nodes": {"simulator": {"timestep": 0.001}, "osc": {"kp_linear": 100.0, "posture": [0.0]}},
    "variants": {"soft": {"osc": {"kp_linear": 10.0}}, "usual": {}},
    "checks": {"all": {"reached": True, "touches": False}, "soft": {"touches": True}},
    "duration": 3,
}


def test_variants_change_parameters_of_a_copy_and_the_first_is_what_runs(tmp_path: Path):
    scenario = Scenario.load(str(write(tmp_path / "a.yaml", VARIANTS)))
    assert scenario.nodes["osc"]["kp_linear"] == 100.0
    assert scenario.variant("soft").nodes["osc"] == {"kp_linear": 10.0, "posture": [0.0]}
    assert scenario.variant("usual").nodes == scenario.nodes
    assert scenario.variant("").nodes == scenario.variant("soft").nodes
    assert scenario.with_options().nodes["osc"]["kp_linear"] == 10.0
    assert scenario.with_options(variant="usual").nodes["osc"]["kp_linear"] == 100.0
    assert scenario.duration == 3.0
    assert scenario.required("soft") == {"reached": True, "touches": True}
    assert scenario.required("usual") == {"reached": True, "touches": False}
    with pytest.raises(ParameterError, match="no variant 'hard' of a; there are: soft, usual"):
        scenario.variant("hard")


def test_the_world_of_a_scenario_goes_to_the_nodes_that_make_it():
    source = Scenario.load("ur5_obstacle").source
    assert repr(Scenario.load(source).world) == repr(Scenario.load("ur5_obstacle").world) != repr(World())
    nodes = Scenario.load("ur5_obstacle").with_options().nodes
    assert (nodes["targets"]["world"], nodes["targets"]["file"]) == (source, "ur5_across")
    assert "world" not in nodes["simulator"], "nobody pushes"
    alone = Scenario.load("ur5_obstacle").with_options(targets=False).nodes["targets"]
    assert alone.pop("world") == source
    assert not {"file", "motion", "trajectory"} & set(alone), "what is around is there without targets, too"
    nodes = Scenario.load("ur5_push").with_options().nodes
    assert nodes["simulator"]["world"] == Scenario.load("ur5_push").source
    assert "world" not in nodes["targets"]
    assert "simulator" not in Scenario.load("ur5_push").with_options(simulator="none").nodes
    assert scenario_in("").world == World()


def test_every_node_is_told_of_the_controller_s_arm(tmp_path: Path):
    arm = {"armature": [0.1] * 6, "tip": "tool0"}
    nodes = {"osc": {**arm, "kp_linear": 1.0}, "simulator": {"tip": "forearm_link"}, "dynamics": {}}
    told = Scenario.load(str(write(tmp_path / "a.yaml", {"robot": "ur5", "nodes": nodes}))).with_options().nodes
    assert told["dynamics"] == arm
    assert (told["simulator"]["armature"], told["simulator"]["tip"]) == ([0.1] * 6, "forearm_link")
    assert "&" not in yaml.safe_dump(told), "ROS reads no YAML in which two nodes share a list"


def test_gains_for_one_arm_are_not_for_another():
    osc = Scenario.load("ur5_osc").with_options(robot="planar2", targets=False).nodes["osc"]
    assert osc == {"publish_effort_array": False}
    assert Scenario.load("ur5_osc").with_options().nodes["osc"]["kp_linear"] == 200.0


def compensation(scenario: Scenario) -> dict[str, tuple[object, object]]:
    names = "disturbance_observer", "inertia_floor"
    return {node: tuple(scenario.nodes[node].get(name) for name in names) for node in scenario.nodes}


def test_friction_is_compensated_where_the_arm_is_not_its_model():
    scenario = Scenario.load("ur5_osc")
    for without in (scenario.with_options(), scenario.with_options(simulator="coppeliasim")):
        assert set(compensation(without).values()) == {(None, None)}
    real = compensation(scenario.with_options(simulator="none", gate=True))
    assert (real["osc"], real["gate"], real["dynamics"]) == ((True, 0.02), (None, 0.02), (None, None))
    for found in (scenario.with_options(plant={"plant.coulomb": [1.0]}), scenario.variant("real")):
        assert compensation(found)["osc"] == (True, 0.02)
        assert compensation(found)["simulator"] == (None, 0.02)


def test_a_real_arm_is_weighed_before_it_moves():
    scenario = Scenario.load("ur5_osc")
    real = scenario.with_options(simulator="none", gate=True).nodes
    assert real["osc"]["weighing_time"] == 0.5
    simulated = scenario.with_options(friction="true"), scenario.variant("real")
    uncompensated = scenario.with_options(friction="false", simulator="none")
    for nodes in (*(one.nodes for one in (*simulated, uncompensated)), {"gate": real["gate"]}):
        assert not any("weighing_time" in values for values in nodes.values())


def test_who_says_whether_friction_is_compensated_is_obeyed():
    scenario = Scenario.load("ur5_osc")
    assert compensation(scenario.with_options(friction="true"))["osc"] == (True, 0.02)
    assert compensation(scenario.with_options(friction="false", simulator="none"))["osc"] == (False, 0.0)
    own = replace(scenario, nodes={**scenario.nodes, "osc": {"disturbance_observer": False}})
    assert compensation(own.with_options(simulator="none"))["osc"] == (False, 0.02)
    assert compensation(own.with_options(friction="true"))["osc"] == (True, 0.02)
    with pytest.raises(ParameterError, match="friction = 'perhaps', allowed auto, true, false"):
        scenario.with_options(friction="perhaps")


def test_values_take_precedence_over_those_of_the_variant():
    scenario = Scenario.load("ur5_osc")
    values = {"osc.kp_linear": 150.0, "simulator.plant.set": "ideal", "payload": 2.0, "robot": "ur4"}
    changed = with_values(scenario, values, "real")
    assert (changed.robot, changed.nodes["osc"]["kp_linear"]) == ("ur4", 150.0)
    assert changed.nodes["simulator"]["plant.set"] == "ideal"
    assert changed.nodes["simulator"]["plant.payload_mass"] == 2.0
    assert changed.nodes["osc"]["kp_angular"] == 200.0
    assert with_values(scenario, {}, "real").nodes["simulator"]["plant.set"] == "real"
    assert scenario.nodes["osc"]["kp_linear"] == 200.0
