"""How time and code grow with the number of joints: random chains, and Pinocchio beside."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from measure import Contender, agree, take_turns
from pinocchio_calls import PinocchioArm, first_numbers

from arm_control import RobotModel
from arm_control.core import Cache, progress_bar
from arm_control.model import TERMS, describe, quantity_law

JOINT = """
  <joint name="joint{i}" type="revolute">
    <parent link="link{parent}"/><child link="link{i}"/>
    <origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="100" velocity="3"/>
  </joint>
  <link name="link{i}">
    <inertial>
      <origin xyz="{centre}" rpy="{turn}"/><mass value="{mass}"/>
      <inertia ixx="{moments[0]}" iyy="{moments[1]}" izz="{moments[2]}" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>"""


def chain(n: int, seed: int = 0) -> str:
    """URDF of n revolute joints in a row, without a right angle or a zero that could be saved."""
    rng = np.random.default_rng([seed, n])

    def triple(size: float) -> str:
        return " ".join(f"{x:.6f}" for x in rng.uniform(-size, size, 3))

    joints = [
        JOINT.format(
            i=i,
            parent=i - 1,
            xyz=triple(0.3),
            rpy=triple(3.0),
            centre=triple(0.1),
            turn=triple(3.0),
            mass=f"{rng.uniform(0.5, 5.0):.6f}",
            moments=[f"{x:.6f}" for x in rng.uniform(0.02, 0.035, 3)],  # any two exceed the third
        )
        for i in range(1, n + 1)
    ]
    return f'<robot name="chain{n}">\n  <link name="link0"/>{"".join(joints)}\n</robot>'


def measure_chains(sizes: Sequence[int], rounds: int) -> dict[str, float]:
    """Microseconds of a call, operations, and seconds until ``evaluate`` gave its first result, by chain."""
    models = {n: RobotModel.from_urdf(chain(n), tip=f"link{n}", backend="llvm", cache=Cache(None)) for n in sizes}
    figures: dict[str, float] = {}
    for n in progress_bar(sizes, "chains"):
        figures |= {f"chain{n}.{key}": value for key, value in _costs(n, min(rounds, 3)).items()}
    contenders = {f"{n} {key}": part for n, model in models.items() for key, part in _contenders(model).items()}
    times = {key: found.median for key, found in take_turns(contenders, rounds).items()}
    for n in sizes:
        fused = [time for key, time in times.items() if key.startswith(f"{n} fused")]
        figures[f"chain{n}.evaluate_us"] = times[f"{n} evaluate"]
        figures[f"chain{n}.evaluate_pinocchio_us"] = min(fused)
        figures[f"chain{n}.forward_dynamics_us"] = times[f"{n} forward_dynamics"]
        figures[f"chain{n}.forward_dynamics_pinocchio_us"] = times[f"{n} aba"]
    return figures


def _costs(n: int, repeats: int) -> dict[str, float]:
    """What a chain's code costs, without a cache."""
    urdf, tip, ready = chain(n), f"link{n}", []
    for _ in range(repeats):
        model = RobotModel.from_urdf(urdf, tip=tip, backend="llvm", cache=Cache(None))
        begin = time.perf_counter()
        model.evaluate(np.zeros(n), np.zeros(n))
        ready.append(time.perf_counter() - begin)
    tree = describe(urdf, tip=tip).tree
    return {
        "operations": quantity_law(tree, TERMS).program().n_operations,
        "operations_forward_dynamics": quantity_law(tree, ("a",)).program().n_operations,
        "compile_s": median(ready),
    }


def _contenders(model: RobotModel) -> dict[str, Contender]:
    """Return the terms of a tick and forward dynamics by both libraries, once they agree."""
    q, v, tau = np.random.default_rng(model.nq).uniform(-1.0, 1.0, (3, 100, model.nq))
    states, driven = list(zip(q, v, strict=True)), list(zip(q, v, tau, strict=True))
    arm = PinocchioArm(model)
    ours = Contender(model.evaluate, states), Contender(model.forward_dynamics, driven)
    fused = {f"fused {name}": Contender(function, states) for name, function in arm.fused().items()}
    aba = Contender(arm.calls()["forward_dynamics"], driven)
    found = {"evaluate": ours[0], **fused, "forward_dynamics": ours[1], "aba": aba}
    for pair in [*(("evaluate", way) for way in fused), ("forward_dynamics", "aba")]:
        agree(" and ".join(pair), *first_numbers(*(found[name] for name in pair)), tolerance=1e-6)
    return found


def draw(path: Path, sizes: Sequence[int], figures: dict[str, Any]) -> None:
    """Three charts over the number of joints: both times, and what the code costs."""
    from arm_control.report import BLUE, GREEN, ORANGE, new_figure, style

    figure = new_figure(12.0, 3.8)
    left, middle, right = figure.subplots(1, 3)

    def line(axes: Any, key: str, label: str, colour: str) -> None:
        axes.plot(sizes, [figures[f"chain{n}.{key}"] for n in sizes], "o-", color=colour, label=label, markersize=4)

    for axes, key, title in (
        (left, "evaluate", "all terms of a tick"),
        (middle, "forward_dynamics", "forward dynamics"),
    ):
        line(axes, f"{key}_us", "arm_control", BLUE)
        line(axes, f"{key}_pinocchio_us", "Pinocchio", ORANGE)
        style(axes, title, "joints", "time of a call [us]")
        axes.set_ylim(bottom=0.0)
        axes.legend(frameon=False)
    line(right, "operations", "operations", BLUE)
    style(right, "what the terms' kernel costs", "joints", "operations")
    seconds = right.twinx()
    line(seconds, "compile_s", "time to the first result", GREEN)
    style(seconds, "", "", "time [s]")
    seconds.grid(False)
    for axes in (right, seconds):
        axes.set_ylim(bottom=0.0)
    right.legend(handles=[*right.lines, *seconds.lines], frameon=False, loc="upper left")
    figure.savefig(path)
