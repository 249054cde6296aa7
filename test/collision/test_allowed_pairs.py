"""Pairs of links that may touch: found by sampling, written, read back, and mistakes in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_arm import small_arm

from arm_control.collision import AllowedPairs, ArmShape, find_allowed_pairs
from arm_control.exceptions import ParameterError
from arm_control.model import LinkCapsule

BALLS = {"base": (0.0, 0.3), "lower": (5.0, 0.05), "upper": (0.0, 0.3), "tool": (0.1, 0.06)}
"""Place along x and radius of a ball on each link [m]."""


@pytest.fixture(scope="module")
def shape() -> ArmShape:
    places = {name: (np.array([x, 0.0, 0.0]), radius) for name, (x, radius) in BALLS.items()}
    return ArmShape(small_arm(), [LinkCapsule(name, p, p, radius) for name, (p, radius) in places.items()])


@pytest.fixture(scope="module")
def allowed(shape: ArmShape) -> AllowedPairs:
    return find_allowed_pairs(shape, 2000)


def test_neighbours_and_overlapping_links_may_touch(allowed: AllowedPairs, shape: ArmShape):
    """Base and upper link overlap in every state; base and tool do in some, lower link and tool in none."""
    neighbours = (("base", "lower"), ("lower", "upper"), ("upper", "tool"))
    assert allowed == AllowedPairs("small", neighbours, (("base", "upper"),), (), (("lower", "tool"),))
    names = [link.link for link in shape.links]
    assert [(names[g], names[h]) for g, h in allowed.checked(shape)] == [("base", "tool"), ("lower", "tool")]


def test_pairs_that_never_touched_are_left_out_on_request_only(allowed: AllowedPairs, shape: ArmShape):
    assert len(replace(allowed, skip_never=True).checked(shape)) == 1
    assert len(replace(allowed, by_hand=(("tool", "base"),)).checked(shape)) == 1


def test_a_file_is_read_back_as_it_was(allowed: AllowedPairs, tmp_path: Path):
    path = tmp_path / "allowed.yaml"
    for given in (allowed, replace(allowed, by_hand=allowed.always, always=(), skip_never=True)):
        given.save(path)
        assert AllowedPairs.load(path) == given
    text = path.read_text()
    assert text.startswith("# Pairs of links of ")
    assert "  - [base, upper]\n" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a mapping is needed"),
        ("alway: []", "alway"),
        ("always: [a, b]", r"always has 'a'; allowed: pairs of links such as \[link_1, link_2\]"),
        ("always: all", "always has 'all'; allowed: pairs"),
        ("never: [[a, b, c]]", "never has "),
        ("by_hand: [[a, 2]]", "by_hand has "),
        ("skip_never: maybe", "skip_never is 'maybe'; allowed: true or false"),
        ("robot: [ur5]", "a name is needed"),
    ],
)
def test_mistakes_in_a_file_are_named(text: str, message: str, tmp_path: Path):
    path = tmp_path / "allowed.yaml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=message) as caught:
        AllowedPairs.load(path)
    assert str(path) in str(caught.value)


def test_a_link_without_a_shape_is_named(shape: ArmShape):
    with pytest.raises(ParameterError, match=r"allowed pairs of small: no link 'hand'; allowed: .*'tool'"):
        AllowedPairs("small", always=(("tool", "hand"),)).checked(shape)
