"""The equations of the page, each beside scalars or finite differences."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from arm_control.constraints.barriers import (
    ConstraintRow,
    Room,
    affordable_jerk,
    change_ahead,
    common_stop,
    norm,
    obstacle_speed,
    reduced_row,
    servo,
    torque_left,
)
from arm_control.constraints.joint_rows import stopping_speed

DT = 1e-3


@pytest.mark.parametrize("d", [1e-4, 1e-3, 0.2, 30.0])
def test_braking_distance_and_delay_take_what_is_left(d: float):
    alpha, c = 3.0, 0.4
    v = stopping_speed(d, alpha, c)
    assert v * v / (2.0 * alpha) + v * c / alpha == pytest.approx(d, rel=1e-6)
    assert stopping_speed(-d, alpha, c) == -v


def test_one_stop_keeps_all_places_that_fall_as_fast_as_they_may():
    """All joints are slowed alike: the torque is half of what is left, and each place ends at zero, or above."""
    rng, k_p, dt = np.random.default_rng(0), 50.0, 2e-4
    for _ in range(2):
        M, left, v = np.diag(rng.uniform(0.5, 2.0, 3)) + 0.1, rng.uniform(5.0, 20.0, 3), rng.normal(size=3)
        c, n_steps = rng.normal(size=(4, 3)), 0
        c *= -np.sign(c @ v)[:, None]  # all of them fall
        t, t_r, _ = common_stop(M @ v, left, 1e12, k_p)
        h = -(0.5 * (t + t_r) + 1.0 / k_p) * (c @ v)
        while np.abs(v).max() > 1e-3:
            t, t_r, _ = common_stop(M @ v, left, 1e12, k_p)
            a = -v / (t + 0.5 * t_r + 1.0 / k_p)
            assert (np.abs(M @ a) <= 0.5 * left).all()
            h, v, n_steps = h + c @ v * dt, v + a * dt, n_steps + 1
        assert n_steps > 100
        assert np.abs(h).max() < 1e-3


def test_the_torque_of_a_stop_is_there_after_its_delay():
    M_v, left = np.array([3.0, -1.0]), np.array([10.0, 10.0])
    t, t_r, beta = common_stop(M_v, left, 800.0, 50.0)
    assert t == pytest.approx(3.0 / 5.0)
    assert beta == pytest.approx(400.0 / 3.0)
    assert beta * t_r == pytest.approx(1.0 / (t + 0.02))
    assert common_stop(0.0 * M_v, left, 800.0, 50.0)[:2] == pytest.approx((0.0, 0.0), abs=1e-12)


def test_the_servo_bends_where_its_acceleration_could_not_be_taken_back():
    k_v, zeta = 100.0, 50.0
    corner = zeta / k_v**2
    assert servo(0.5 * corner, k_v, zeta) == pytest.approx(k_v * 0.5 * corner, rel=1e-12)
    assert servo(corner, k_v, zeta) == pytest.approx(sqrt(2.0 * zeta * 0.5 * corner), rel=1e-12)
    assert servo(3.0 * corner, k_v, zeta) == pytest.approx(sqrt(2.0 * zeta * 2.5 * corner), rel=1e-12)
    for e in (0.3 * corner, 7.0 * corner):
        assert servo(-e, k_v, zeta) == -servo(e, k_v, zeta)


def test_a_heavy_arm_keeps_some_torque():
    left = torque_left(np.array([10.0, 10.0, 10.0]), np.array([3.0, -3.0, 9.9]))
    np.testing.assert_allclose(left, [7.0, 7.0, 0.5], rtol=1e-12)


def draw(rng: np.random.Generator, h: float, h_dot: float | None) -> tuple[ConstraintRow, Room]:
    """A row of three joints, and a state."""
    L_inv = np.linalg.inv(np.linalg.cholesky(np.diag(rng.uniform(0.5, 2.0, 3)) + 0.1))
    a_0, a_1, (t, t_r, beta) = rng.normal(size=3), rng.normal(size=3), rng.uniform([0.0, 0.0, 10.0], [0.2, 0.1, 99.0])
    room = Room(L_inv, a_0, a_1, t, t_r, beta, 800.0, DT, 50.0, 400.0, 0.1)
    return ConstraintRow(h, rng.normal(size=3), float(rng.normal()), h_dot), room


def needed(row: ConstraintRow, room: Room) -> float:
    """Equations (1) to (5), with scalars."""
    c, H_inv = row.c, room.L_inv.T @ room.L_inv
    mu = c @ H_inv @ c
    jerk = 0.25 * mu * min(room.rate_limit / abs(x) for x in c)
    zeta = jerk / row.length

    def bent(e: float, zeta: float = zeta) -> float:
        size = abs(e)
        if size > zeta / room.k_v**2:
            return float(np.copysign(sqrt(2.0 * zeta * (size - zeta / (2.0 * room.k_v**2))), e))
        return room.k_v * e

    within_rate = float(row.c @ room.a_1 + 4.0 * jerk * room.dt)
    if row.h_dot is None:
        return min(bent(-row.h) - row.drift, within_rate if row.is_ahead else np.inf)
    s, slope = max(room.k_p * row.h, -room.v_back), room.k_p
    if row.h > 0.0:
        s = row.h / ((room.t + room.t_r) / 2.0 + 1.0 / room.k_p)
        slope = 1.0 / (room.t + room.t_r / 2.0 + 1.0 / room.k_p)
    e = row.h_dot + s
    wanted = bent(-e, min(zeta, room.beta * abs(s)) if e > 0.0 else zeta) - slope * row.h_dot - row.drift
    return min(float(wanted), within_rate)


@pytest.mark.parametrize("h_dot", [None, -30.0, -0.5, 0.0, 0.4])
@pytest.mark.parametrize("h", [-0.5, -1e-4, 1e-4, 0.02, 0.5])
def test_a_row_is_that_of_the_page(h: float, h_dot: float | None):
    rng = np.random.default_rng(0)
    for _ in range(5):
        row, room = draw(rng, h, h_dot)
        for some in (row, row._replace(is_ahead=1.0), row._replace(length=0.3)):
            G, need = reduced_row(some, room)
            np.testing.assert_allclose(G, room.L_inv @ row.c, rtol=1e-12)
            assert need == pytest.approx(needed(some, room) - row.c @ room.a_0, rel=1e-9, abs=1e-9)


def test_a_row_that_nothing_moves_is_finite_and_asks_for_little():
    """A place asks for nothing at all: no rate of torque gives it anything."""
    row, room = draw(np.random.default_rng(1), -0.01, None)
    for h_dot, length, most in ((None, 1.0, sqrt(2.0 * 1e-3 * 0.01)), (0.0, 1.0, 0.0), (0.0, norm(np.zeros(3)), 0.0)):
        G, need = reduced_row(row._replace(c=np.zeros(3), drift=0.0, h_dot=h_dot, length=length), room)
        assert not G.any()
        assert 0.0 <= need <= most  # of a speed: the slowest zeta
        assert (need > 0.0) == (h_dot is None)
        assert h_dot is not None or need == servo(0.01, room.k_v, 1e-3)
    assert ConstraintRow(0.0, row.c, 0.0)[3:] == (None, 0.0, 1.0)


def test_a_change_ahead_is_that_until_the_acceleration_is_taken_back():
    row, room = draw(np.random.default_rng(2), 0.0, None)
    mu = room.L_inv @ row.c @ (room.L_inv @ row.c)
    zeta = affordable_jerk(row.c, room)
    assert zeta == pytest.approx(0.25 * mu * 800.0 / np.abs(row.c).max(), rel=1e-12)
    a, dt = np.array([3.0, 0.0, -4.0]), 5.0 / zeta / 1000
    taken_back = [a * (1.0 - (k + 0.5) / 1000) * dt for k in range(1000)]
    np.testing.assert_allclose(change_ahead(a, 5.0, zeta), np.sum(taken_back, axis=0), rtol=1e-9)


def test_an_obstacle_is_no_faster_than_half_of_the_joints_speeds_can_evade():
    c, v_max = np.array([0.5, -0.25, 0.0]), np.array([2.0, 4.0, 8.0])
    assert [obstacle_speed(d_t, c, v_max) for d_t in (-3.0, -0.9, 0.4)] == [-1.0, -0.9, 0.4]


def test_the_length_of_no_vector_is_above_zero():
    assert norm(np.array([3.0, 0.0, 4.0])) == pytest.approx(5.0, rel=1e-12)
    assert 0.0 < norm(np.zeros(3)) < 1e-6
