"""A scenario for any arm: where it starts, targets that it can reach, and limits that its URDF does not state.

The start is a posture in which the hand moves well in all directions and the arm carries its weight easily. Targets
are poses of postures near it, so that each can be reached. Avoidance of the arm's own links acts in none of them, nor
between two of them, where there are such postures: with and without it the run is the same. A missing effort limit is
``EFFORT_MARGIN`` times the largest torque of the arm's weight at that joint, and what accelerates the joint's own
inertia, in simulation only. A heavy arm gets the rate limit that :func:`propose_rate_limit` returns: the usual one
would make it slow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.collision import Proximity
from arm_control.control import (
    AvoidanceParameters,
    OscParameters,
    movable_rows,
    propose,
    propose_rate_limit,
    scaled_jacobian,
)
from arm_control.controllers import DEFAULT_CONTROLLER
from arm_control.exceptions import ModelError
from arm_control.maths import Array, rotation_vector
from arm_control.model import (
    ArmParameters,
    RobotModel,
    carried_weight,
    choose_part,
    drawn_range,
    read_description,
    read_facts,
    read_robot,
)
from arm_control.motion import target_entry
from arm_control.simulation.scenario import REAL, Scenario

N_SAMPLES = 300
"""Random postures that are looked at."""
LENGTH = 0.3
"""Length that compares metres with radians [m]."""
MIDDLE = 0.8
"""Share of each joint's range from which postures are drawn."""
EFFORT_MARGIN = 3.0
ACCELERATION = 10.0
"""Acceleration that a proposed effort limit allows beside the weight [rad/s^2 or m/s^2]."""
LEAST_SHARE = 0.03
"""Least proposed effort limit, as a share of the largest one."""
SPEEDS = {"prismatic": 0.5}
DEFAULT_SPEED = 2.0
"""Proposed velocity limits [m/s], [rad/s]."""
N_TARGETS = 5
STEP = 0.4
"""Largest way of a joint from the start to a target [rad or m]; a prismatic joint's is a quarter of it."""
N_BETWEEN = 6
"""Postures on the way to a target that are looked at."""
OFF_WAY = 0.01
"""Difference of distances between a straight way of the joints, which is looked at, and that of the hand [m]."""
SMALLEST_HEIGHT = 1e-6
"""Gravity times height that counts as none [m^2/s^2]."""
LEAST_PERIOD = 3.0
"""Time for each target [s], unless the arm is so slow that it needs more."""
MARGIN, JOINT_MARGIN, REST = 1.25, 1.5, 1.5
"""Time for a target of a slow arm: factors of the ways of hand and joints at full speed, and time to rest [s]."""


def proposed_limits(robot: str, arm: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return limits for the joints of an arm whose URDF states none.

    Parameters
    ----------
    arm : mapping
        Parameters about the arm, as of :class:`ArmParameters`; their limits are kept.

    Returns
    -------
    dict of str to list of str
        ``effort_limits`` and ``velocity_limits`` as ``'joint:limit'``; without a key where none is missing.
    """
    given = ArmParameters.from_mapping(arm)
    choices, description = given.choices(), read_description(robot)
    facts = read_facts(read_robot(description))
    part = choose_part(facts, choices["base"], choices["tip"], None)
    joints = [joint for joint in facts.joints if joint.name in part.joints and joint.mimic is None]
    no_effort = [j.name for j in joints if not j.effort and j.name not in choices["effort_limits"]]
    no_speed = {j.name: j.type for j in joints if not j.velocity and j.name not in choices["velocity_limits"]}
    if not (no_effort or no_speed):
        return {}
    speeds = {name: SPEEDS.get(kind, DEFAULT_SPEED) for name, kind in no_speed.items()}
    choices["effort_limits"] |= dict.fromkeys(no_effort, 1.0)
    choices["velocity_limits"] |= speeds
    model = RobotModel.from_urdf(description, **choices)
    efforts = dict(zip(model.joint_names, _needed_efforts(model).tolist(), strict=True))
    limits = {"effort_limits": {name: efforts[name] for name in no_effort}, "velocity_limits": speeds}
    return {
        what: [*getattr(given, what), *(f"{name}:{value:.3g}" for name, value in values.items())]
        for what, values in limits.items()
        if values
    }


def write_scenario(
    folder: Path,
    robot: str,
    arm: Mapping[str, Any],
    start: Array | None = None,
    nodes: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """Write the scenario of an arm, and its targets, into a folder; return the path of the scenario.

    Parameters
    ----------
    folder : Path
        The folder; it exists.
    arm : mapping
        Parameters about the arm, as of :class:`ArmParameters`.
    start : ndarray, shape (nq,), optional
        Joint positions at the start [rad or m]; by default :func:`start_posture`.
    nodes : mapping of str to mapping, optional
        Another controller, and what sends it goals, with parameters; by default ``osc`` with the targets.

    Raises
    ------
    ModelError
        When the arm cannot carry itself.
    """
    model = ArmParameters.from_mapping(arm).model(read_description(robot))
    is_too_heavy, sentence = carried_weight(model)
    if is_too_heavy:
        raise ModelError(f"{robot}: {sentence}")
    q = start_posture(model) if start is None else start
    postures = target_postures(model, q)
    period, gate = _period_and_gate(model, postures)
    content = {
        "frame": model.base,
        "period": round(period, 1),
        "position_tolerance": 0.001,
        "orientation_tolerance": 0.00349,
        "targets": [target_entry(model.pose(posture), 0.0) for posture in postures],
    }
    (folder / "targets.yaml").write_text(json.dumps(content))
    parts = {"simulator": gate, "dynamics": {}}
    for node, values in (nodes or {"osc": {}, "targets": {"file": str(folder / "targets.yaml")}}).items():
        common = {} if node == "targets" else {"publish_effort_array": False, **gate, **arm}
        parts[node] = {**common, **values}
    path = folder / "own_arm.yaml"  # JSON is YAML
    checks = {variant: {"reached": True} for variant in ("all", REAL)} if nodes is None else {}
    scenario = {"description": "An arm by itself.", "robot": robot, "start": q.round(4).tolist()}
    path.write_text(json.dumps(scenario | {"nodes": parts, "checks": checks}))
    return path


def bare_scenario(robot: str) -> Scenario:
    """Return a scenario of operational space control in which nothing is said but the robot.

    Parameters
    ----------
    robot : str
        A robot's name, or a URDF or xacro file and its arguments.
    """
    return Scenario(Path(robot.split(maxsplit=1)[0]).stem, "", robot, {DEFAULT_CONTROLLER: {}, "simulator": {}})


def start_posture(model: RobotModel) -> Array:
    """Return a posture, shape (nq,) [rad or m], in which the hand moves well and the weight is carried easily."""
    rows = sorted(row for task in movable_rows(model)[:1] for row in task)
    drawn = _postures(model)
    postures = [q for q in drawn if is_above_base(model, q)] or drawn
    postures = list(np.array(postures)[_are_apart(Proximity(model), np.array(postures))]) or postures
    scores = [_mobility(model, q, rows) * (1.0 - _weight_share(model, q)) for q in postures]
    return np.asarray(postures[int(np.argmax(scores))]).round(4)


def target_postures(model: RobotModel, q: Array) -> list[Array]:
    """Return postures near q, shape (nq,) [rad or m], in which the hand moves nearly as well; and q itself."""
    rows = sorted(row for task in movable_rows(model)[:1] for row in task)
    joints = model.urdf.robot.joint_map
    steps = np.array([STEP / 4 if joints[name].type == "prismatic" else STEP for name in model.joint_names])
    shares = np.random.default_rng(1).uniform(-1.0, 1.0, (N_SAMPLES, model.nv))
    near = [np.clip(q + share * steps, *_middle(model)) for share in shares]
    least = 0.7 * _mobility(model, q, rows)
    good = [posture for posture in near if _mobility(model, posture, rows) >= least]
    if is_above_base(model, q):
        good = [posture for posture in good if is_above_base(model, posture)]
    return [*_one_by_one(Proximity(model), q, good or near), q]


def _one_by_one(proximity: Proximity, q: Array, postures: list[Array]) -> list[Array]:
    """Postures that the arm gets to one after the other without avoidance; any where there are too few."""
    chosen = [q]
    for posture in postures:
        way = np.linspace(chosen[-1], posture, N_BETWEEN)
        if len(chosen) < N_TARGETS and _are_apart(proximity, way).all():
            chosen.append(posture)
    return (chosen[1:] if len(chosen) == N_TARGETS else postures)[: N_TARGETS - 1]


def _are_apart(proximity: Proximity, qs: Array) -> Array:
    """Whether the links are so far apart at joint positions (n, nq), and beside them, that none is avoided, (n,)."""
    return np.asarray(proximity.clearances(qs) > AvoidanceParameters().self_threshold + OFF_WAY)


def is_above_base(model: RobotModel, q: Array) -> bool:
    """Whether the hand and all moving links begin no lower than the base, so that a table it stands on is clear."""
    up = -model.gravity_W
    links = [joint.child for joint in model.urdf.robot.joints if joint.name in model.joint_names]
    return all(up @ model.pose(q, link).p >= -SMALLEST_HEIGHT for link in (*links, model.tip))


def _period_and_gate(model: RobotModel, postures: list[Array]) -> tuple[float, dict[str, float]]:
    """Time for each target [s], and parameters of the gates: a higher rate limit where a heavy arm gains time by it."""
    gates: list[dict[str, float]] = [{}, {"rate_limit": propose_rate_limit(model)}]
    periods = [_time_between(model, postures, propose(model, **gate)) for gate in gates]
    best = int(np.argmin(periods))  # the first one of equals
    return periods[best], gates[best]


def _time_between(model: RobotModel, postures: list[Array], parameters: OscParameters) -> float:
    """Time in which an arm with these parameters comes to rest at each of the postures' targets [s]."""
    targets = [model.pose(posture) for posture in postures]
    ways = [(a.inverse() @ b) for a, b in zip(targets[-1:] + targets[:-1], targets, strict=True)]
    linear = max(np.linalg.norm(way.p) for way in ways) / parameters.speed_limit_linear
    angular = max(np.linalg.norm(rotation_vector(way.R)) for way in ways) / parameters.speed_limit_angular
    steps = np.abs(np.subtract(postures[-1:] + postures[:-1], postures))
    joints = np.max(steps / (parameters.joint_speed_share * model.v_max))
    return float(max(LEAST_PERIOD, REST + max(MARGIN * linear, MARGIN * angular, JOINT_MARGIN * joints)))


def _needed_efforts(model: RobotModel) -> Array:
    """Effort limits [N m or N] with which the arm carries its weight and moves."""
    postures = _postures(model)
    weight = np.max([np.abs(model.gravity(q)) for q in postures], axis=0)
    inertia = np.max([np.diag(model.mass_matrix(q)) for q in postures[:30]], axis=0)
    efforts = EFFORT_MARGIN * weight + ACCELERATION * inertia
    return np.maximum(efforts, LEAST_SHARE * efforts.max())


def _postures(model: RobotModel) -> Array:
    low, high = _middle(model)
    return low + np.random.default_rng(0).random((N_SAMPLES, model.nv)) * (high - low)


def _middle(model: RobotModel) -> tuple[Array, Array]:
    """Ends of the middle part of each joint's range, at most half a turn from zero [rad or m]."""
    low, high = drawn_range(model.q_min, model.q_max)
    centre, half = (low + high) / 2, MIDDLE * (high - low) / 2
    return centre - half, centre + half


def _mobility(model: RobotModel, q: Array, rows: list[int]) -> float:
    """Least singular value of the scaled Jacobian in some rows [m]."""
    J = scaled_jacobian(model.jacobian(q), LENGTH)[rows]
    return float(np.linalg.svd(J, compute_uv=False)[-1])


def _weight_share(model: RobotModel, q: Array) -> float:
    """Largest share of an effort limit that the weight takes, at most 1."""
    return min(1.0, float(np.max(np.abs(model.gravity(q)) / model.tau_max)))
