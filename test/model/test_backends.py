"""Every back end, every arm: against the float run, and Pinocchio reading the file by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import fromstring

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

from arm_control.core import Cache
from arm_control.exceptions import UrdfError
from arm_control.maths import Array
from arm_control.model import BACKENDS, Arm, RobotModel, describe
from arm_control.model.engine import Engine
from arm_control.model.quantities import INPUTS

REPO = Path(__file__).parents[2]
DATA = REPO / "test" / "data" / "urdf"
N_STATES = {"llvm": 8, "python": 3}

# Arms with mimicking, continuous and sliding joints, bases and rotors: files of the package example-robot-data (a
# folder in their name) and of test/data, tip, and where the arm begins.
ROBOTS: dict[str, tuple[str, str, str | None]] = {
    "panda finger": ("panda.urdf", "panda_leftfinger", None),
    "kinova": ("kinova.urdf", "j2s6s200_end_effector", None),
    "z1": ("z1_description/urdf/z1.urdf", "gripperMover", None),
    "talos arm": ("talos_data/robots/talos_reduced.urdf", "arm_right_7_link", "torso_2_link"),
    "double pendulum": ("double_pendulum.urdf", "link2", None),
    "koch": ("koch.urdf", "gripper_tcp", None),
}


def find(name: str) -> Path:
    """A file of example-robot-data, wherever that is installed, or of test/data."""
    if "/" not in name:
        return DATA / name
    try:
        package = distribution("example-robot-data")
    except PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots"))) / name


class Oracle:
    """Pinocchio's own reading of a file, reduced to an arm. Its base is the file's root, a continuous joint has
    two numbers, and a joint that mimics has its own: all velocities are ``G v``, all positions ``G q + offset``.
    """

    def __init__(self, path: Path, arm: Arm, base: str | None) -> None:
        text, names = path.read_text(), list(arm.tree.joint_names)
        mimics = {j.get("name"): m.attrib for j in fromstring(text).iter("joint") for m in j.iter("mimic")}
        moving = [*names, *(name for name, mimic in mimics.items() if mimic["joint"] in names)]
        model = pin.buildModelFromXML(re.sub(r"<limit (?!.*effort)", '<limit effort="1" velocity="1" ', text))
        still = [i for i in range(1, model.njoints) if model.names[i] not in moving]
        self.model = pin.buildReducedModel(model, still, pin.neutral(model)) if still else model
        self.data, self.tip = self.model.createData(), self.model.getFrameId(arm.tip, pin.FrameType.BODY)
        self.joints = {name: self.model.joints[self.model.getJointId(name)] for name in moving}
        self.G, self.offset = np.zeros((self.model.nv, len(names))), np.zeros(self.model.nv)
        for name, joint in self.joints.items():
            mimic = mimics.get(name, {"joint": name})
            self.G[joint.idx_v, names.index(mimic["joint"])] = float(mimic.get("multiplier", "1"))
            self.offset[joint.idx_v] = float(mimic.get("offset", "0"))
        pin.framesForwardKinematics(self.model, self.data, pin.neutral(self.model))
        self.X_WB = self.data.oMf[self.model.getFrameId(base, pin.FrameType.BODY) if base else 0].copy()

    def q(self, q: Array) -> Array:
        """Positions as Pinocchio wants them: cosine and sine for a continuous joint."""
        values, all_q = np.zeros(self.model.nq), self.G @ q + self.offset
        for joint in self.joints.values():
            x = all_q[joint.idx_v]
            values[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
        return values

    def terms(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """All terms, in the axes of the arm's base."""
        model, data, G = self.model, self.data, self.G
        q, v, a = self.q(q), G @ v, G @ a
        M = np.triu(pin.crba(model, data, q))
        results = {
            "M": G.T @ (M + np.triu(M, 1).T) @ G,
            "g": G.T @ pin.computeGeneralizedGravity(model, data, q),
            "h": G.T @ pin.nonLinearEffects(model, data, q, v),
            "tau": G.T @ pin.rnea(model, data, q, v, a),
        }
        pin.forwardKinematics(model, data, q, v, 0 * v)
        X = self.X_WB.inverse() * pin.updateFramePlacement(model, data, self.tip)
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        V, A = (f(model, data, self.tip, axes) for f in (pin.getFrameVelocity, pin.getFrameClassicalAcceleration))
        J = pin.computeFrameJacobian(model, data, q, self.tip, axes).reshape(6, -1) @ G
        turned = np.kron(np.eye(2), self.X_WB.rotation.T)
        results |= {"R_WE": X.rotation, "p_WE": X.translation, "J": turned @ J}
        return results | {"V_WE": turned @ V.vector, "Jdot_v": turned @ A.vector}

    def acceleration(self, q: Array, v: Array, tau: Array) -> Array:
        """The articulated-body algorithm; with joints that mimic, the equation of motion solved."""
        if self.G.shape[0] > self.G.shape[1]:
            terms = self.terms(q, v, 0 * v)
            return np.linalg.solve(terms["M"], tau - terms["h"])
        return self.G.T @ pin.aba(self.model, self.data, self.q(q), self.G @ v, self.G @ tau)


class Robot(NamedTuple):
    """An arm, and Pinocchio's independent reading of the same file."""

    arm: Arm
    oracle: Oracle


def describe_any(path: Path, **choices: object) -> Arm:
    """Describe an arm; a limit that the file lacks is 1."""
    try:
        return describe(path, **choices)
    except UrdfError as error:
        lines = [line for line in str(error).splitlines() if "_limits" in line]
        limits = {
            quantity: dict.fromkeys((line.split("'")[1] for line in lines if quantity in line), 1.0)
            for quantity in ("effort_limits", "velocity_limits")
        }
        return describe(path, **limits, **choices)


@pytest.fixture(
    scope="module",
    params=ROBOTS,
)
def robot(request: pytest.FixtureRequest) -> Iterator[Robot]:
    name, tip, base = ROBOTS[request.param]
    path = find(name)
    arm = describe_any(path, tip=tip, base=base)
    return Robot(arm, Oracle(path, arm, base))


def close(ours: npt.ArrayLike, oracle: npt.ArrayLike, what: str = "", tolerance: float = 1e-10) -> None:
    """Compare relative to the largest entry; what is zero may be rounding."""
    size = float(np.abs(oracle).max(initial=0.0))
    np.testing.assert_allclose(ours, oracle, rtol=0, atol=tolerance * size + 1e-14, err_msg=what)


def states(n_joints: int, n: int) -> Iterator[Array]:
    rng = np.random.default_rng(11)
    for _ in range(n):
        yield np.vstack([rng.uniform(-np.pi, np.pi, n_joints), rng.uniform(-1.0, 1.0, (3, n_joints))])


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_arm_agrees_with_pinocchio(robot: Robot, backend: str):
    """The back end ``python`` computes the same program as ``llvm``: a few arms are enough."""
    if backend == "python" and robot.arm.tree.n > 4 and not robot.arm.tree.has_mimic:
        return
    model = RobotModel(robot.arm, backend, Cache(None))
    for q, v, a, tau in states(model.nv, N_STATES[backend]):
        expected, t = robot.oracle.terms(q, v, a), model.evaluate(q, v)
        for name in ("M", "g", "h", "J", "Jdot_v", "V_WE"):
            close(getattr(t, name), expected[name], name)
        close(t.X_WE.R, expected["R_WE"])
        close(t.X_WE.p, expected["p_WE"])
        close(model.inverse_dynamics(q, v, a), expected["tau"])
        close(model.forward_dynamics(q, v, tau), robot.oracle.acceleration(q, v, tau))
    assert model.backend == backend


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_a_kernel_tells_when_an_input_is_not_finite(small_arm: Callable[[str], Arm], backend: str, bad: float):
    arm = small_arm("slides")
    kernel = Engine(arm.tree, "robot", arm.identity, Cache(None), backend).kernel(tuple(INPUTS), "tip")
    kernel.inputs["tool"][:9] = np.eye(3).ravel()
    for view in kernel.inputs.values():
        for place in range(len(view)):
            before, view[place] = view[place], bad
            assert kernel.call() is True
            view[place] = before
    assert kernel.call() is False
