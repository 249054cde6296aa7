"""The controller of chunks: joint positions or poses of a learned policy, followed by a law of joint space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_control.control import (
    JOINT_TERMS,
    Controller,
    ControllerNodeParameters,
    ControllerRow,
    JointParameters,
    JointSpaceController,
    LawOutput,
    LoopParameters,
    Measurement,
)
from arm_control.core import Parameters, group
from arm_control.exceptions import InputError
from arm_control.follow import BOUNDS, REFUSE, SLEW, ChunkFollower, ChunkParameters, StiffnessParameters, StiffnessTank
from arm_control.maths import Array
from arm_control.model import RobotModel, Terms
from arm_control.motion import ChunkGoal, Goal, GoalQueue, JointReference, JointStiffness, Modulation

CAPACITY = 2000
"""Chunks that a simulation may have ahead, or a node behind."""


@dataclass(frozen=True)
class FollowParameters(Parameters):
    """Joint space control: its law, how it follows chunks, and how its stiffness changes."""

    law: JointParameters = group(JointParameters)
    chunks: ChunkParameters = group(ChunkParameters)
    stiffness: StiffnessParameters = group(StiffnessParameters)


@dataclass(frozen=True)
class FollowLoopParameters(LoopParameters):
    """Chunks followed behind a gate."""

    control: FollowParameters = group(FollowParameters)


@dataclass(frozen=True)
class FollowNodeParameters(FollowLoopParameters, ControllerNodeParameters):
    """Parameters of the node ``follow``."""


class FollowController(Controller):
    """Joint space control along the chunks of a policy (:mod:`arm_control.follow`).

    Attributes
    ----------
    follower : ChunkFollower
        It holds the arm where a run begins, and where a brake has left it.
    stiffness : StiffnessTank
        Shares of the law's stiffness and damping.
    """

    has_schedule = True

    def __init__(self, model: RobotModel, parameters: FollowParameters) -> None:
        self._model = model
        self._stiffness_parameters = parameters.stiffness
        self._forget()
        self._held: Array | None = np.clip(np.zeros(model.nq), model.q_min, model.q_max)
        self._has_run = False
        self.follower = ChunkFollower(model, parameters.chunks, self._held, 0)
        self.configure(parameters)

    def _forget(self) -> None:
        """Know no chunk, and be stiff."""
        self._chunks: GoalQueue[ChunkGoal] = GoalQueue(CAPACITY)
        self._shares: dict[str, GoalQueue[Modulation]] = {name: GoalQueue(CAPACITY) for name in BOUNDS}
        self._due_shares: dict[str, Modulation] = {}
        self._tied: list[JointStiffness] = []
        self.stiffness = StiffnessTank(self._stiffness_parameters)
        self._due: ChunkGoal | None = None

    def configure(self, parameters: FollowParameters) -> None:
        """Take another law; how chunks are followed does not change while the arm may move."""
        self._law = JointSpaceController(self._model, parameters.law)
        self.scales_with_inertia = self._law.scales_with_inertia

    def prepare_poses(self) -> None:
        """Compile what a chunk of poses needs, which takes longer than a tick."""
        self.follower.prepare_poses()

    def add(self, goal: Goal) -> None:
        if isinstance(goal, Modulation):
            check_shares(goal.quantity, np.array([goal.value]))
            self._shares[goal.quantity].add(goal)
        elif isinstance(goal, JointStiffness):
            check_shares("stiffness", goal.stiffness)
            check_shares("damping", goal.damping)
            self._tied = sorted([*self._tied, goal], key=lambda one: one.chunk_ns)[-CAPACITY:]
        elif isinstance(goal, ChunkGoal):
            self._chunks.add(goal)
        else:
            raise InputError("chunks are followed, and no other goals")

    def restart(self, q: Array) -> None:
        if self._has_run:  # chunks of before mean nothing any more
            self._forget()
        self._has_run = True
        self.begin(q)

    def begin(self, q: Array) -> None:
        self._chunks.restart()
        self._held, self._is_holding, self._due = q, False, None

    def hold(self, stamp_ns: int, q: Array) -> None:
        self._chunks.end(stamp_ns)
        self._held, self._is_holding = q, True

    def tick(self, measurement: Measurement, tau_dist: Array | None, *_: Any) -> LawOutput:
        stamp_ns, refused = measurement.stamp_ns, None
        if self._held is not None:
            self.follower.restart(self._held, stamp_ns)
            self._held = None
        due = self._chunks.active(stamp_ns)
        if due is not None and due is not self._due:
            self._due = due
            report = self.follower.take(due.chunk, stamp_ns)
            refused = InputError(report.reason) if report.band == REFUSE else None
            self._is_holding = self._is_holding and report.band == REFUSE
        reference = self.follower.at(stamp_ns)
        terms = self._model.evaluate(measurement.q, measurement.v)
        self._change_stiffness(measurement, terms, reference)
        shares = self.stiffness.stiffness, self.stiffness.damping
        return self._law.answer(terms, reference, lambda: self._chunk_figures(stamp_ns), refused, shares)

    def _change_stiffness(self, measurement: Measurement, terms: Terms, reference: JointReference) -> None:
        """Move the shares of stiffness and damping towards those that are due."""
        tank, law = self.stiffness, self._law
        for quantity, queue in self._shares.items():
            due = queue.active(measurement.stamp_ns)
            if due is not None and due is not self._due_shares.get(quantity):
                self._due_shares[quantity] = due
                tank.ask(quantity, due.value)
        if self._tied:
            self._untie(measurement.stamp_ns)
        if not tank.rests:
            power = law.power(terms, reference, tank.damping)
            tank.step(lambda s: law.energy(terms, reference, s), power, measurement.dt)

    def _untie(self, stamp_ns: int) -> None:
        """Want the shares whose chunk is joined."""
        joined_ns = max(self.follower.newest_ns, 0)
        due = [one for one in self._tied if one.stamp_ns <= stamp_ns and one.chunk_ns <= joined_ns]
        self._tied = [one for one in self._tied if all(one is not other for other in due)]
        for one in due:
            for quantity, shares in (("stiffness", one.stiffness), ("damping", one.damping)):
                if len(shares):
                    self.stiffness.ask(quantity, shares)

    def _chunk_figures(self, stamp_ns: int) -> dict[str, float]:
        last, counts = self.follower.last, self.follower.counts
        return {
            "chunk_latency": 0.0 if last is None else last.latency,
            "chunk_error": 0.0 if last is None else last.error,
            "chunks_slewed": float(counts[SLEW]),
            "chunks_refused": float(counts[REFUSE]),
            "stale": float(self.follower.is_stale(stamp_ns)),
            "stiffness": float(np.min(self.stiffness.stiffness)),
        }


def check_shares(quantity: str, shares: Array) -> None:
    """Raise an InputError where a share of a quantity is out of its bounds."""
    low, high = BOUNDS[quantity]
    if len(wrong := shares[~((shares >= low) & (shares <= high))]):
        raise InputError(f"{quantity} {wrong[0]:g}: from {low:g} to {high:g} is allowed")


ROW = ControllerRow(
    name="follow",
    parameters=FollowLoopParameters,
    node_parameters=FollowNodeParameters,
    make=lambda model, parameters: FollowController(model, parameters.control),
    torque_terms=JOINT_TERMS,
    figures=("joint_error", "chunk_latency", "chunk_error", "chunks_slewed", "chunks_refused", "stale", "stiffness"),
    goals=("joint_chunk", "pose_chunk", "joint_stiffness"),
    numbers={
        "stiffness": "share of the stiffness, 0.01 to 1, reached at a bounded rate from now on",
        "damping": "share of the damping that belongs to it, 0.1 to 1",
    },
    at_rate=lambda rate: {"period": 1.0 / rate},
)
