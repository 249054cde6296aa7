"""Arms in WebAssembly: the torque of Python in node and in a browser, and a page that moves."""

from __future__ import annotations

import ctypes
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from arm_control.app import main
from arm_control.compiler import machine_module
from arm_control.compiler.llvm_compiler import Library
from arm_control.constraints import floor_of_inertia
from arm_control.control import Avoidance, AvoidanceParameters, CompiledOsc, avoidance_numbers
from arm_control.core import share_path
from arm_control.exceptions import ParameterError
from arm_control.export import ExportedController, exported_controller, write_page
from arm_control.export.c_check import checked_runs
from arm_control.export.page_laws import ball_law
from arm_control.export.page_programs import BEGIN, WebArm, web_arm
from arm_control.export.web_page import page_data, reduced
from arm_control.gate import GateState, JointLimits
from arm_control.maths import Array, Obstacle, Pose, Sphere, rotation_from_vector
from arm_control.model import RobotModel
from arm_control.motion import Reference
from arm_control.simulation import Scenario
from arm_control.viewer import MeshPart
from arm_control.viewer.arm_shapes import mesh_of

sys.path.insert(0, str(Path(__file__).parents[1] / "viewer"))
from browser import blank

ARM = share_path("export", "page", "arm.js").read_text()
NODE = shutil.which("node")
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "ur5": ("ur5", {}),
    "panda": ("panda", {}),
    "five joints": ("ur5", {"tip": "wrist_2_link", "tasks": ["x y z", "rx ry"]}),
    "planar3": ("planar3", {}),
}
QUICK = ("planar3",)
"""Arms whose module LLVM makes in a second."""
N = 100
"""States of each kind."""
MOST_DRAWN = 2000
"""Random states from which they come."""
INPUTS = ("q", "v", "reference", "tau_0", "dt", "is_on")
ANSWERS = """(arm, states) => states.map(state => {
  for (const [name, values] of Object.entries(state)) arm.at[name].set(values)
  if (arm.call.regular) arm.run('regular')
  if (!(arm.call.regular && arm.at.regularity[0] > 0)) arm.run('all')
  return [...arm.at.tau, ...arm.at.tau_1]
})"""
"""Torques of the law, and what of them may pass."""


class Case(NamedTuple):
    """An arm, states, and the torques that Python computes in them."""

    controller: ExportedController
    arm: WebArm
    states: list[dict[str, list[float]]]
    is_regular: list[bool]
    torques: Array
    same_bits: list[list[float]]


@cache
def case(name: str) -> Case:
    robot, parameters = ARMS[name]
    controller = exported_controller(Scenario(name, "", robot, {"osc": parameters}))
    arm, model = web_arm(controller), controller.model
    limits = JointLimits(model, controller.gate, controller.gate.rate_limit)
    law, native, rng = CompiledOsc(model, controller.law, limits=limits), Unfused(arm), np.random.default_rng(0)
    states: dict[bool, list[Any]] = {True: [], False: []}
    for _ in range(MOST_DRAWN):
        if min(map(len, states.values())) == N:
            break
        state = drawn(model, rng)
        torques = native.torques(state)
        X = Pose(state["reference"][:9].reshape(3, 3), state["reference"][9:12])
        reference = Reference(X, state["reference"][12:18], state["reference"][18:])
        output = law.step(state["q"], state["v"], reference, state["tau_0"], 1e-3, 1.0)
        kind = states[native.is_regular()]
        if len(kind) < N and not output.gate.limited:  # what the program of the joints changes is in the runs below
            kind.append((state, np.concatenate([output.law.tau, output.gate.tau]), torques))
    rows = [*states[True], *states[False]]
    assert len(rows) == 2 * N
    plain = [{name: values.tolist() for name, values in state.items()} for state, _, _ in rows]
    return Case(
        controller, arm, plain, [True] * N + [False] * N, np.array([y for _, y, _ in rows]), [z for *_, z in rows]
    )


def drawn(model: RobotModel, rng: np.random.Generator) -> dict[str, Array]:
    """A random state, and a motion that is asked for near its pose."""
    n = model.nv
    q = rng.uniform(np.maximum(model.q_min, -3.0), np.minimum(model.q_max, 3.0))
    X = model.pose(q)
    R = rotation_from_vector(rng.uniform(-1.0, 1.0, 3)) @ X.R
    reference = np.concatenate([R.ravel(), X.p + rng.uniform(-0.2, 0.2, 3), rng.uniform(-0.3, 0.3, 12)])
    numbers = (q, rng.uniform(-0.5, 0.5, n), reference, model.gravity(q), np.array([1e-3]), np.ones(1))
    return dict(zip(INPUTS, numbers, strict=True))


class Unfused:
    """The programs of a module, compiled for this machine without fused operations, on the same memory."""

    def __init__(self, arm: WebArm) -> None:
        self._arm, self._memory = arm, np.frombuffer(arm.memory, dtype=np.uint8).copy()
        self._library = Library(machine_module({k: p for k, p in arm.programs.items() if k in ("regular", "all")}))

    def at(self, name: str) -> Array:
        address, size, _ = self._arm.places[name]
        return self._memory[address - BEGIN :][: 8 * size].view(np.float64)

    def run(self, name: str) -> None:
        self._library.function(name, ctypes.c_void_p)(self._memory.ctypes.data)

    def is_regular(self) -> bool:
        return "regular" in self._arm.programs and bool(self.at("regularity")[0] > 0.0)

    def torques(self, state: dict[str, Array]) -> list[float]:
        for name, values in state.items():
            self.at(name)[:] = values
        if "regular" in self._arm.programs:
            self.run("regular")
        if not self.is_regular():
            self.run("all")
        return [*self.at("tau").tolist(), *self.at("tau_1").tolist()]


def cases_of(arms: Iterable[str]) -> dict[str, Case]:
    return {name: case(name) for name in arms}


def check(cases: dict[str, Case], answers: list[list[list[float]]]) -> None:
    for (name, some), rows in zip(cases.items(), answers, strict=True):
        assert rows == some.same_bits, f"{name}: the bits of a machine without fused operations"
        difference = np.abs(np.array(rows) - some.torques).max(axis=1) / np.abs(some.torques).max()
        worst = {kind: difference[np.array(some.is_regular) == kind].max() for kind in (True, False)}
        print(f"{name}: largest difference, regular {worst[True]:.1e}, fading {worst[False]:.1e}")
        assert worst[True] <= 1e-12
        assert worst[False] <= 1e-9


@pytest.mark.skipif(NODE is None, reason="there is no node")
@pytest.mark.parametrize("arms", [QUICK, pytest.param(tuple(ARMS), marks=pytest.mark.campaign)], ids=len)
def test_torque_in_node_is_that_of_python(arms: tuple[str, ...], tmp_path: Path):
    """The law of arms in random states; and the gate's modes and torque in the runs that check exports to C."""
    cases = cases_of(arms)
    first = cases[arms[0]].controller
    runs = [[tick._asdict() for tick in run] for run in checked_runs(first)]
    data = {name: (page_data(some.controller, some.arm, []), some.states) for name, some in cases.items()}
    file, script = tmp_path / "cases.json", tmp_path / "run.js"
    file.write_text(json.dumps({"arms": list(data.values()), "runs": runs}, default=np.ndarray.tolist))
    script.write_text(f"{ARM}\nconst answers = {ANSWERS}\nconst modes = {MODES}\n{MAIN}")
    ended = subprocess.run([str(NODE), script, file], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    check(cases, result["torques"])
    names = [state.name.lower() for state in GateState]
    for run, ticks in zip(runs, result["runs"], strict=True):
        assert [mode for mode, _ in ticks] == [names[tick["mode"]] for tick in run]
        expected = np.array([tick["tau"] for tick in run])
        np.testing.assert_allclose([tau for _, tau in ticks], expected, atol=1e-11 * np.abs(expected).max())


MODES = """(arm, run) => run.map(({ call, reference, q, v }, k) => {
  if (k === 0) arm.restart()
  if (call === 1) { arm.at.reference.set(reference); arm.follow() }
  if (call === 2) arm.brake()
  if (call === 3) arm.enable()
  arm.q.set(q.map(x => x ?? NaN))
  arm.v.set(v)
  arm.step()
  return [arm.mode, [...arm.at['gate.tau']]]
})"""
"""Modes and torques of the gate in a run; the simulated arm is put into each of its states."""
MAIN = """
;(async () => {
  const text = require('fs').readFileSync(process.argv[2], 'utf8').replaceAll('NaN', 'null')
  const { arms, runs } = JSON.parse(text), torques = []
  for (const [data, states] of arms) torques.push(answers(await Arm.load(data), states))
  const arm = await Arm.load(arms[0][0])
  console.log(JSON.stringify({ torques, runs: runs.map(run => modes(arm, run)) }))
})()
"""


ALL = """const all = [];
for (const [data, states] of arms) all.push((ANSWERS)(await Arm.load(data), states));
return all"""


@pytest.mark.campaign
@pytest.mark.processes
def test_a_page_in_a_browser_moves_and_computes_what_python_does(tmp_path: Path):
    cases = cases_of(ARMS)
    page_file = tmp_path / "page.html"
    assert write_page(page_file, cases["ur5"].controller) == []
    data = [(page_data(some.controller, some.arm, []), some.states) for some in cases.values()]
    with blank() as page:
        page.goto(page_file.as_uri())
        page.wait_for_function("document.documentElement.dataset.firstMotion")
        answers = page.evaluate(f"async arms => {{ {ALL} }}".replace("ANSWERS", ANSWERS), data)
        check(cases, answers)
        page.evaluate("location.hash = 'gate'")
        page.get_by_text("Law returns NaN").click()
        page.get_by_text("The gate brakes: the law's torque was refused too often").wait_for()
        page.get_by_text("Enable again").click()
        page.get_by_text("The gate holds the arm: nobody asks for motion").wait_for()
        assert page.errors == []
        assert page.requests == [page_file.as_uri()]


# -- its parts


def test_a_ball_is_avoided_as_obstacles_are(ur5: RobotModel):
    parameters = AvoidanceParameters(self_threshold=0.0)
    avoidance, rng = Avoidance(ur5, parameters), np.random.default_rng(0)
    numbers, _, damping = avoidance_numbers(parameters)
    law = ball_law(ur5, len(numbers))
    shares = []
    for _ in range(40):
        q, v = rng.uniform(-2.0, 2.0, 6), rng.uniform(-1.0, 1.0, 6)
        terms, tau = ur5.evaluate(q, v), rng.uniform(-20.0, 20.0, 6)
        centre = terms.X_WE.p + rng.uniform(-0.2, 0.2, 3)
        state = {"q": q, "v": v, "M": terms.M.ravel(), "h": terms.h, "J": terms.J.ravel(), "tau": tau}
        state |= {"tau_max": ur5.tau_max, "V_max": np.array(avoidance.speed_limits)}
        state |= {"floor": floor_of_inertia(ur5.tau_max, ur5.v_max)}
        ball = {"ball": np.array([*centre, 0.05]), "avoidance": np.array(numbers), "damping": np.array([damping])}
        output, expected = (
            law.run(state | ball),
            avoidance.tick(terms, [Obstacle(Sphere(0.05), Pose(np.eye(3), centre))], tau),
        )
        np.testing.assert_allclose(output["tau"], expected.tau_total, atol=1e-9 * np.abs(expected.tau_total).max())
        np.testing.assert_allclose(output["tau_avoid"], expected.tau, atol=1e-9 * max(np.abs(expected.tau).max(), 1.0))
        assert output["distance"][0] == pytest.approx(expected.distance) or expected.distance == math.inf
        shares.append(expected.task_share)
    assert {0.0, 1.0} < set(shares)


def test_a_page_keeps_no_constraints(tmp_path: Path):
    path = tmp_path / "kept.yaml"
    path.write_text("constraints: [{name: slow, kind: speed, limit: 1.0}]")
    scenario = Scenario("planar2", "", "planar2", {"osc": {"constraints": str(path)}})
    with pytest.raises(ParameterError, match="a page keeps no constraints: leave them out"):
        web_arm(exported_controller(scenario))


def test_triangles_are_few_and_near_to_those_that_were():
    parts = [MeshPart("a", mesh_of(Sphere(1.0)), (1.0, 1.0, 1.0, 1.0))]
    assert reduced(parts, 1088)[0] is parts[0]
    (part,) = reduced(parts, 700)
    assert 300 < len(part.mesh.faces) <= 700
    assert np.abs(np.linalg.norm(part.mesh.corners, axis=1) - 1.0).max() < 0.1
    assert part.mesh.faces.max() < len(part.mesh.corners)


@pytest.mark.parametrize("robot", ["planar1", pytest.param("panda", marks=pytest.mark.campaign)])
def test_a_page_is_one_file_and_replaces_only_its_like(robot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["export", robot, "--target", "page", "--out", str(tmp_path)]
    assert main(words) == 0
    (file,) = tmp_path.iterdir()
    assert capsys.readouterr().out.startswith(f"wrote {file}")
    assert main(words) == 0, "a page that an export wrote is replaced"
    text = file.read_text()
    assert "@" not in text.partition("<script>")[0].replace("@media", "")
    file.write_text("mine")
    assert main(words) == 2
    assert "was not written by an export" in capsys.readouterr().err
