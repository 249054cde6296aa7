"""A scenario without a controller: an arm whose motors give no torque moves from rest, and its energy is recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from arm_control.core import progress_bar
from arm_control.exceptions import ParameterError, SimulationDiverged
from arm_control.maths import Array
from arm_control.model import ArmParameters, RobotModel, read_description
from arm_control.simulation.engine import EngineParameters, engine_of, make_simulator
from arm_control.simulation.plant_properties import properties_of
from arm_control.simulation.rigid_body import end_stops
from arm_control.simulation.scenario import Scenario

SECONDS = 5.0
"""Duration where nothing says another one [s]."""


@dataclass(frozen=True)
class FreeTrace:
    """A recorded motion.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Time of each state, from 0 [s].
    q, v : ndarray, shape (n, nv)
        Joint positions [rad or m] and velocities [rad/s or m/s].
    kinetic, potential : ndarray, shape (n,)
        Energy, by the model [J].
    beyond : ndarray, shape (n, nv)
        How far each joint is beyond an end stop [rad or m]; 0 between the stops, and without any.
    end_reason : str
        Reason for an early end; empty without one.
    """

    t: Array
    q: Array
    v: Array
    kinetic: Array
    potential: Array
    beyond: Array
    has_stops: bool
    end_reason: str = ""

    @property
    def energy_change(self) -> Array:
        """Energy gained since the start, shape (n,) [J]."""
        energy = self.kinetic + self.potential
        return energy - energy[0]

    def save(self, path: str) -> None:
        """Write the arrays to a NumPy file."""
        np.savez(path, t=self.t, q=self.q, v=self.v, kinetic=self.kinetic, potential=self.potential, beyond=self.beyond)


class FreeMotion:
    """One variant of a scenario without a controller.

    Parameters
    ----------
    scenario : Scenario
        The scenario; its only node that counts is ``simulator``.
    variant : str
        Name of the variant; empty: the first, or the only way there is.

    Raises
    ------
    ParameterError
        When the scenario has no simulator, or something that pushes the arm, or a parameter is not allowed.
    """

    def __init__(self, scenario: Scenario, variant: str = "") -> None:
        chosen = scenario.variant(variant)
        values, where = chosen.nodes.get("simulator"), f"{chosen.name}: simulator"
        if values is None or chosen.world.pushes:
            raise ParameterError(f"{chosen.name} has no controller: a node simulator, and no pushes, are needed")
        arm = {name: value for name, value in values.items() if name in ArmParameters.types()}
        self.model: RobotModel = ArmParameters.from_mapping(arm).model(read_description(chosen.robot))
        self.engine: EngineParameters = engine_of(values, where)
        self.duration = chosen.duration or SECONDS
        q = np.array(values.get("initial_position") or np.zeros(self.model.nq), dtype=float)
        options = {name: values[name] for name in ("timestep", "damping") if name in values}
        properties = properties_of(values, where)
        self._simulator = make_simulator(
            self.model, q, properties, **options, solids=chosen.world.solids, engine=self.engine
        )

    def run(self, duration: float = 0.0, title: str | None = None) -> FreeTrace:
        """Simulate from the start.

        Parameters
        ----------
        duration : float
            How long [s]; 0: as long as the scenario takes.
        title : str, optional
            What a bar on the terminal says; None: no bar.
        """
        simulator, tau, reason = self._simulator, np.zeros(self.model.nv), ""
        simulator.reset()
        rows = [(simulator.q, simulator.v)]
        n = max(1, round((duration or self.duration) / simulator.timestep))
        try:
            for block in progress_bar(range(0, n, 100), title):
                for _ in range(min(100, n - block)):
                    simulator.step(tau)
                    rows.append((simulator.q, simulator.v))
        except SimulationDiverged as error:
            reason = str(error)
        q, v = (np.array(column) for column in zip(*rows, strict=True))
        return replace(self._trace(q, v), end_reason=reason)

    def _trace(self, q: Array, v: Array) -> FreeTrace:
        energy = self.model.batch("kinetic_energy", "potential_energy")(q, v)
        kinetic, potential = (energy[name].reshape(-1) for name in ("kinetic_energy", "potential_energy"))
        stops = self.engine.rigid_body
        has_stops = self.engine.engine == "rigid_body" and stops.has_stops
        lower, upper = end_stops(self.model, stops) if has_stops else (-np.inf, np.inf)
        is_stopped = np.array(stops.stop_stiffness) > 0.0 if has_stops else False
        beyond = np.where(is_stopped, np.maximum(np.maximum(q - upper, lower - q), 0.0), 0.0)
        return FreeTrace(self._simulator.timestep * np.arange(len(q)), q, v, kinetic, potential, beyond, has_stops)
