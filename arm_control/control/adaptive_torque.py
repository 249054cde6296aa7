"""Adaptive torque: what the model does not know, learnt as a function of the motion, and compensated.

The disturbance observer (:mod:`~arm_control.control.disturbance_observer`) knows an unknown torque tau_d a time 1/K
late, and only where the arm is. Here N neurons have rates phi that depend on the motion of the joints, and weights W
are learnt so that ``W phi`` is tau_d: what was met once is known when the arm comes there again, without any delay.

    (1)  phi_j = a_j cos(e_j^T x + b_j),   x = (q, v, s),   s_i = v_i / sqrt(v_i^2 + v_s^2)
    (2)  tau_a = clamp(W phi, -tau_b, tau_b)                        tau_b = adaptation_share tau_max
    (3)  epsilon = clamp(y, -tau_max, tau_max) - W phi_m            phi_m = (phi_0 + phi_1) / 2
    (4)  W <- k W + mu epsilon phi_m^T / |phi_m|^2                  mu = m (1 - exp(-kappa dt))
    (5)  k_i = min(1, R_i / |W_i|)                                  R = 10 tau_max

y is the mean of tau_d between two states, 0 and 1: equation (4) of the observer, with the torque that the gate sent. So
epsilon is an error of torque, not of tracking: an acceleration that a law asks for, effort, rate and joint limits teach
nothing wrong, and no law has to be known. While the gate brakes nothing is learnt or forgotten. The mean phi_m has the
noise of both states, y their difference, so that noise of the velocities does not pull at the weights.

With the ideal weights W* of ``tau_d = W* phi``, (4) never takes W away from them,

    (6)  |W - W*|^2 falls by mu (2 - mu) |epsilon|^2 / |phi_m|^2

nor does (5) where ``|W*_i| <= R_i``. Of a torque that lasts in one state, (4) knows ``1 - exp(-kappa t)`` after a time
t: one neuron with constant rate would be the observer with bandwidth kappa. The law gets the torque of rotors, too, and
both may be on: then the observer estimates what is left of tau_d,

    (7)  tau = tau_law - tau_a - r,   dr/dt = K (tau_d - tau_a - r)

and an arm at rest learns nothing, ``m = max_i s_i^2``: two integrals would hunt against friction that sticks. Without
an observer m is 1.

Three kinds of neurons share ``|phi|^2``, which is 1 on average:

    0.6     encoders e_j drawn from a normal distribution, with standard deviation 1/w for a position, 1/(2 w) for a
            speed; phases b_j uniform. Two motions that differ by d have ``phi^T phi' = 0.6 exp(-d^2 / (2 w^2))``.
            Joints without limits get whole numbers: a turn changes nothing.
    0.25    ``sin(pi/2 s_i)`` of each joint: friction that turns round with the speed
    0.15    a constant

    q, v, x            joint positions, speeds; input of the neurons       [rad, rad/s; rad, rad/s, 1]
    e, a, b, phi, W    encoders, amplitudes, phases, rates, weights        [1/rad, s/rad, 1; 1; rad; 1; N m]
    kappa, w, v_s      learning rate, adaptation width, speed of friction  [1/s; rad; rad/s]
    tau_b, tau_max     largest learnt torque; effort limit                 [N m]

Sources: T. DeWolf, T. C. Stewart, J.-J. Slotine, C. Eliasmith, "A spiking neural model of adaptive arm control", 2016,
for torque learnt by neurons with the rule (4), unnormalised, from the error of tracking; R. M. Sanner, J.-J. Slotine,
"Gaussian networks for direct adaptive control", 1992; J.-J. Slotine, W. Li, "Composite adaptive control of robot
manipulators", 1989, for errors of torque; A. Rahimi, B. Recht, "Random features for large-scale kernel machines", 2007.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.compiler import Law, Loop, split
from arm_control.control.disturbance_observer import UNBOUNDED, ObserverParameters, estimate_share
from arm_control.core import Parameters, parameter
from arm_control.maths import Array, clamp, cos, largest, maximum
from arm_control.model import RobotModel, Terms

SHARES = 0.6, 0.25, 0.15
"""Shares of the kinds of neurons in ``|phi|^2``: of the motion, of the directions, constant."""
SPEED_TIME = 0.5
"""A position that differs by w counts as much as a speed that differs by w in this time [s]."""
FRICTION_SPEED = 0.05
"""v_s [rad/s or m/s]."""
LARGEST_WEIGHTS = 10.0
"""R of (5), in units of tau_max."""
FADING_TIME = 0.5
"""Time in which tau_b may change by the whole effort limit [s]."""
SMALLEST = 1e-9
"""Smallest divisor in (4)."""
LANES = 8
"""The number of neurons is a multiple of it."""


@dataclass(frozen=True)
class AdaptationParameters(Parameters):
    """Whether and how torque that the model does not know is learnt."""

    adaptive_torque: bool = parameter(
        False, "learn the torque that the model does not know as a function of the joints' motion, and compensate it"
    )
    learning_rate: float = parameter(
        10.0, "how fast the torque of a motion is learnt; 0: what is known stays", unit="1/s", lower=0.0, live=True
    )
    adaptation_share: float = parameter(
        0.3, "largest learnt torque, as a share of the effort limit; it fades", lower=0.0, upper=1.0, live=True
    )
    adaptation_neurons: int = parameter(1000, "number of neurons, rounded up to eights", lower=8, upper=8192)
    adaptation_width: float = parameter(
        0.5, "way, or way in half a second, over which the learnt torque changes", unit="rad", lower=0.01
    )


class AdaptiveTorque:
    """The learnt torque of one arm, tick by tick.

    In each tick :meth:`tick` comes before the observer's tick, :meth:`learn` behind it.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        tau_a of (2): what is thought to act on the arm now [N m or N].

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> adaptation = AdaptiveTorque(model, AdaptationParameters(learning_rate=10.0))
    >>> at_rest, tau_d = model.evaluate(np.zeros(6), np.zeros(6)), np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0])
    >>> for k in range(101):
    ...     tau_a = adaptation.tick(at_rest)
    ...     adaptation.learn(tau_d if k else None, 1e-3)
    >>> (tau_a / 2.0).round(2) + 0.0
    array([0.  , 0.63, 0.  , 0.  , 0.  , 0.  ])
    """

    def __init__(self, model: RobotModel, parameters: AdaptationParameters, *, learns_at_rest: bool = True) -> None:
        n = model.nv
        self._least = float(learns_at_rest)
        tau_max = np.where(np.isfinite(model.tau_max), model.tau_max, UNBOUNDED)
        law = step_law(tau_max)
        step = model.compile_law(law, _samples(law))
        neurons = model.compile_law(neuron_loop(n), _neuron_samples(n))
        encoders, shape = tuning_curves(model, parameters)
        N = shape.shape[1]
        state = {"W": np.zeros((n, N)), "rate": np.zeros((1, N)), "mean": np.zeros((1, N))}
        after = {f"{name}_1": array for name, array in state.items()}  # in place
        self._shared, self._sums = np.zeros(5 * n), np.zeros(3 * n + 1)
        shared = split(self._shared, {"x": (3 * n,), "step": (n,), "keep": (n,)})
        sums = split(self._sums, {name: (size,) for name, size in _sums(n).items()})
        self._neurons = neurons.bind({"encoder": encoders, "shape": shape, **state, **after, **shared, **sums})
        self._step, self._shared_out = step.call, step.outputs["shared"]
        self._q_in, self._v_in, self._y_in, self._sums_in, self._mu_in = (step.inputs[name] for name in law.inputs)
        self.W, self._W_phi, self._tau_max = state["W"], sums["tau"], tau_max
        self._no_torque = np.zeros(n)
        self.configure(parameters)
        self.reset()

    def configure(self, parameters: AdaptationParameters) -> None:
        """Take another rate, and another share, which the bound approaches slowly: the torque does not jump."""
        self._rate = parameters.learning_rate
        self._target_share = parameters.adaptation_share

    def reset(self) -> None:
        """Forget everything: a run begins."""
        self.W[:] = 0.0
        self._sums[:] = 0.0
        self._share = self._target_share
        self._bound = self._share * self._tau_max
        self.tau = np.zeros(len(self._tau_max))
        self.learn(None, 0.0)

    def tick(self, terms: Terms) -> Array:
        """Take in what was learnt last, and return tau_a in a state, shape (nv,) [N m or N]."""
        self._q_in[...], self._v_in[...], self._y_in[...] = terms.q, terms.v, self._y
        self._sums_in[...], self._mu_in[...] = self._sums, (self._mu, self._least)
        self._step()
        self._shared[...] = self._shared_out
        self._neurons()
        self.tau = np.minimum(np.maximum(self._W_phi, -self._bound), self._bound)  # (2)
        return self.tau

    def learn(self, y: Array | None, dt: float) -> None:
        """Take note of the torque that acted between the last two states; it counts from the next tick on.

        Parameters
        ----------
        y : ndarray, shape (nv,), or None
            The torque that nobody knew of [N m or N]; None: nothing is to be learnt.
        """
        self._y = self._no_torque if y is None else y
        self._mu = 0.0 if y is None else -math.expm1(-self._rate * dt)
        if self._share != self._target_share:
            most = dt / FADING_TIME
            self._share += min(max(self._target_share - self._share, -most), most)
            self._bound = self._share * self._tau_max


def compensated_share(model: RobotModel, observer: ObserverParameters, adaptation: AdaptationParameters) -> Array:
    """Return the largest unknown torque that is compensated, as a share of the effort limit, shape (nv,)."""
    estimated = estimate_share(model, observer) if observer.disturbance_observer else np.zeros(model.nv)
    return estimated + (adaptation.adaptation_share if adaptation.adaptive_torque else 0.0)


def tuning_curves(model: RobotModel, parameters: AdaptationParameters) -> tuple[Array, Array]:
    """Encoders, shape (3 nv, N), and amplitudes and phases, shape (2, N), of all neurons."""
    n, rng = model.nv, np.random.default_rng(0)
    N = max(-(-parameters.adaptation_neurons // LANES), -(-(n + 2) // LANES)) * LANES
    drawn = N - n - 1
    encoders, shape = np.zeros((3 * n, N)), np.zeros((2, N))
    encoders[:n, :drawn] = rng.standard_normal((n, drawn)) / parameters.adaptation_width
    encoders[n : 2 * n, :drawn] = rng.standard_normal((n, drawn)) * SPEED_TIME / parameters.adaptation_width
    continuous = np.isinf(model.q_max)
    encoders[:n][continuous] = np.round(encoders[:n][continuous])
    shape[:, :drawn] = np.full(drawn, math.sqrt(2.0 * SHARES[0] / drawn)), rng.uniform(0.0, 2.0 * math.pi, drawn)
    encoders[2 * n :, drawn:-1] = 0.5 * math.pi * np.eye(n)
    shape[:, drawn:-1] = [[math.sqrt(SHARES[1] / n)], [-0.5 * math.pi]]
    shape[0, -1] = math.sqrt(SHARES[2])
    return encoders, shape


def neuron_loop(n: int) -> Loop:
    """Equations (1) and (4) of every neuron, and the sums over all of them that (2), (3) and (5) need."""
    own = {"encoder": 3 * n, "shape": 2, "W": n, "rate": 1, "mean": 1}
    shared = {"x": 3 * n, "step": n, "keep": n}
    law = Law("adaptive torque", _neuron, {**own, **shared}, n)
    return Loop(law, "columns", tuple(shared), totals=tuple(_sums(n)))


def _sums(n: int) -> dict[str, int]:
    """``W phi``, ``W phi_m``, ``|W_i|^2`` and ``|phi_m|^2``: their sizes."""
    return {"tau": n, "predicted": n, "W_squared": n, "size": 1}


def _neuron(x: Mapping[str, Array]) -> dict[str, Any]:
    """One neuron: from inputs by name to outputs by name."""
    a, b = x["shape"]
    W = x["keep"] * x["W"] + x["step"] * x["mean"][0]  # (4)
    phi = a * cos(x["encoder"] @ x["x"] + b)  # (1)
    phi_m = 0.5 * (x["rate"][0] + phi)
    sums = {"tau": W * phi, "predicted": W * phi_m, "W_squared": W * W, "size": [phi_m * phi_m]}
    return {"W_1": W, "rate_1": [phi], "mean_1": [phi_m], **sums}


def step_law(tau_max: Array) -> Law:
    """Input of (1), ``mu epsilon / |phi_m|^2`` of (4), and (5); input ``mu``: mu / m, and the least m."""
    n, R = len(tau_max), LARGEST_WEIGHTS * tau_max

    def compute(x: Mapping[str, Array]) -> dict[str, Any]:
        q, v, y, (mu, least) = x["q"], x["v"], x["y"], x["mu"]
        predicted, W_squared, size = x["sums"][n : 2 * n], x["sums"][2 * n : 3 * n], x["sums"][3 * n]
        s = v / np.sqrt(v * v + FRICTION_SPEED**2)
        epsilon = clamp(y, -tau_max, tau_max) - predicted  # (3)
        m = maximum(largest(s * s), least)
        step = epsilon * (m * mu / maximum(size, SMALLEST))  # (4)
        keep = np.sqrt(R * R / maximum(W_squared, R * R))  # (5)
        return {"shared": np.concatenate([q, v, s, step, keep])}

    return Law("adaptive torque, step", compute, {"q": n, "v": n, "y": n, "sums": 3 * n + 1, "mu": 2}, tau_max.tolist())


def _neuron_samples(n: int) -> dict[str, Array]:
    """Neurons to compare the kernel on."""
    rng, loop = np.random.default_rng(0), neuron_loop(n)
    return {name: rng.uniform(-1.0, 1.0, loop.shape(name, size, LANES)) for name, size in loop.law.inputs.items()}


def _samples(law: Law) -> dict[str, Array]:
    """Inputs to compare a kernel on."""
    rng = np.random.default_rng(0)
    return {name: rng.uniform(0.1, 1.0, (3, size)) for name, size in law.inputs.items()}
