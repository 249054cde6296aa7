"""Planning scenes: those of the package can be read and solved, and what is wrong in a file is said in a sentence."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml
from file_modules import module_of
from mesh_files import write_stl

from arm_control.collision import Validity
from arm_control.core import urdf_path
from arm_control.exceptions import ArmControlError, ParameterError
from arm_control.model import RobotModel
from arm_control.planning import SearchOutcome
from arm_control.simulation import IndependentArm, PlanFile, PlanScene, ScenePlanner, check_plan, plan_names
from arm_control.simulation.plan_scene import scene_of

BENCHMARK = Path(__file__).parents[2] / "benchmark" / "feasible_tasks.py"
PROOFS = yaml.safe_load((Path(__file__).parent / "feasible_tasks.yaml").read_text())
"""Solutions that were found without the planner."""
NEEDS_NULL_MOTION = {"planar4_disc behind", "planar4_disc through", "planar3_ellipse"}
ENTRIES: dict[str, Any] = {
    "robot": "planar2",
    "start": [0.0, 0.5],
    "goal": [1.0, 0.5],
    "obstacles": [{"shape": "sphere", "size": 0.05, "position": [0.0, -0.5, 0.0]}],
}


@pytest.fixture(scope="module")
def search() -> ModuleType:
    """The search that proves scenes."""
    return module_of(BENCHMARK)


@cache
def link_pairs(robot: str) -> tuple[tuple[str, str], ...]:
    """Links of a robot that must not touch each other."""
    return Validity(RobotModel.from_urdf(urdf_path(robot))).link_pairs


def scene(name: str) -> PlanScene:
    file, _, variant = name.partition(" ")
    return PlanFile.load(file).scene(variant)


def names() -> list[str]:
    files = {name: PlanFile.load(name).variants or ("",) for name in plan_names()}
    return [f"{name} {variant}".strip() for name, variants in files.items() for variant in variants]


def test_every_scene_is_proved_or_blocked():
    blocked = {name for name in names() if name.startswith("planar4_blocked")}
    assert set(names()) == set(PROOFS) | blocked
    assert len(blocked) == 2
    assert sum(proof["must_wait"] for proof in PROOFS.values()) >= 2
    assert {name for name, proof in PROOFS.items() if np.any(proof["w"])} == NEEDS_NULL_MOTION


def checked(name: str, search: ModuleType, step: float) -> Any:
    solved, proof = scene(name), PROOFS[name]
    arm = search.IndependentArm(solved.model, solved.obstacles, link_pairs(name.partition("_")[0]))
    path = search.follow(arm, solved, tuple(map(np.array, proof["w"])))
    motion = search.NullMotion(*path, np.array(proof["law"]), solved.rest)
    return check_plan(motion, solved, step, arm)


@pytest.mark.parametrize("step", [0.05, pytest.param(0.001, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("name", PROOFS)
def test_scenes_can_be_solved(name: str, step: float, search: ModuleType):
    assert checked(name, search, step).problems == ()


LONGEST = 1.3
"""Largest duration of a plan as a share of that of the solution that was found without the planner."""


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("planar3_ellipse", 4),
        ("lwr_circle_dynamic", 0),
        *(pytest.param(name, seed, marks=pytest.mark.campaign) for name in PROOFS for seed in range(10)),
    ],
)
def test_plans_take_little_longer_than_known_solutions(name: str, seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("arm_control.simulation.plan_check.check_plan", partial(check_plan, step=0.005))
    run = ScenePlanner(scene(name)).plan(seed)
    assert run.check is not None
    assert run.check.problems == ()
    assert run.check.duration <= LONGEST * PROOFS[name]["law"][-1][0]


@pytest.mark.parametrize("name", ["rests", "sweeps"])
def test_no_posture_follows_a_blocked_line(name: str, search: ModuleType):
    blocked = scene(f"planar4_blocked {name}")
    assert search.blocked_places(blocked) is not None
    plan = ScenePlanner(blocked).plan(0).plan
    assert (plan.outcome, plan.effort.rounds) == (SearchOutcome.IMPOSSIBLE, 10)
    assert "obstacle 0" in plan.reason


def test_entries_are_read():
    changes = {
        "limits": {"velocity": 0.5, "torque": [3.0, 2.0], "acceleration": 4.0},
        "kind": "dynamic",
        "margin": 0.02,
    }
    x = scene_of(ENTRIES | changes, "mine", "here")
    np.testing.assert_allclose(x.model.v_max, 0.5)
    np.testing.assert_allclose(x.model.tau_max, [3.0, 2.0])
    np.testing.assert_allclose(x.a_max, 4.0)
    assert (x.kind, x.margin, x.is_moving, x.task, x.pose) == ("dynamic", 0.02, False, None, None)
    np.testing.assert_allclose(x.goal, [1.0, 0.5])
    assert scene_of(ENTRIES, "mine", "here").margin == 0.002


def test_tasks_with_orientation_and_rest_are_read():
    pen = PlanFile.load("panda_pen")
    tilts, whole, rest = (pen.scene(name) for name in ("tilts", "whole", "rest"))
    assert tilts.task is not None
    assert tilts.task.orientation is not None
    assert (tilts.task.orientation.axis, tilts.task.orientation.angle) == ("z", pytest.approx(0.4, abs=1e-6))
    assert whole.task is not None
    assert whole.task.task_rows == (0, 1, 2, 3, 4, 5)
    assert (tilts.rest, rest.rest, rest.kind, tilts.angle_tolerance) == (False, True, "kinematic", 0.001)
    np.testing.assert_allclose(rest.a_max, 3.0)
    assert scene("lwr_circle_dynamic").rest


def test_obstacles_go_from_sample_to_sample():
    told = {"shape": "sphere", "size": 0.1, "positions": [[0, 0, 0], [1, 0, 0]], "times": [1.0, 3.0]}
    x = scene_of(ENTRIES | {"obstacles": [told]}, "mine", "here")
    assert x.is_moving
    there = [mover.at(t).X_WO.p[0] for t in (0.5, 2.0, 4.0) for mover in x.obstacles[0] if mover.span.holds(t)]
    assert there == pytest.approx([0.0, 0.5, 1.0])


def write_ball(path: Path, n: int) -> None:
    """A mesh of a ball of 1 m in radius, with about 2 n^2 triangles."""
    a, b = np.meshgrid(np.linspace(0.0, np.pi, n + 1), np.linspace(0.0, 2 * np.pi, n + 1), indexing="ij")
    p = np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)], axis=-1)
    first = np.stack([p[:-1, :-1], p[1:, :-1], p[1:, 1:]], axis=2).reshape(-1, 3, 3)
    second = np.stack([p[:-1, :-1], p[1:, 1:], p[:-1, 1:]], axis=2).reshape(-1, 3, 3)
    write_stl(path, np.concatenate([first, second]))


def test_a_mesh_is_an_obstacle(tmp_path: Path):
    write_ball(tmp_path / "ball.stl", 12)
    told = {"mesh": str(tmp_path / "ball.stl"), "scale": 0.1, "position": [0.0, 0.5, 0.0], "velocity": [0.1, 0.0, 0.0]}
    x = scene_of(ENTRIES | {"obstacles": [told]}, "mine", "here")
    assert x.is_moving
    arm = IndependentArm(x.model, x.obstacles)
    assert arm.distances(np.zeros(2), 1.0)[0] == pytest.approx(0.385, abs=0.005)
    assert scene_of(ENTRIES | {"obstacles": [told | {"velocity": [], "scale": 1}]}, "mine", "here").is_moving is False


def task(**entries: Any) -> dict[str, Any]:
    """Entries of a task path in place of a goal."""
    return {"goal": None, "task": entries}


def obstacle(**entries: Any) -> dict[str, Any]:
    """Entries of one obstacle in place of the others."""
    return {"obstacles": [entries]}


PLANAR = {"robot": "planar4", "start": [0.0] * 4} | task(line={"start": [1.2, -0.7], "end": [1.2, 0.7]})
LINE, LINE_IN_SPACE = {"start": [0, 0], "end": [1, 0]}, {"start": [0] * 3, "end": [1, 0, 0]}
DOWN = {"axis": "z", "along": [0, 0, 1]}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "key": ({"goals": [0, 0]}, "unknown goals"),
    "robot": ({"robot": "planar9"}, "no robot 'planar9'"),
    "no target": ({"goal": None}, "none of task, goal, pose: one is needed"),
    "kind": ({"kind": "fast"}, "kind = 'fast'; allowed: kinematic, dynamic"),
    "size": ({"start": [0.0]}, "start = [0.0]: 2 finite numbers are needed"),
    "horizon": ({"horizon": 0}, "horizon = 0: a number above zero is needed"),
    "limits": ({"limits": {"speed": 1}}, "unknown speed; allowed: acceleration, torque, velocity"),
    "shape": (obstacle(shape="egg", size=1, position=[0, 0, 0]), "shape = 'egg'; there are: sphere"),
    "no place": (obstacle(shape="sphere", size=1), "obstacles: 0: 'position' is missing"),
    "times": (obstacle(shape="sphere", size=1, positions=[[0] * 3] * 2, times=[1, 1]), "they must increase"),
    "path": (task(spiral={}), "task has spiral; allowed: one of line, ellipse, circle"),
    "two paths": (
        task(line={}, circle={}),
        "task has circle, line; allowed: one of line, ellipse, circle, and beside it one of orientation, direction",
    ),
    "orientation": (
        task(line=LINE, direction=DOWN),
        "task: direction: rows of a task path are ('x', 'y'); with an orientation x, y and z are needed",
    ),
    "direction": (
        task(line=LINE_IN_SPACE, direction=DOWN | {"axis": "w"}),
        "task: direction: axis = 'w'; allowed: x, y, z of the end effector",
    ),
    "direction argument": (
        task(line=LINE_IN_SPACE, direction={"axis": "z"}), "task: direction: 'along' is missing"
    ),
    "angle": ({"angle_tolerance": 0}, "angle_tolerance = 0: a number above zero is needed"),
    "rest": ({"rest": 1}, "rest = 1; allowed: true, false"),
    "rest of a goal": ({"rest": True}, "rest: of a task of kind kinematic; motions of kind dynamic have it always"),
    "no rest": ({"kind": "dynamic", "rest": False}, "rest: of a task of kind kinematic; motions of kind dynamic"),
    "rest without limits": (PLANAR | {"rest": True}, "rest: 'limits: acceleration' is missing"),
    "acceleration": (
        PLANAR | {"limits": {"acceleration": 1.0}},
        "limits: acceleration counts for kind dynamic and for a task with rest only",
    ),
    "path argument": (task(line={"start": [0, 0]}), "task: line: 'end' is missing"),
    "no mesh": (obstacle(mesh="none.stl", position=[0, 0, 0]), "the mesh none.stl does not exist"),
    "fine mesh": (obstacle(mesh="ball.stl", position=[0, 0, 0]), "triangles; allowed are 1000, because"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_sentence(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    changes, sentence = WRONG[case]
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({key: value for key, value in (ENTRIES | changes).items() if value is not None}))
    write_ball(tmp_path / "ball.stl", 60)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArmControlError) as caught:
        PlanFile.load(str(file)).scene()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_variants_replace_entries(tmp_path: Path):
    file = tmp_path / "mine.yaml"
    text = yaml.safe_dump(ENTRIES | {"variants": {"near": {"goal": [0.1, 0.5]}, "far": {}}}, sort_keys=False)
    file.write_text(text)
    loaded = PlanFile.load(str(file))
    assert loaded.scene().name == "mine near"
    np.testing.assert_allclose(loaded.scene().goal, [0.1, 0.5])
    np.testing.assert_allclose(loaded.scene("far").goal, [1.0, 0.5])
    with pytest.raises(ParameterError, match="no variant 'wide' of mine; there are: near, far"):
        loaded.scene("wide")
