"""Problems of MotionBenchMaker as VAMP's public repository has them: arms as balls, scenes, starts and goals.

They are not part of this repository: ``git clone https://github.com/KavrakiLab/vamp``, and name its folder.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from arm_control import RobotModel
from arm_control.maths import Array, Box, Cylinder, Obstacle, Pose, Shape, Sphere, rotation_from_quaternion

TIPS = {"panda": "panda_hand", "ur5": "ee_link"}


class Problem(NamedTuple):
    """A scene that stands still, a start and a goal."""

    kind: str
    obstacles: tuple[Obstacle, ...]
    start: Array
    goal: Array


def maker_arm(folder: Path, robot: str) -> RobotModel:
    """Return the arm whose links are balls.

    Parameters
    ----------
    folder : Path
        Of VAMP's repository.
    robot : str
        ``panda`` or ``ur5``.
    """
    urdf = folder / "resources" / robot / f"{robot}_spherized.urdf"
    return RobotModel.from_urdf(urdf, tip=TIPS[robot], kinematics_only=True)


def maker_problems(folder: Path, robot: str, joints: tuple[str, ...], every: int) -> list[Problem]:
    """Read problems.

    Parameters
    ----------
    folder : Path
        Of VAMP's repository.
    robot : str
        ``panda`` or ``ur5``.
    joints : tuple of str
        Joints of the arm.
    every : int
        1 for all problems, 2 for every second one, and so on.
    """
    problems = []
    with tarfile.open(folder / "resources" / robot / "problems.tar.bz2") as archive:
        names = sorted(name for name in archive.getnames() if re.search(r"/scene\d+\.yaml$", name))
        for name in names[::every]:
            scene, request = (_read(archive, name.replace("scene", part)) for part in ("scene", "request"))
            state = request["start_state"]["joint_state"]
            start = dict(zip(state["name"], state["position"], strict=True))
            goal = {c["joint_name"]: c["position"] for c in request["goal_constraints"][0]["joint_constraints"]}
            obstacles = tuple(_obstacle(entry) for entry in scene["world"]["collision_objects"])
            ends = (np.array([float(of[joint]) for joint in joints]) for of in (start, goal))
            problems.append(Problem(name.split("/")[1].removesuffix(f"_{robot}"), obstacles, *ends))
    return problems


def _read(archive: tarfile.TarFile, name: str) -> dict[str, Any]:
    file = archive.extractfile(name)
    if file is None:
        raise FileNotFoundError(name)
    content: dict[str, Any] = yaml.load(file, yaml.CSafeLoader)
    return content


def _obstacle(entry: Mapping[str, Any]) -> Obstacle:
    X = _pose(entry["primitive_poses"][0])
    return Obstacle(_shape(entry["primitives"][0]), _pose(entry["pose"]) @ X if "pose" in entry else X)


def _pose(entry: Mapping[str, Any]) -> Pose:
    return Pose(rotation_from_quaternion(entry["orientation"]), np.array(entry["position"], dtype=float))


def _shape(entry: Mapping[str, Any]) -> Shape:
    sizes = [float(size) for size in entry["dimensions"]]
    match entry["type"]:
        case "sphere":
            return Sphere(sizes[0])
        case "box":
            return Box((sizes[0], sizes[1], sizes[2]))
        case "cylinder":
            return Cylinder(sizes[1], sizes[0])
        case other:
            raise ValueError(f"a primitive of type {other}")
