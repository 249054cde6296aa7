"""Runs of a control loop on the arm of a simulator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arm_control import RobotModel
from arm_control.control import ControlLoop, Measurement, TickResult, propose_rate_limit, resolve_parameters
from arm_control.controllers import OscLoopParameters
from arm_control.maths import Obstacle
from arm_control.simulation import MujocoSimulator, RealArm


def observing(model: RobotModel, rate: float, **values: object) -> OscLoopParameters:
    """Parameters of OSC on an arm with friction and rotors: an observer, and a gate that knows of the rotors."""
    usual = {"rate": rate, "rate_limit": propose_rate_limit(model), "disturbance_observer": True, "inertia_floor": 0.02}
    return resolve_parameters(OscLoopParameters, usual | values, model)


def driven(
    loop: ControlLoop, arm: RealArm | MujocoSimulator, seconds: float, obstacles: Sequence[Obstacle] = ()
) -> Iterator[TickResult]:
    """Restart a loop and drive an arm: the result of each tick, before its torque acts for a time step."""
    dt = arm.timestep
    for k in range(round(seconds / dt)):
        state = Measurement(round(k * dt * 1e9), arm.q, arm.v, dt if k else 0.0, is_restart=k == 0)
        result = loop.tick(state, obstacles)
        yield result
        arm.step(result.gate.tau)
