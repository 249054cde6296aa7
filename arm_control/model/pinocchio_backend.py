"""Back end ``pinocchio``: the same quantities by Pinocchio's algorithms, from Pinocchio's reading of the URDF."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from threading import RLock

import numpy as np
import pinocchio as pin

from arm_control.compiler import Kernel
from arm_control.exceptions import ModelError
from arm_control.maths import Array
from arm_control.model.quantities import INPUTS, input_sizes, tool_numbers
from arm_control.model.tree import Tree

_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class PinocchioBackEnd:
    """Pinocchio's model of an arm. It computes quantities only; other laws run as they stand.

    Its joints are the tree's bodies, one number each; with the joint coordinates q of the tree they are
    ``G q + offset``, which puts together what mimics one another.
    """

    compiler = None

    def __init__(self, tree: Tree, urdf_text: str) -> None:
        self.tree = tree
        self.model = pin.buildModelFromXML(urdf_text.replace('type="continuous"', 'type="revolute"'))
        self.model.gravity.linear = tree.gravity
        self.data = self.model.createData()
        self._lock = RLock()
        ids = [self.model.getJointId(body.name) for body in tree.bodies]
        if len(ids) != self.model.nv or self.model.nq != self.model.nv:
            raise ModelError(f"Pinocchio finds {self.model.nv} joints, expected {len(ids)}")
        self.carrier = ids[tree.tip.body]
        self.own_inertia = self.model.inertias[self.carrier].copy()
        self.tip_id = self.model.addFrame(
            pin.Frame("the arm's tip", self.carrier, pin.SE3.Identity(), pin.FrameType.OP_FRAME)
        )
        self.data = self.model.createData()
        self.G, self.offset = np.zeros((self.model.nv, tree.n)), np.zeros(self.model.nv)
        for joint, body in zip(ids, tree.bodies, strict=True):
            at = self.model.joints[joint].idx_v
            self.G[at, body.coordinate], self.offset[at] = body.ratio, body.offset

    def kernel(self, quantities: Sequence[str], frame: str | None) -> Kernel:
        """See :class:`~arm_control.model.engine.BackEnd`; what Pinocchio computes is not checked."""
        needed = {name for quantity in quantities for name in INPUTS[quantity]}
        sizes = {name: size for name, size in input_sizes(self.tree.n).items() if name in needed}
        ends = np.cumsum(list(sizes.values()))
        places = {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

        def compute(row: Array) -> list[Array]:
            state = _State(self, {name: row[place] for name, place in places.items()}, frame)
            return [np.asarray(getattr(state, quantity)) for quantity in quantities]

        def bind(row: Array, outputs: Array) -> Callable[[], bool]:
            def call() -> bool:
                if not np.isfinite(row).all():
                    return True
                with self._lock:  # all kernels work in the same data
                    outputs[:] = np.concatenate([np.ravel(result) for result in compute(row)])
                return False

            return call

        sample = np.zeros(ends[-1])
        if "tool" in places:
            sample[places["tool"]] = tool_numbers(self.tree)
        shapes = {name: result.shape for name, result in zip(quantities, compute(sample), strict=True)}
        return Kernel(sizes, shapes, bind)

    def attach(self, tool: Array) -> None:
        """Put the end effector and its load on the body that carries them."""
        turned = self.tree.frames[self._link].X_BF.inverse()  # Pinocchio's joint frame is the link's
        R, p = turned.R @ tool[:9].reshape(3, 3), turned.R @ tool[9:12]
        self.model.frames[self.tip_id].placement = pin.SE3(R, p)
        mass, h = float(tool[12]), turned.R @ tool[13:16]
        xx, xy, xz, yy, yz, zz = tool[16:]
        J = turned.R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turned.R.T
        self.model.inertias[self.carrier] = self.own_inertia
        if mass > 0.0:
            c = h / mass
            about_c = J - mass * (c @ c * np.eye(3) - np.outer(c, c))
            self.model.inertias[self.carrier] = self.own_inertia + pin.Inertia(mass, c, about_c)

    @cached_property
    def _link(self) -> str:
        """The link that the carrier's joint moves."""
        ids = [f for f in self.model.frames if f.type == pin.FrameType.BODY and f.parentJoint == self.carrier]
        return next(f.name for f in ids if f.placement.isIdentity(1e-12))


class _State:
    """Quantities of one state, named as in :class:`arm_control.model.quantities.State`."""

    def __init__(self, arm: PinocchioBackEnd, inputs: Mapping[str, Array], frame: str | None) -> None:
        self._arm, self._in, self._frame = arm, inputs, frame
        self._pin = arm.model, arm.data
        if "tool" in inputs:
            arm.attach(inputs["tool"])

    @cached_property
    def _q(self) -> Array:
        return self._arm.G @ self._in["q"] + self._arm.offset

    @cached_property
    def _v(self) -> Array:
        return self._arm.G @ self._in["v"]

    @cached_property
    def _armature(self) -> Array:
        return np.diag(self._arm.tree.armature)

    def _joint_torque(self, a: Array) -> Array:
        return self._arm.G.T @ pin.rnea(*self._pin, self._q, self._v, self._arm.G @ a)

    @cached_property
    def X_WE(self) -> pin.SE3:
        pin.forwardKinematics(*self._pin, self._q)
        return pin.updateFramePlacement(*self._pin, self._arm.tip_id).copy()

    @property
    def R_WE(self) -> Array:
        return self.X_WE.rotation

    @property
    def p_WE(self) -> Array:
        return self.X_WE.translation

    @cached_property
    def J(self) -> Array:
        J = pin.computeFrameJacobian(*self._pin, self._q, self._arm.tip_id, _AXES)
        return J.reshape(6, -1) @ self._arm.G

    @property
    def V_WE(self) -> Array:
        return self.J @ self._in["v"]

    @property
    def Jdot_v(self) -> Array:
        pin.forwardKinematics(*self._pin, self._q, self._v, np.zeros(len(self._v)))
        return pin.getFrameClassicalAcceleration(*self._pin, self._arm.tip_id, _AXES).vector.copy()

    @cached_property
    def M(self) -> Array:
        upper = np.triu(pin.crba(*self._pin, self._q))
        return self._arm.G.T @ (upper + np.triu(upper, 1).T) @ self._arm.G + self._armature

    @property
    def M_inv(self) -> Array:
        return np.linalg.inv(self.M)

    @property
    def g(self) -> Array:
        return self._arm.G.T @ pin.computeGeneralizedGravity(*self._pin, self._q)

    @cached_property
    def h(self) -> Array:
        return self._arm.G.T @ pin.nonLinearEffects(*self._pin, self._q, self._v)

    @property
    def C(self) -> Array:
        return self._arm.G.T @ pin.computeCoriolisMatrix(*self._pin, self._q, self._v) @ self._arm.G

    @property
    def tau(self) -> Array:
        J, a = self.J, self._in["a"]
        R = self.R_WE
        F = np.concatenate([R @ self._in["F_E"][:3], R @ self._in["F_E"][3:]])
        return self._joint_torque(a) + self._armature @ a + J.T @ F

    @property
    def tau_derived(self) -> Array:
        return self._joint_torque(self._in["a"]) + self._armature @ self._in["a"]

    @property
    def tau_a(self) -> Array:
        return self.M

    def _torque_derivatives(self, a: Array) -> tuple[Array, Array]:
        G = self._arm.G
        tau_q, tau_v, _ = pin.computeRNEADerivatives(*self._pin, self._q, self._v, G @ a)
        return G.T @ tau_q @ G, G.T @ tau_v @ G

    @property
    def tau_q(self) -> Array:
        return self._torque_derivatives(self._in["a"])[0]

    @property
    def tau_v(self) -> Array:
        return self._torque_derivatives(self._in["a"])[1]

    @cached_property
    def a(self) -> Array:
        return np.linalg.solve(self.M, self._in["tau"] - self.h)

    @property
    def a_solved(self) -> Array:
        return self.a

    @property
    def a_q(self) -> Array:
        return -self.M_inv @ self._torque_derivatives(self.a)[0]

    @property
    def a_v(self) -> Array:
        return -self.M_inv @ self._torque_derivatives(self.a)[1]

    @property
    def a_tau(self) -> Array:
        return self.M_inv

    @property
    def kinetic_energy(self) -> float:
        return 0.5 * float(self._in["v"] @ self.M @ self._in["v"])

    @property
    def potential_energy(self) -> float:
        pin.forwardKinematics(*self._pin, self._q)
        return float(pin.computePotentialEnergy(*self._pin))

    @property
    def centre_of_mass(self) -> Array:
        return pin.centerOfMass(*self._pin, self._q).copy()

    def _X_WF(self, frame: str) -> pin.SE3:
        pin.forwardKinematics(*self._pin, self._q)
        return pin.updateFramePlacement(*self._pin, self._arm.model.getFrameId(frame, pin.FrameType.BODY))

    @property
    def frames(self) -> Array:
        poses = [self._X_WF(frame) for frame in self._arm.tree.frames]
        return np.array([[*X.rotation.ravel(), *X.translation] for X in poses])

    @property
    def J_point(self) -> Array:
        frame = str(self._frame)
        r = self._X_WF(frame).rotation @ self._in["point"]
        frame_id = self._arm.model.getFrameId(frame, pin.FrameType.BODY)
        J = pin.computeFrameJacobian(*self._pin, self._q, frame_id, _AXES).reshape(6, -1) @ self._arm.G
        J[:3] += np.cross(J[3:].T, r).T
        return J
