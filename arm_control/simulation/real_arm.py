"""An arm in MuJoCo that is not its model: friction, rotors, masses, payload, actuators and sensors of its own.

The differences are those of :mod:`arm_control.simulation.plant_properties`. A controller sees measured positions and
velocities; the true ones are those of the attribute ``arm``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import mujoco
import numpy as np
import numpy.typing as npt

from arm_control.control.avoidance.obstacles import Obstacle
from arm_control.maths.poses import Array, rotation_from_vector
from arm_control.model import RobotModel
from arm_control.simulation.mujoco_simulator import MujocoSimulator
from arm_control.simulation.plant_properties import PlantProperties

RIGID = np.array([0.999, 0.999, 0.001, 0.5, 2.0])
"""Impedance of MuJoCo's friction: with its own, 0.9, a joint creeps under a load that friction should hold."""


class RealArm:
    """An arm that differs from its model, with the interface of a :class:`MujocoSimulator`.

    Parameters
    ----------
    model : RobotModel
        The model.
    q_initial : array_like, shape (nq,), optional
        Joint positions at the start [rad or m]; zero by default.
    timestep : float
        Duration of one step [s].
    damping : float
        Viscous damping of every joint, beside that of the properties [N m s/rad].
    properties : PlantProperties
        The differences.
    solids : sequence of Obstacle
        What the end effector touches.

    Attributes
    ----------
    arm : MujocoSimulator
        The true arm.
    properties : PlantProperties
        The differences, resolved for this arm.

    Raises
    ------
    ModelError
        When MuJoCo refuses the arm, or its mass matrix differs from the model's before anything is changed.
    ParameterError
        When a list of the properties does not suit the arm.
    """

    def __init__(
        self,
        model: RobotModel,
        q_initial: npt.ArrayLike | None = None,
        *,
        timestep: float = 1e-3,
        damping: float = 0.0,
        properties: PlantProperties,
        solids: Sequence[Obstacle] = (),
    ) -> None:
        self.properties = p = properties.of(model)
        self._coulomb, self._stribeck = np.array(p.coulomb), np.array(p.stribeck)
        has_friction = bool(self._coulomb.any() or self._stribeck.any())
        friction = self._coulomb + self._stribeck if has_friction else None
        viscous = np.array(p.viscous) + damping
        self.arm = MujocoSimulator(
            model, q_initial, timestep=timestep, damping=viscous, friction=friction, solids=solids
        )
        self._has_stribeck = bool(self._stribeck.any())
        self._resolution = np.array(p.torque_resolution)
        self._lag = timestep / max(p.actuator_time_constant, timestep)
        self._delay = round(p.actuator_delay / timestep)
        self._tau: Array | None = None
        self._joints = [self.arm.mujoco_model.joint(name).dofadr[0] for name in model.joint_names]
        self._change(model)
        self.reset()

    @property
    def q(self) -> Array:
        """Measured joint positions, shape (nq,) [rad or m]."""
        return self._q.copy()

    @property
    def v(self) -> Array:
        """Measured joint velocities, shape (nv,) [rad/s or m/s]."""
        return self._v.copy()

    @property
    def steps(self) -> int:
        """Steps since the start or the last :meth:`reset`."""
        return self.arm.steps

    @property
    def contact_wrench(self) -> Array:
        """Wrench on the end effector; see :class:`MujocoSimulator`."""
        return self.arm.contact_wrench

    @property
    def timestep(self) -> float:
        """Duration of one step [s]."""
        return self.arm.timestep

    def step(self, tau: Array) -> None:
        """Command a torque for one time step.

        Parameters
        ----------
        tau : ndarray, shape (nv,)
            Joint torque [N m or N].

        Raises
        ------
        SimulationDiverged
            When the state or the torque is not finite, or too large for MuJoCo.
        """
        if self._tau is None:
            self._tau = tau.copy()
            self._sent.extend([tau] * self._delay)
        self._sent.append(tau)
        self._tau += self._lag * (self._sent.popleft() - self._tau)
        if self._has_stribeck:
            share = np.exp(-np.square(self.arm.v / self.properties.stribeck_velocity))
            self.arm.mujoco_model.dof_frictionloss[self._joints] = self._coulomb + self._stribeck * share
        self.arm.step(_rounded(self._tau, self._resolution))
        self._measure()

    def load(self, tau: Array) -> None:
        """Set a torque on the joints beside that of the motors, shape (nv,) [N m or N], until the next call."""
        self.arm.load(tau)

    def reset(self, q: Sequence[float] | Array | None = None) -> None:
        """Start again at rest, at time zero, at ``q``, shape (nq,) [rad or m], or the initial positions."""
        self.arm.reset(q)
        self._rng = np.random.default_rng(self.properties.seed)
        self._sent = deque[Array]()
        self._tau = None
        self._measure()

    def _measure(self) -> None:
        p, v = self.properties, self.arm.v
        self._q = _rounded(self.arm.q, np.full(v.shape, p.encoder_resolution))
        self._v = v + self._rng.normal(0.0, p.velocity_noise, v.shape) if p.velocity_noise else v

    def _change(self, model: RobotModel) -> None:
        """Change the bodies and rotors of MuJoCo's model."""
        p, mujoco_model = self.properties, self.arm.mujoco_model
        rng = np.random.default_rng(p.seed)
        n = mujoco_model.nbody
        directions = rng.normal(size=(n, 3))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        mujoco_model.body_ipos[1:] += p.com_error * directions[1:]
        factors = (1.0 + p.mass_error) * (1.0 + p.inertia_error * rng.uniform(-1.0, 1.0, n))
        mujoco_model.body_mass[1:] *= 1.0 + p.mass_error
        mujoco_model.body_inertia[1:] *= factors[1:, None]
        if p.payload_mass:
            self._add_payload(model)
        mujoco_model.dof_armature[self._joints] += p.rotor_inertia
        R_BW = rotation_from_vector(np.array([-p.base_tilt, 0.0, 0.0]))
        mujoco_model.opt.gravity[:] = R_BW @ mujoco_model.opt.gravity
        mujoco_model.dof_solimp[:] = RIGID
        mujoco.mj_setConst(mujoco_model, mujoco.MjData(mujoco_model))

    def _add_payload(self, model: RobotModel) -> None:
        """Merge a point mass with the body that carries the tip."""
        p, m, data = self.properties, self.arm.mujoco_model, self.arm.mujoco_data
        body = int(m.joint(model.urdf.chain(model.tip)[-1]).bodyid[0])
        X_WE = model.pose(self.arm.q)
        points = [data.xipos[body], X_WE.R @ np.array(p.payload_position) + X_WE.p]
        masses = [float(m.body_mass[body]), p.payload_mass]
        centre = np.average(points, axis=0, weights=masses)
        R_WI = data.ximat[body].reshape(3, 3)
        inertia = R_WI @ np.diag(m.body_inertia[body]) @ R_WI.T
        for mass, point in zip(masses, points, strict=True):
            d = point - centre
            inertia = inertia + mass * (d @ d * np.eye(3) - np.outer(d, d))
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 2] *= np.linalg.det(axes)
        R_WB = data.xmat[body].reshape(3, 3)
        mujoco.mju_mat2Quat(m.body_iquat[body], (R_WB.T @ axes).ravel())
        m.body_mass[body], m.body_inertia[body] = sum(masses), moments
        m.body_ipos[body] = R_WB.T @ (centre - data.xpos[body])


def make_simulator(
    model: RobotModel,
    q_initial: npt.ArrayLike | None,
    properties: PlantProperties,
    *,
    timestep: float = 1e-3,
    damping: float = 0.0,
    solids: Sequence[Obstacle] = (),
) -> MujocoSimulator | RealArm:
    """Return a simulated arm with properties: its model where nothing differs.

    Parameters
    ----------
    model : RobotModel
        The model.
    q_initial : array_like, shape (nq,), or None
        Joint positions at the start [rad or m]; None for zero.
    properties : PlantProperties
        The differences.
    timestep, damping : float
        Duration of one step [s]; viscous damping of every joint [N m s/rad].
    solids : sequence of Obstacle
        What the end effector touches; by default nothing.
    """
    if properties.is_ideal:
        return MujocoSimulator(model, q_initial, timestep=timestep, damping=damping, solids=solids)
    return RealArm(model, q_initial, timestep=timestep, damping=damping, properties=properties, solids=solids)


def _rounded(x: Array, steps: Array) -> Array:
    """Numbers rounded to whole steps; those whose step is 0 stay as they are."""
    return np.where(steps > 0.0, np.round(x / np.where(steps > 0.0, steps, 1.0)) * steps, x)
