"""A robot arm as its URDF describes it: names, limits, kinematics and dynamics.

    M(q) a + C(q, v) v + g(q) = tau

Frames are the URDF's links. W, the world, is the root link: the arm is bolted to it. The end effector
E is one link, the ``tip``; the joints are those on the way from the root to it, in that order, and any
other joint (a gripper's finger) is locked at zero. One number per joint, continuous joints included,
so ``nq == nv``.

Everything that acts on the robot asks :meth:`RobotModel.evaluate` once per tick. Pinocchio is behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from arm_control.exceptions import FrameNotFound, InputError, JointNotFound, ModelError, UrdfError
from arm_control.model.terms import Terms
from arm_control.model.urdf import Urdf, load_urdf
from arm_control.spatial import Array, Pose

_BODY = pin.FrameType.BODY
_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class RobotModel:
    """Kinematics and dynamics of an arm. Make one with :meth:`from_urdf`.

    Attributes
    ----------
    urdf : Urdf
        The checked description it was made from.
    joint_names : tuple of str
        Joints from the base to the tip; the order of every joint-space array.
    nq, nv : int
        Number of joint positions and of joint velocities (equal).
    base, tip : str
        The root link (the world frame) and the end effector.
    frames : tuple of str
        Every link.
    q_min, q_max : ndarray, shape (nq,)
        Position limits [rad or m]; infinite for continuous joints.
    v_max : ndarray, shape (nv,)
        Velocity limits [rad/s or m/s].
    tau_max : ndarray, shape (nv,)
        Effort limits [N m or N].
    armature : ndarray, shape (nv,)
        Inertia of the motors' rotors seen at the joints [kg m^2 or kg], part of M.
    mass : float
        Mass of what moves [kg].

    Notes
    -----
    A model keeps work space: use one per thread. The arrays it returns are copies, yours to keep.
    """

    def __init__(self, urdf: Urdf, tip: str, armature: Array) -> None:
        self.urdf, self.base, self.tip = urdf, urdf.root, tip
        self.joint_names = urdf.chain(tip)
        if not self.joint_names:
            raise ModelError(f"no joint moves '{tip}': choose a link behind a joint as the tip")
        self._pin = _pinocchio_model(urdf, self.joint_names)
        self._pin.armature = armature
        self._data = self._pin.createData()
        self._frame_ids = {f.name: i for i, f in enumerate(self._pin.frames) if f.type == _BODY}
        self._tip_id = self._frame_ids[tip]
        self.frames = tuple(self._frame_ids)
        self.nq, self.nv = self._pin.nq, self._pin.nv
        self.armature = armature
        self.mass = float(sum(inertia.mass for inertia in list(self._pin.inertias)[1:]))
        self._read_limits()
        self._refuse_massless()

    @classmethod
    def from_urdf(
        cls,
        source: str | Path,
        *,
        tip: str | None = None,
        armature: Mapping[str, float] | Sequence[float] | float = 0.0,
        effort_limits: Mapping[str, float] | None = None,
        velocity_limits: Mapping[str, float] | None = None,
    ) -> RobotModel:
        """Return the model of the arm that a URDF describes.

        Parameters
        ----------
        source : str or Path
            Path of a URDF file, or its text (as in ``robot_description``).
        tip : str, optional
            Link of the end effector; by default ``tool0`` where there is one, else the only leaf.
        armature : mapping by joint name, sequence (nv,) or float
            Rotor inertia seen at the joint [kg m^2 or kg].
        effort_limits, velocity_limits : mapping of str to float, optional
            Limits [N m or N], [rad/s or m/s] by joint name: replace the file's, and supply missing ones.

        Raises
        ------
        UrdfError
            When the description is unreadable, unsafe or physically impossible.
        FrameNotFound, JointNotFound, ModelError
            When ``tip``, or a joint named here, does not exist, or the tip must be named.

        Examples
        --------
        >>> from arm_control import urdf_path
        >>> model = RobotModel.from_urdf(urdf_path("ur5"))
        >>> model.nv, model.tip, round(model.mass, 4)
        (6, 'tool0', 17.0489)
        >>> model.gravity([0.0] * 6).round(4) + 0.0
        array([  0.    , -53.8002, -15.6416,   0.    ,   0.    ,   0.    ])
        """
        urdf = load_urdf(source, effort_limits=effort_limits, velocity_limits=velocity_limits)
        tip = _default_tip(urdf) if tip is None else tip
        return cls(urdf, tip, _per_joint(armature, urdf.chain(tip), "armature"))

    def evaluate(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Terms:
        """Every term of one control tick, computed once.

        Parameters
        ----------
        q, v : array_like, shape (nv,)
            Joint positions [rad or m] and velocities [rad/s or m/s].

        Returns
        -------
        Terms

        Raises
        ------
        InputError
            When an array has a wrong length or an entry that is not finite.
        """
        q, v = self._checked(q, "q"), self._checked(v, "v")
        model, data = self._pin, self._data
        pin.computeAllTerms(model, data, q, v)
        M, h, g = data.M.copy(), data.nle.copy(), data.g.copy()
        pin.forwardKinematics(model, data, q, v, np.zeros(self.nv))
        X = pin.updateFramePlacement(model, data, self._tip_id)
        J = pin.getFrameJacobian(model, data, self._tip_id, _AXES).reshape(6, -1)  # one joint: a vector
        acceleration = pin.getFrameClassicalAcceleration(model, data, self._tip_id, _AXES)
        X_WE = Pose(X.rotation.copy(), X.translation.copy())
        return Terms(q, v, X_WE, J @ v, J, acceleration.vector.copy(), M, g, h)

    def pose(self, q: npt.ArrayLike, frame: str | None = None) -> Pose:
        """Pose ``X_WF`` of a link in the world, the tip when none is named."""
        pin.forwardKinematics(self._pin, self._data, self._checked(q, "q"))
        X = pin.updateFramePlacement(self._pin, self._data, self._frame_id(frame))
        return Pose(X.rotation.copy(), X.translation.copy())

    def jacobian(self, q: npt.ArrayLike, frame: str | None = None, point: npt.ArrayLike = (0, 0, 0)) -> Array:
        """Jacobian of a point on a link: ``V = J v``, linear then angular, world axes.

        Parameters
        ----------
        q : array_like, shape (nq,)
            Joint positions [rad or m].
        frame : str, optional
            The link; the tip when none is named.
        point : array_like, shape (3,)
            The point, in the link's frame [m].

        Returns
        -------
        ndarray, shape (6, nv)
        """
        q, frame_id = self._checked(q, "q"), self._frame_id(frame)
        pin.computeJointJacobians(self._pin, self._data, q)
        X = pin.updateFramePlacement(self._pin, self._data, frame_id)
        J = pin.getFrameJacobian(self._pin, self._data, frame_id, _AXES).reshape(6, -1)
        offset = X.rotation @ np.asarray(point, dtype=float)
        J[:3] += np.cross(J[3:].T, offset).T
        return J

    def mass_matrix(self, q: npt.ArrayLike) -> Array:
        """Mass matrix ``M(q)``, shape (nv, nv) [kg m^2 or kg], armature included."""
        return self.evaluate(q, np.zeros(self.nv)).M

    def gravity(self, q: npt.ArrayLike) -> Array:
        """Gravity torque ``g(q)``, shape (nv,) [N m or N]: what holds the arm still."""
        return pin.computeGeneralizedGravity(self._pin, self._data, self._checked(q, "q")).copy()

    def bias(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Bias ``h(q, v) = C v + g``, shape (nv,) [N m or N]."""
        return pin.nonLinearEffects(self._pin, self._data, self._checked(q, "q"), self._checked(v, "v")).copy()

    def in_joint_order(self, names: Sequence[str], values: Sequence[float], what: str = "position") -> Array:
        """Values given by joint name, in the model's order; joints it does not have are passed over.

        Parameters
        ----------
        names, values : sequence
            As in a ``JointState``: any order, one value per name.
        what : str
            What the values are, for the message.

        Returns
        -------
        ndarray, shape (nv,)

        Raises
        ------
        InputError
            When the lengths differ, a name comes twice, a joint is missing or a value is not finite.
        """
        if len(names) != len(values):
            raise InputError(f"{len(names)} joint names with {len(values)} {what} values")
        index = {name: i for i, name in enumerate(names)}
        if len(index) != len(names):
            twice = sorted({name for name in names if list(names).count(name) > 1})
            raise InputError(f"joint named twice: {', '.join(twice)}")
        missing = [name for name in self.joint_names if name not in index]
        if missing:
            raise InputError(f"no {what} for joint {', '.join(missing)}; got {', '.join(names) or 'none'}")
        return self._checked([values[index[name]] for name in self.joint_names], what)

    def _checked(self, values: npt.ArrayLike, what: str) -> Array:
        array = np.array(values, dtype=float)
        if array.shape != (self.nv,):
            raise InputError(f"{what} has shape {array.shape}, allowed ({self.nv},)")
        if not np.isfinite(array).all():
            named = dict(zip(self.joint_names, array.tolist(), strict=True))
            bad = {name: x for name, x in named.items() if not np.isfinite(x)}
            raise InputError(f"{what} is not finite: {bad}")
        return array

    def _frame_id(self, frame: str | None) -> int:
        if frame is None:
            return self._tip_id
        try:
            return self._frame_ids[frame]
        except KeyError:
            raise FrameNotFound(frame, self.frames) from None

    def _read_limits(self) -> None:
        continuous = np.array([self.urdf.robot.joint_map[j].type == "continuous" for j in self.joint_names])
        self.q_min = np.where(continuous, -np.inf, self._pin.lowerPositionLimit)
        self.q_max = np.where(continuous, np.inf, self._pin.upperPositionLimit)
        self.v_max = np.array(self._pin.velocityLimit)
        self.tau_max = np.array(self._pin.effortLimit)

    def _refuse_massless(self) -> None:
        """A joint that moves no inertia has no finite acceleration: refuse it, by name."""
        diagonal = np.diag(pin.crba(self._pin, self._data, pin.neutral(self._pin)))
        for name, inertia in zip(self.joint_names, diagonal, strict=True):
            if inertia <= 1e-12:
                raise UrdfError(f"joint '{name}' moves no inertia: give its links an <inertial>, or an armature")


def _pinocchio_model(urdf: Urdf, joint_names: Sequence[str]) -> pin.Model:
    """Pinocchio's model of these joints, the others locked at zero, in the order of the chain."""
    full = pin.buildModelFromXML(urdf.text.replace('type="continuous"', 'type="revolute"'))
    locked = [full.getJointId(name) for name in full.names[1:] if name not in joint_names]
    model = pin.buildReducedModel(full, locked, pin.neutral(full)) if locked else full
    if tuple(model.names[1:]) != tuple(joint_names):
        raise ModelError(f"joints in the order {list(model.names[1:])}, expected {list(joint_names)}")
    return model


def _default_tip(urdf: Urdf) -> str:
    if "tool0" in urdf.robot.link_map:
        return "tool0"
    if len(urdf.leaves) == 1:
        return urdf.leaves[0]
    raise ModelError(f"which link is the end effector? Give 'tip': one of {', '.join(urdf.leaves)}")


def _per_joint(values: Mapping[str, float] | Sequence[float] | float, names: Sequence[str], what: str) -> Array:
    """A number per joint from a mapping by name, a sequence or one number for all; not negative."""
    if isinstance(values, Mapping):
        for name in values:
            if name not in names:
                raise JointNotFound(name, names)
        values = [values.get(name, 0.0) for name in names]
    array = np.array(np.broadcast_to(np.asarray(values, dtype=float), (len(names),)))
    if not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise ModelError(f"{what} = {array.tolist()}: finite numbers >= 0 are needed")
    return array
