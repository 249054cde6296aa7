"""The shape of an arm: balls around it, and how far joints move it at most."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from small_arm import random_states, small_arm

from arm_control import RobotModel
from arm_control.collision import ArmShape
from arm_control.exceptions import FrameNotFound, ModelError
from arm_control.maths import Array
from arm_control.model import LinkCapsule, State


def ends(shape: ArmShape, k: int, q: Array) -> Array:
    """Ends of a link's segments in the world, shape (m, 3)."""
    link = shape.links[k]
    points = np.array([end for c in link.whole.capsules for end in (c.a, c.b)])
    if link.body < 0:
        return points
    X_WB = State(shape.model.tree, {"q": q}).X_W[link.body]
    return np.array(points @ X_WB.R.T + X_WB.p, dtype=float)


@pytest.fixture(scope="module", params=["small", "ur5", "planar3"])
def shape(request: pytest.FixtureRequest, ur5: RobotModel) -> ArmShape:
    if request.param == "planar3":
        capsules = [LinkCapsule(f"link{i}", np.zeros(3), np.array([0.3, 0.0, 0.0]), 0.05) for i in (1, 2, 3)]
        model = RobotModel.from_urdf(Path(__file__).parents[2] / "urdf" / "planar3" / "planar3.urdf")
        capsules = [LinkCapsule(name, c.a, c.b, c.radius) for name, c in zip(model.frames[1:4], capsules, strict=True)]
        return ArmShape(model, capsules)
    return ArmShape(small_arm() if request.param == "small" else ur5)


def test_joints_move_no_point_further_than_the_reach(shape: ArmShape):
    """Also over large motions, and nearly as far for some."""
    starts, stops = (random_states(shape.model, 60, seed) for seed in (1, 2))
    scale = np.random.default_rng(3).uniform(0.001, 1.0, (60, 1))
    stops = starts + scale * (stops - starts)
    fullest = 0.0
    for k in shape.moving:
        bounds = np.abs(stops - starts) @ shape.reach(k)
        for a, b, bound in zip(starts, stops, bounds, strict=True):
            moved = np.linalg.norm(ends(shape, k, b) - ends(shape, k, a), axis=1).max()
            assert moved <= bound + 1e-12
            fullest = max(fullest, moved / max(bound, 1e-9))
    assert fullest > 0.6


def test_only_joints_between_two_links_move_them_against_each_other(shape: ArmShape):
    starts, stops = (random_states(shape.model, 15, seed) for seed in (1, 2))
    for g, h in shape.pairs:
        reach = shape.pair_reach(g, h)
        for a, b in zip(starts, stops, strict=True):
            gaps = [np.linalg.norm(ends(shape, g, q)[:, None] - ends(shape, h, q), axis=2) for q in (a, b)]
            assert np.abs(gaps[1] - gaps[0]).max() <= reach @ np.abs(b - a) + 1e-12


def test_no_point_is_accelerated_more_than_the_bound(shape: ArmShape):
    """Second differences along straight motions; nearly as much for some."""
    starts, steps = random_states(shape.model, 60, 1), np.random.default_rng(2).normal(size=(60, shape.model.nq))
    ds, fullest = 1e-4, 0.0
    for k in shape.moving:
        for q, step in zip(starts, steps, strict=True):
            before, here, after = (ends(shape, k, q + s * step) for s in (-ds, 0.0, ds))
            measured = np.linalg.norm(before - 2.0 * here + after, axis=1).max() / ds**2
            bound = float(shape.acceleration(k, np.abs(step)))
            assert measured <= bound + 1e-6
            fullest = max(fullest, measured / max(bound, 1e-9))
    assert fullest > 0.6


def test_capsules_that_keep_their_distance_are_not_compared():
    """A ball on the axis ``turn``, and two on ``upper``, of which one is on the axis ``lift``."""
    on_axis, carried = (LinkCapsule("upper", p, p, 0.01) for p in (np.zeros(3), np.array([0.3, 0.0, 0.0])))
    at_base = LinkCapsule("base", np.zeros(3), np.zeros(3), 0.01)
    shape = ArmShape(small_arm(), [at_base, on_axis, carried])
    of_base, of_upper = shape.moving_clusters(0, 1)
    assert [len(cluster.capsules) for cluster in (*of_base, *of_upper)] == [1, 1]
    assert np.linalg.norm(of_upper[0].capsules[0].a) == pytest.approx(0.3)
    apart = float(np.linalg.norm([0.0, 0.0, 0.55])) - 0.02
    assert len(shape.moving_clusters(0, 1, apart - 1e-3)[1][0].capsules) == 1
    assert len(shape.moving_clusters(0, 1, apart + 1e-3)[1][0].capsules) == 2
    still = ArmShape(small_arm(), [at_base, on_axis])
    assert still.moving_clusters(0, 1) == (still.links[0].clusters, still.links[1].clusters)


def test_balls_contain_their_capsules(shape: ArmShape):
    for link in shape.links:
        assert sum(len(cluster.capsules) for cluster in link.clusters) == len(link.whole.capsules)
        for cluster in (link.whole, *link.clusters):
            for c in cluster.capsules:
                for end in (c.a, c.b):
                    assert np.linalg.norm(end - cluster.centre) + c.radius <= cluster.radius + 1e-12


def test_shapes_that_cannot_be_checked_are_refused(tmp_path: Path):
    model = small_arm()
    with pytest.raises(FrameNotFound, match="unknown frame 'hand'"):
        ArmShape(model, [LinkCapsule("hand", np.zeros(3), np.zeros(3), 0.1)])
    with pytest.raises(ModelError, match="'small' has no collision shapes"):
        ArmShape(model, [])
    meshed = re.sub(r"<sphere[^>]*>", '<mesh filename="tool.stl"/>', model.urdf.text)
    broken = RobotModel.from_urdf(meshed, tip="tool", kinematics_only=True)
    with pytest.raises(ModelError, match=r"not complete: link 'tool': the mesh .* has no capsule"):
        ArmShape(broken)
    assert [link.link for link in ArmShape(broken, is_partial=True).links] == ["base", "lower", "upper"]


def test_a_joint_that_slides_for_ever_has_no_reach():
    model = small_arm()
    model.q_max[2] = np.inf
    with pytest.raises(ModelError, match="prismatic joints slide: limits are needed"):
        ArmShape(model)
