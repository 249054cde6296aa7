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
    norm,
    obstacle_speed,
    reduced_row,
    servo,
    stopping_speed,
    torque_left,
)

DT = 1e-3


@pytest.mark.parametrize("h", [1e-4, 1e-3, 0.2, 30.0])
def test_braking_distance_and_delay_take_what_is_left(h: float):
    alpha, gamma, step = 3.0, 0.4, 1e-5 * h
    s, root = stopping_speed(h, alpha, gamma)
    assert s * s / (2.0 * alpha) + s * gamma / alpha == pytest.approx(h, rel=1e-6)
    slope = (stopping_speed(h + step, alpha, gamma)[0] - stopping_speed(h - step, alpha, gamma)[0]) / (2.0 * step)
    assert alpha / root == pytest.approx(slope, rel=1e-5)
    assert stopping_speed(-h, alpha, gamma)[0] == -s


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
    a_0, a_1, tau_left = rng.normal(size=3), rng.normal(size=3), rng.uniform(5.0, 20.0, 3)
    room = Room(L_inv, a_0, a_1, tau_left, 800.0, DT, 50.0, 400.0, 0.1)
    return ConstraintRow(h, rng.normal(size=3), float(rng.normal()), h_dot), room


def needed(row: ConstraintRow, room: Room) -> float:
    """Equations (1) to (5), with scalars."""
    c, H_inv = row.c, room.L_inv.T @ room.L_inv
    mu = c @ H_inv @ c
    jerk = 0.5 * mu * min(room.rate_limit / abs(x) for x in c)
    alpha = 0.5 * mu * min(tau / abs(x) for tau, x in zip(room.tau_left, c, strict=True)) / row.length
    zeta = jerk / row.length

    def bent(e: float, zeta: float = zeta) -> float:
        size = abs(e)
        if size > zeta / room.k_v**2:
            return float(np.copysign(sqrt(2.0 * zeta * (size - zeta / (2.0 * room.k_v**2))), e))
        return room.k_v * e

    within_rate = float(row.c @ room.a_1 + 2.0 * jerk * room.dt)
    if row.h_dot is None:
        return min(bent(-row.h, 0.5 * zeta) - row.drift, within_rate if row.is_ahead else np.inf)
    gamma = alpha * (1.0 / room.k_p + alpha / (2.0 * zeta))
    s, slope = max(room.k_p * row.h, -room.v_back), room.k_p
    if row.h > 0.0:
        root = sqrt(gamma**2 + 2.0 * alpha * row.h)
        s, slope = root - gamma, alpha / root
    wanted = bent(-(row.h_dot + s)) - slope * row.h_dot - row.drift
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
        assert h_dot is not None or need == servo(0.01, room.k_v, 0.5e-3)
    assert ConstraintRow(0.0, row.c, 0.0)[3:] == (None, 0.0, 1.0)


def test_a_change_ahead_is_that_until_the_acceleration_is_taken_back():
    row, room = draw(np.random.default_rng(2), 0.0, None)
    mu = room.L_inv @ row.c @ (room.L_inv @ row.c)
    zeta = affordable_jerk(row.c, room)
    assert zeta == pytest.approx(0.5 * mu * 800.0 / np.abs(row.c).max(), rel=1e-12)
    a, dt = np.array([3.0, 0.0, -4.0]), 5.0 / zeta / 1000
    taken_back = [a * (1.0 - (k + 0.5) / 1000) * dt for k in range(1000)]
    np.testing.assert_allclose(change_ahead(a, 5.0, zeta), np.sum(taken_back, axis=0), rtol=1e-9)


def test_an_obstacle_is_no_faster_than_half_of_the_joints_speeds_can_evade():
    c, v_max = np.array([0.5, -0.25, 0.0]), np.array([2.0, 4.0, 8.0])
    assert [obstacle_speed(d_t, c, v_max) for d_t in (-3.0, -0.9, 0.4)] == [-1.0, -0.9, 0.4]


def test_the_length_of_no_vector_is_above_zero():
    assert norm(np.array([3.0, 0.0, 4.0])) == pytest.approx(5.0, rel=1e-12)
    assert 0.0 < norm(np.zeros(3)) < 1e-6
