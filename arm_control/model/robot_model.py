"""A robot arm as its URDF describes it: names, limits, kinematics and dynamics.

    M(q) a + C(q, v) v + g(q) = tau

Frames are the URDF's links. W, the world, is the base link: the arm is bolted to it. The end effector E is
one link, the ``tip``; the joints are those on the way from base to tip, unless others are named, and any
other joint (a gripper's finger) is locked. One number per joint, continuous joints included, so
``nq == nv``.

Everything that acts on the robot asks :meth:`RobotModel.evaluate` once per tick. Behind it are the
recursions of :mod:`arm_control.model.recursions`, compiled for this robot when first needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from arm_control.compiler import Kernel, Law, Loop, LoopKernel, Samples, in_machine_code
from arm_control.core import Cache, default_directory, refuse_unknown
from arm_control.exceptions import FrameNotFound
from arm_control.maths import Array, Pose
from arm_control.model import methods
from arm_control.model.arm import Arm, describe, describe_text
from arm_control.model.calls import BatchFunction, Calls, fill
from arm_control.model.derivatives import AccelerationDerivatives, TorqueDerivatives
from arm_control.model.engine import Engine
from arm_control.model.methods import Method, Terms
from arm_control.model.quantities import tool_numbers
from arm_control.model.tool import Tool

if TYPE_CHECKING:
    from arm_control.model.symbolic import Symbolic

R = TypeVar("R")
Into: TypeAlias = "Array | None"
F = TypeVar("F", bound=Callable[..., object])
ORIGIN, NO_WRENCH = (0.0, 0.0, 0.0), (0.0,) * 6


def _by(method: Method[Any]) -> Callable[[F], F]:
    """Decorate a method that answers by a kernel."""
    return in_machine_code(lambda model: model._calls.ready(method))


class RobotModel:
    """Kinematics and dynamics of an arm. Make one with :meth:`from_urdf`.

    Attributes
    ----------
    urdf : Urdf
        The checked description it was made from; only the model's joints can move in it.
    joint_names : tuple of str
        The order of every joint-space array: from the base outwards.
    nq, nv : int
        Number of joint positions and of joint velocities (equal).
    base, tip, frames : str, str, tuple of str
        The base link (the world frame), the end effector, and every link.
    q_min, q_max : ndarray, shape (nq,)
        Position limits [rad or m]; infinite for continuous joints.
    v_max, tau_max : ndarray, shape (nv,)
        Limits of velocity [rad/s or m/s] and effort [N m or N].
    armature : ndarray, shape (nv,)
        Inertia of the motors' rotors seen at the joints [kg m^2 or kg], part of M.
    coulomb, viscous : ndarray, shape (nv,)
        Friction of the joints [N m or N], [N m s/rad or N s/m]; no part of M or h.
    gravity_W : ndarray, shape (3,)
        Acceleration of free fall in the world frame [m/s^2].
    tree : Tree
        The bodies and joints as numbers, for the recursions.
    mass : float
        Mass of what moves [kg], without a payload.
    warnings : tuple of str
        What is wrong in the description without harm to the arm, or implausible: a sentence for each cause.

    Notes
    -----
    Threads may share a model. The arrays it returns are yours to keep.

    Where there is machine code, a built-in function takes the place of a method in the instance once its kernel has
    been made; the method answers where arguments are no arrays of floats. A subclass that overrides a method keeps its
    own.
    """

    def __init__(self, arm: Arm, backend: str = "auto", cache: Cache | None = None) -> None:
        self.urdf, self.base, self.tip, self.tree = arm.urdf, arm.urdf.root, arm.tip, arm.tree
        self.joint_names, self.frames = arm.tree.joint_names, tuple(arm.tree.frames)
        self.nq = self.nv = arm.tree.n
        self.q_min, self.q_max, self.v_max, self.tau_max = arm.q_min, arm.q_max, arm.v_max, arm.tau_max
        self.armature, self.gravity_W = arm.tree.armature, arm.tree.gravity
        self.coulomb, self.viscous = arm.coulomb, arm.viscous
        self.warnings = arm.warnings
        self.mass = float(sum(body.inertia.m for body in arm.tree.bodies))
        self._identity, self._cache = arm.identity, Cache(default_directory()) if cache is None else cache
        engine = Engine(arm.tree, arm.urdf.robot.name, arm.identity, self._cache, backend)
        self._calls = Calls(engine, tool_numbers(arm.tree), self.joint_names, arm.has_dynamics)
        self._made_from = arm, backend

    @classmethod
    def from_urdf(
        cls, source: str | Path, *, backend: str = "auto", cache: Cache | None = None, **choices: Any
    ) -> RobotModel:
        """Return the model of the arm that a URDF describes.

        Parameters
        ----------
        source : str or Path
            Path of a URDF or xacro file, or a URDF's text (as in ``robot_description``).
        base : str, optional
            Link that is bolted to the world; the root by default. Of what does not hang on it, only how
            it turns gravity counts.
        tip : str, optional
            Link of the end effector; by default ``tool0`` where there is one, else the only leaf.
        joints : sequence of str or "all", optional
            Joints that move; by default those between base and tip. A joint that mimics one moves along.
        locked : mapping of str to float, optional
            Where the other joints are [rad or m]; 0 by default.
        armature : mapping by joint name, sequence (nv,) or float
            Rotor inertia seen at the joint [kg m^2 or kg].
        coulomb_friction, viscous_friction : mapping by joint name, sequence (nv,) or float
            Friction of the joints, for laws that compensate it [N m or N], [N m s/rad or N s/m].
        urdf_friction : bool
            Whether the URDF's ``<dynamics>`` states such friction, where none is given here; a warning says which.
        payload_mass, payload_centre : float, sequence (3,)
            A point mass at the tip [kg], and its place in the tip's frame [m].
        gravity : array_like, shape (3,)
            Acceleration of free fall in the frame of the root link [m/s^2].
        effort_limits, velocity_limits : mapping of str to float, optional
            Limits [N m or N], [rad/s or m/s] by joint name: replace the file's, and supply missing ones.
        xacro_args : mapping of str to str, optional
            Values of the arguments of a xacro file.
        package_path : sequence of str or Path
            Folders that are ROS packages or contain some, for the ``$(find PACKAGE)`` of a xacro file and for meshes;
            the folders above the file and the packages of a ROS 2 workspace are searched, too.
        strict : bool
            Whether a warning about the description is an error.
        kinematics_only : bool
            Whether only poses and Jacobians are needed: then masses and limits of effort and velocity may be
            missing, and everything that needs a mass raises a ModelError.
        backend : str
            ``llvm`` or ``python``; by default the first of them that works.
        cache : Cache, optional
            Where machine code is kept; by default the user's cache, ``Cache(None)`` for none.

        Raises
        ------
        UrdfError
            When the description is unreadable, unsafe or physically impossible.
        FrameNotFound, JointNotFound, ModelError
            When a link or a joint named here does not exist, or the tip must be named.

        Examples
        --------
        >>> from arm_control import urdf_path
        >>> model = RobotModel.from_urdf(urdf_path("ur5"))
        >>> model.nv, model.tip, round(model.mass, 4)
        (6, 'tool0', 17.0489)
        >>> model.gravity([0.0] * 6).round(4) + 0.0
        array([  0.    , -53.8002, -15.6416,   0.    ,   0.    ,   0.    ])
        """
        refuse_unknown(choices, _CHOICES, "RobotModel.from_urdf")
        return cls(describe(source, **choices), backend, cache)

    def __repr__(self) -> str:
        joints = ", ".join(self.joint_names)
        what = f"{self.urdf.robot.name}: {self.nv} joints from {self.base} to {self.tip}, {self.mass:.4g} kg moved"
        return f"<RobotModel {what}, {self.backend}\n joints: {joints}>"

    def __reduce__(self) -> tuple[Callable[..., RobotModel], tuple[object, ...]]:
        own = {name: x for name, x in vars(self).items() if name != "_calls" and not isinstance(x, BuiltinFunctionType)}
        return _restored, (type(self), own, *self._made_from, self._cache, self.tool)

    def _run(self, method: Method[R], *values: ArrayLike, frame: str | None = None, into: R | None = None) -> R:
        """Call the kernel behind a method."""
        function = self._calls.function(method, frame)
        return function(*values) if into is None else function(*values, into=into)

    @property
    def backend(self) -> str:
        """What computes: ``llvm`` or ``python``."""
        return self._calls.engine.backend

    @property
    def backend_reasons(self) -> tuple[str, ...]:
        """Why it is not one of those before it in that list."""
        return tuple(self._calls.engine.reasons)

    @_by(methods.EVALUATE)
    def evaluate(self, q: ArrayLike, v: ArrayLike, *, into: Terms | None = None) -> Terms:
        """Every term of one control tick, computed once.

        Parameters
        ----------
        q, v : array_like, shape (nv,)
            Joint positions [rad or m] and velocities [rad/s or m/s].
        into : Terms, optional
            An earlier result: its arrays are filled, and it is returned. Other methods take ``into``, too.

        Raises
        ------
        InputError
            When an array has a wrong length or an entry that is not finite, as in all methods; too large results pass.
        """
        return self._run(methods.EVALUATE, q, v, into=into)

    @_by(methods.POSE)
    def pose(self, q: ArrayLike, frame: str | None = None, *, into: Pose | None = None) -> Pose:
        """Pose ``X_WF`` of a link in the world, the tip when none is named."""
        if frame is None:
            return self._run(methods.POSE, q, into=into)
        row = self._run(methods.FRAMES, q)[self._index(frame)]
        return fill(into, Pose(row[:9].reshape(3, 3), row[9:]))

    @_by(methods.JACOBIAN)
    def jacobian(
        self, q: ArrayLike, frame: str | None = None, point: ArrayLike = ORIGIN, *, into: Into = None
    ) -> Array:
        """Jacobian of a point on a link: ``V = J v``, linear then angular, world axes, shape (6, nv).

        Parameters
        ----------
        frame : str, optional
            The link; the tip when none is named.
        point : array_like, shape (3,)
            The point, in the link's frame [m].
        """
        if frame is not None:
            self._index(frame)
            return self._run(methods.POINT_JACOBIAN, q, point, frame=frame, into=into)
        if point is ORIGIN:
            return self._run(methods.JACOBIAN, q, into=into)
        R_WE, _, J = self._run(methods.KINEMATICS, q)
        J[:3] += np.cross(J[3:].T, R_WE @ self._calls.checked(point, "point")).T
        return fill(into, J)

    @_by(methods.MASS_MATRIX)
    def mass_matrix(self, q: ArrayLike, *, into: Into = None) -> Array:
        """Mass matrix ``M(q)``, shape (nv, nv) [kg m^2 or kg], armature included."""
        return self._run(methods.MASS_MATRIX, q, into=into)

    @_by(methods.GRAVITY)
    def gravity(self, q: ArrayLike, *, into: Into = None) -> Array:
        """Gravity torque ``g(q)``, shape (nv,) [N m or N]: what holds the arm still."""
        return self._run(methods.GRAVITY, q, into=into)

    @_by(methods.BIAS)
    def bias(self, q: ArrayLike, v: ArrayLike, *, into: Into = None) -> Array:
        """Bias ``h(q, v) = C v + g``, shape (nv,) [N m or N]."""
        return self._run(methods.BIAS, q, v, into=into)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Matrix ``C(q, v)`` of Christoffel's symbols, shape (nv, nv): ``Mdot - 2 C`` is skew."""
        return 0.5 * self._run(methods.TORQUE_DERIVATIVES, q, v, np.zeros(self.nv)).tau_v

    @_by(methods.INVERSE_DYNAMICS)
    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, F_E: ArrayLike = NO_WRENCH, *, into: Into = None
    ) -> Array:
        """Torque ``M a + h + J^T F`` for an acceleration, shape (nv,) [N m or N].

        Parameters
        ----------
        q, v, a : array_like, shape (nv,)
            Joint positions, velocities and accelerations.
        F_E : array_like, shape (6,)
            Force [N] and moment [N m] that the end effector exerts on its surroundings, in its own axes.
        """
        return self._run(methods.INVERSE_DYNAMICS, q, v, a, F_E, into=into)

    @_by(methods.FORWARD_DYNAMICS)
    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, into: Into = None) -> Array:
        """Acceleration ``M^-1 (tau - h)`` that a torque causes, shape (nv,) [rad/s^2 or m/s^2]."""
        return self._run(methods.FORWARD_DYNAMICS, q, v, tau, into=into)

    @_by(methods.TORQUE_DERIVATIVES)
    def torque_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, into: TorqueDerivatives | None = None
    ) -> TorqueDerivatives:
        """Torque for an acceleration and its derivatives by q, v and a."""
        return self._run(methods.TORQUE_DERIVATIVES, q, v, a, into=into)

    @_by(methods.ACCELERATION_DERIVATIVES)
    def acceleration_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, into: AccelerationDerivatives | None = None
    ) -> AccelerationDerivatives:
        """Acceleration that a torque causes and its derivatives by q, v and tau."""
        return self._run(methods.ACCELERATION_DERIVATIVES, q, v, tau, into=into)

    @_by(methods.KINETIC_ENERGY)
    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float:
        """Kinetic energy [J], armature included."""
        return self._run(methods.KINETIC_ENERGY, q, v)

    @_by(methods.POTENTIAL_ENERGY)
    def potential_energy(self, q: ArrayLike) -> float:
        """Potential energy of what moves [J]; zero where its centre of mass is level with the world's origin."""
        return self._run(methods.POTENTIAL_ENERGY, q)

    @_by(methods.CENTRE_OF_MASS)
    def centre_of_mass(self, q: ArrayLike, *, into: Into = None) -> Array:
        """Centre of mass of what moves, in the world, shape (3,) [m]."""
        return self._run(methods.CENTRE_OF_MASS, q, into=into)

    def batch(self, *quantities: str) -> BatchFunction:
        """Return a function of many states at once, of any of :data:`arm_control.model.quantities.INPUTS`.

        Examples
        --------
        >>> from arm_control import urdf_path
        >>> model = RobotModel.from_urdf(urdf_path("ur5"))
        >>> results = model.batch("p_WE", "M")(np.zeros((1000, 6)))
        >>> results["p_WE"].shape, results["M"].shape
        ((1000, 3), (1000, 6, 6))
        """
        return self._calls.batch(quantities)

    @property
    def tool(self) -> Array:
        """What is at the tip, shape (22,): see :func:`arm_control.model.quantities.tool_numbers`."""
        return self._calls.tool

    @property
    def has_tool(self) -> bool:
        """Whether something is attached at the tip."""
        return self._calls.has_tool

    def attach(self, tool: Tool | None) -> None:
        """Put a tool or a payload at the tip from now on, None for nothing; every kernel knows it at once."""
        self._calls.set_tool(tool_numbers(self.tree, *(tool.numbers() if tool else ())))

    def prepare(self, *kernels: str, progress: bool = True) -> None:
        """Make kernels of :data:`arm_control.model.methods.KERNELS` now (all when none is named); with a bar."""
        self._calls.prepare(kernels, progress)

    @overload
    def compile_law(self, law: Law, samples: Samples) -> Kernel: ...

    @overload
    def compile_law(self, law: Loop, samples: Samples) -> LoopKernel: ...

    def compile_law(self, law: Law | Loop, samples: Samples) -> Kernel | LoopKernel:
        """Return the kernel of a law of this arm or of a loop; equal laws share one.

        An input ``tool`` of a law holds the tool that is attached. Where the law cannot be compiled it runs as it
        stands.

        Parameters
        ----------
        samples : mapping of str to ndarray
            Inputs to compare a new kernel on: of a law in rows, shape (n, size), of a loop in its own layout.

        Examples
        --------
        >>> from arm_control import urdf_path
        >>> from arm_control.compiler.law import Law
        >>> model = RobotModel.from_urdf(urdf_path("ur5"))
        >>> twice = model.compile_law(Law("twice", lambda x: {"y": 2.0 * x["a"]}, {"a": 3}), {"a": np.ones((1, 3))})
        >>> twice.inputs["a"][:] = 1.0, 2.0, 3.0
        >>> twice.call()
        False
        >>> twice.outputs["y"]
        array([2., 4., 6.])
        """
        return self._calls.law(law, samples)

    def symbolic(self) -> Symbolic:
        """Return the arm's formulas, as SymPy expressions."""
        from arm_control.model.symbolic import Symbolic

        return Symbolic(self.tree, self.urdf.robot.name, self._identity, self._cache)

    def in_joint_order(self, names: Sequence[str], values: Sequence[float] | Array, what: str = "position") -> Array:
        """Values by joint name, as in a ``JointState``, in the model's order; other joints are passed over.

        Raises an InputError when lengths differ, a name comes twice or is missing, or a value is not finite.
        """
        return self._calls.in_joint_order(names, values, what)

    def _index(self, frame: str) -> int:
        if frame not in self.frames:
            raise FrameNotFound(frame, self.frames)
        return self.frames.index(frame)


_CHOICES = {
    p.name: p
    for function in (describe_text, describe)
    for p in inspect.signature(function).parameters.values()
    if p.kind is p.KEYWORD_ONLY
}


def _show_choices(method: Any) -> None:
    """Let tools that complete and show names know the arguments that a function passes on to :func:`describe`."""
    own = inspect.signature(method)
    named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    method.__signature__ = own.replace(parameters=[*named, *_CHOICES.values()])


_show_choices(RobotModel.from_urdf.__func__)  # type: ignore[attr-defined]


def _restored(
    kind: type[RobotModel], own: dict[str, object], arm: Arm, backend: str, cache: Cache, tool: Array
) -> RobotModel:
    """Return a copy of a model, with kernels of its own."""
    model = object.__new__(kind)
    RobotModel.__init__(model, arm, backend, cache)
    vars(model).update(own)
    model._calls.set_tool(tool.copy())
    return model
