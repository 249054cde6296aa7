"""All ways of answering states beside each other: the same decisions, and torque with the same bits.

Python and the native loop run machine code for the same processor, made of the same procedures, so nothing is rounded
differently and no difference is allowed, however near a state comes to a threshold.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from random_messages import DatagramWay, NativeDatagramWay, NativeWay, Step, Way, Wire, gate_parameters, steps

from arm_control import RobotModel, urdf_path
from arm_control.gate import GateState

ROBOTS = ("ur5", "planar3", pytest.param("panda", marks=pytest.mark.campaign))
"""One of them with joints that turn on and on."""
N_STEPS = 1000
"""States of a sequence."""
SEEDS = [pytest.param(range(1, 2)), pytest.param(range(100, 212), marks=pytest.mark.campaign)]
"""Sequences of each robot and pair of ways: in a campaign 10^6 states together."""
SYNCHRONOUS = Wire(stamps=0.0, delays=0.0, senders=0.0, ages=0.0)
"""Messages and datagrams differ by design where stamps repeat or go back, or a clock says something else than stamps,
and another sender takes over datagrams only."""


class Unaged(Way):
    """The process behind a topic, on a middleware that does not say when messages were written: as datagrams are."""

    def message(self, step: Step) -> tuple[bytes, dict[str, Any]]:
        data, info = super().message(step)
        return data, {**info, "source_timestamp": None}


PAIRS: dict[str, tuple[type[Way], type[Way], Wire]] = {
    "messages": (Way, NativeWay, Wire()),
    "datagrams": (DatagramWay, NativeDatagramWay, Wire()),
    "both": (Unaged, DatagramWay, SYNCHRONOUS),
}
"""Two ways that must answer alike, and what happens to the states before them."""


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_all_ways_answer_alike(robot: str, pair: str, seeds: range):
    model = RobotModel.from_urdf(urdf_path(robot))
    seen, n_native, n_gaps, n = Counter[str](), 0, 0, 0
    for seed in seeds:
        gate = gate_parameters(np.random.default_rng(seed))
        of_first, of_second, wire = PAIRS[pair]
        first, second = of_first(model, gate), of_second(model, gate)
        for k, step in enumerate(steps(model, seed, N_STEPS, wire)):
            expected, verdict = first.take(step), second.take(step)
            if pair == "both" and expected.state != verdict.state:  # no stamp counts of a state that is refused
                assert verdict.reason.startswith("no state for"), (robot, pair, seed, k)
                assert not np.isfinite([step.q, step.v]).all(), (robot, pair, seed, k)
                n_gaps += 1
                break
            if pair == "both":  # the heads differ, and which of two reasons is found first
                expected, verdict = expected.decision(model.nv), verdict.decision(model.nv)
            assert verdict == expected, (robot, pair, seed, k)
            seen[verdict.state] += 1
            n += 1
        n_native += second.n_native
    print(f"\n{robot}, {pair}: {n} states, {n_native} without Python, {dict(seen)}, {n_gaps} by clock alone")
    assert set(seen) == {state.value for state in GateState}
    assert (n_native > n // 8) is (pair != "both")
