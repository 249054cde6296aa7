"""Demonstrations: what is refused, and that time counts, not the number of a sample."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.primitives import Demonstration

T = np.linspace(0.0, 1.0, 5)
Y = np.column_stack([T, T**2])
STILL = [[0.0, 0.0, 0.0, 1.0]] * 5
BAD = np.where(np.arange(10).reshape(5, 2) == 7, np.nan, Y)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([0.0], [[1.0]]), "1 sample: at least 2"),
        ((T, T), r"positions have shape \(5,\); allowed: \(5, n\)"),
        (([[0.0, 1.0]], Y), r"times have shape \(1, 2\)"),
        (([0.0, 0.5, 0.5, 0.7, 1.0], Y), "0.5 s is there twice: samples 1 and 2"),
        (([0.0, 0.5, 0.4, 0.7, 1.0], Y), "times decrease from 0.5 s to 0.4 s"),
        (([2.0] * 5, Y), "zero length: all times are 2 s"),
        (([0.0, np.nan, 0.5, 0.7, 1.0], Y), "time 1 is not finite"),
        ((T, BAD), "a position at 0.75 s is not finite"),
        ((T, np.ones((5, 2))), "nothing moves"),
        ((T, Y, None, ("a",)), "positions of 2 joints, names of 1"),
        ((T, Y, None, ("a", "a")), "named twice"),
        ((T, [[0.0], [0.1], [0.2], [0.2 - 2 * np.pi], [0.3]], None, ("elbow",)), "elbow jumps by 6.28 rad at 0.75 s"),
        ((T, [["a"]] * 5), "positions are not an array of numbers"),
        ((T, Y, STILL), "orientations beside 2 numbers"),
        ((T, np.zeros((5, 3)), STILL), "nothing moves"),
        ((T, np.outer(T, [1, 1, 1]), STILL[:4]), r"orientations have shape \(4, 4\)"),
        ((T, np.outer(T, [1, 1, 1]), np.zeros((5, 4))), "quaternion at 0 s is zero"),
        ((T, np.outer(T, [1, 1, 1]), np.full((5, 4), np.inf)), "a quaternion at 0 s is not finite"),
        ((T, np.outer(T, [1, 1, 1]), [*STILL[:2], [1, 0, 0, 0], *STILL[3:]]), "turns by 180 deg from 0.25 s"),
    ],
)
def test_what_is_no_demonstration_is_refused_in_one_sentence(arguments: tuple, sentence: str):
    with pytest.raises(InputError, match=sentence) as error:
        Demonstration(*arguments)
    assert "\n" not in str(error.value)


def test_quaternions_get_length_one_and_lose_their_changes_of_sign():
    half = 0.4 * T
    quats = np.column_stack([np.zeros((5, 2)), np.sin(half), np.cos(half)])
    changed = quats * np.array([2.0, -1.0, 1.0, -3.0, 1.0])[:, None]
    np.testing.assert_allclose(Demonstration(T, np.zeros((5, 3)), changed).orientations, quats, atol=1e-15)


def test_orientations_turn_evenly_between_samples():
    angles = np.array([0.0, 0.5, 2.5])
    quats = np.column_stack([np.zeros((3, 2)), np.sin(angles / 2), np.cos(angles / 2)])
    wave = Demonstration([0.0, 1.0, 2.0], np.zeros((3, 3)), quats)
    found = wave.resample([0.25, 1.25]).orientations
    np.testing.assert_allclose(found[:, 2:], [[np.sin(x / 2), np.cos(x / 2)] for x in (0.125, 1.0)], atol=1e-15)


def test_a_part_is_chosen_by_time():
    wave = Demonstration(T + 5.0, Y, names=("a", "b"), frame="base")
    part = wave.part(5.2, 5.8)
    assert (part.times.tolist(), part.names, part.frame) == ([5.25, 5.5, 5.75], ("a", "b"), "base")
    with pytest.raises(InputError, match=r"1 samples from 5.2 s to 5.3 s; the demonstration is from 5 s to 6 s"):
        wave.part(5.2, 5.3)
    with pytest.raises(InputError, match="times from 4 s to 6 s; the demonstration is from 5 s"):
        wave.resample([4.0, 6.0])
    with pytest.raises(InputError, match="times decrease"):
        wave.resample([5.5, 5.2])
