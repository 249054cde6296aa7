"""Robots of other makers: which of their descriptions load, what they need, and whether the arm reaches targets.

    python benchmark/robots.py FOLDER [--all] [--only WORD] [--json FILE]

FOLDER has a copy of each repository of ``ROBOTS`` in a folder of its name. Each arm is loaded with nothing, then with
what its row says, and run under operational space control with proposed gains against MuJoCo: from a posture away from
singularities to poses that the arm has 0.3 rad from there, four seconds each. It reaches them when the last error is
below 1 mm and 0.2 degrees. Prints the table of docs/robots.md. ``--all`` only counts, of every URDF below FOLDER, why
it does not load with nothing.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arm_control import RobotModel
from arm_control.control import Measurement, resolve_parameters
from arm_control.controllers import OscLoopParameters, control_loop
from arm_control.core import Cache
from arm_control.exceptions import ArmControlError
from arm_control.maths import Array, Pose, rotation_vector
from arm_control.model import Arm, describe
from arm_control.motion import Target
from arm_control.simulation import MujocoSimulator

STEPS, TIMESTEP, N_TARGETS = 4000, 1e-3, 3
REACH = 0.3
"""Largest distance of a target from the start [rad or 0.3 m]."""
REACHED_MM, REACHED_DEG = 1.0, 0.2


@dataclass(frozen=True)
class Row:
    """A robot: its file below the folder, and what it needs.

    ``limits`` are torque and speed [N m, rad/s] for every joint without its own.
    """

    name: str
    repository: str
    file: str
    arguments: str = ""
    tip: str = ""
    base: str = ""
    limits: tuple[float, float] | None = None


UR, FRANKA, KORTEX = "Universal_Robots_ROS2_Description", "franka_description", "ros2_kortex"
XARM, KINOVA, LBR, G1 = "xarm_ros2", "kinova-ros", "lbr_fri_ros2_stack", "unitree_ros"
UR_FILE, XARM_FILE = "urdf/ur.urdf.xacro", "xarm_description/urdf/xarm_device.urdf.xacro"
EXAMPLES = "example-robot-data"
ROBOTS = (
    *(Row(f"UR {kind[2:]}", UR, UR_FILE, f"ur_type:={kind} name:=ur")
      for kind in ("ur3", "ur3e", "ur5", "ur5e", "ur10", "ur10e", "ur16e", "ur20", "ur30")),
    *(Row(f"Franka {kind}", FRANKA, f"robots/{kind}/{kind}.urdf.xacro") for kind in ("fer", "fr3", "fr3v2", "fp3")),
    Row("Kinova gen3, 7 joints", KORTEX, "kortex_description/robots/gen3.xacro", "dof:=7"),
    Row("Kinova gen3, 6 joints", KORTEX, "kortex_description/robots/gen3.xacro", "dof:=6 vision:=false"),
    Row("Kinova gen3 with 2F-85", KORTEX, "kortex_description/robots/gen3_2f85.urdf"),
    Row("Kinova gen3 lite", KORTEX, "kortex_description/robots/gen3_lite.urdf"),
    *(Row(f"Kinova {kind}", KINOVA, f"kinova_description/urdf/{kind}_standalone.xacro")
      for kind in ("j2n4s300", "j2n6s200", "j2n6s300", "j2n7s300", "j2s6s200", "j2s6s300", "j2s7s300", "m1n6s300")),
    *(Row(f"UFACTORY xArm{dof}", XARM, XARM_FILE, f"dof:={dof}") for dof in (5, 6, 7)),
    Row("UFACTORY xArm7 with gripper", XARM, XARM_FILE, "dof:=7 add_gripper:=true"),
    Row("UFACTORY Lite6", XARM, XARM_FILE, "dof:=6 robot_type:=lite"),
    Row("Rethink Sawyer", "sawyer_robot", "sawyer_description/urdf/sawyer.urdf.xacro", tip="right_hand"),
    Row("Rethink Baxter, left arm", "baxter_common", "baxter_description/urdf/baxter.urdf", tip="left_hand"),
    Row("Fetch", "fetch_ros", "fetch_description/robots/fetch.urdf", tip="gripper_link", base="torso_lift_link"),
    Row("Fetch, arm with torso", "fetch_ros", "fetch_description/robots/fetch.urdf", tip="gripper_link"),
    Row("TIAGo", EXAMPLES, "tiago_description/robots/tiago.urdf", tip="arm_7_link", base="torso_lift_link"),
    Row("TIAGo Pro, left arm", EXAMPLES, "tiago_pro_description/robots/tiago_pro.urdf", tip="arm_left_7_link"),
    Row("TALOS, left arm", EXAMPLES, "talos_data/robots/talos_left_arm.urdf"),
    *(Row(f"KUKA LBR {kind}", LBR, f"lbr_description/urdf/{kind}/{kind}.xacro")
      for kind in ("iiwa7", "iiwa14", "med7", "med14")),
    *(Row(f"ABB {Path(file).stem}", "abb", file, limits=(500.0, 2.0))
      for file in ("abb_irb2400_support/urdf/irb2400.urdf", "abb_irb6640_support/urdf/irb6640_185_280.urdf",
                   "abb_irb6600_support/urdf/irb6640.urdf", "abb_irb5400_support/urdf/irb5400.urdf")),
    Row("SO-100", "SO-ARM100", "Simulation/SO100/so100.urdf"),
    Row("SO-101", "SO-ARM100", "Simulation/SO101/so101_new_calib.urdf"),
    Row("Koch v1.1", "mani_skill", "assets/robots/koch/follower_arm_v1.1.urdf", limits=(2.0, 4.0)),
    Row("Unitree Z1", EXAMPLES, "z1_description/urdf/z1.urdf"),
    Row("Unitree Z1", G1, "robots/z1_description/xacro/z1.urdf"),
    Row("Unitree G1, left arm", G1, "robots/g1_description/g1_29dof.urdf", tip="left_rubber_hand", base="torso_link"),
    Row("Unitree G1 with hands", G1, "robots/g1_description/g1_29dof_with_hand.urdf", tip="left_hand_palm_link",
        base="torso_link"),
)  # fmt: skip


def find_file(folder: Path, row: Row) -> Path:
    """Return the file of a robot, below the folder of its repository."""
    direct = folder / row.repository / row.file
    found = sorted((folder / row.repository).rglob(f"*{Path(row.file).name}"))
    matching = [path for path in found if str(path).endswith(row.file)]
    return direct if direct.is_file() or not matching else matching[0]


def arguments_of(row: Row) -> dict[str, str] | None:
    """Values of the arguments of a xacro file."""
    return dict(word.split(":=", maxsplit=1) for word in row.arguments.split()) or None


def missing_limits(path: Path, row: Row, choices: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Limits for the joints that the refusal names."""
    if row.limits is None:
        return {}
    try:
        describe(path, **choices)
    except ArmControlError as error:
        refusal = str(error)
        quantities = zip(("effort", "velocity"), row.limits, strict=True)
        return {
            f"{quantity}_limits": dict.fromkeys(re.findall(rf"joint '([^']*)': .*\b{quantity}\b", refusal), limit)
            for quantity, limit in quantities
        }
    return {}


def load(path: Path, row: Row) -> tuple[Arm | None, list[str], str, dict[str, Any]]:
    """Load an arm with as little as possible: the arm, what it needed, and why it was refused."""
    choices: dict[str, Any] = {"xacro_args": arguments_of(row)} if row.arguments else {}
    needs = [f"`{row.arguments}`"] if row.arguments else []
    attempts = [(choices, needs)]
    for option in ("tip", "base"):
        if value := getattr(row, option):
            choices, needs = {**choices, option: value}, [*needs, f"`--{option} {value}`"]
            attempts.append((choices, needs))
    if row.base:  # it names a part of a robot, which loads without it, too
        del attempts[:-1]
    if limits := {name: values for name, values in missing_limits(path, row, choices).items() if values}:
        choices, needs = {**choices, **limits}, [*needs, *(f"`{name}`" for name in limits)]
        attempts.append((choices, needs))
    refusal = ""
    for choices, needs in attempts:
        try:
            return describe(path, **choices), needs, "", choices
        except ArmControlError as error:
            refusal = one_sentence(str(error))
    return None, needs, refusal, choices


def one_sentence(refusal: str) -> str:
    """The first problem of a refusal, without the name of the file."""
    lines = refusal.splitlines()
    first = lines[1].removeprefix("- ") if len(lines) > 1 else lines[0]
    first = re.sub(r"'(/[^'/]*)+/([^'/]*)'", r"'\2'", first)
    return first.replace("|", "/")[:160]


def start_of(model: RobotModel, rng: np.random.Generator) -> Array:
    """A posture inside the limits, the one of 60 that is farthest from singular."""
    low, high = np.maximum(model.q_min, -2.0), np.minimum(model.q_max, 2.0)
    low, high = np.minimum(low, high), np.maximum(low, high)
    qs = low + (0.2 + 0.6 * rng.random((60, model.nq))) * (high - low)
    scale = np.array([1.0, 1.0, 1.0, 0.3, 0.3, 0.3])[:, None]
    rank = min(6, model.nv) - 1
    return max(qs, key=lambda q: np.linalg.svd(scale * model.jacobian(q), compute_uv=False)[rank])


def targets_of(model: RobotModel, q: Array, rng: np.random.Generator) -> list[Pose]:
    """Poses that the arm has near a posture."""
    margin = 0.05 * np.where(np.isfinite(model.q_max - model.q_min), model.q_max - model.q_min, 0.0)
    low, high = model.q_min + margin, model.q_max - margin
    return [model.pose(np.clip(q + rng.uniform(-REACH, REACH, model.nq), low, high)) for _ in range(N_TARGETS)]


def reach(model: RobotModel, seed: int = 0) -> list[tuple[float, float]]:
    """Errors [mm] and [degrees] at the end of each target."""
    rng = np.random.default_rng(seed)
    q = start_of(model, rng)
    poses = targets_of(model, q, rng)
    loop = control_loop(model, resolve_parameters(OscLoopParameters, {}, model))
    for k, X_WT in enumerate(poses):
        loop.controller.add(Target(round(k * STEPS * TIMESTEP * 1e9), model.base, X_WT))
    simulator, errors = MujocoSimulator(model, q, timestep=TIMESTEP), []
    for k in range(STEPS * N_TARGETS):
        stamp_ns, dt = round(k * TIMESTEP * 1e9), TIMESTEP if k else 0.0
        result = loop.tick(Measurement(stamp_ns, simulator.q, simulator.v, dt, is_restart=k == 0), [])
        simulator.step(result.gate.tau)
        if (k + 1) % STEPS == 0:
            X_WE, X_WT = model.pose(simulator.q), poses[k // STEPS]
            turn = np.linalg.norm(rotation_vector(X_WE.R.T @ X_WT.R))
            errors.append((1e3 * float(np.linalg.norm(X_WE.p - X_WT.p)), float(np.degrees(turn))))
    return errors


def try_robot(folder: Path, row: Row) -> dict[str, Any]:
    """All that the table says of a robot."""
    path = find_file(folder, row)
    result: dict[str, Any] = {"robot": row.name, "source": row.repository, "file": row.file}
    if not path.is_file():
        return result | {"refused": "not in the folder"}
    arm, needs, refusal, choices = load(path, row)
    result |= {"needs": needs, "refused": refusal}
    if arm is None:
        return result | {"kinematics": has_kinematics(path, choices)}
    result |= {"joints": arm.tree.n, "tip": arm.tip, "warnings": list(arm.warnings)}
    try:
        result["errors"] = reach(RobotModel(arm, cache=Cache(None)))
    except ArmControlError as error:
        result["stopped"] = one_sentence(str(error))
    return result


def has_kinematics(path: Path, choices: dict[str, Any]) -> bool:
    """Whether a refused arm loads for kinematics alone."""
    try:
        describe(path, **choices, kinematics_only=True)
    except ArmControlError:
        return False
    return True


def table_row(result: dict[str, Any]) -> str:
    """A line of the table of docs/robots.md."""
    if result["refused"]:
        kinematics = "; kinematics only: loads" if result.get("kinematics") else ""
        cells = ["no", ", ".join(result.get("needs", [])) or "-", "-", f"refused: {result['refused']}{kinematics}"]
    else:
        needs = ", ".join(result["needs"]) or "nothing"
        cells = ["no" if result["needs"] else "yes", needs, str(len(result["warnings"])), reached(result)]
    return " | ".join(["", result["robot"], f"{result['source']}: {Path(result['file']).name}", *cells, ""]).strip()


def reached(result: dict[str, Any]) -> str:
    """The last column of an arm that loads."""
    if "stopped" in result:
        return f"not simulated: {result['stopped']}"
    good = [mm < REACHED_MM and deg < REACHED_DEG for mm, deg in result["errors"]]
    mm, deg = np.max(result["errors"], axis=0)
    return f"{sum(good)} of {len(good)}, {_size(mm)} mm, {_size(deg)} deg"


def _size(error: float) -> str:
    return "< 0.001" if error < 1e-3 else f"{error:.2g}"


def count_all(folder: Path) -> Counter[str]:
    """Why URDFs below a folder do not load with nothing."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.urdf")):
        try:
            describe(path)
            counts["loads"] += 1
        except ArmControlError as error:
            counts[re.sub(r"'[^']*'|[-+.\de]+\d", "#", one_sentence(str(error)).split(" from ")[0])[:80]] += 1
    return counts


def main() -> None:
    """Print the table, or the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.all:
        for cause, count in count_all(options.folder).most_common():
            print(f"{count:5} {cause}")
        return
    rows = [row for row in ROBOTS if options.only.lower() in row.name.lower()]
    print("| robot | description | loads with nothing | needs | warnings | reaches |\n|---|---|---|---|---|---|")
    results = []
    for row in rows:
        results.append(try_robot(options.folder, row))
        print(table_row(results[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
