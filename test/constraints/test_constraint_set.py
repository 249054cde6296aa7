"""Constraints hold in a gate, and say by name what does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from long_arm import long_arm

from arm_control import RobotModel
from arm_control.collision import joint_axes
from arm_control.constraints import (
    BoxConstraint,
    ClearanceConstraint,
    Constraint,
    ConstraintSet,
    CylinderConstraint,
    HalfSpaceConstraint,
    LimitNumbers,
    Priority,
    SpeedConstraint,
    UprightConstraint,
    acceleration_bounds,
    constraints_of,
    read_constraints,
    speed_bounds,
    with_box_at,
)
from arm_control.constraints.constraint_set import TURN
from arm_control.constraints.kinds.clearance import pair_row
from arm_control.core import yaml_document
from arm_control.exceptions import ParameterError
from arm_control.gate import EffortGate, GateParameters, GateState, JointLimits
from arm_control.maths import Array, Hull, Obstacle, Pose, Shape, Sphere
from arm_control.model import State, tool_numbers

Q = np.array([0.6, 1.2])
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
"""Of a UR5."""
TICK = 1e-3
CRYSTAL = Hull.of_points(0.06 * np.array([*np.eye(3), *-np.eye(3), [0.7, 0.7, 0.7]]))
DAMPING = 1.0
"""[N m s/rad]"""


@pytest.fixture(scope="module")
def model(planar2: RobotModel) -> RobotModel:
    return planar2


def constraint_set(model: RobotModel, *constraints: Constraint) -> ConstraintSet:
    limits = JointLimits(model, GateParameters(), 1000.0)
    return ConstraintSet(model, constraints, limits.numbers, limits.is_unlimited)


def wall_before(model: RobotModel, gap: float) -> HalfSpaceConstraint:
    """A wall in front of the hand, which may go no further along x."""
    return HalfSpaceConstraint("wall", (float(model.pose(Q).p[0]) + gap, 0.0, 0.0), (-1.0, 0.0, 0.0))


def wall_entry(model: RobotModel, gap: float, q: Array = Q) -> dict[str, object]:
    """The entry of a file for such a wall."""
    x = float(model.pose(q).p[0]) + gap
    return {"name": "wall", "kind": "half_space", "point": [x, 0, 0], "normal": [-1, 0, 0]}


def push(model: RobotModel, q: Array, v: Array, force: float) -> Array:
    """Torque that carries the arm, pulls the hand along x and damps the joints."""
    terms = model.evaluate(q, v)
    return terms.h + terms.J[0] * force - DAMPING * v


def drive(
    gate: EffortGate, model: RobotModel, force: float, seconds: float, start: tuple[Array, Array] = (Q, np.zeros(2))
) -> tuple[list[float], Array, Array]:
    """Pull the hand through a gate, whose torque must not jump; returns the least margins, and the last state."""
    (q, v), margins, before = start, [], None
    for _ in range(round(seconds / TICK)):
        terms = model.evaluate(q, v)
        if not gate.is_braked:
            gate.offer_in_order(push(model, q, v, force))
        tau = gate.tick(terms, TICK).tau
        assert before is None or np.abs(tau - before).max() <= 1.001 * gate.parameters.rate_limit * TICK
        before = tau
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


def test_a_wall_stops_an_arm_of_nine_joints(tmp_path):
    model, q = long_arm(9), np.tile([0.0, 0.4, 0.3], 3)
    gate = gate_with(model, tmp_path, wall_entry(model, 0.05, q))
    margins, q, _ = drive(gate, model, 20.0, 0.6, (q, np.zeros(9)))
    assert gate.state is GateState.PASSING
    assert -1e-5 < min(margins) < 2e-3
    assert "wall" in str(gate.constraint_figures()["active constraints"])


def test_a_wall_stops_a_hand_that_is_pulled_at_it(model, tmp_path):
    gate = gate_with(model, tmp_path, wall_entry(model, 0.1))
    margins, q, _ = drive(gate, model, 20.0, 2.0)
    assert gate.state is GateState.PASSING
    assert -1e-5 < min(margins) < 2e-3  # it comes near, and not across
    assert model.pose(q).p[0] == pytest.approx(model.pose(Q).p[0] + 0.1, abs=2e-3)
    figures = gate.constraint_figures()
    assert figures["active constraints"] == "wall"
    left, unit, *what = str(figures["smallest margin"]).split()
    assert float(left) == pytest.approx(1e3 * margins[-1], rel=1e-2, abs=1e-3)
    assert [unit, *what] == ["mm:", "wall", "(hand)"]
    gate.brake("a test")
    assert set(gate.constraint_figures().values()) == {""}


@pytest.mark.parametrize(
    ("entry", "limited"),
    [
        ({"kind": "speed", "limit": 0.3}, lambda V, B: np.linalg.norm(V)),
        (
            {"kind": "energy", "limit": 0.05, "mass": 0.6},
            lambda V, B: 0.5 * V @ np.linalg.solve(B + np.eye(2) / 0.6, V),
        ),
    ],
    ids=["speed", "energy of a contact"],
)
def test_a_limit_of_motion_holds_and_is_reached(model, tmp_path, entry, limited):
    """The hand may be so fast, or so fast that a part of a person takes up so much: B is J M^-1 J^T."""
    gate = gate_with(model, tmp_path, {"name": "gentle", **entry})
    margins, q, v = drive(gate, model, 20.0, 0.1 if entry["kind"] == "energy" else 1.0)
    assert "gentle" in gate.constraints.active
    assert -2e-3 < min(margins) < 0.02
    terms = model.evaluate(q, v)
    J, V = terms.J[:2], terms.V_WE[:2]
    assert limited(V, J @ np.linalg.solve(terms.M, J.T)) == pytest.approx(entry["limit"], rel=0.02)


def test_an_arm_that_starts_outside_is_refused_by_name(model, tmp_path):
    gate = gate_with(model, tmp_path, wall_entry(model, -0.05))
    drive(gate, model, 0.0, 0.002)
    assert gate.is_braked
    assert gate.reason == "constraint 'wall' (hand) is violated by 50 mm; allow_recovery leads the arm back"


def test_recovery_leads_an_arm_back_slowly(model, tmp_path):
    gate = gate_with(model, tmp_path, wall_entry(model, -0.05), allow_recovery=True)
    margins, _, _ = drive(gate, model, 0.0, 2.0)
    assert not gate.is_braked
    assert margins[-1] > -1e-3
    assert np.abs(np.diff(margins)).max() < 0.12 * TICK  # at most 0.1 m/s


@pytest.mark.parametrize("gap", [0.15, 0.0])
def test_a_wall_that_appears_before_a_moving_arm_stops_it_or_what_is_left_is_said(model, tmp_path, gap):
    gate = gate_with(model, tmp_path, wall_entry(model, 9.0))
    _, q, v = drive(gate, model, 20.0, 0.1)
    (tmp_path / "constraints.yaml").write_text(yaml_document({"constraints": [wall_entry(model, gap, q)]}))
    gate.change_constraints(gate.parameters.constraints)
    speed = model.evaluate(q, v).V_WE[0]
    margins, q, v = drive(gate, model, 20.0, 0.02, (q, v))
    assert margins[0] == pytest.approx(gap, abs=1e-9)
    assert model.evaluate(q, v).V_WE[0] < 0.99 * speed, "as far as the rate of torque allows"
    margins, q, v = drive(gate, model, 20.0, 1.0, (q, v))
    if gap > 0.1:
        assert gate.state is GateState.PASSING
        assert min(margins) > -1e-3
    else:
        assert gate.reason.startswith("constraint 'wall' (hand) is violated by 2")
        assert np.abs(v).max() < 1e-3


def test_constraints_that_change_are_those_of_a_new_set(model):
    new = SpeedConstraint("s", 0.1), wall_before(model, 0.01), wall_before(model, 0.02)
    rows, fresh = constraint_set(model, wall_before(model, 1.0), SpeedConstraint("a", 1.0)), constraint_set(model, *new)
    rows.change(new)
    terms = model.evaluate(Q, np.array([0.3, -0.2]))
    taus = [x.limit(terms, terms.h + 9.0, terms.h, TICK).tolist() for x in (rows, fresh)]
    assert taus[0] == taus[1]
    assert (rows.labels, rows.active) == (fresh.labels, fresh.active)
    for bad in (
        BoxConstraint("bad", (0, 0, 0), (1, 1, 1)),
        SpeedConstraint("bad", 1.0, points=((0.0, 0.0, 1.0),)),
        ClearanceConstraint("bad"),
        HalfSpaceConstraint("bad", (0, 0, 0), (1, 0, 0), of="arm"),
    ):
        with pytest.raises(ParameterError, match="'bad' has a kind, link or point that no constraint had at the start"):
            rows.change([bad])
    assert rows.limit(terms, terms.h + 9.0, terms.h, TICK).tolist() == taus[1]


def test_a_file_that_cannot_be_used_changes_nothing(model, tmp_path):
    wall = wall_entry(model, 9.0)
    gate, bare = gate_with(model, tmp_path, wall), EffortGate(model, GateParameters())
    other = tmp_path / "other.yaml"
    other.write_text(yaml_document({"constraints": [{**wall, "point": [0, 0]}]}))
    for file, message in ((str(other), "3 finite numbers"), (str(tmp_path / "none.yaml"), "none")):
        with pytest.raises(ParameterError, match=message):
            gate.change_constraints(file)
    assert gate.parameters.constraints == str(tmp_path / "constraints.yaml")
    with pytest.raises(ParameterError, match="constraints come while a gate runs only where it began with some"):
        bare.change_constraints(gate.parameters.constraints)
    bare.change_constraints("")


def test_a_place_far_outside_counts_before_a_speed(model, tmp_path):
    gate = gate_with(model, tmp_path, {"name": "slow", "kind": "speed", "limit": 0.01}, wall_entry(model, -0.05))
    drive(gate, model, 0.0, 0.002, (Q, np.array([-2.0, 0.0])))
    assert gate.reason.startswith("constraint 'wall' (hand) is violated by 5")


def test_many_obstacles_count_that_come_later(model):
    rows = constraint_set(model, ClearanceConstraint("people", 0.05))
    far = [Obstacle(Sphere(0.05), Pose(np.eye(3), np.array([9.0, k, 0.0]))) for k in range(300)]
    near = Obstacle(Sphere(0.05), Pose(np.eye(3), model.pose(Q).p + [0.12, 0.0, 0.0]))
    terms = model.evaluate(Q, np.zeros(2))
    for obstacles, n in ((far[:2], 0), ([*far, near], 1), ([near], 1)):
        rows.place(obstacles)
        rows.limit(terms, terms.h, terms.h, TICK)
        assert (len(rows.h) > 0) == n


def test_there_is_room_for_many_near_obstacles_after_a_change_too(model):
    near = [Obstacle(Sphere(0.05), Pose(np.eye(3), model.pose(Q).p + [0.12, 1e-4 * k, 0.0])) for k in range(100)]
    rows = constraint_set(model, wall_before(model, 1.0), ClearanceConstraint("people", 0.05))
    fresh = constraint_set(model, ClearanceConstraint("others", 0.06))
    terms = model.evaluate(Q, np.zeros(2))
    rows.limit(terms, terms.h, terms.h, TICK)
    rows.change([ClearanceConstraint("others", 0.06)])
    for x in (rows, fresh):
        x.place(near)
        x.limit(terms, terms.h, terms.h, TICK)
    assert len(rows.h) > 100
    assert (rows.h.tolist(), rows.labels) == (fresh.h.tolist(), fresh.labels)


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


@pytest.mark.parametrize(
    ("kind", "joint", "moving"),
    [("cone", 4, 3), ("cylinder", 0, 0)],
    ids=["tool in its cone", "hand in a cylinder"],
)
def test_what_moves_through_the_middle_is_left_alone(ur5: RobotModel, kind: str, joint: int, moving: int):
    """There is no gradient, or an edge, and no room to be kept there: nothing is farther from the border."""
    X, E = ur5.pose(HOME), np.eye(6)
    within = UprightConstraint("glass", 0.4, X.R[:, 2].tolist()) if kind == "cone" else None
    rows = constraint_set(ur5, within or CylinderConstraint("silo", tuple(X.p), (0.0, 0.0, 1.0), 0.2))
    for dq in (0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3):
        for v in (0.6, -0.6):
            terms = ur5.evaluate(HOME + dq * E[joint], v * E[moving])
            assert (rows.limit(terms, terms.h, terms.h, TICK) == terms.h).all()


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
        ([{**PLANE, "point": [0, "x", 0]}], "point is .*'x'.*; 3 finite numbers are needed"),
        ([{**PLANE, "point": "high"}], "point is 'high'; 3 finite numbers are needed"),
        ([PLANE, PLANE], "two constraints are called 'a'"),
        ([{"name": "a", "kind": "speed", "limit": -1}], "limit is -1; a finite number above zero is needed"),
        ([{"name": "a", "kind": "upright", "angle": 2.0}], "angle is 2.0; it must be below pi/2"),
        ([{**PLANE, "level": "torque"}], "level: unknown torque; allowed: clearance, speed, workspace"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_a_sentence(entries, message):
    with pytest.raises(ParameterError, match=message):
        constraints_of({"constraints": entries}, "cell.yaml")


def test_a_text_stands_for_a_file_and_a_box_moves_in_either():
    text = "constraints: [{name: wall, kind: half_space, point: [0, 0, 1e-1], normal: [0, 0, 1]}]\nallow_recovery: true"
    asked = read_constraints(text)
    (wall,) = asked.constraints
    assert isinstance(wall, HalfSpaceConstraint)
    assert (wall.point, asked.allow_recovery) == ([0, 0, 0.1], True)
    before = read_constraints("ur5_cell").constraints
    moved = read_constraints(with_box_at("ur5_cell", "box", [0.1, 0.2, 0.3])).constraints
    changed = [(a, b) for a, b in zip(before, moved, strict=True) if a != b]
    ((box, other),) = changed
    assert other == replace(box, centre=[0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("constraints: ]", "^constraints: line 1, column 14: "),
        ("constraints: " + "[" * 60 + "]" * 60, "^constraints: nested deeper than"),
        ("constraints: [{name: a, kind: box}]", "^constraints: constraint 'a': centre, size is needed"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused_with_a_sentence(text: str, message: str):
    with pytest.raises(ParameterError, match=message):
        read_constraints(text)


def test_a_gate_that_is_told_of_no_obstacles_refuses_a_clearance(model, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(yaml_document({"constraints": [{"name": "people", "kind": "clearance"}]}))
    with pytest.raises(ParameterError, match="this gate is not told of obstacles"):
        EffortGate(model, GateParameters(constraints=str(path)))


def turning(rows: ConstraintSet) -> LimitNumbers:
    """Limits at the ends of the way within which a joint is stopped."""
    return LimitNumbers.of(rows._limits, rows._is_unlimited)._replace(q_soft=np.array([Q - TURN, Q + TURN]))


def test_a_joint_without_limits_of_position_is_no_faster_than_it_can_be_stopped_soon(model):
    """Beyond that way a row of a point has turned: nothing is asked of one that foresees no more."""
    rows = constraint_set(model, wall_before(model, 10.0))
    assert rows._is_unlimited.all()
    fastest = speed_bounds(model.evaluate(Q, np.zeros(2)), turning(rows), 4.0)[1]
    for share, names in ((0.9, ()), (1.05, ("joint limits",))):
        moving = model.evaluate(Q, share * fastest)
        rows.limit(moving, moving.h, moving.h, 0.1)
        assert rows.active == names


def test_bounds_of_turning_are_of_what_is_asked_for_and_yield_to_all_rows(model):
    """A wall changes least what they leave, in its own direction: what it needs of one joint throws no other one."""
    rows, dt = constraint_set(model, wall_before(model, 1e-3), SpeedConstraint("slow", 10.0)), 0.005
    rest = model.evaluate(Q, np.zeros(2))
    fastest = speed_bounds(rest, turning(rows), 4.0)[1]
    for share, free in (([-1.0, 0.2], [-3.0, 3.0]), ([-0.5, -1.0], [-3.0, -5.0]), ([-1.0, -1.0], [-3.0, -5.0])):
        terms = model.evaluate(Q, fastest * share)
        asked = terms.h + terms.M @ free
        low, high = acceleration_bounds(terms, dt, turning(rows), 4.0)
        H = terms.M + np.diag(0.02 * model.tau_max / model.v_max)
        a_0 = np.array(free)
        for held in ([1], [0, 1]):  # the last joint as if it were the only one, then the first one by itself
            i = held[0]
            left = np.clip(a_0[i], low[i], high[i]) - a_0[i]
            a_0 = a_0 + left * (np.linalg.inv(H)[:, 1] / np.linalg.inv(H)[1, 1] if i == 1 else np.eye(2)[0])
        assert (a_0 != free).any()
        a = np.linalg.solve(terms.M, rows.limit(terms, asked, asked, dt) - terms.h)
        assert rows.active == ("wall", "joint limits")
        along = np.linalg.solve(H, -terms.J[0])
        by = -terms.J[0] @ (a - a_0) / (-terms.J[0] @ along)
        np.testing.assert_allclose(a, a_0 + by * along, rtol=1e-9)
        assert by > 1e-3
    levels = [*4 * [0], *4 * [Priority.JOINTS], Priority.WORKSPACE, Priority.SPEED]
    assert rows._run.record.rows.program.level[: len(levels)].tolist() == levels == [*4 * [0], *4 * [1], 3, 4]


def test_a_bound_of_turning_counts_on_a_quarter_of_the_rate(model):
    rows = constraint_set(model, wall_before(model, 10.0))
    rest = model.evaluate(Q, np.zeros(2))
    left, zeta = 0.5 * speed_bounds(rest, turning(rows), 4.0)[1], 0.25 * 1000.0 / np.abs(rest.M).max(axis=1)
    terms = model.evaluate(Q, left)
    bent = np.sqrt(2.0 * zeta * (left - zeta / (2.0 * GateParameters().limit_damping ** 2)))
    for share, kept in ((0.999, 0.999), (1.02, 1.0)):
        asked = terms.h + terms.M @ [0.0, share * bent[1]]
        tau = rows.limit(terms, asked, asked, TICK)
        assert np.linalg.solve(terms.M, tau - terms.h)[1] == pytest.approx(kept * bent[1], rel=1e-9)


@pytest.mark.parametrize(("kind", "most"), [("turn", 100.0), ("speed", 10.0)])
def test_a_velocity_that_turns_round_is_foreseen(model, kind: str, most: float):
    """What acts just after it has turned acts just before, too: then there is time to take the acceleration back."""
    rows = constraint_set(model, *([SpeedConstraint("slow", 0.2)] if kind == "speed" else []))
    J = model.evaluate(Q, np.zeros(2)).J[:2] if kind == "speed" else np.eye(2)
    unit = np.linalg.inv(J)[:, 0] if kind == "speed" else np.array([0.0, 1.0])
    for a, acts in ((most, False), (2.0 * most, True)):
        for v in (-1e-6, 1e-6):
            terms = model.evaluate(Q, v * unit)
            last = terms.M @ (a * unit) + terms.h
            assert (rows.limit(terms, last, last, TICK) != last).any() == acts


def test_a_ball_that_comes_to_a_link_that_turns_on_the_spot_moves_nothing(ur5: RobotModel):
    """However that joint turns, the ball comes; so it is not thrown about."""
    rows, terms = constraint_set(ur5, ClearanceConstraint("people", 0.05)), ur5.evaluate(HOME, np.zeros(6))
    rows.place([Obstacle(Sphere(0.05), Pose(np.eye(3), [-0.03, -0.38, -0.04]), [0.02, 0.3, 0.0, 0.0, 0.0, 0.0])])
    assert (rows.limit(terms, terms.h, terms.h, TICK) == terms.h).all()
    assert "people" in rows.margins


def test_each_capsule_of_a_link_keeps_its_distance(ur5: RobotModel):
    """Another capsule than the nearest one may come nearer sooner."""
    rows, terms = constraint_set(ur5, ClearanceConstraint("people", 0.05)), ur5.evaluate(HOME, np.zeros(6))
    rows.place([Obstacle(Sphere(0.05), Pose(np.eye(3), ur5.pose(HOME).p + [0.1, 0.0, 0.0]))])
    rows.limit(terms, terms.g, terms.g, TICK)
    assert len(rows.labels) > len(set(rows.labels))


@pytest.mark.parametrize(("links", "shape"), [(0.0, Sphere(0.05)), (0.02, Sphere(0.05)), (0.0, CRYSTAL)], ids=str)
def test_the_row_of_a_pair_is_the_derivative_of_its_distance(ur5: RobotModel, links: float, shape: Shape):
    rows = constraint_set(ur5, ClearanceConstraint("people", 0.05, links))
    rng, dt, n_rows = np.random.default_rng(3), 1e-6, 0
    for _ in range(5):
        q, v = HOME + 0.2 * rng.normal(size=6), rng.normal(size=6)
        p, V = ur5.pose(q).p + [0.15, 0.05, 0.1], np.r_[rng.normal(size=3), np.zeros(3)]
        h = []
        for t in (-dt, dt, 0.0):
            rows.place([Obstacle(shape, Pose(np.eye(3), p + V[:3] * t), V)])
            terms = ur5.evaluate(q + v * t, v)
            rows.limit(terms, terms.g, terms.g, TICK)
            h.append(rows.h)
        state = State(ur5.tree, {"q": q, "tool": tool_numbers(ur5.tree)})
        near = rows._search.record.near
        for j in range(len(rows.h)):
            x = {name: getattr(near, name)[:, j] for name in ("sign", "twist", "is_self")}
            x |= {"rho": near.distance[:1, j], "n": near.distance[1:4, j], "p": near.distance[4:7, j]}
            x |= {"motion": np.zeros(12), "other": np.zeros(12), "distances": np.array([0.05, links])}
            row = pair_row(x, v, 1e3 * ur5.v_max, joint_axes(state), np.eye(6))
            assert row.h == pytest.approx(h[2][j], abs=1e-12)
            assert row.h_dot == pytest.approx((h[1][j] - h[0][j]) / (2.0 * dt), rel=1e-4, abs=1e-5)
            n_rows += 1
    assert n_rows > 10
