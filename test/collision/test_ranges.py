"""Extreme numbers and ends of spans: nothing that is touched is called free, or a sentence says why not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from small_arm import small_arm

from arm_control.collision import AllowedPairs, ArmShape, Validity
from arm_control.exceptions import InputError, ModelError
from arm_control.maths import Box, Capsule, Cone, Cylinder, Hull, Mover, Obstacle, Pose, Shape, Span, Sphere
from arm_control.model import LinkCapsule, State

HOME = np.zeros((1, 3))
HERE = Pose.at([0.0, 0.0, 0.3])
"""A place inside the arm."""
TETRAHEDRON = np.eye(4, 3), np.array([[3, 1, 0], [3, 0, 2], [3, 2, 1], [0, 1, 2]])
EPOCH = 1.7e9
"""Time since 1970 [s]."""


@pytest.fixture(scope="module")
def point() -> Validity:
    """An arm that is a single point."""
    model = small_arm()
    p = np.array([0.1, 0.0, 0.0])
    return Validity(model, ArmShape(model, [LinkCapsule("upper", p, p, 0.0)]), AllowedPairs("small"))


# -- spans ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span", "t_a", "t_b"),
    [
        (Span(0.0, 2.0), 2.0, 3.0),
        (Span(2.0, 5.0), 1.0, 2.0),
        (Span(2.0, 2.0), 1.0, 3.0),
        (Span(2.0, 2.0 + 1e-13), 1.0, 3.0),
        (Span(0.0, 1e-320), 0.0, 1.0),
    ],
)
def test_a_motion_is_in_contact_in_the_last_moment_of_a_span(validity: Validity, span: Span, t_a: float, t_b: float):
    validity.place([Mover(Obstacle(Sphere(3.0), HERE), span)])
    assert not validity.free_motions(HOME, HOME, t_a, t_b)[0]
    assert not validity.free_motions(HOME, HOME + [0.3, 0.2, 0.1], t_a, t_b)[0]
    assert validity.free_motions(HOME, HOME, span.end + 1e-6, span.end + 1.0)[0]


def test_a_motion_is_free_only_of_spans_that_it_does_not_touch(validity: Validity):
    """Ends that are equal or differ in the last bits, early and late; gaps of a millionth of the motion are seen."""
    rng = np.random.default_rng(0)
    n_touching = n_free = 0
    for _ in range(250):
        t_a, duration = float(rng.choice([0.0, 1.0, 1e3, EPOCH, 1e11])), 10.0 ** rng.uniform(-9.0, 3.0)
        t_b = t_a + duration
        ends = []
        for _ in range(2):
            t = float(rng.choice([t_a, t_b, rng.uniform(t_a, t_b)]))
            off = (0.0, rng.integers(-3, 4) * np.spacing(t), rng.uniform(-3.0, 3.0) * duration)[rng.integers(3)]
            ends.append(t + float(off))
        begin, end = min(ends), max(ends) if rng.random() < 0.7 else min(ends)
        validity.place([Mover(Obstacle(Sphere(50.0), HERE), Span(begin, end))])
        is_free = validity.free_motions(HOME, HOME, *(t_a, t_b)[:: rng.choice([-1, 1])])[0]
        touches = begin <= t_b and end >= t_a
        assert not (is_free and touches), (t_a, t_b, begin, end)
        gap = max(begin - t_b, t_a - end)
        assert is_free or gap <= 1e-6 * (t_b - t_a) + 1e-14 * t_b, (t_a, t_b, begin, end)
        n_touching, n_free = n_touching + touches, n_free + is_free
    assert min(n_touching, n_free) > 15


@pytest.mark.parametrize(("t_0", "speed"), [(0.0, 1e6), (EPOCH, 10.0)], ids=["fast", "late"])
def test_a_tiny_ball_that_flies_through_a_point_is_noticed(point: Validity, t_0: float, speed: float):
    """It is there for less than what counts as no gap of a motion, or than the rounding of its times."""
    X = State(point.shape.model.tree, {"q": HOME[0]}).X_W[point.shape.links[0].body]
    p, V = X.R @ point.shape.links[0].whole.capsules[0].a + X.p, np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    for share in np.random.default_rng(0).uniform(0.1, 0.9, 15).tolist():
        ball = Obstacle(Sphere(1e-8), Pose(np.eye(3), p - share * V[:3]), V)
        point.place([Mover(ball, Span(t_0))])
        assert not point.free_motions(HOME, HOME, t_0, t_0 + 1.0)[0], share
        assert point.free_motions(HOME, HOME, t_0, t_0 + 0.99 * share)[0]


# -- sizes ---------------------------------------------------------------------------------------------

LEAST = 5e-324
SMALL_SHAPES = (Sphere(LEAST), Capsule(LEAST, LEAST), Box((LEAST,) * 3), Cylinder(1e-160, LEAST), Cone(LEAST, 1e-160))
LARGE_SHAPES = (Sphere(5e5), Capsule(4e5, 4e5), Box((9e5,) * 3), Cylinder(5e5, 9e5), Cone(5e5, 9e5))


@pytest.mark.parametrize("rate", [0.0, 1e-3])
@pytest.mark.parametrize("shape", [*SMALL_SHAPES[1:3], *LARGE_SHAPES[2:]], ids=str)
def test_what_is_tiny_or_huge_is_touched(validity: Validity, shape: Shape, rate: float):
    validity.place([Obstacle(shape, HERE, (0.0, 0.0, 0.0, rate, 0.0, 0.0))])
    assert not validity.free_states(HOME)[0]
    assert not validity.free_motions(HOME, HOME + 0.1, 0.0, 1.0)[0]


@pytest.mark.parametrize("radius", [1.0, 1e6])
def test_rounding_of_large_numbers_hides_no_contact(point: Validity, radius: float):
    """The exact distance of what is called free, in whole multiples of the spacing of these numbers, is above zero."""
    X = State(point.shape.model.tree, {"q": HOME[0]}).X_W[point.shape.links[0].body]
    p = X.R @ point.shape.links[0].whole.capsules[0].a + X.p
    for depth in np.linspace(-2e-9, 5e-9, 20).tolist():
        place = float(p[0] - radius - depth)
        distance = (p[0] - place) - radius  # exact: both differences are of numbers near each other
        for shape in (Sphere(radius), Box((2.0 * radius,) * 3)):
            point.place([Obstacle(shape, Pose.at([place, p[1], p[2]]))])
            assert distance > 0.0 or not point.free_states(HOME)[0]


def ball(radius: float = 0.1, x: float = 0.0, **motion: float) -> Obstacle:
    V = [motion.get(name, 0.0) for name in ("v", "y", "z", "omega", "b", "c")]
    return Obstacle(Sphere(radius), Pose.at([x, 0.0, 0.3]), V)


def box(R: object = None, omega: float = 0.0) -> Obstacle:
    R = np.eye(3) if R is None else np.asarray(R, dtype=float)
    return Obstacle(Box((5.0, 5.0, 5.0)), Pose(R, np.zeros(3)), (0.0, 0.0, 0.0, omega, 0.0, 0.0))


def hull(scale: float, R: object = None) -> Obstacle:
    R = np.eye(3) if R is None else np.asarray(R, dtype=float)
    vertices, triangles = TETRAHEDRON
    return Obstacle(Hull(scale * vertices, triangles), Pose(R, np.zeros(3)), (0.0, 0.0, 0.0, 1.0, 0.0, 0.0))


BEYOND = "obstacle 1 has a number that is not finite, or beyond 1e\\+06"
NO_ROTATION = "obstacle 1 has a matrix R that is no rotation"
TIMES = "obstacle 1 is there from .* to .* s, at .* m/s; allowed: a begin within 1e\\+12 s, no end before it"


@pytest.mark.parametrize(
    ("obstacle", "message"),
    [
        *((ball(radius, -radius), BEYOND) for radius in (1.1e6, 1.7e308)),
        *((Obstacle(Capsule(0.1, length), HERE), BEYOND) for length in (1e7,)),
        *((ball(v=v, x=-0.5 * v), BEYOND) for v in (1e12, 1e200)),
        (box(omega=1e155), BEYOND),
        *((box(R=size * np.eye(3)), NO_ROTATION) for size in (0.0, 2.0)),
        *((hull(scale), BEYOND) for scale in (1e7,)),
        (hull(1.0, 2.0 * np.eye(3)), NO_ROTATION),
        (Mover(hull(1.0), Span(2.0, 1.0)), TIMES),
        *(
            (Mover(one, Span(*span)), TIMES)
            for one in (ball(), ball(v=1e-3))
            for span in ((2.0, 1.0), (np.nan, 5.0), (1e13, 1e14))
        ),
        (Mover(ball(v=1e3), Span(-1.1e3, 5.0)), TIMES),
    ],
)
def test_obstacles_that_cannot_be_checked_are_refused(validity: Validity, obstacle: object, message: str):
    with np.errstate(all="raise"), pytest.raises(InputError, match=message):
        validity.place([ball(), obstacle])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *((lambda v, q=q: v.free_states(HOME + [q, 0.0, 0.0]), "not finite, or beyond 100000") for q in (1e6,)),
        (lambda v: v.free_motions(HOME - [1e308, 0.0, 0.0], HOME), "not finite, or beyond 100000"),
        *((lambda v, t=t: v.free_states(HOME, t), "up to 1e\\+12 s") for t in (1e13, np.nan)),
        *((lambda v, t=t: v.distances(HOME, t), "times: .* is not finite, or beyond 1e\\+12") for t in (np.nan,)),
        (lambda v: v.pairs(HOME[0], np.inf), "times: inf is not finite"),
        (lambda v: v.distances(HOME, reach=np.nan), "the reach is nan"),
        *(
            (lambda v, d=d: v.motions(HOME, HOME, deviation=[d, 0.0, 0.0]), "3 numbers >= 0 for each motion, up to")
            for d in (1e6, np.nan)
        ),
        *((lambda v, m=m: Validity(v.shape.model, margin=m), "allowed: 0 to 1e\\+06 m") for m in (-1.0, 1e7)),
        (lambda v: Validity(v.shape.model, link_margin=1e160), "allowed: 0 to 1e\\+06 m"),
    ],
)
def test_numbers_that_cannot_be_checked_are_refused(
    validity: Validity, call: Callable[[Validity], object], message: str
):
    validity.place([ball()])
    with pytest.raises(InputError, match=message):
        call(validity)


@pytest.mark.parametrize(("end", "radius"), [(np.nan, 0.1), (1e160, 0.1), (0.4, -1e-3)])
def test_capsules_that_cannot_be_checked_are_refused(end: float, radius: float):
    with pytest.raises(ModelError, match=r"capsule of 'upper': ends .*; needed are finite numbers up to 1000 m"):
        ArmShape(small_arm(), [LinkCapsule("upper", np.zeros(3), np.array([end, 0.0, 0.0]), radius)])
