"""Constraints hold in a gate, and say by name what does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.constraints import (
    BoxConstraint,
    ClearanceConstraint,
    Constraint,
    ConstraintSet,
    HalfSpaceConstraint,
    SpeedConstraint,
    constraints_of,
)
from arm_control.core import yaml_document
from arm_control.exceptions import ParameterError
from arm_control.gate import EffortGate, GateParameters, GateState, JointLimits
from arm_control.maths import Array, Obstacle, Pose, Sphere

Q = np.array([0.6, 1.2])
TICK = 1e-3
DAMPING = 1.0
"""[N m s/rad]"""


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("planar2"))


def constraint_set(model: RobotModel, *constraints: Constraint) -> ConstraintSet:
    limits = JointLimits(model, GateParameters(), 1000.0)
    return ConstraintSet(model, constraints, limits.numbers, limits.is_unlimited)


def wall_before(model: RobotModel, gap: float) -> HalfSpaceConstraint:
    """A wall in front of the hand, which may go no further along x."""
    return HalfSpaceConstraint("wall", (float(model.pose(Q).p[0]) + gap, 0.0, 0.0), (-1.0, 0.0, 0.0))


def push(model: RobotModel, q: Array, v: Array, force: float) -> Array:
    """Torque that carries the arm, pulls the hand along x and damps the joints."""
    terms = model.evaluate(q, v)
    return terms.h + terms.J[0] * force - DAMPING * v


def drive(gate: EffortGate, model: RobotModel, force: float, seconds: float) -> tuple[list[float], Array, Array]:
    """Pull the hand through a gate; returns the least margins, and the last state."""
    q, v, margins = Q.copy(), np.zeros(2), []
    for _ in range(round(seconds / TICK)):
        terms = model.evaluate(q, v)
        if not gate.is_braked:
            gate.offer_in_order(push(model, q, v, force))
        tau = gate.tick(terms, TICK).tau
        assert gate.constraints is not None
        margins.append(min(gate.constraints.margins.values(), default=1.0))
        v = v + model.forward_dynamics(q, v, tau) * TICK
        q = q + v * TICK
    return margins, q, v


def gate_with(model: RobotModel, folder: Path, *entries: dict[str, object], **others: object) -> EffortGate:
    path = folder / "constraints.yaml"
    path.write_text(yaml_document({"constraints": list(entries), **others}))
    return EffortGate(model, GateParameters(constraints=str(path)), knows_obstacles=True)


def test_a_torque_for_which_all_hold_is_not_changed_by_a_bit(model):
    rows = constraint_set(model, wall_before(model, 1.0), SpeedConstraint("slow", 1.0))
    terms = model.evaluate(Q, np.array([0.1, -0.2]))
    tau = terms.h + np.array([0.123, 0.0456])
    assert np.array_equal(rows.limit(terms, tau, terms.h, TICK), tau)
    assert rows.active == ()
    assert rows.worst is not None
    assert rows.worst.name == "slow"


def test_a_wall_stops_a_hand_that_is_pulled_at_it(model, tmp_path):
    x = float(model.pose(Q).p[0]) + 0.1
    wall = {"name": "wall", "kind": "half_space", "point": [x, 0, 0], "normal": [-1, 0, 0]}
    gate = gate_with(model, tmp_path, wall)
    margins, q, _ = drive(gate, model, 20.0, 2.0)
    assert gate.state is GateState.PASSING
    assert -1e-5 < min(margins) < 2e-3  # it comes near, and not across
    assert model.pose(q).p[0] == pytest.approx(x, abs=2e-3)
    figures = gate.constraint_figures()
    assert figures["active constraints"] == "wall"
    left, unit, *what = str(figures["smallest margin"]).split()
    assert float(left) == pytest.approx(1e3 * margins[-1], rel=1e-2)
    assert [unit, *what] == ["mm:", "wall", "(hand)"]
    gate.brake("a test")
    assert set(gate.constraint_figures().values()) == {""}


def test_a_limit_of_speed_holds_in_motion(model, tmp_path):
    gate = gate_with(model, tmp_path, {"name": "slow", "kind": "speed", "limit": 0.3})
    margins, _, _ = drive(gate, model, 20.0, 1.0)
    assert -2e-3 < min(margins) < 0.02


def test_an_arm_that_starts_outside_is_refused_by_name(model, tmp_path):
    x = float(model.pose(Q).p[0]) - 0.05
    wall = {"name": "wall", "kind": "half_space", "point": [x, 0, 0], "normal": [-1, 0, 0]}
    gate = gate_with(model, tmp_path, wall)
    drive(gate, model, 0.0, 0.002)
    assert gate.is_braked
    assert gate.reason == "constraint 'wall' (hand) is violated by 50 mm; allow_recovery leads the arm back"


def test_recovery_leads_an_arm_back_slowly(model, tmp_path):
    x = float(model.pose(Q).p[0]) - 0.05
    wall = {"name": "wall", "kind": "half_space", "point": [x, 0, 0], "normal": [-1, 0, 0]}
    gate = gate_with(model, tmp_path, wall, allow_recovery=True)
    margins, _, _ = drive(gate, model, 0.0, 2.0)
    assert not gate.is_braked
    assert margins[-1] > -1e-3
    assert np.abs(np.diff(margins)).max() < 0.12 * TICK  # at most 0.1 m/s


def test_an_obstacle_that_appears_too_near_brakes_an_arm(model, tmp_path):
    gate = gate_with(model, tmp_path, {"name": "people", "kind": "clearance", "distance": 0.05})
    drive(gate, model, 0.0, 0.05)
    assert not gate.is_braked
    gate.place([Obstacle(Sphere(0.1), Pose(np.eye(3), model.pose(Q).p))])
    drive(gate, model, 0.0, 0.005)
    assert gate.is_braked
    assert gate.reason.startswith("constraint 'people' (")
    assert "at obstacle 0) is violated by" in gate.reason


def test_what_cannot_hold_with_a_person_gives_way(model):
    """A wall and a ball that come from both sides: the ball is of a lower level, so the wall is left over."""
    p = model.pose(Q).p
    rows = constraint_set(model, wall_before(model, 0.01), ClearanceConstraint("people", 0.05))
    rows.place([Obstacle(Sphere(0.05), Pose(np.eye(3), p - [0.15, 0.0, 0.0]), [0.5, 0.0, 0.0, 0.0, 0.0, 0.0])])
    terms = model.evaluate(Q, np.zeros(2))
    for _ in range(3):
        tau = rows.limit(terms, terms.h, terms.h, 0.1)
    a = model.forward_dynamics(Q, np.zeros(2), tau)
    assert (terms.J @ a)[0] > 0.0  # towards the wall, away from the ball
    assert "people" in rows.active


def test_a_box_in_the_middle_of_an_arm_is_measured_at_every_side(model):
    box = BoxConstraint("box", tuple(model.pose(Q).p), (0.2, 0.4, 0.6), points=((0.0, 0.0, 0.0), (0.05, 0.0, 0.0)))
    rows = constraint_set(model, box)
    terms = model.evaluate(Q, np.zeros(2))
    rows.limit(terms, terms.h, terms.h, TICK)
    assert len(rows.h) == 12
    assert sorted(rows.h[:6]) == pytest.approx([0.1, 0.1, 0.2, 0.2, 0.3, 0.3])


PLANE = {"name": "a", "kind": "half_space", "point": [0, 0, 0], "normal": [0, 0, 1]}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"kind": "half_space"}], "a constraint has no name"),
        ([{**PLANE, "kind": "half_spce"}], "unknown half_spce; .* did you mean 'half_space'"),
        ([{**PLANE, "nrmal": [0, 0, 1]}], "constraint 'a': unknown nrmal; .* did you mean 'normal'"),
        ([{"name": "a", "kind": "half_space", "point": [0, 0, 0]}], "constraint 'a': normal is needed"),
        ([{**PLANE, "normal": [0, 0, 0]}], "normal is .*; a vector with a length is needed"),
        ([{**PLANE, "point": [0, float("nan"), 0]}], "point is .*; 3 finite numbers are needed"),
        ([PLANE, PLANE], "two constraints are called 'a'"),
        ([{"name": "a", "kind": "speed", "limit": -1}], "limit is -1; a finite number above zero is needed"),
        ([{"name": "a", "kind": "upright", "angle": 2.0}], "angle is 2.0; it must be below pi/2"),
        ([{**PLANE, "level": "torque"}], "level: unknown torque; allowed: clearance, workspace"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_a_sentence(entries, message):
    with pytest.raises(ParameterError, match=message):
        constraints_of({"constraints": entries}, "cell.yaml")


def test_a_gate_that_is_told_of_no_obstacles_refuses_a_clearance(model, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(yaml_document({"constraints": [{"name": "people", "kind": "clearance"}]}))
    with pytest.raises(ParameterError, match="this gate is not told of obstacles"):
        EffortGate(model, GateParameters(constraints=str(path)))
