"""A tool at the tip: the same as the tool written into the URDF, as Pinocchio and the recursions read that."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_control.core import Cache
from arm_control.exceptions import ModelError
from arm_control.maths import Pose, rotation_from_rpy
from arm_control.model import BACKENDS, Arm, RobotModel, State, Tool

RPY, P = (0.3, -0.8, 1.1), (0.05, -0.1, 0.15)
CENTRE, MOMENTS = (0.12, -0.03, 0.25), np.array([[0.02, 0.001, 0.002], [0.001, 0.025, -0.003], [0.002, -0.003, 0.03]])
TOOL = Tool(mass=1.7, centre=CENTRE, inertia=MOMENTS, X_ET=Pose(rotation_from_rpy(RPY), np.array(P)))


def text(values: object) -> str:
    return " ".join(map(repr, np.ravel(values).tolist()))


def with_links(urdf: str) -> str:
    """The tool as two links behind the tip: one that weighs, and a frame."""
    xx, xy, xz, yy, yz, zz = MOMENTS[np.triu_indices(3)].tolist()
    inertia = f'<inertia ixx="{xx}" ixy="{xy}" ixz="{xz}" iyy="{yy}" iyz="{yz}" izz="{zz}"/>'
    return urdf.replace(
        "</robot>",
        f'<link name="load"><inertial><origin xyz="{text(CENTRE)}"/><mass value="1.7"/>{inertia}</inertial></link>'
        '<joint name="to load" type="fixed"><parent link="tip"/><child link="load"/></joint><link name="T"/>'
        f'<joint name="to T" type="fixed"><parent link="tip"/><child link="T"/>'
        f'<origin xyz="{text(P)}" rpy="{text(RPY)}"/></joint></robot>',
    )


def everything(model: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
    """What a tool may change, by every method."""
    t, F = model.evaluate(q, v), np.arange(1.0, 7.0)
    values = {
        "terms": (*t.X_WE, t.V_WE, t.J, t.Jdot_v, t.M, t.g, t.h), "pose": model.pose(q), "J": model.jacobian(q),
        "J_point": model.jacobian(q, point=(0.1, 0.2, 0.3)), "M": model.mass_matrix(q), "g": model.gravity(q),
        "h": model.bias(q, v), "C": model.coriolis_matrix(q, v), "tau": model.inverse_dynamics(q, v, a, F),
        "a": model.forward_dynamics(q, v, a), "tau'": model.torque_derivatives(q, v, a),
        "a'": model.acceleration_derivatives(q, v, a), "T": model.kinetic_energy(q, v),
        "U": model.potential_energy(q), "c": model.centre_of_mass(q),
    }  # fmt: skip
    return {name: np.concatenate([np.ravel(x) for x in _tuple(value)]) for name, value in values.items()}


def _tuple(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def close(ours: np.ndarray, oracle: np.ndarray, what: str = "", tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(ours, oracle, rtol=0, atol=tolerance * max(1.0, np.abs(oracle).max()), err_msg=what)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_tool_is_the_same_as_links_in_the_urdf(small_arm: Callable[[str], Arm], backend: str):
    arm = small_arm("mimic")
    model = RobotModel(arm, backend, Cache(None))
    choices = {"joints": "all", "armature": arm.tree.armature, "gravity": arm.tree.gravity}
    linked = RobotModel.from_urdf(with_links(arm.urdf.text), tip="T", backend="python", **choices)
    q, v, a = np.random.default_rng(4).uniform(-2, 2, (3, model.nq))
    bare, expected = everything(model, q, v, a), everything(linked, q, v, a)
    model.attach(TOOL)
    for what, values in everything(model, q, v, a).items():
        close(values, expected[what], what)
        assert np.abs(values - bare[what]).max() > 1e-5, what
    model.attach(None)
    for what, values in everything(model, q, v, a).items():
        np.testing.assert_array_equal(values, bare[what], err_msg=what)
    assert model.backend == backend


def test_a_frame_without_weight_moves_the_end_effector_only(ur5: RobotModel):
    model = RobotModel.from_urdf(ur5.urdf.text, cache=Cache(None))
    q, v = np.linspace(-1, 1, 6), np.linspace(1, -2, 6)
    before = model.evaluate(q, v)
    model.attach(Tool(X_ET=TOOL.X_ET))
    after = model.evaluate(q, v)
    expected = before.X_WE @ TOOL.X_ET
    close(after.X_WE.p, expected.p, tolerance=1e-15)
    close(after.X_WE.R, expected.R, tolerance=1e-15)
    for name in ("M", "g", "h"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    close(model.pose(q, "tool0").p, before.X_WE.p, tolerance=1e-15)
    assert np.abs(after.J - before.J).max() > 0.01


def test_a_tool_is_known_to_kernels_made_before_and_after(small_arm: Callable[[str], Arm], cache: Cache):
    arm = small_arm("one joint")
    q, v, a = np.random.default_rng(1).uniform(-1, 1, (3, 1))
    early, late = RobotModel(arm, "llvm", cache), RobotModel(arm, "llvm", cache)
    everything(early, q, v, a)
    early.attach(TOOL)
    late.attach(TOOL)
    expected = everything(late, q, v, a)
    for what, values in everything(early, q, v, a).items():
        np.testing.assert_array_equal(values, expected[what], err_msg=what)


BAD = {
    "negative mass": ({"mass": -1.0}, "mass is -1 kg"),
    "inertia without mass": ({"inertia": np.eye(3)}, "mass is 0 kg with an inertia up to 1"),
    "no number": ({"mass": np.nan}, "allowed: finite numbers"),
    "negative moment": (
        {"mass": 1.0, "inertia": np.diag([-1.0, 1, 1])},
        "-1, 1, 1 kg m.2, which is physically impossible",
    ),
    "triangle": ({"mass": 1.0, "inertia": np.diag([1.0, 1, 2.1])}, "1, 1, 2.1 kg m.2, which is physically impossible"),
    "asymmetric": ({"mass": 1.0, "inertia": np.eye(3) + np.eye(3, k=1) * 0.1}, "which is physically impossible"),
    "shape of inertia": ({"mass": 1.0, "inertia": (1, 1, 1)}, r"its inertia \(3,\); allowed: \(3,\) and \(3, 3\)"),
    "shape of R": ({"X_ET": Pose(np.eye(2), np.zeros(3))}, r"R and p of shapes \(2, 2\) and \(3,\); allowed"),
    "mirrored": ({"X_ET": Pose(np.diag([1.0, 1, -1]), np.zeros(3))}, "X_ET.R is .*; allowed: a rotation"),
}


@pytest.mark.parametrize(("numbers", "message"), BAD.values(), ids=BAD)
def test_a_tool_that_cannot_be_is_refused(numbers: dict[str, object], message: str):
    with pytest.raises(ModelError, match=message):
        Tool(**numbers)


def test_the_text_of_a_law_has_poses_of_links_and_points_with_the_tool(load_robot: Callable[..., RobotModel]):
    model = load_robot("ur5")
    model.attach(Tool(X_ET=Pose.at([0.1, 0.0, 0.2], [0.0, 0.5, 0.0, 1.0])))
    q, point = np.array([0.3, -1.2, 0.8, -0.4, 0.6, 0.1]), np.array([0.05, -0.1, 0.2])
    state = State(model.tree, {"q": q, "tool": model.tool})
    for link in (None, "forearm_link"):
        X = model.pose(q, link)
        np.testing.assert_allclose(state.X_WF(link).R, X.R, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.p_WP(link, point), X.p + X.R @ point, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.J_WP(link), model.jacobian(q, link), rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.J_WP(link, point), model.jacobian(q, link, point), rtol=0, atol=1e-12)
    assert model.has_tool
    model.attach(None)
    assert not model.has_tool
