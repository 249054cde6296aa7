"""The rules in C beside those of Python: random states, the same decisions and the same torque.

Two ways in Python count: the law, the gate and what is in front of them, one after the other, and the controller
process with its control loop, as nodes run it. The second one differs by design

- without states: it has stamps, no numbers that are not finite, and no times that stand still
- from the time on when states are believed again after one that was refused: its time goes on from the last measurement

so its runs are without the former, and end at the latter.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from exported_library import SANITIZERS, run
from random_messages import Wire, steps

from arm_control.bags import plain
from arm_control.compiler import number
from arm_control.control import FIRST_DT, ControlLoop, OscTuning
from arm_control.controllers import OscController
from arm_control.core import NANOSECONDS
from arm_control.export import ExportedController, PythonController, exported_controller, tick_rules, write_folder
from arm_control.export.tick_rules import longest_blind_step
from arm_control.faults import CC, CPU, CController, compile_c, library_of, row_of
from arm_control.gate import (
    EffortGate,
    GateState,
    JointLimits,
    blind_brake,
    gaps,
    state_bounds,
    state_prediction,
    torque_rules,
)
from arm_control.maths import (
    CENTRE,
    PLACE,
    SIZE,
    TYPES,
    Array,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Obstacle,
    Pose,
    Sphere,
)
from arm_control.messages import nanoseconds
from arm_control.motion import Reference, Target
from arm_control.processes import ControllerProcess
from arm_control.simulation import Scenario

pytestmark = pytest.mark.skipif(CC is None, reason="there is no C compiler")

GATES: dict[str, dict[str, Any]] = {
    "planar3": {"max_missed": 4},
    "ur5": {"max_missed": 20, "brake_damping": 20.0},
    "panda": {"max_missed": 2, "joint_limits": False},
}
"""Parameters of the gates, of an arm whose joints turn on and on, and of others."""
KEPT = {
    "planar3": """
constraints:
  - {name: wall, kind: half_space, point: [2.6, 0, 0], normal: [-1, 0, 0.2], points: [[0, 0, 0], [0.1, 0, 0]]}
  - {name: post, kind: cylinder, point: [0, 0, 0], axis: [0, 1, 0], radius: 0.2, outside: true}
  - {name: glass, kind: upright, up: [0, 1, 0], angle: 1.2, points: [[0, 0.6, 0.8]]}
  - {name: slow, kind: speed, limit: 3.0}
  - {name: gentle, kind: energy, limit: 2.0, mass: 4.0, points: [[0.1, 0, 0]]}
  - {name: people, kind: clearance, distance: 0.1, links: 0.1}
allow_recovery: true
""",
    "ur5": """
constraints:
  - {name: table, kind: half_space, of: arm, point: [0, 0, -0.7], normal: [0, 0, 1]}
  - {name: cell, kind: box, centre: [0, 0, 0.1], size: [1.8, 1.9, 1.8], rpy: [0, 0, 0.3], of: wrist_3_link}
  - {name: glass, kind: upright, up: [0, 0, -1], angle: 1.57}
  - {name: slow, kind: speed, limit: 0.5}
allow_recovery: true
""",
}
"""Constraints of two of them; the first arm sees obstacles."""
PROCESSORS = [CPU, pytest.param("x86-64", marks=pytest.mark.campaign)]
"""Processors that the laws are compiled for: one as this machine's, and one that cannot multiply and add at once."""
WIRE = Wire(stamps=0.0, senders=0.0, ages=0.0, times=0.01)
"""What happens to states: a driver without stamps sees nothing of the rest."""
CALLS = {"brake": "brake", "enable": "enable", "goal": "set_reference"}
"""Functions of C for what is asked for."""
CHANGE = 60
"""Ticks after which obstacles change."""
TICKS = 500
"""Ticks of a run."""
RUNS = [pytest.param(4), pytest.param(140, marks=pytest.mark.campaign)]
"""Runs for each robot, processor, rate limit and way in Python: in a campaign more than 10^6 ticks together."""
ROUNDING = {CPU: 1e-12, "x86-64": 1e-9}
"""Largest difference of a torque, in effort limits: laws that round alike, and laws for another processor, whose
differences grow in postures that are nearly singular."""
START_NS = 10 * NANOSECONDS
MODES = list(GateState)


class Event(NamedTuple):
    """A call before a tick, if any, and a state."""

    call: str
    reference: Reference
    q: Array
    v: Array
    dt: float


class Faults(NamedTuple):
    """How often something is wrong with a state."""

    not_finite: float = 0.005
    timeless: float = 0.005
    absurd_goals: float = 0.1


def events(controller: ExportedController, seed: int, faults: Faults) -> Iterator[Event]:
    """The random states of other ways of answering, as a driver without stamps has them."""
    model, rng, n_lost, last_ns = controller.model, np.random.default_rng([seed, 2]), 0, None
    for step in steps(model, seed, TICKS, WIRE):
        q, v = step.q, step.v
        if not faults.not_finite and not (np.isfinite(q).all() and np.isfinite(v).all()):
            continue
        dt = FIRST_DT if last_ns is None else round((step.now_ns - last_ns) / NANOSECONDS, 9)
        if n_lost or rng.random() < faults.not_finite:
            n_lost = n_lost - 1 if n_lost else int(rng.choice([1, 3, 40, 1200], p=[0.6, 0.3, 0.09, 0.01])) - 1
            q = np.where(np.arange(model.nv) == rng.integers(model.nv), np.nan, q)
        if last_ns is not None and rng.random() < faults.timeless:
            dt = float(rng.choice([0.0, -1.0, np.nan, np.inf, -np.inf, 1e300]))
        last_ns, X = step.now_ns, model.pose(step.posture)
        scale = 1e12 if rng.random() < faults.absurd_goals else 0.1
        A = scale * rng.uniform(-1.0, 1.0, 6) if faults.absurd_goals else np.zeros(6)
        reference = Reference(Pose(X.R, X.p + step.order.shift[:3]), A_des=A)
        yield Event(CALLS.get(step.order.name, ""), reference, q, v, dt)


class InOrder:
    """The first way: the classes one after the other."""

    faults = Faults()

    def __init__(self, controller: ExportedController) -> None:
        self.python = PythonController(controller)

    @property
    def gate(self) -> EffortGate:
        """The gate."""
        return self.python.gate

    def take(self, event: Event) -> None:
        """Do what is asked for."""
        if event.call == "brake":
            self.python.brake("asked to")
        elif event.call == "enable":
            self.python.enable()
        elif event.call:
            self.python.reference = event.reference

    def place(self, obstacles: Sequence[Obstacle]) -> None:
        """Let these be there."""
        self.python.gate.place(obstacles)

    def tick(self, event: Event) -> tuple[Array, bool]:
        """The torque, and whether the state is refused."""
        is_refused = self.python.tick(event.q, event.v, event.dt) is None
        return self.python.tau, is_refused


class AsNodes:
    """The second way: the controller process, and its control loop."""

    faults = Faults(0.0, 0.0, 0.0)

    def __init__(self, controller: ExportedController) -> None:
        model, gate = controller.model, controller.gate
        law = OscController(model, OscTuning(law=controller.law), limits=JointLimits(model, gate, gate.rate_limit))
        self.loop = ControlLoop(model, law, gate)
        longest_step = longest_blind_step(gate.max_missed, controller.period)
        self.process = ControllerProcess(model, self.loop, longest_step, lambda: self.now_ns)
        self.now_ns, self.tau, self._model = START_NS, np.zeros(model.nv), model
        self.obstacles: Sequence[Obstacle] = ()

    @property
    def gate(self) -> EffortGate:
        """The gate."""
        return self.loop.gate

    def take(self, event: Event) -> None:
        """Do what is asked for."""
        if event.call == "brake":
            self.loop.gate.brake("asked to")
        elif event.call == "enable":
            self.loop.gate.enable()
        elif event.call:
            stamp_ns = self.now_ns + round(event.dt * NANOSECONDS)
            self.loop.controller.add(Target(stamp_ns, self._model.base, event.reference.X_WT))

    def place(self, obstacles: Sequence[Obstacle]) -> None:
        """Let these be there."""
        self.obstacles = obstacles

    def tick(self, event: Event) -> tuple[Array, bool]:
        """The torque, and whether the state is refused."""
        self.now_ns += round(event.dt * NANOSECONDS)
        message: Any = plain.joint_state(self._model.joint_names, self.now_ns, position=event.q, velocity=event.v)
        assert nanoseconds(message.header.stamp) == self.now_ns
        times = {"source_timestamp": self.now_ns, "received_timestamp": self.now_ns}
        info = {**times, "publisher_gid": {"data": b"1" * 16}}
        answer = self.process.on_state(message, info, lambda _: self.obstacles)
        if answer.command is not None:
            self.tau = answer.command.tau
        return self.tau, answer.result is None


class CObstacle(ctypes.Structure):
    """An obstacle, as the header has it."""

    _fields_ = (
        ("shape", ctypes.c_int),
        *((name, ctypes.c_double * n) for name, n in zip("RpsV", (9, 3, 3, 6), strict=True)),
    )


def in_c(obstacles: Sequence[Obstacle]) -> Any:
    """Obstacles as an array of C."""
    rows = [[*(tuple(x.numbers[part]) for part in (PLACE, CENTRE, SIZE)), tuple(x.V_WO)] for x in obstacles]
    return (CObstacle * len(obstacles))(*((TYPES.index(x.type), *row) for x, row in zip(obstacles, rows, strict=True)))


def drawn_obstacles(rng: np.random.Generator) -> list[Obstacle]:
    """Up to 32 obstacles of all shapes in the plane of an arm of three joints."""
    shapes = [Sphere(0.1), Box((0.2, 0.3, 0.1)), Cylinder(0.1, 0.3), Cone(0.1, 0.3), Capsule(0.1, 0.2)]
    obstacles = []
    for _ in range(rng.choice([0, 2, 5, 32])):
        X = Pose.at(rng.uniform(-4.0, 4.0, 3) * [1.0, 0.05, 1.0], rng.standard_normal(4))
        obstacles.append(Obstacle(shapes[rng.integers(5)], X, rng.choice([0.0, 0.3]) * rng.standard_normal(6)))
    return obstacles


ROBOTS = [name if name != "panda" else pytest.param(name, marks=pytest.mark.campaign) for name in GATES]


@pytest.fixture(scope="module", params=ROBOTS)
def controller(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ExportedController:
    robot, parameters = request.param, dict(GATES[request.param])
    if robot in KEPT:
        path = tmp_path_factory.mktemp("kept") / "kept.yaml"
        path.write_text(KEPT[robot])
        parameters["constraints"] = str(path)
    return exported_controller(Scenario(robot, "", robot, {"osc": parameters}), "arm")


@pytest.fixture(scope="module", params=PROCESSORS)
def cpu(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(controller: ExportedController, cpu: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules")
    write_folder(path, controller, [cpu])
    return path


@pytest.fixture(scope="module")
def library(folder: Path, cpu: str) -> ctypes.CDLL:
    return library_of(folder, "arm", cpu)


@pytest.mark.parametrize("n_runs", RUNS)
@pytest.mark.parametrize("rate_limit", [1e3, 1e5], ids=["cut", "whole"])
@pytest.mark.parametrize("way", [InOrder, AsNodes])
def test_the_rules_are_those_of_python(
    way: type[InOrder | AsNodes],
    rate_limit: float,
    n_runs: int,
    controller: ExportedController,
    cpu: str,
    library: ctypes.CDLL,
):
    if cpu != CPU and rate_limit > 1e3:
        pytest.skip("a prediction from states that follow no physics amplifies every rounding, and nothing cuts it")
    robot = f"{controller.model.urdf.robot.name} {cpu}"
    numbers = np.ctypeslib.as_array((ctypes.c_double * 200).in_dll(library, "arm_defaults")).copy()
    n_gains = 16 + 2 * controller.model.nv
    assert numbers[n_gains] == controller.gate.rate_limit
    numbers[n_gains] = rate_limit
    other = controller._replace(gate=controller.gate.replace(rate_limit=rate_limit))
    seen, largest, n_above, n = Counter[tuple[int, bool, bool]](), 0.0, 0, 0
    sees_obstacles, n_kept = hasattr(library, "arm_set_obstacles"), 0
    for seed in range(n_runs):
        c, python = CController(library, "arm", controller.model.nv), way(other)
        assert c.call("init", numbers.ctypes.data_as(ctypes.c_void_p)) is None
        rng = np.random.default_rng(seed)
        for k, event in enumerate(events(other, seed, way.faults)):
            if sees_obstacles and k % CHANGE == 0:
                obstacles = drawn_obstacles(rng)
                assert c.call("set_obstacles", in_c(obstacles), len(obstacles)) is None
                python.place(obstacles)
            if event.call == "set_reference":
                assert (c.set_reference(event.reference) is None) == (python.gate.state is not GateState.BRAKING)
            elif event.call:
                c.call(event.call)
            if event.call != "set_reference" or python.gate.state is not GateState.BRAKING:
                python.take(event)
            tau, status = c.tick(event.q, event.v, event.dt)
            expected, is_refused = python.tick(event)
            n_kept += (
                sees_obstacles and python.gate.state is GateState.PASSING and "people" in python.gate.constraints.active
            )
            where = f"{robot}, seed {seed}, tick {k}"
            assert MODES[status.mode] is python.gate.state, where
            assert bool(status.state_refused) == is_refused, where
            if status.has_torque:
                difference = float((np.abs(tau - expected) / controller.model.tau_max).max())
                assert difference <= ROUNDING[cpu], (where, difference)
                largest, n_above = max(largest, difference), n_above + (difference > ROUNDING[CPU])
            seen[status.mode, is_refused, bool(status.refused)] += 1
            n += 1
    print(f"\n{robot}, {way.__name__}, {rate_limit:g} N m/s: {n} ticks, {n_above} above 1e-12, largest {largest:.1e}")
    print(
        "\n".join(f"    {MODES[m].value}, state refused {a}, command refused {b}: {x}" for (m, a, b), x in seen.items())
    )
    assert {mode for mode, _, _ in seen} == {0, 1, 2}
    assert n_kept > 5 or not sees_obstacles, n_kept


def test_obstacles_that_cannot_be_are_refused(controller: ExportedController, cpu: str, library: ctypes.CDLL):
    """Those of before remain."""
    if not hasattr(library, "arm_set_obstacles"):
        assert "clearance" not in KEPT.get(controller.model.urdf.robot.name, "")
        return
    c, q, v = CController(library, "arm", controller.model.nv), np.array([0.5, -0.9, -1.8]), np.zeros(3)
    ball = Obstacle(Sphere(0.1), Pose.at(controller.model.pose(q).p))
    right = in_c([ball])
    assert c.call("set_obstacles", right, 1) is None
    for name, values, n, why in (
        ("R", [1.0] * 9, 1, b"R of an obstacle is no rotation matrix"),
        ("p", [np.nan] * 3, 1, b"a number of an obstacle is not finite"),
        ("V", [np.inf] * 6, 1, b"a number of an obstacle is not finite"),
        ("s", [-0.1] * 3, 1, b"an obstacle has an unknown shape, or a size below zero"),
        ("shape", 4, 1, b"an obstacle has an unknown shape, or a size below zero"),
        ("shape", -1, 1, b"an obstacle has an unknown shape, or a size below zero"),
        ("shape", 0, 33, b"there is no room for so many obstacles"),
        ("shape", 0, -1, b"there is no room for so many obstacles"),
    ):
        wrong = in_c([ball] * 33)
        setattr(wrong[0], name, values if name == "shape" else type(getattr(wrong[0], name))(*values))
        assert c.call("set_obstacles", wrong, n) == why
    c.set_reference(Reference(controller.model.pose(q)))
    tau, _ = c.tick(q, v, 1e-3)
    assert np.abs(tau - controller.model.gravity(q)).max() > 0.5
    c.call("init", None)
    c.set_reference(Reference(controller.model.pose(q)))
    assert c.call("set_obstacles", right, 0) is None
    tau, _ = c.tick(q, v, 1e-3)
    np.testing.assert_allclose(tau, controller.model.gravity(q), atol=1e-9)


REPLAY = """
#include "arm.h"
#include <stdio.h>
int main(int n_arguments, char **arguments)
{
    static arm_controller c;
    double call, row[24 + 2 * ARM_JOINTS + 1], tau[ARM_JOINTS] = {0};
#ifdef ARM_OBSTACLES
    arm_obstacle obstacles[ARM_OBSTACLES];
#endif
    FILE *file = n_arguments == 2 ? fopen(arguments[1], "rb") : NULL;
    while (file && fread(&call, sizeof call, 1, file) == 1 && fread(row, sizeof row, 1, file) == 1) {
        arm_reference reference = *(const arm_reference *)row;
        if (call == 0.0)
            arm_init(&c, NULL);
#ifdef ARM_OBSTACLES
        if (call == 5.0) {
            if (fread(obstacles, sizeof *obstacles, (size_t)row[0], file) == (size_t)row[0])
                arm_set_obstacles(&c, obstacles, (int)row[0]);
            continue;
        }
#endif
        if (call == 0.0 || call == 1.0)
            arm_set_reference(&c, &reference);
        if (call == 2.0)
            arm_brake(&c);
        if (call == 3.0)
            arm_enable(&c);
        arm_tick(&c, row + 24, row + 24 + ARM_JOINTS, row[24 + 2 * ARM_JOINTS], tau);
    }
    for (int i = 0; i < ARM_JOINTS; i++)
        printf("%.17g ", tau[i]);
    return !file || fclose(file) != 0;
}
"""


@pytest.mark.processes
@pytest.mark.parametrize("n_runs", RUNS)
def test_sanitizers_find_nothing(
    n_runs: int, controller: ExportedController, folder: Path, cpu: str, library: ctypes.CDLL
):
    if n_runs < 10 and controller.model.nv > 3:
        pytest.skip("one arm is enough, but for the campaign")
    (folder / "replay.c").write_text(REPLAY)
    program = compile_c(folder, "replay", *SANITIZERS, "replay.c", "arm.c", f"arm_{cpu}.o")
    calls = {"set_reference": 1.0, "brake": 2.0, "enable": 3.0, "": 4.0}
    with (folder / "events").open("wb") as file:
        for seed in range(n_runs):
            c, rng = CController(library, "arm", controller.model.nv), np.random.default_rng(seed)
            for k, event in enumerate(events(controller, seed, Faults())):
                call = calls[event.call] if k else 0.0
                if k % CHANGE == 1 and hasattr(library, "arm_set_obstacles"):
                    obstacles = drawn_obstacles(rng)
                    row = np.zeros(24 + 2 * controller.model.nv + 1)
                    row[0] = len(obstacles)
                    file.write(np.append(5.0, row).tobytes())
                    file.write(bytes(in_c(obstacles)))
                    c.call("set_obstacles", in_c(obstacles), len(obstacles))
                file.write(np.concatenate([[call], row_of(event.reference), event.q, event.v, [event.dt]]).tobytes())
                if event.call == "set_reference":
                    c.set_reference(event.reference)
                elif event.call:
                    c.call(event.call)
                tau, _ = c.tick(event.q, event.v, event.dt)
    done = run(program, folder / "events")
    assert (done.returncode, done.stderr) == (0, "")
    assert np.abs(np.array(done.stdout.split(), dtype=float) - tau).max() <= 1e-9 * np.abs(tau).max()


RULES = (tick_rules, blind_brake, gaps, state_bounds, state_prediction, torque_rules)
"""Modules whose procedures are printed."""
IN_C = (
    *("DEVIATION", "ACCELERATION", "MEMORY", "FROZEN", "AGREEING_TIME", "GROWTH", "LONGEST_DT", "AT_REST", "SLOW"),
    *("DAMPED", "LONGEST_DAMPING", "DELAYED_DAMPING", "GAP", "SHORTER", "LONGER", "DOUBT", "LONGEST_BLIND", "SPACING"),
    *("LONGEST_STEP", "ENDLESS", "FADING", "FADED"),
)
"""Those that are numbers in C, too; others have entered the numbers of the arm."""


def test_a_constant_of_the_rules_is_the_number_that_c_has(folder: Path):
    text = (folder / "arm.c").read_text()
    numbers = {name: getattr(module, name) for module in RULES for name in IN_C if hasattr(module, name)}
    found = {name: re.findall(rf"\b{name} = ([-+.\w]+)[;,]", text) for name in IN_C}
    assert found == {name: [number(x) if isinstance(x, float) else str(x)] for name, x in numbers.items()}
