"""One tick of control without ROS: law, avoidance and gate, one after the other, as the node of a controller does it.

A simulation (:mod:`arm_control.simulation.offline`) and the replay of a recording
(:mod:`arm_control.messages.bags.replay`) both call this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from arm_control.control.avoidance.avoidance_law import Avoidance
from arm_control.control.avoidance.proximity import Obstacle
from arm_control.control.effort_gate import EffortGate, GateOutput
from arm_control.control.laws import LawParameters, OscSimulation, Tick, law_of
from arm_control.control.osc.tuning import with_avoidance
from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.model import RobotModel

FIRST_DT = 1e-3
"""Time that the first state stands for, in the rate limit [s]."""


class Decision(NamedTuple):
    """What was decided in a state: what the law said, its torque with avoidance by terms, what the gate let pass."""

    said: Tick
    terms: dict[str, Array]
    asked: Array
    passed: GateOutput


class Control:
    """A controller with all that stands between it and an actuator.

    Parameters
    ----------
    model : RobotModel
        The arm.
    parameters : OscSimulation, JointSimulation or IlqrSimulation
        They say which controller.
    q0 : ndarray, shape (nv,)
        Where the arm is in the first state [rad or m].

    Attributes
    ----------
    law : Law
        The controller: it takes orders.
    refused : int
        Commands that the gate has refused.
    """

    def __init__(self, model: RobotModel, parameters: LawParameters, q0: Array) -> None:
        self._model, self.refused = model, 0
        self.law = law_of(model, parameters, q0)
        avoids = isinstance(parameters, OscSimulation) and parameters.avoid_obstacles
        self._avoidance = Avoidance(model, parameters) if avoids else None  # type: ignore[arg-type]
        self._gate = EffortGate(model, parameters)

    def restart(self, q: Array) -> None:
        """Time has started over, with the arm at q, shape (nv,) [rad or m]."""
        self._gate.reset()
        self.law.restart(q)

    def tick(self, stamp_ns: int, q: Array, v: Array, dt: float, obstacles: Sequence[Obstacle] = ()) -> Decision:
        """Decide on torque.

        Parameters
        ----------
        stamp_ns : int
            Stamp of the state [ns].
        q, v : ndarray, shape (nv,)
            Positions [rad or m] and velocities [rad/s or m/s].
        dt : float
            Time since the state before [s]; 0 for the first one.
        obstacles : sequence of Obstacle
            What is around.
        """
        if self._gate.latched:
            self.law.let_go(q)
        said = self.law(stamp_ns, q, v)
        tau, terms = said.tau, said.terms
        if self._avoidance is not None:
            tau, terms = with_avoidance(tau, terms, self._avoidance.tick(said.state, obstacles))
        try:
            self._gate.offer(self._model.joint_names, tau.tolist())
        except InputError:
            self.refused += 1
        return Decision(said, terms, tau, self._gate.tick(said.state, dt or FIRST_DT))
