"""Turns with a free axis: their rates are those of the error, by finite differences of the rotations themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from arm_control.control import orientation_error
from arm_control.kinematics import FRAMES
from arm_control.maths import Array, partial_turns, rotation_from_vector
from arm_control.maths.free_axes import Turns

RATE = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / 60.0
BEND = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / 180.0
STEP = 2e-3


class Motions:
    """Two frames that turn: ``R(t) = exp(w t + alpha t^2 / 2) R(0)``, so w and alpha are exact at 0."""

    def __init__(self, seed: int, distance: float = 0.5) -> None:
        rng = np.random.default_rng(seed)
        self.R_WE = Rotation.random(random_state=rng).as_matrix()
        self.R_WT = self.R_WE @ rotation_from_vector(distance * rng.normal(size=3))
        self.w_E, self.w_T, self.alpha_E, self.alpha_T = rng.normal(size=(4, 3))

    def at(self, t: float) -> tuple[Array, Array]:
        E = rotation_from_vector(self.w_E * t + self.alpha_E * t * t / 2) @ self.R_WE
        return E, rotation_from_vector(self.w_T * t + self.alpha_T * t * t / 2) @ self.R_WT

    def rates(self, t: float) -> tuple[Array, Array]:
        """Angular velocities of both, by finite differences."""
        now = self.at(t)
        before = [self.at(t + i * STEP) for i in range(-3, 4)]
        spins = [sum(c * R[j] for c, R in zip(RATE, before, strict=True)) / STEP @ now[j].T for j in (0, 1)]
        return tuple(np.array([S[2, 1], S[0, 2], S[1, 0]]) for S in spins)

    def turns(self, frame: str, axes: list[int]) -> Turns:
        rates = self.w_E, self.w_T, self.alpha_T
        return partial_turns(self.R_WE, self.R_WT, rates, axes, in_world=frame == "world")

    def error(self, frame: str, axes: list[int], t: float) -> Array:
        E, T = self.at(t)
        F = {"world": np.eye(3), "end_effector": E, "target": T}[frame]
        return orientation_error(F.T @ T @ E.T @ F, axes)


def derivative(function: Callable[[float], Array], stencil: Array, order: int) -> Array:
    values = [function(i * STEP) for i in range(-3, 4)]
    return sum(c * value for c, value in zip(stencil, values, strict=True)) / STEP**order


def near(seeds: range, frame: str, axes: list[int]) -> list[Motions]:
    """Motions whose error is neither near 0, where it has no direction, nor near half a turn."""
    motions = map(Motions, seeds)
    chosen = [motion for motion in motions if 0.2 < np.linalg.norm(motion.error(frame, axes, 0.0)) < 2.0]
    assert len(chosen) > 4
    return chosen


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_one_turn_has_the_first_and_second_derivative_of_its_error(frame: str, axis: int):
    for motion in near(range(12), frame, [axis]):
        turns = motion.turns(frame, [axis])
        rate = derivative(lambda t, m=motion: m.error(frame, [axis], t), RATE, 1)
        np.testing.assert_allclose(turns.V_des - turns.E @ motion.w_E, rate, rtol=0, atol=1e-9)
        bend = derivative(lambda t, m=motion: m.error(frame, [axis], t), BEND, 2)
        np.testing.assert_allclose(turns.A_des - turns.E @ motion.alpha_E, bend, rtol=0, atol=1e-6)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("free", [0, 1, 2])
def test_two_turns_have_the_acceleration_of_that_rate_whatever_the_hand_spins(frame: str, free: int):
    axes, k = [axis for axis in range(3) if axis != free], np.eye(3)[free]
    for motion in map(Motions, range(3)):

        def velocity(t: float, m: Motions = motion) -> Array:
            E, T = m.at(t)
            w_E, w_T = m.rates(t)
            turns = partial_turns(E, T, (w_E, w_T, w_T), axes, in_world=frame == "world")
            return turns.V_des - turns.E @ w_E

        turns = motion.turns(frame, axes)
        G_E = motion.R_WT @ motion.R_WE.T if frame == "world" else motion.R_WE.T
        spin = k @ G_E @ motion.w_E
        bend = derivative(velocity, RATE, 1) + spin * np.cross(k, velocity(0.0))
        np.testing.assert_allclose(turns.A_des - turns.E @ motion.alpha_E, bend, rtol=0, atol=1e-6)


def test_a_free_axis_that_points_the_other_way_gives_finite_rates():
    half_a_turn = np.diag([-1.0, -1.0, 1.0])
    rates = np.ones(3), np.arange(3.0), np.ones(3)
    for axes in ([0], [0, 2]):
        turns = partial_turns(np.eye(3), half_a_turn, rates, axes, in_world=False)
        assert all(np.isfinite(part).all() for part in turns)
