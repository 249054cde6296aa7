"""States and motions against coal and closed forms; nothing is called free that touches something."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from coal_scene import CoalScene
from small_arm import random_pose, random_states

from arm_control.collision import AllowedPairs, ArmShape, Told, Validity, chords, course, obstacle_tables
from arm_control.collision.validity import Contact
from arm_control.exceptions import InputError
from arm_control.maths import (
    Array,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Mover,
    Obstacle,
    Pose,
    Shape,
    Span,
    Sphere,
    rotation_from_vector,
)
from arm_control.model import LinkCapsule, RobotModel
from arm_control.motion import JointReference, JointTrajectory, Waypoints

SHAPES: tuple[Shape, ...] = (
    Sphere(0.15),
    Capsule(0.08, 0.4),
    Box((0.2, 0.4, 0.1)),
    Cylinder(0.1, 0.4),
    Cone(0.2, 0.3),
)
TURN = np.array([0.1, -0.2, 0.1, 1.0, 0.5, -0.7])


def scene(seed: int, twist: Array | None = None, n: int = 1) -> list[Obstacle]:
    rng = np.random.default_rng(seed)
    V = np.zeros(6) if twist is None else twist
    return [Obstacle(shape, random_pose(rng), V) for shape in SHAPES for _ in range(n)]


def everything(seed: int) -> list[Told]:
    """Obstacles of every kind, at rest, moving, and there for a while only."""
    rng = np.random.default_rng(seed)
    told: list[Told] = [*scene(seed), *scene(seed + 1, TURN)]
    told += [Mover(Obstacle(Sphere(0.2), random_pose(rng), TURN), Span(0.3, 0.6))]
    poses = [random_pose(rng) for _ in range(3)]
    return [*told, course(Box((0.1, 0.1, 0.3)), np.array([0.0, 0.5, 1.0]), poses)]


def at(told: list[Told], t: float) -> list[Obstacle]:
    """The obstacles that are there at a time, where they are then."""
    present = []
    for one in told:
        movers = [Mover(one, Span())] if isinstance(one, Obstacle) else [one] if isinstance(one, Mover) else one
        present += [mover.at(t) for mover in movers if mover.span.holds(t)]
    return present


@pytest.mark.parametrize("twist", [None, TURN], ids=["at rest", "turning"])
def test_distances_are_those_of_coal(validity: Validity, twist: Array | None):
    obstacles, t = scene(0, twist), 0.4
    validity.place(obstacles)
    qs = random_states(validity.shape.model, 12, 1)
    found = validity.distances(qs, t)
    there = CoalScene(validity.shape, at(obstacles, t))
    pairs = [("base", "upper"), ("base", "tool"), ("lower", "tool")]
    assert list(found.link_pairs) == pairs
    names = [link.link for link in validity.shape.links]
    for i, q in enumerate(qs):
        expected = there.to_obstacles(q)
        outside = expected.min(axis=1) > 0.0
        assert outside.any()
        np.testing.assert_allclose(found.to_obstacles[i][outside], expected.min(axis=1)[outside], rtol=0, atol=1e-6)
        assert (found.to_obstacles[i][~outside] <= 1e-9).all()
        np.testing.assert_array_equal(found.nearest[i][outside], expected.argmin(axis=1)[outside])
        between = there.between(q, [(names.index(a), names.index(b)) for a, b in pairs])
        apart = between > 0.0
        np.testing.assert_allclose(found.between_links[i][apart], between[apart], rtol=0, atol=1e-9)
        near = {pair[:2]: pair.distance for pair in validity.pairs(q, t, 5.0)}
        for link, row, is_out in zip(found.links, expected, outside, strict=True):
            for k in range(len(obstacles)):
                assert not is_out or near[link, f"obstacle {k}"] == pytest.approx(row[k], abs=1e-6)


def along(a: Array, b: Array, n: int) -> Array:
    """States at n places of N motions, ends included, shape (N n, nq)."""
    shares = np.linspace(0.0, 1.0, n)[:, None]
    return (a[:, None] + shares * (b - a)[:, None]).reshape(-1, a.shape[1])


def clearances(validity: Validity, a: Array, b: Array, t_a: Array, t_b: Array, n: int) -> Array:
    """Smallest distance at n places of N motions, shape (N,)."""
    found = validity.distances(along(a, b, n), along(t_a[:, None], t_b[:, None], n)[:, 0], 0.1)
    least = np.concatenate([found.to_obstacles, found.between_links], axis=1).min(axis=1)
    return least.reshape(len(a), n).min(axis=1)


@pytest.mark.parametrize("is_moving", [False, True])
def test_what_is_called_free_is_free_between_the_ends_too(validity: Validity, is_moving: bool):
    """At 25 places of every motion by this package's own exact distances, and at 15 of some by coal."""
    told = everything(5) if is_moving else [*scene(5)]
    validity.place(told)
    n = 80 if is_moving else 250
    a, b = (random_states(validity.shape.model, n, seed) for seed in (3, 4))
    t_a, t_b = np.random.default_rng(5).uniform(0.0, 0.9, (2, n)) * is_moving
    found = validity.motions(a, b, t_a, t_b)
    free = found.is_free
    assert 0.02 < free.mean() < 0.6
    assert (free | found.is_contact).mean() > 0.99
    assert not (free & found.is_contact).any()
    assert (clearances(validity, a[free], b[free], t_a[free], t_b[free], 25) > 0.0).all()
    for i in np.flatnonzero(free)[:4]:
        for share in np.linspace(0.0, 1.0, 15):
            there = CoalScene(validity.shape, at(told, t_a[i] + share * (t_b[i] - t_a[i])))
            assert there.to_obstacles(a[i] + share * (b[i] - a[i])).min() > 0.0
    hit = found.is_contact
    share = found.contact[hit, None]
    touching = a[hit] + share * (b - a)[hit], (t_a + found.contact * (t_b - t_a))[hit]
    nowhere = np.zeros(hit.sum())
    assert (clearances(validity, touching[0], touching[0], touching[1], touching[1] + nowhere, 1) < 2e-9).all()


def test_links_do_not_touch_each_other_between_the_ends(validity: Validity):
    """Balls on the arm that pass each other closely, without obstacles."""
    model = validity.shape.model
    places = {"base": [0.35, 0.0, 0.1], "lower": [0.3, 0.0, 0.1], "upper": [0.25, 0.0, 0.0], "tool": [0.0, 0.0, 0.0]}
    balls = [LinkCapsule(name, np.array(p), np.array(p), 0.06) for name, p in places.items()]
    passing = Validity(model, ArmShape(model, balls), AllowedPairs("small"))
    a, b = (random_states(model, 200, seed) for seed in (13, 14))
    found = passing.motions(a, b)
    assert 0.1 < found.is_free.mean() < 0.9
    a, b = a[found.is_free], b[found.is_free]
    assert (clearances(passing, a, b, np.zeros(len(a)), np.zeros(len(a)), 50) > 0.0).all()


def test_the_end_of_a_turning_box_is_seen_coming(validity: Validity):
    """The arm stands still, and so does the middle of a long box, which turns by half a turn."""
    X = Pose(np.eye(3), np.array([0.5, 0.0, 0.3]))
    q = np.array([0.0, -1.5, 0.0])
    sweeping = Obstacle(Box((0.04, 1.2, 0.04)), X, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]))
    validity.place([sweeping])
    contact = validity.first_contact([q, q], [0.0, 3.0])
    assert contact is not None
    assert contact.pairs[0][:2] == ("lower", "obstacle 0")
    radius = next(c.radius for c in validity.shape.links[1].whole.capsules)
    assert contact.t == pytest.approx(np.pi / 2 - np.arcsin((radius + 0.02) / 0.5), abs=1e-6)
    assert validity.first_contact([q, q], [0.0, contact.t - 1e-3]) is None


def test_the_first_contact_is_where_a_ball_on_its_way_meets_the_arm(validity: Validity):
    """The arm stands up at rest; the sphere comes along x and meets the lower link at a known time."""
    X = Pose(np.eye(3), np.array([1.0, 0.0, 0.3]))
    validity.place([Obstacle(Sphere(0.1), X, np.array([-0.5, 0.0, 0.0, 0.0, 0.0, 0.0]))])
    q = np.array([0.0, -1.5, 0.0])
    radius = next(c.radius for c in validity.shape.links[1].whole.capsules)
    contact = validity.first_contact([q, q, q], [0.0, 1.0, 3.0])
    assert isinstance(contact, Contact)
    assert contact.t == pytest.approx((1.0 - 0.1 - radius) / 0.5, abs=1e-7)
    assert (contact.segment, contact.is_seen) == (1, True)
    assert contact.pairs[0][:2] == ("lower", "obstacle 0")
    assert abs(contact.pairs[0].distance) < 1e-6
    assert validity.first_contact([q, q], [0.0, 1.5]) is None


def test_the_first_contact_of_random_motions_is_the_first_one(validity: Validity):
    validity.place(everything(8))
    qs = random_states(validity.shape.model, 30, 9)
    shares = np.linspace(0.0, 1.0, 80)
    n = 0
    for a, b in zip(qs[::2], qs[1::2], strict=True):
        contact = validity.first_contact([a, b], [0.0, 0.8])
        found = validity.distances(a + shares[:, None] * (b - a), 0.8 * shares)
        touches = (found.to_obstacles.min(axis=1) < 0.0) | (found.between_links.min(axis=1) < 0.0)
        if contact is None:
            assert not touches.any()
            continue
        n += 1
        assert contact.is_seen
        assert contact.share <= (shares[touches.argmax()] if touches.any() else 1.0) + 1e-9
        begins = contact.share < 1e-8 or abs(contact.t - 0.3) < 1e-8  # in contact, or when an obstacle appears
        assert begins or abs(contact.pairs[0].distance) < 1e-6
        assert contact.pairs
        assert contact.t == pytest.approx(0.8 * contact.share)
    assert n >= 3


def test_a_margin_keeps_away(validity: Validity):
    obstacles = [Obstacle(Sphere(0.1), Pose(np.eye(3), np.array([0.4, 0.0, 0.3])))]
    radius = next(c.radius for c in validity.shape.links[1].whole.capsules)
    clearance, q = 0.4 - 0.1 - radius, np.array([[0.0, -1.5, 0.0]])
    for margin, is_free in ((clearance - 1e-6, True), (clearance + 1e-6, False)):
        careful = Validity(validity.shape.model, validity.shape, validity.allowed, margin)
        careful.place(obstacles)
        assert careful.free_states(q)[0] == is_free
    with pytest.raises(InputError, match="margins are -1 and 0"):
        Validity(validity.shape.model, validity.shape, validity.allowed, -1)


def test_a_deviation_covers_all_motions_within_it(validity: Validity):
    """What is free with a deviation of the joints is free for every motion that stays within it."""
    validity.place(scene(11)[:2])
    model, rng = validity.shape.model, np.random.default_rng(12)
    e = np.array([0.2, 0.2, 0.02])
    low, high = model.q_min + e, model.q_max - e
    a = rng.uniform(low, high, (600, 3))
    b = np.clip(a + rng.normal(size=a.shape) * 0.3, low, high)
    plain, wide = validity.motions(a, b), validity.motions(a, b, deviation=e)
    assert not (wide.is_free & ~plain.is_free).any()
    assert 0.02 < wide.is_free.mean() < plain.is_free.mean()
    qs = along(a[wide.is_free], b[wide.is_free], 30)
    qs = np.clip(qs + e * rng.choice([-1.0, 1.0], qs.shape), model.q_min, model.q_max)
    assert validity.free_states(qs).all()
    contact = validity.first_contact([a[0], b[0]], deviation=[0.5, 0.5, 0.01])
    assert contact is not None
    assert contact.pairs


def random_trajectory(model: RobotModel, seed: int) -> JointTrajectory:
    """Through four points, with velocities."""
    rng = np.random.default_rng(seed)
    qs, vs = rng.uniform([-2.0, -1.5, 0.1], [2.0, 1.5, 0.2], (5, 3)), rng.uniform(-1.0, 1.0, (4, 3)) * [1.0, 1.0, 0.05]
    points = Waypoints(np.array([0.7, 1.5, 2.0, 3.0]), qs[1:], vs * [[1.0], [1.0], [1.0], [0.0]])
    return JointTrajectory.through(JointReference.at_rest(qs[0]), points)


def test_a_trajectory_stays_as_near_to_its_chords_as_they_say(validity: Validity):
    for seed in range(2):
        trajectory = random_trajectory(validity.shape.model, seed)
        ends, times, deviations = chords(trajectory, 1e-2)
        shares = np.linspace(0.0, 1.0, 33)
        fullest = 0.0
        for k, (a, b) in enumerate(itertools.pairwise(ends)):
            t, t_next = times[k : k + 2]
            qs = np.array([trajectory.sample(t + x * (t_next - t)).q_des for x in shares])
            away = np.abs(qs - (a + shares[:, None] * (b - a))).max(axis=0)
            assert (away <= deviations[k] + 1e-12).all()
            fullest = max(fullest, float((away / (deviations[k] + 1e-9)).max()))
        assert fullest > 0.9
        assert 0.003 < deviations.max() <= 1e-2
        assert len(chords(trajectory, 1e-4)[1]) > 5 * len(times)


def test_the_first_contact_of_a_smooth_trajectory(validity: Validity):
    """Against the distances at 300 moments; obstacles move meanwhile."""
    n_free = n_contacts = 0
    for seed in range(6):
        told = scene(seed, 0.3 * TURN)[:3]
        validity.place(told)
        trajectory = random_trajectory(validity.shape.model, seed)
        contact = validity.first_contact_of(trajectory)
        t = np.linspace(0.0, trajectory.duration, 300)
        found = validity.distances([trajectory.sample(x).q_des for x in t], t)
        least = np.concatenate([found.to_obstacles, found.between_links], axis=1).min(axis=1)
        if contact is None:
            n_free += 1
            assert least.min() > 0.0
        else:
            n_contacts += 1
            first = t[(least < 1e-3).argmax()]
            assert contact.t == pytest.approx(first, abs=2e-2)
            assert contact.pairs
    assert min(n_free, n_contacts) >= 1


def test_bad_input_is_refused_with_a_sentence(validity: Validity):
    validity.place(())
    q = np.zeros((2, 3))
    for call, message in (
        (lambda: validity.free_states(np.zeros(3)), r"qs|a has shape \(3,\); needed is \(N, 3\)"),
        (lambda: validity.free_motions(q, q[:1]), "2 motions begin, 1 end"),
        (lambda: validity.free_motions(q, q, -1.0), "0 s or later"),
        (lambda: validity.free_motions(q, q, [0.0, 0.0, 0.0]), r"times have shape \(3,\); needed is one time, or 2"),
        (lambda: validity.free_states(q + [0.0, 0.0, 0.300002]), "'slide' slides beyond 0.0 to 0.3 m"),
        (
            lambda: validity.motions(q, q, deviation=[0.0, 0.0, 0.1]),
            "a motion with its deviation: 'slide' slides beyond",
        ),
        (lambda: validity.motions(q, q, deviation=[0.1]), r"deviation has shape \(1,\); needed are 3 numbers"),
        (lambda: validity.motions(q, q, deviation=[0.1, -0.1, 0.0]), "needed are 3 numbers >= 0"),
        (lambda: validity.first_contact(q[:1]), "two states or more, not 1"),
        (lambda: validity.first_contact(q, [0.0]), r"times have shape \(1,\); 2 are needed"),
        (
            lambda: validity.place([Sphere(0.1)]),
            r"obstacle 0 is Sphere\(radius=0.1\); allowed: Obstacle, M",
        ),
        (lambda: Obstacle(Sphere(0.1), (0.4, 0.0, 0.2)), r"X_WO is \(0.4, 0.0, 0.2\); a Pose is needed"),
        (lambda: validity.place(["sphere"]), "obstacle 0 is 'sphere'; allowed: Obstacle, Mover"),
        (lambda: course(Sphere(0.1), np.array([0.0, 0.0]), [Pose.identity()] * 2), "must increase, from 0 on"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_a_course_goes_through_its_samples():
    rng = np.random.default_rng(0)
    times = np.array([0.2, 0.5, 1.5])
    poses = [Pose(rotation_from_vector(rng.normal(size=3)), rng.normal(size=3)) for _ in times]
    movers = course(Box((0.1, 0.2, 0.3)), times, poses)
    for t, X in ((0.0, poses[0]), *zip(times - 1e-12, poses, strict=True), (9.0, poses[2])):
        (X_WO,) = (mover.at(t).X_WO for mover in movers if mover.span.holds(t))
        np.testing.assert_allclose([*X_WO.R.ravel(), *X_WO.p], [*X.R.ravel(), *X.p], atol=1e-9)
    tables = obstacle_tables([movers])
    assert {kind: len(table) for kind, table in tables.items()} == {"box": 2, "turning box": 2}
