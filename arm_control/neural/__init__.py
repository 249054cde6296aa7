"""Dynamical systems in spiking neurons: linear systems, synapses, the point attractor, populations of neurons."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.neural.attractor_follower import AttractorFollower, AttractorParameters
    from arm_control.neural.lif_neurons import TAU_RC, TAU_REF
    from arm_control.neural.linear_systems import LinearSystem, point_attractor, scaled_attractor
    from arm_control.neural.populations import (
        INTERCEPTS,
        MAX_RATES,
        NeuralSystem,
        NeuronTuning,
        Population,
        SpikeRecord,
        decoders,
        even_tuning,
        points_in_cube,
        random_tuning,
    )
    from arm_control.neural.stepped_goals import SteppedGoals, follow_stepped_goals
    from arm_control.neural.synapses import compensate
else:
    __getattr__, __dir__, __all__ = face(__name__)
