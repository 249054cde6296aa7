"""The check of plans: Pinocchio and coal agree with the model, and everything that a scene forbids is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from arm_control.core import urdf_path
from arm_control.maths import (
    Array,
    Box,
    Cylinder,
    Mover,
    Obstacle,
    Pose,
    Span,
    Sphere,
    quaternion_from_rotation,
    rotation_from_vector,
)
from arm_control.model import RobotModel
from arm_control.simulation import FAR, IndependentArm, PlanCheck, PlanScene, check_plan, checking_arm
from arm_control.simulation.plan_scene import scene_of

BALL = {"shape": "sphere", "size": 0.1, "position": [0.0, 1.2, 0.0]}
ENTRIES: dict[str, Any] = {"robot": "planar2", "start": [0.0, 0.5], "goal": [0.4, 0.9], "obstacles": [BALL]}
LINKS = (("base_link", "link1"),)


@dataclass(frozen=True)
class Motion:
    """A motion by a function of time."""

    duration: float
    q: Callable[[Array], Array]
    s: Callable[[Array], Array] = np.zeros_like

    def at(self, times: Array) -> tuple[Array, Array]:
        return self.q(times), self.s(times)


def smoothly(duration: float, start: Array, goal: Array) -> Motion:
    """From rest to rest."""

    def q(times: Array) -> Array:
        u = (times / duration)[:, None]
        return start + u**3 * (10 - 15 * u + 6 * u**2) * (goal - start)

    return Motion(duration, q)


def scene(**changes: Any) -> PlanScene:
    return scene_of(ENTRIES | changes, "mine", "here")


def checked(motion: Motion, **changes: Any) -> PlanCheck:
    x = scene(**changes)
    return check_plan(motion, x, arm=IndependentArm(x.model, x.obstacles, LINKS))


def test_without_pinocchio_the_own_model_checks_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    x = scene(kind="dynamic")
    independent = checking_arm(x.model, x.obstacles, LINKS)
    monkeypatch.setattr("arm_control.simulation.plan_check.find_spec", lambda _: None)
    own = checking_arm(x.model, x.obstacles, LINKS)
    assert (type(independent).__name__, type(own).__name__) == ("IndependentArm", "OwnArm")
    assert "plans are checked by the model that made them" in caplog.text
    rng = np.random.default_rng(0)
    for q, v, a in rng.normal(size=(20, 3, 2)):
        np.testing.assert_allclose(own.torque(q, v, a), independent.torque(q, v, a), atol=1e-10)
        np.testing.assert_allclose(own.pose(q).p, independent.pose(q).p, atol=1e-12)
        nearer, real = own.distances(q, 0.3)[0], independent.distances(q, 0.3)[0]
        assert real - 0.05 < nearer < real + 1e-9, "capsules contain the shapes"
    check = check_plan(GOOD, x, arm=own)
    assert check.problems == check_plan(GOOD, x, arm=independent).problems == ()


GOOD = smoothly(1.0, np.array([0.0, 0.5]), np.array([0.4, 0.9]))


def test_a_good_plan_has_no_problems_and_true_figures():
    check = checked(GOOD, kind="dynamic")
    model = scene().model
    assert check.problems == ()
    assert check.is_valid
    assert check.velocity_ratio == pytest.approx(15 / 8 * 0.4 / model.v_max.min(), rel=1e-4)
    assert check.duration == 1.0
    assert check.limit_distance == np.inf or check.limit_distance > 1.0
    q, v, a = np.array([0.2, 0.7]), np.full(2, 0.4 * 15 / 8), np.zeros(2)
    middle = len(check.samples.times) // 2
    np.testing.assert_allclose(check.samples.tau[middle], model.inverse_dynamics(q, v, a), rtol=0, atol=1e-4)


def jump(times: Array) -> Array:
    return GOOD.q(times) + 0.001 * (times[:, None] > 0.5) * (1.0 - times[:, None])


def kink(times: Array) -> Array:
    return np.array([0.0, 0.5]) + times[:, None] * 0.4


WRONG: dict[str, tuple[Motion, dict[str, Any], str]] = {
    "start": (smoothly(1.0, np.array([0.01, 0.5]), np.array([0.4, 0.9])), {}, "it starts 0.01 rad or m from the start"),
    "horizon": (GOOD, {"horizon": 0.9}, "it takes 1 s, the horizon is 0.9 s"),
    "speed": (GOOD, {"limits": {"velocity": 0.7}}, "times its speed limit at 0.49"),
    "jump": (
        replace(GOOD, q=jump),
        {"limits": {"velocity": 1.0}},
        "'joint1' moves at 1.249 times its speed limit at 0.500 s",
    ),
    "acceleration": (GOOD, {"kind": "dynamic", "limits": {"acceleration": 2.0}}, "accelerates at 1.15"),
    "torque": (GOOD, {"kind": "dynamic", "limits": {"torque": 0.1}}, "times its torque limit"),
    "end": (Motion(1.0, kink), {"kind": "dynamic"}, "it ends at"),
    "obstacle": (GOOD, {"obstacles": [BALL | {"position": [0.35, 0.3, 0.0]}]}, "from an obstacle at"),
    "not a number": (replace(GOOD, q=lambda t: GOOD.q(t) * np.nan), {}, "times its speed limit"),
}


@pytest.mark.parametrize("case", WRONG)
def test_everything_forbidden_is_found(case: str):
    motion, changes, sentence = WRONG[case]
    check = checked(motion, **changes)
    assert not check.is_valid
    assert any(sentence in problem for problem in check.problems), check.problems


def test_an_obstacle_counts_where_it_is_then():
    """The ball is in the way of the end of the motion from 0.9 s on, and again that it leaves before."""
    there = BALL | {"position": [0.35, 0.45, 0.0]}
    assert not checked(GOOD, obstacles=[there]).is_valid
    assert checked(GOOD, obstacles=[there | {"until": 0.05}]).is_valid
    assert not checked(GOOD, obstacles=[there | {"from": 0.9}]).is_valid


def test_links_that_touch_and_limits_are_found():
    x = scene_of({"robot": "planar4", "start": [0.0] * 4, "goal": [0, 2.9, 2.9, 2.9]}, "mine", "here")
    arm = IndependentArm(x.model, x.obstacles, (("link0", "link2"),))
    folded = smoothly(9.0, np.zeros(4), np.array([0, 2.9, 2.9, 2.9]))
    problems = check_plan(folded, x, 0.01, arm).problems
    assert any("from itself at" in text for text in problems)
    beyond = smoothly(9.0, np.zeros(4), np.array([0, 0, 3.1, 0]))
    assert any(
        "joint 'joint2' goes 0.1 rad or m beyond its limits" in t for t in check_plan(beyond, x, 0.01, arm).problems
    )


def test_the_task_path_is_checked_along_all_of_it():
    """A wrist that does not turn along: the hand leaves the circle by a chord, and ends half way."""
    entries = {"robot": "planar2", "start": [0.0, 0.0]}
    entries["task"] = {"circle": {"center": [0.0, 0.0], "radius": 0.58, "turns": 0.25}}
    x = scene_of(entries, "mine", "here")
    arm = IndependentArm(x.model, x.obstacles)

    def swing(bend: float) -> Motion:
        turn = np.pi / 2
        return Motion(
            3.0, lambda t: np.column_stack([turn * t / 3.0, bend * np.sin(np.pi * t / 3.0)]), lambda t: t / 3.0
        )

    good = check_plan(swing(0.0), x, 0.01, arm)
    assert good.is_valid
    assert good.max_error < 1e-12
    bad = check_plan(swing(0.5), x, 0.01, arm)
    inward = 0.58 - np.sqrt(0.31**2 + 0.27**2 + 2 * 0.31 * 0.27 * np.cos(0.5))
    assert bad.max_error == pytest.approx(inward, rel=1e-3)
    assert any("off the task path, 1 mm are allowed" in text for text in bad.problems)
    half = check_plan(replace(swing(0.0), s=lambda t: t / 6.0), x, 0.01, arm)
    assert any("from 0 to 0.5 on the task path" in text for text in half.problems)


def test_the_orientation_of_a_task_is_checked_along_all_of_it():
    """A hand that turns about its own axis, 0.3 rad in one second, and stays where it is."""
    q_0 = np.array([0.0, 0.2, 0.0, -1.9, 0.0, 2.1, 0.7])
    X = IndependentArm(RobotModel.from_urdf(urdf_path("panda")), ()).pose(q_0)
    begin = quaternion_from_rotation(X.R)
    end = quaternion_from_rotation(X.R @ rotation_from_vector([0.0, 0.0, 0.3]))
    swing = Motion(1.0, lambda t: q_0 + t[:, None] * np.eye(7)[6] * 0.3, lambda t: t)

    def problems(**orientation: Any) -> tuple[float, tuple[str, ...]]:
        entries = {"robot": "panda", "start": q_0.tolist(), "task": {"line": {"start": X.p, "end": X.p}, **orientation}}
        x = scene_of(entries, "mine", "here")
        check = check_plan(swing, x, 0.01, IndependentArm(x.model, x.obstacles))
        return check.max_angle, check.problems

    assert problems(orientation={"quat_xyzw": begin, "end": end}) == (pytest.approx(0.0, abs=1e-7), ())
    assert problems(direction={"axis": "z", "along": X.R[:, 2]}) == (pytest.approx(0.0, abs=1e-7), ())
    angle, sentences = problems(orientation={"quat_xyzw": begin})
    assert angle == pytest.approx(0.3)
    assert sentences == ("the end effector is turned by 0.3 rad from the task at 1.000 s, 0.001 rad are allowed",)
    assert problems(direction={"axis": "x", "along": X.R[:, 0]})[0] == pytest.approx(0.3)
    angle, sentences = problems()
    assert np.isnan(angle)
    assert sentences == ()


def test_a_task_from_rest_begins_and_ends_at_rest_and_keeps_accelerations():
    entries = {"robot": "planar2", "start": [0.0, 0.0], "rest": True, "limits": {"acceleration": 20.0}}
    entries["task"] = {"circle": {"center": [0.0, 0.0], "radius": 0.58, "turns": 0.25}}
    x = scene_of(entries, "mine", "here")
    arm, turn = IndependentArm(x.model, x.obstacles), 0.5 * np.pi

    def share(t: Array) -> Array:
        return t**3 * (10 - 15 * t + 6 * t**2)

    good = Motion(1.0, lambda t: np.column_stack([turn * share(t), 0.0 * t]), share)
    check = check_plan(good, x, 0.001, arm)
    assert check.problems == ()
    assert check.acceleration_ratio == pytest.approx(10.0 / np.sqrt(3.0) * turn / 20.0, rel=1e-3)
    moving = Motion(1.0, lambda t: np.column_stack([turn * t, 0.0 * t]), lambda t: t)
    sentences = check_plan(moving, x, 0.001, arm).problems
    assert [text.split(" at ")[0] for text in sentences] == ["it starts", "it ends"]
    slow = scene_of(entries | {"limits": {"acceleration": 5.0}}, "mine", "here")
    assert any("a joint accelerates at 1.81" in text for text in check_plan(good, slow, 0.001, arm).problems)


def test_the_other_arm_is_the_same_arm(states: Callable[..., list]):
    model = RobotModel.from_urdf(urdf_path("lwr"))
    arm = IndependentArm(model, ())
    for q, v in states(model, 5):
        a = 0.3 * v[::-1]
        np.testing.assert_allclose(arm.torque(q, v, a), model.inverse_dynamics(q, v, a), rtol=0, atol=1e-8)
        np.testing.assert_allclose(arm.pose(q).p, model.pose(q).p, rtol=0, atol=1e-9)
        np.testing.assert_allclose(arm.pose(q).R, model.pose(q).R, rtol=0, atol=1e-9)
        np.testing.assert_allclose(arm.jacobian(q), model.jacobian(q), rtol=0, atol=1e-9)


def test_distances_are_those_of_the_shapes():
    model = RobotModel.from_urdf(urdf_path("planar2"))
    told = [
        Obstacle(Sphere(0.1), Pose.at([0.0, 0.5, 0.0]), [0.1, 0.0, 0.0, 0.0, 0.0, 0.0]),
        Mover(Obstacle(Box((0.1, 0.1, 0.1)), Pose.at([0.3, -0.2, 0.0])), Span(2.0, 3.0)),
        Obstacle(Cylinder(0.05, 0.2), Pose.at([2.0, 0.0, 0.0])),
    ]
    arm, q = IndependentArm(model, told), np.zeros(2)
    above = 0.5 - 0.1 - 0.015  # the ball above the first link, which is 15 mm thick
    assert arm.distances(q, 0.0) == pytest.approx((above, FAR), abs=1e-6)
    assert arm.distances(q, 1.0)[0] == pytest.approx(above, abs=1e-6)  # moved along the link
    assert arm.distances(q, 2.5)[0] == pytest.approx(0.2 - 0.05 - 0.015, abs=1e-6)
    far = IndependentArm(model, told[2:])
    assert far.distances(q, 0.0)[0] == pytest.approx(2.0 - 0.05 - 0.58, abs=1e-6)
