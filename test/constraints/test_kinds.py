"""Each row is the derivative of its constraint."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.collision import ArmShape
from arm_control.constraints import (
    BoxConstraint,
    ClearanceConstraint,
    Constraint,
    CylinderConstraint,
    EnergyConstraint,
    HalfSpaceConstraint,
    Priority,
    SpeedConstraint,
    UprightConstraint,
)
from arm_control.constraints.constraint import Point
from arm_control.constraints.constraint_set import N_NUMBERS, _point_arrays, _state, point_columns, point_row
from arm_control.constraints.kinds.clearance import pair_row
from arm_control.exceptions import ParameterError
from arm_control.gate import GateParameters, JointLimits
from arm_control.model import tool_numbers

KINDS: list[Constraint] = [
    HalfSpaceConstraint("table", (0.1, 0.0, 0.02), (0.1, 0.2, 2.0), points=((0.02, -0.03, 0.05), (0.0, 0.0, 0.0))),
    BoxConstraint("cell", (0.3, 0.1, 0.5), (1.0, 1.2, 0.9), (0.1, 0.2, 0.3), of="forearm_link"),
    CylinderConstraint("column", (0.0, 0.1, 0.0), (0.0, 0.1, 1.0), 0.9, of="wrist_1_link"),
    CylinderConstraint("pillar", (0.4, 0.1, 0.0), (0.2, 0.1, 1.0), 0.1, outside=True),
    UprightConstraint("glass", 0.4, (0.1, 0.0, -1.0)),
    SpeedConstraint("slow", 0.25, points=((0.02, -0.03, 0.05),)),
    EnergyConstraint("gentle", 0.1, 4.0, points=((0.02, -0.03, 0.05),)),
    EnergyConstraint("elbow", 0.3, 2.0, of="forearm_link"),
    HalfSpaceConstraint("wall", (0.6, 0.0, 0.02), (-1.0, 0.2, 0.0), of="arm"),
]


@pytest.mark.parametrize("constraint", KINDS, ids=lambda c: c.name)
def test_rows_are_derivatives(constraint: Constraint):
    model = RobotModel.from_urdf(urdf_path("ur5"))
    limits = JointLimits(model, GateParameters(), 1000.0)
    columns = point_columns(model, ArmShape(model), constraint)
    columns = columns[:1] if constraint.is_speed else columns  # the second row is along another direction in each state
    balls, kinds = tuple(dict.fromkeys(column.ball for column in columns)), (type(constraint),)
    at = _point_arrays(model, columns, balls, kinds)
    numbers, coupling = [np.zeros(N_NUMBERS) for _ in columns], np.eye(6)
    for column, own in zip(columns, numbers, strict=True):
        own[: len(column.constraint.numbers[column.side])] = column.constraint.numbers[column.side]

    def rows(q, v):
        terms = model.evaluate(q, v)
        x = {"q": q, "v": v, "tool": tool_numbers(model.tree), "M": terms.M.ravel(), "g": terms.g, "h": terms.h}
        x |= {"tau": terms.g, "tau_0": terms.g, "dt": np.array([1e-3]), "limits": limits.numbers, "known": np.zeros(6)}
        state = _state(x, model.tree, balls, limits.is_unlimited, constraint.sees_inertia)
        for j in range(len(columns)):
            of_point = {name: at[name][:, j] for name in ("sign", "radius", "kind")}
            place, motion = state["balls"][at["ball"][j]], state["motions"][at["body"][j]]
            of_point |= {"place": place, "motion": motion, "numbers": numbers[j], "room": state["room"]}
            yield point_row(of_point, kinds, coupling)

    rng = np.random.default_rng(1)
    dt = 1e-5
    for _ in range(3):
        q, v, a = rng.uniform(-1.5, 1.5, (3, 6))
        three = [rows(q + v * t + 0.5 * a * t * t, v + a * t) for t in (-dt, 0.0, dt)]
        for (before, _), (now, is_speed), (after, _) in zip(*three, strict=True):
            slope = (after.h - before.h) / (2.0 * dt)
            assert is_speed == constraint.is_speed
            if is_speed:
                assert now.c @ a + now.drift == pytest.approx(slope, rel=1e-5, abs=1e-6)
            else:
                assert now.h_dot == pytest.approx(slope, rel=1e-6, abs=1e-7)
                assert now.c @ v == pytest.approx(now.h_dot, rel=1e-9, abs=1e-12)
                bend = (after.h_dot - before.h_dot) / (2.0 * dt)
                assert now.c @ a + now.drift == pytest.approx(bend, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("tilt", [1e-6, 0.1, 0.4, 1.0, 3.0])
def test_what_is_left_of_a_cone_is_an_angle_however_far_outside(tilt: float):
    cone, rest = UprightConstraint("glass", 0.4), np.zeros(3)
    z = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    gradient = cone.gradient(np.array(cone.numbers[0]), Point(rest, rest, z, rest, 0.0))
    assert cone.left(gradient.h) == pytest.approx(0.4 - tilt, abs=1e-9)
    assert gradient.length == pytest.approx(np.sin(tilt) / np.sin(0.4), rel=1e-9)


def test_a_cone_is_steepest_across_its_axis_and_half_of_its_angle_is_well_inside():
    """Slope and value are those of the function; beyond what a cosine can be, the angle is the largest one."""
    cone, rest, step = UprightConstraint("glass", 1.2), np.zeros(3), 1e-6
    at_tilt = [np.array([np.sin(t), 0.0, np.cos(t)]) for t in (0.6, np.pi / 2.0 - step, np.pi / 2.0 + step)]
    inside, before, after = (
        cone.gradient(np.array(cone.numbers[0]), Point(rest, rest, z, rest, 0.0)).h for z in at_tilt
    )
    assert cone.inside == pytest.approx(inside, rel=1e-12)
    assert cone.slope == pytest.approx((before - after) / (2.0 * step), rel=1e-6)
    assert (cone.left(9.0), cone.left(-9.0)) == (1.2, 1.2 - np.pi)


def test_levels_are_in_the_order_in_which_they_give_way():
    assert [*Priority] == [0, 1, 2, 3, 4]
    names = "TORQUE JOINTS CLEARANCE WORKSPACE SPEED"
    assert [level.name for level in Priority] == names.split()
    for made in (Constraint("bare").gradient, lambda *_: Constraint("bare").numbers):
        with pytest.raises(NotImplementedError):
            made(np.zeros(1), at((0.0, 0.0, 0.0)))


def test_what_a_file_need_not_say():
    z = (0.0, 0.0, 1.0)
    assert UprightConstraint("glass", 0.4) == UprightConstraint("glass", 0.4, z, points=(z,))
    assert BoxConstraint("cell", z, z) == BoxConstraint("cell", z, z, (0.0, 0.0, 0.0))
    assert ClearanceConstraint("people") == ClearanceConstraint("people", 0.02, 0.0)
    plane = HalfSpaceConstraint("wall", z, z)
    assert plane.gradient(np.array(plane.numbers[0]), at((0.0, 0.0, 3.0)))[3:] == (0.0, 0.0, 1.0)
    assert (plane.slope, plane.inside, plane.left(0.3), plane.kind) == (1.0, 0.01, 0.3, "half_space")
    assert HalfSpaceConstraint("wall", z, (1e-6, 0.0, 0.0)).numbers == [[1.0, 0.0, 0.0, 0.0]]
    assert [kind.sees_obstacles for kind in (ClearanceConstraint, SpeedConstraint)] == [True, False]
    assert [kind.sees_inertia for kind in (EnergyConstraint, SpeedConstraint)] == [True, False]


def at(p: tuple[float, ...], v: tuple[float, ...] = (0.0, 0.0, 0.0), radius: float = 0.0) -> Point:
    rest = np.zeros(3)
    return Point(np.array(p), np.array(v), rest, rest, radius)


@pytest.mark.parametrize(
    ("constraint", "point", "h"),
    [
        (HalfSpaceConstraint("table", (7.0, 0.0, 0.2), (0.0, 0.0, 2.0)), at((0.0, 5.0, 0.5), radius=0.1), 0.2),
        (CylinderConstraint("in", (1.0, 0.0, 9.0), (0.0, 0.0, 3.0), 0.5), at((1.3, 0.0, 0.0), radius=0.05), 0.15),
        (
            CylinderConstraint("out", (1.0, 0.0, 9.0), (0.0, 0.0, 3.0), 0.2, outside=True),
            at((1.3, 0.4, 0.0), radius=0.05),
            0.25,
        ),
        (SpeedConstraint("slow", 0.7), at((1.0, 2.0, 3.0), (0.3, 0.0, 0.4)), 0.2),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_what_is_left_at_a_place(constraint: Constraint, point: Point, h: float):
    assert constraint.gradient(np.array(constraint.numbers[0]), point).h == pytest.approx(h, abs=1e-9)


def test_a_speed_has_a_row_along_what_the_velocity_is_to_become():
    now, ahead = SpeedConstraint("slow", 0.7).numbers
    point = at((1.0, 2.0, 3.0), (0.3, 0.0, 0.4))._replace(ahead=np.array([-0.3, 0.0, 0.4]))
    for numbers, u, h in ((now, [0.6, 0.0, 0.8], 0.2), (ahead, [0.0, 0.0, 1.0], 0.3)):
        gradient = SpeedConstraint.gradient(np.array(numbers), point)
        assert gradient.h == pytest.approx(h, abs=1e-9)
        np.testing.assert_allclose(gradient.f, -np.array(u), atol=1e-9)


def test_a_turned_box_is_measured_along_its_own_axes():
    box = BoxConstraint("box", (1.0, 2.0, 3.0), (0.2, 0.4, 0.6), (0.0, 0.0, np.pi / 2.0))
    h = [BoxConstraint.gradient(np.array(numbers), at((1.0, 2.05, 3.1), radius=0.01)).h for numbers in box.numbers]
    assert h == pytest.approx([0.04, 0.14, 0.19, 0.19, 0.19, 0.39], abs=1e-12)
    assert BoxConstraint.sides == ("at +x", "at -x", "at +y", "at -y", "at +z", "at -z")


@pytest.mark.parametrize("outside", [False, True])
def test_a_cylinder_has_no_edge_at_its_axis(outside: bool):
    """Within half of its radius its function is a parabola, which the distance touches there."""
    silo = CylinderConstraint("silo", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.8, outside)
    sign, numbers = 1.0 - 2.0 * outside, np.array(silo.numbers[0])
    for w in (0.0, 1e-12, 1e-3, 0.2, 0.4 - 1e-9, 0.4 + 1e-9, 0.7):
        g = silo.gradient(numbers, at((w, 0.0, 0.0), (0.6, 0.8, 3.0)))
        far = max(w, 0.4)
        assert g.h == pytest.approx(sign * (0.8 - (w if w > 0.4 else w * w / 0.8 + 0.2)), abs=1e-12)
        np.testing.assert_allclose(g.f, [-sign * w / far, 0.0, 0.0], atol=1e-12)
        assert g.length == pytest.approx(w / far, abs=1e-12)
        assert g.bend == pytest.approx(-sign * (0.64 / w if w > 0.4 else 1.0 / 0.4), rel=1e-6)
        assert silo.left(g.h) == pytest.approx(0.8 - w if not outside else g.h, abs=1e-9)
    ball = silo.gradient(numbers, at((0.1, 0.0, 0.0), radius=0.05)).h
    assert silo.left(ball) <= sign * 0.7 - 0.05 or outside


def inertial(rng: np.random.Generator) -> Point:
    """A point of an arm that is felt with some mass."""
    A = rng.normal(size=(3, 3))
    return at((0.0, 0.0, 0.0), tuple(rng.normal(size=3)))._replace(mobility=A @ A.T, mobility_rate=A + A.T)


def test_an_energy_is_that_of_the_worst_direction_of_a_contact():
    rng = np.random.default_rng(0)
    u = rng.normal(size=(3, 20000))
    u /= np.linalg.norm(u, axis=0)
    for _ in range(3):
        x, mass = inertial(rng), float(rng.uniform(0.5, 5.0))
        of_arm = 1.0 / np.einsum("ik,ij,jk->k", u, x.mobility, u)  # effective mass along u
        transferred = 0.5 / (1.0 / mass + 1.0 / of_arm) * (x.v @ u) ** 2
        gentle = EnergyConstraint("gentle", 2.0, mass)
        h = gentle.gradient(np.array(gentle.numbers[0]), x).h
        alone = np.sqrt(4.0 / mass) - h  # speed of the part with that energy
        assert 0.5 * mass * alone**2 == pytest.approx(transferred.max(), rel=2e-3)
        assert 0.5 * mass * alone**2 >= transferred.max()


def test_an_energy_of_a_very_heavy_arm_is_a_limit_of_speed():
    point = at((1.0, 2.0, 3.0), (0.3, 0.0, 0.4))._replace(ahead=np.array([-0.3, 0.0, 0.4]))
    for energy, speed in zip(EnergyConstraint("e", 0.98, 4.0).numbers, SpeedConstraint("v", 0.7).numbers, strict=True):
        a = EnergyConstraint.gradient(np.array(energy), point)
        b = SpeedConstraint.gradient(np.array(speed), point)
        assert (a.h, a.is_ahead, a.bend) == (pytest.approx(b.h, abs=1e-12), b.is_ahead, 0.0)
        np.testing.assert_allclose(a.f, b.f, atol=1e-12)
    rest = EnergyConstraint.gradient(np.array(EnergyConstraint("e", 0.98, 4.0).numbers[0]), at((0.0, 0.0, 0.0)))
    assert (rest.h, rest.bend, *rest.f) == (pytest.approx(0.7), 0.0, 0.0, 0.0, 0.0)


def test_a_point_is_felt_with_the_effective_mass_and_a_row_with_a_gain_of_two_ticks():
    model = RobotModel.from_urdf(urdf_path("ur5"))
    limits = JointLimits(model, GateParameters(), 1000.0)
    terms = model.evaluate(np.array([0.3, -1.2, 1.5, -0.7, 0.4, 0.1]), np.zeros(6))
    x = {"q": terms.q, "v": terms.v, "tool": tool_numbers(model.tree), "M": terms.M.ravel(), "g": terms.g}
    x |= {"h": terms.h, "tau": terms.g, "tau_0": terms.g, "dt": np.array([0.1]), "limits": limits.numbers}
    balls = [point_columns(model, ArmShape(model), EnergyConstraint("e", 1.0, 1.0))[0].ball]
    state = _state({**x, "known": np.zeros(6)}, model.tree, balls, limits.is_unlimited, True)
    expected = terms.J[:3] @ np.linalg.solve(terms.M, terms.J[:3].T)
    np.testing.assert_allclose(state["balls"][0][6:12], expected[np.triu_indices(3)], rtol=1e-9)
    np.testing.assert_allclose(state["balls"][0][12:], np.zeros(6), atol=1e-12)
    assert state["room"][-2] == pytest.approx(5.0), "k_v: 1 in two ticks of 0.1 s"


def test_a_distance_bends_with_the_accelerations_of_both_bodies():
    rng = np.random.default_rng(2)
    n, p, w, other_w = np.array([0.6, 0.0, 0.8]), *rng.normal(size=(3, 3))
    x = {"n": n, "p": p, "rho": np.array([0.3]), "is_self": np.zeros(1), "distances": np.array([0.1, 0.2])}
    x |= {"sign": np.ones(1), "twist": np.zeros(6)}
    x |= {"motion": np.r_[0.0, 0.0, 0.0, w, np.ones(6)], "other": np.r_[0.0, 0.0, 0.0, other_w, np.zeros(6)]}
    axes, comes = np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]).T, np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    row = pair_row(x, np.zeros(1), np.ones(1), axes, np.eye(1))
    a = np.ones(3) + np.cross(np.ones(3), p) + np.cross(w, np.cross(w, p))
    assert row.drift == pytest.approx(n @ (a - np.cross(other_w, np.cross(other_w, p))), rel=1e-12)
    assert row.h == pytest.approx(0.2)
    row = pair_row(x | {"twist": comes, "is_self": np.ones(1)}, np.array([0.5]), np.ones(1), axes, np.eye(1))
    assert (row.h, row.h_dot) == (pytest.approx(0.1), pytest.approx(0.6 * (0.5 - 0.1)))


def test_a_clearance_looks_so_far():
    assert ClearanceConstraint("a", 0.05).reach == pytest.approx((0.35, 0.0))
    assert ClearanceConstraint("a", 0.05, 0.02).reach == pytest.approx((0.35, 0.12))
    assert ClearanceConstraint("a", 0.05, 0.02).numbers == [[0.05, 0.02]]


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (ClearanceConstraint("a", 0.0), "distance is 0.0; a finite number above zero is needed"),
        (ClearanceConstraint("a", 0.1, -0.1), "links is -0.1; a finite number, zero or above, is needed"),
        (ClearanceConstraint("a", 0.1, np.inf), "links is inf; a finite number, zero or above, is needed"),
        (EnergyConstraint("a", 0.0, 1.0), "limit is 0.0; a finite number above zero is needed"),
        (EnergyConstraint("a", 1.0, -1.0), "mass is -1.0; a finite number above zero is needed"),
        (UprightConstraint("a", np.pi / 2.0), "angle is .*; it must be below pi/2"),
        (SpeedConstraint("a", "1"), "limit is '1'; a finite number above zero is needed"),  # type: ignore[arg-type]
        (SpeedConstraint("a", np.inf), "limit is inf; a finite number above zero is needed"),
        (HalfSpaceConstraint("a", "012", (1.0, 0.0, 0.0)), "point is '012'; 3 finite numbers are needed"),  # type: ignore[arg-type]
        (HalfSpaceConstraint("a", (0.0, 0.0), (1.0, 0.0, 0.0)), r"point is \(0.0, 0.0\); 3 finite numbers are needed"),
        (HalfSpaceConstraint("a", (0.0, np.nan, 0.0), (1.0, 0.0, 0.0)), "3 finite numbers are needed"),
        (HalfSpaceConstraint("a", (0.0, 0.0, 0.0), (9.9e-7, 0.0, 0.0)), "a vector with a length is needed"),
    ],
)
def test_numbers_that_cannot_be_used_are_refused(constraint: Constraint, message: str):
    with pytest.raises(ParameterError, match=message):
        _ = constraint.numbers
