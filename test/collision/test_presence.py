"""When obstacles are there: at both ends of their spans, between two spans, and at links that do not move."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.collision import Validity, course
from arm_control.maths import Box, Mover, Obstacle, Pose, Span, Sphere


@pytest.mark.parametrize("t", [1.0, 2.0])
def test_an_obstacle_is_there_at_both_ends_of_its_span(validity: Validity, t: float):
    """For motions, distances, pairs and the first contact alike."""
    X, q = Pose(np.eye(3), np.array([0.0, 0.0, 0.3])), np.zeros((1, 3))
    validity.place([Mover(Obstacle(Sphere(0.1), X), Span(1.0, 2.0))])
    assert validity.motions(q, q, t).is_contact[0]
    assert validity.distances(q, t).nearest[0, 0] == 0
    assert ("lower", "obstacle 0") in [pair[:2] for pair in validity.pairs(q[0], t)]
    contact = validity.first_contact([q[0], q[0]], [t - 0.1, t] if t == 2.0 else [t, t + 0.1])
    assert contact is not None
    assert contact.t == pytest.approx(min(t, 1.9), abs=1e-9)
    assert (contact.is_seen, contact.pairs[0][:2]) == (True, ("lower", "obstacle 0"))


def test_an_obstacle_is_there_where_one_span_follows_another(validity: Validity):
    """It comes along x and goes back; the time between both spans is the one at which it is nearest."""
    q, radius = np.array([[0.0, -1.5, 0.0]]), 0.1
    poses = [Pose(np.eye(3), np.array([x, 0.0, 0.3])) for x in (0.8, 0.3, 0.8)]
    validity.place([course(Sphere(radius), np.array([0.0, 1.0, 2.0]), poses)])
    nearest = validity.distances(q, 1.0)
    assert nearest.nearest[0, 0] == 0
    assert nearest.to_obstacles[0, 0] == pytest.approx(0.3 - radius - validity.shape.links[1].whole.capsules[0].radius)
    careful = Validity(validity.shape.model, validity.shape, validity.allowed, nearest.to_obstacles[0, 0] + 1e-7)
    careful.place([course(Sphere(radius), np.array([0.0, 1.0, 2.0]), poses)])
    assert careful.motions(q, q, 1.0).is_contact[0]
    assert not careful.motions(q, q, 0.0, 2.0).is_free[0]
    assert careful.motions(q.repeat(2, 0), q.repeat(2, 0), [0.0, 1.001], [0.999, 2.0]).is_free.all()


def test_links_fixed_to_the_world_may_stand_on_something(validity: Validity):
    validity.place([Obstacle(Box((0.3, 0.3, 0.1)), Pose.at([0.0, 0.0, -0.09]))])
    assert validity.free_states([[0.0, -1.5, 0.0]]).all()
