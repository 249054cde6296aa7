"""Many rollouts at once: equal to single ones, linear and coupled."""

from __future__ import annotations

import numpy as np
import pytest
from many_rollouts import CHUNK, CoupledRollouts, LinearRollouts

from arm_control.primitives import Primitive, PrimitiveRun

N = CHUNK + 9


def test_linear_rollouts_are_those_of_the_primitives(reach: Primitive):
    rng, t = np.random.default_rng(0), np.linspace(0.0, 2.0, 21)
    goals, starts = rng.normal(size=(2, 5, 3))
    many = LinearRollouts(25, t, 1.5, derivatives=2)
    out = [np.empty((5, 3, 21)) for _ in range(3)]
    motions = many.run(reach.weights, starts, goals, final_velocity=[0.1, 0.2, 0.3], out=out)
    assert motions is out
    for i in range(5):
        one = reach.rollout(t, start=starts[i], goal=goals[i], duration=1.5, final_velocity=[0.1, 0.2, 0.3])
        for values, wanted in zip(motions, (one.q, one.v, one.a), strict=True):
            np.testing.assert_allclose(values[i].T, wanted, atol=1e-9)
    same = many.run(np.tile(reach.weights, (5, 1, 1)), starts, goals, final_velocity=[0.1, 0.2, 0.3])
    np.testing.assert_array_equal(same, out)
    plain = LinearRollouts(25, t).run(reach.weights, reach.start, reach.goal)
    assert (len(plain), plain[0].shape) == (1, (1, 3, 21))


@pytest.fixture(scope="module")
def coupled() -> CoupledRollouts:
    return CoupledRollouts(3, 25, 100, [[0.2, 0.05, 0.1, 0.03]], phase_stopping=50.0, lag=0.1)


def test_coupled_rollouts_are_those_of_a_run(reach: Primitive, coupled: CoupledRollouts):
    goals = np.random.default_rng(0).normal(size=(N, 3))
    paths = coupled.run(reach.weights, reach.start, goals, 2.0)
    assert paths.shape == (N, 101, 3)
    for i in (0, CHUNK - 1, N - 1):
        run = PrimitiveRun(reach, goal=goals[i], n_obstacles=1, phase_stopping=50.0)
        run.set_obstacles([[0.2, 0.05, 0.1]], [0.03])
        y = arm = run.step(0.0).q_des
        path = [y]
        for _ in range(100):
            y = run.step(0.02, float(np.linalg.norm(y - arm))).q_des
            arm = y + np.exp(-0.02 / 0.1) * (arm - y)
            path.append(y)
        np.testing.assert_allclose(paths[i], path, atol=1e-9)
    assert np.abs(paths[:, -1] - goals).max() > 1e-3  # slowed down
