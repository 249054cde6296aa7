"""What plans keep of constraints: points in motions that are proved, margins, speeds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from mesh_arm import mesh_arm
from small_arm import random_states, small_arm

from arm_control import RobotModel, urdf_path
from arm_control.collision import ArmShape, Validity
from arm_control.constraints import (
    BoxConstraint,
    ClearanceConstraint,
    Constraint,
    CylinderConstraint,
    HalfSpaceConstraint,
    SpeedConstraint,
    UprightConstraint,
    bounds_of_constraints,
)
from arm_control.exceptions import FrameNotFound, InputError
from arm_control.maths import Array, rotation_from_rpy

Oracle = Callable[[RobotModel, Array], float]


def across(p: Array, x_0: Array, z: Array) -> float:
    """Distance of a point from an axis."""
    return float(np.linalg.norm(np.cross(p - x_0, z / np.linalg.norm(z))))


def lowest(model: RobotModel, q: Array) -> float:
    """Height of the lowest capsule of a link that moves."""
    moving = [c for c in ArmShape(model).capsules if c.link != "base"]
    ends = [(model.pose(q, c.link), end, c.radius) for c in moving for end in (c.a, c.b)]
    return min(float((X.R @ end + X.p)[2]) - radius for X, end, radius in ends)


def at_post(model: RobotModel, q: Array) -> float:
    """Distance of a point of the upper link from a vertical axis."""
    X = model.pose(q, "upper")
    return float(np.hypot(*(X.p + 0.5 * X.R[:, 0] - [0.4, 0.0, 0.0])[:2]))


N, Z = np.array([-1.0, 0.2, 0.1]) / np.linalg.norm([-1.0, 0.2, 0.1]), np.array([0.1, 0.0, 1.0])
TURN = rotation_from_rpy(np.array([0.1, 0.2, 0.3]))
PLACES: dict[str, tuple[Constraint, Oracle]] = {
    "half-space": (
        HalfSpaceConstraint("wall", (0.4, 0.0, 0.0), tuple(N)),
        lambda model, q: float(N @ (model.pose(q).p - [0.4, 0.0, 0.0])),
    ),
    "arm": (
        HalfSpaceConstraint("table", (0.0, 0.0, -0.1), (0.0, 0.0, 1.0), of="arm"),
        lambda model, q: lowest(model, q) + 0.1,
    ),
    "box": (
        BoxConstraint("box", (0.3, 0.0, 0.5), (1.2, 1.4, 1.6), (0.1, 0.2, 0.3)),
        lambda model, q: float(np.min([0.6, 0.7, 0.8] - np.abs(TURN.T @ (model.pose(q).p - [0.3, 0.0, 0.5])))),
    ),
    "inside": (
        CylinderConstraint("silo", (0.1, 0.0, 0.0), tuple(Z), 0.7),
        lambda model, q: 0.7 - across(model.pose(q).p, np.array([0.1, 0.0, 0.0]), Z),
    ),
    "outside": (
        CylinderConstraint("post", (0.4, 0, 0), (0, 0, 1), 0.3, outside=True, of="upper", points=[[0.5, 0, 0]]),
        lambda model, q: at_post(model, q) - 0.3,
    ),
    "upright": (
        UprightConstraint("glass", 1.0, (0.0, 0.0, 1.0)),
        lambda model, q: 1.0 - float(np.arccos(np.clip(model.pose(q).R[2, 2], -1.0, 1.0))),
    ),
    "corner": (
        HalfSpaceConstraint("lid", (0.0, 0.0, 0.9), (0.0, 0.0, -1.0), points=[[0.0, 0.1, 0.2]]),
        lambda model, q: 0.9 - float((model.pose(q).R @ [0.0, 0.1, 0.2] + model.pose(q).p)[2]),
    ),
}


@pytest.fixture(scope="module")
def arm() -> RobotModel:
    return small_arm()


@pytest.mark.parametrize("name", PLACES)
def test_motions_that_are_proved_keep_their_places(arm: RobotModel, name: str):
    """And what is not proved leaves them, or nearly."""
    constraint, oracle = PLACES[name]
    a, b = random_states(arm, 60, 1), random_states(arm, 60, 2)
    b = a + 0.3 * (b - a)
    bounded = Validity(arm, kept=bounds_of_constraints(arm, [constraint]).kept)
    is_free, could_be = bounded.free_motions(a, b), Validity(arm).free_motions(a, b)
    shares = np.linspace(0.0, 1.0, 101)
    least = np.array([min(oracle(arm, q_a + s * (q_b - q_a)) for s in shares) for q_a, q_b in zip(a, b, strict=True)])
    assert not (is_free & ~could_be).any()
    assert least[is_free].min() >= 0.0
    assert 5 < is_free.sum() < could_be.sum()
    assert (least[could_be & ~is_free] < 2e-3).all()


def wall_at(name: str, x: float) -> HalfSpaceConstraint:
    """A wall that the hand stays in front of, x below this."""
    return HalfSpaceConstraint(name, (x, 0.0, 0.0), (-1.0, 0.0, 0.0))


def test_a_deviation_and_a_margin_take_what_they_need():
    """The hand of a stretched arm, 0.1 m in front of a wall, and turns of its first joint."""
    model = RobotModel.from_urdf(urdf_path("planar2"))
    length = float(model.pose(np.zeros(2)).p[0])
    q = np.array([[math.acos((length - 0.1) / length), 0.0]])
    for margin, deviation, is_free in ((0.09, 0.0, True), (0.11, 0.0, False), (0.0, 0.09, True), (0.0, 0.11, False)):
        kept = bounds_of_constraints(model, [wall_at("wall", length)]).kept
        validity = Validity(model, kept=kept, kept_margin=margin)
        assert validity.motions(q, q, deviation=[deviation / length, 0.0]).is_free[0] == is_free, (margin, deviation)
    with pytest.raises(InputError, match="margins are"):
        Validity(model, kept_margin=-1.0)


def test_a_state_that_breaks_places_says_which_the_worst_first():
    """What no joint moves is nobody's fault."""
    model = RobotModel.from_urdf(urdf_path("planar2"))
    length = float(model.pose(np.zeros(2)).p[0])
    base = HalfSpaceConstraint("base", (5.0, 0.0, 0.0), (1.0, 0.0, 0.0), of=model.base)
    kept = bounds_of_constraints(model, [wall_at("far", length - 0.1), wall_at("near", length - 0.2), base]).kept
    validity = Validity(model, kept=kept)
    assert validity.broken([0.0, 0.0]) == (
        "constraint 'near' (hand) is violated by 200 mm",
        "constraint 'far' (hand) is violated by 100 mm",
    )
    assert validity.broken([math.pi / 2.0, 0.0]) == ()
    assert validity.free_states([[math.pi / 2.0, 0.0], [0.0, 0.0]]).tolist() == [True, False]
    beyond = bounds_of_constraints(model, [wall_at("wall", length + 0.01)]).kept
    assert Validity(model, kept=beyond, kept_margin=0.02).broken([0.0, 0.0]) == (
        "constraint 'wall' (hand) has 10 mm left, less than the margin",
    )


def test_random_states_are_pulled_well_inside(arm: RobotModel):
    """None of them keeps both places before; what keeps them stays where it is."""
    places = [UprightConstraint("glass", 0.3, (0.0, 0.0, 1.0)), CylinderConstraint("silo", (0, 0, 0), (0, 0, 1), 0.7)]
    kept = bounds_of_constraints(arm, places).kept
    validity, states = Validity(arm, kept=kept, kept_margin=0.05), random_states(arm, 100, 3)
    moved = validity.pulled(states)
    assert len(kept) == 2
    poses = [arm.pose(q) for q in moved]
    inside = np.array([X.R[2, 2] >= np.cos(0.16) and np.hypot(*X.p[:2]) <= 0.7 - 0.059 for X in poses])
    assert inside.mean() > 0.9
    assert np.array_equal(validity.pulled(moved[inside]), moved[inside])
    assert np.array_equal(Validity(arm).pulled(states), states)
    assert np.array_equal(np.clip(moved, arm.q_min, arm.q_max), moved)


def test_a_motion_proved_by_meshes_keeps_its_places(tmp_path_factory: pytest.TempPathFactory):
    """A wall through the end of a stretched arm; and a deviation, which the way of the end counts for."""
    model = mesh_arm(tmp_path_factory.mktemp("mesh_arm"))
    q, end = np.zeros((1, 2)), float(model.pose(np.zeros(2)).p[0])
    near, through = (
        Validity(model, kept=bounds_of_constraints(model, [wall_at("wall", x)]).kept) for x in (end + 0.01, end - 0.01)
    )
    assert near.free_by_shapes(q, q)[0]
    assert not through.free_by_shapes(q, q)[0]
    assert not near.free_by_shapes(q, q, [0.05, 0.0])[0]
    assert Validity(model).free_by_shapes(q, q, [0.05, 0.0])[0]
    assert not Validity(model, has_meshes=False).free_by_shapes(q, q)[0]


def test_distances_become_margins_and_speeds_limits():
    ur5 = RobotModel.from_urdf(urdf_path("ur5"))
    slow, elbow = SpeedConstraint("slow", 0.25), SpeedConstraint("elbow", 0.4, of="forearm_link")
    bounds = bounds_of_constraints(ur5, [slow, elbow, ClearanceConstraint("people", 0.05, 0.01)])
    assert (bounds.kept, bounds.distance, bounds.links, bounds.tip_speed) == ((), 0.05, 0.01, 0.25)
    rng, fastest = np.random.default_rng(2), 0.0
    for q, v in zip(rng.uniform(-3.0, 3.0, (200, 6)), rng.choice([-1.0, 1.0], (200, 6)), strict=True):
        fastest = max(fastest, float(np.linalg.norm(ur5.jacobian(q, "forearm_link")[:3] @ (v * ur5.v_max))))
        assert bounds.share_with_tip * np.linalg.norm(ur5.jacobian(q)[:3] @ (v * ur5.v_max)) <= 0.25
    assert 0.25 < bounds.share * fastest <= 0.4
    off = bounds_of_constraints(ur5, [SpeedConstraint("corner", 0.25, points=[[0.0, 0.0, 0.1]])])
    assert off.tip_speed > 1e6
    assert off.share == off.share_with_tip < 0.1
    assert bounds_of_constraints(ur5, []) == type(bounds)()
    with pytest.raises(FrameNotFound):
        bounds_of_constraints(ur5, [HalfSpaceConstraint("wall", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), of="nothing")])
