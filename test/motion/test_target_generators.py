"""Places by a rule: counts, distances, and where they are."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.maths import Pose
from arm_control.motion.target_files import MOST_POINTS, circle, curve, grid, random, star

CENTER = np.array([0.5, 0.1, 0.3])


@pytest.mark.parametrize(("plane", "axes"), [("xy", (0, 1)), ("zx", (2, 0))])
def test_a_star_goes_out_and_back_in_its_plane(plane: str, axes: tuple[int, int]):
    places = star(CENTER, 0.2, 8, plane) - CENTER
    assert places.shape == (17, 3)
    np.testing.assert_allclose(places[::2], 0.0, rtol=0, atol=1e-15)
    angle = np.arctan2(places[1::2, axes[1]], places[1::2, axes[0]])
    np.testing.assert_allclose(np.unwrap(angle), np.arange(8) * np.pi / 4, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(places[1::2], axis=1), 0.2, rtol=1e-12)
    assert not places[:, 3 - sum(axes)].any()


@pytest.mark.parametrize("count", [(2, 4, 3), (4, 1, 2)])
def test_a_grid_fills_its_box_and_every_step_is_to_a_neighbour(count: tuple[int, int, int]):
    size = np.array([0.2, 0.3, 0.4])
    places = grid(CENTER, size, count)
    assert len(np.unique(places.round(9), axis=0)) == len(places) == np.prod(count)
    span = np.where(np.array(count) > 1, size, 0.0)
    np.testing.assert_allclose(np.ptp(places, axis=0), span, rtol=0, atol=1e-12)
    np.testing.assert_allclose(places.mean(axis=0), CENTER, rtol=0, atol=1e-12)
    spacing = span / np.maximum(np.array(count) - 1, 1)
    steps = np.abs(np.diff(places, axis=0))
    assert ((steps > 1e-9).sum(axis=1) == 1).all()
    assert all(
        step == pytest.approx(spacing[axis]) for step, axis in zip(steps.max(axis=1), steps.argmax(axis=1), strict=True)
    )


def test_random_places_are_inside_the_same_for_a_seed_and_spread():
    ball, box = random(CENTER, 2000, 1, radius=0.2), random(CENTER, 2000, 1, size=[0.2, 0.4, 0.6])
    distance = np.linalg.norm(ball - CENTER, axis=1)
    assert distance.max() <= 0.2
    assert np.mean(distance < 0.1) == pytest.approx(1 / 8, abs=0.03), "uniform in volume"
    assert (np.abs(box - CENTER) <= [0.1, 0.2, 0.3]).all()
    np.testing.assert_allclose(box.std(axis=0), np.array([0.2, 0.4, 0.6]) / np.sqrt(12), rtol=0.05)
    np.testing.assert_array_equal(random(CENTER, 2000, 1, radius=0.2), ball)
    assert np.abs(random(CENTER, 2000, 2, radius=0.2) - ball).max() > 0.1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: star(CENTER, 0.2, 8, "xx"), "plane = 'xx': two different axes"),
        (lambda: star(CENTER, 0.0), "radius = 0.0: a positive number"),
        (lambda: star([0, 0], 0.1), "three finite numbers"),
        (lambda: grid(CENTER, [1, 1, 1], [3, 0, 3]), "three numbers from 1 on"),
        (lambda: random(CENTER, 3), "radius or size: one of them"),
        (lambda: random(CENTER, 0, radius=0.1), "count = 0"),
    ],
)
def test_rules_that_make_no_sense_are_refused(make, message: str):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    "generate",
    [
        lambda n: star(CENTER, 0.2, n),
        lambda n: random(CENTER, n, radius=0.1),
        lambda n: grid(CENTER, [0.1, 0.1, 0.1], [1, n, 1]),
        lambda n: grid(CENTER, [0.1, 0.1, 0.1], [2**31, 2**31, 4]),
        lambda n: circle(Pose.identity(), 0.1, 1.0, turns=n),
        lambda n: circle(Pose.identity(), 0.1, period=1e300),
        lambda n: curve(Pose.identity(), [[0, 0, 0], [1, 0, 0], [1, 1, 0]], speed=1.0 / n),
    ],
)
def test_more_points_than_any_arm_can_use_are_refused_before_there_are_any(generate):
    with pytest.raises(InputError, match=f"points: at most {MOST_POINTS} are allowed"):
        generate(1_000_000_000)
