"""A linear system as a network of Nengo (extra ``nengo``): an ensemble with feedback, to build larger models with.

    input --(B', synapse)--> ensemble --(A', synapse)--> ensemble
                                 +------(no synapse)---> output

A' and B' compensate the synapse as in :mod:`arm_control.neural.synapses`: continuous, as for analogue hardware, or
discrete, for the steps of a simulation. The output has no synapse of its own, which would delay it.

Nengo is published under the GPL, version 2; the package itself does not import it.

Source: T. Bekolay et al., "Nengo: a Python tool for building large-scale functional brain models", Frontiers in
Neuroinformatics 7, 2014.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from arm_control.exceptions import MissingExtra
from arm_control.neural import INTERCEPTS, MAX_RATES, TAU_RC, TAU_REF, LinearSystem, NeuronTuning, compensate


class NengoSystem(NamedTuple):
    """A network, and its parts.

    Attributes
    ----------
    network : nengo.Network
        All of it.
    input : nengo.Node
        The input u.
    ensemble : nengo.Ensemble
        Neurons that represent the state.
    output : nengo.Node
        The decoded state.
    """

    network: Any
    input: Any
    ensemble: Any
    output: Any


def nengo_system(
    system: LinearSystem,
    tau: float,
    dt: float | None,
    *,
    n_neurons: int = 1000,
    tuning: NeuronTuning | None = None,
    solver: Any = None,
    is_direct: bool = False,
    seed: int = 0,
) -> NengoSystem:
    """Return the network of a system.

    Parameters
    ----------
    system : LinearSystem
        The wanted system, continuous; its state in units in which it stays within -1 and 1.
    tau : float
        Time constant of the synapse [s].
    dt : float or None
        Step of the simulation that is compensated [s]; None: continuous compensation.
    n_neurons : int
        Number of neurons, tuned to one axis each.
    tuning : NeuronTuning, optional
        Other neurons than those that Nengo draws.
    solver : nengo.solvers.Solver, optional
        What makes the decoders; by default Nengo's.
    is_direct : bool
        Whether the state is computed without neurons, and so without noise.
    seed : int
        Of what Nengo draws.

    Raises
    ------
    MissingExtra
        When Nengo is not installed.
    """
    nengo = _nengo()
    A, B = compensate(system if dt is None else system.discretized(dt), tau)
    d, m = system.B.shape
    with nengo.Network(seed=seed) as network:
        source, output = nengo.Node(size_in=m), nengo.Node(size_in=d)
        if is_direct:
            ensemble = nengo.Ensemble(1, d, neuron_type=nengo.Direct())
        else:
            ensemble = nengo.Ensemble(**_neurons(nengo, n_neurons, d, tuning))
        solver = nengo.solvers.LstsqL2() if solver is None else solver
        nengo.Connection(ensemble, ensemble, transform=A, synapse=nengo.Lowpass(tau), solver=solver)
        nengo.Connection(source, ensemble, transform=B, synapse=nengo.Lowpass(tau))
        nengo.Connection(ensemble, output, synapse=None, solver=solver)
    return NengoSystem(network, source, ensemble, output)


def _neurons(nengo: Any, n: int, d: int, tuning: NeuronTuning | None) -> dict[str, Any]:
    """Arguments of an ensemble."""
    if tuning is None:
        axes = np.eye(d)
        return {
            "n_neurons": n,
            "dimensions": d,
            "encoders": nengo.dists.Choice([*axes, *-axes]),
            "max_rates": nengo.dists.Uniform(*MAX_RATES),
            "intercepts": nengo.dists.Uniform(*INTERCEPTS),
            "neuron_type": nengo.LIF(tau_rc=TAU_RC, tau_ref=TAU_REF),
        }
    start = {"voltage": tuning.v_start}
    return {
        "n_neurons": len(tuning.gains),
        "dimensions": d,
        "encoders": tuning.encoders,
        "gain": tuning.gains,
        "bias": tuning.biases,
        "neuron_type": nengo.LIF(tau_rc=TAU_RC, tau_ref=TAU_REF, initial_state=start),
    }


def _nengo() -> Any:
    try:
        import nengo  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtra("nengo", "nengo") from error
    return nengo
