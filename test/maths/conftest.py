"""The shapes of this package, each beside the same one of coal."""

from __future__ import annotations

import coal
import numpy as np
import pytest

from arm_control.maths import Box, Capsule, Cone, Cylinder, Hull, Shape, Sphere, coal_hull

STONE = np.random.default_rng(0).normal(size=(30, 3)) * [0.2, 0.3, 0.25]
PAIRS: tuple[tuple[Shape, coal.ShapeBase], ...] = (
    (Sphere(0.3), coal.Sphere(0.3)),
    (Capsule(0.2, 0.5), coal.Capsule(0.2, 0.5)),
    (Box((0.4, 0.6, 0.9)), coal.Box(0.4, 0.6, 0.9)),
    (Cylinder(0.3, 0.7), coal.Cylinder(0.3, 0.7)),
    (Cone(0.3, 0.8), coal.Cone(0.3, 0.8)),
    (Cone(0.5, 0.1), coal.Cone(0.5, 0.1)),
    (Hull.of_points(STONE), coal_hull(STONE)),
)


@pytest.fixture(params=PAIRS, ids=lambda pair: str(pair[0]))
def pair(request: pytest.FixtureRequest) -> tuple[Shape, coal.ShapeBase]:
    """A shape, and the same one of coal."""
    return request.param


@pytest.fixture
def shape(pair: tuple[Shape, coal.ShapeBase]) -> Shape:
    return pair[0]


@pytest.fixture
def other(pair: tuple[Shape, coal.ShapeBase]) -> coal.ShapeBase:
    return pair[1]
