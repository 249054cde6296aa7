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
from arm_control.follow import REFUSE, SLEW, ChunkFollower, ChunkParameters
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import ChunkGoal, Goal, GoalQueue

CAPACITY = 2000
"""Chunks that a simulation may have ahead, or a node behind."""


@dataclass(frozen=True)
class FollowParameters(Parameters):
    """Joint space control: its law, and how it follows chunks."""

    law: JointParameters = group(JointParameters)
    chunks: ChunkParameters = group(ChunkParameters)


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
    """

    has_schedule = True

    def __init__(self, model: RobotModel, parameters: FollowParameters) -> None:
        self._model = model
        self._chunks: GoalQueue[ChunkGoal] = GoalQueue(CAPACITY)
        self._due: ChunkGoal | None = None
        self._held: Array | None = np.clip(np.zeros(model.nq), model.q_min, model.q_max)
        self._has_run = False
        self.follower = ChunkFollower(model, parameters.chunks, self._held, 0)
        self.configure(parameters)

    def configure(self, parameters: FollowParameters) -> None:
        """Take another law; how chunks are followed does not change while the arm may move."""
        self._law = JointSpaceController(self._model, parameters.law)
        self.scales_with_inertia = self._law.scales_with_inertia

    def prepare_poses(self) -> None:
        """Compile what a chunk of poses needs, which takes longer than a tick."""
        self.follower.prepare_poses()

    def add(self, goal: Goal) -> None:
        if not isinstance(goal, ChunkGoal):
            raise InputError("chunks are followed, and no other goals")
        self._chunks.add(goal)

    def restart(self, q: Array) -> None:
        if self._has_run:  # chunks of before mean nothing any more
            self._chunks = GoalQueue(CAPACITY)
        self._has_run, self._held, self._is_holding, self._due = True, q, False, None

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
        return self._law.answer(measurement, reference, lambda: self._chunk_figures(stamp_ns), refused)

    def _chunk_figures(self, stamp_ns: int) -> dict[str, float]:
        last, counts = self.follower.last, self.follower.counts
        return {
            "chunk_latency": 0.0 if last is None else last.latency,
            "chunk_error": 0.0 if last is None else last.error,
            "chunks_slewed": float(counts[SLEW]),
            "chunks_refused": float(counts[REFUSE]),
            "stale": float(self.follower.is_stale(stamp_ns)),
        }


ROW = ControllerRow(
    name="follow",
    parameters=FollowLoopParameters,
    node_parameters=FollowNodeParameters,
    make=lambda model, parameters: FollowController(model, parameters.control),
    torque_terms=JOINT_TERMS,
    figures=("joint_error", "chunk_latency", "chunk_error", "chunks_slewed", "chunks_refused", "stale"),
    goals=("joint_chunk", "pose_chunk"),
    at_rate=lambda rate: {"period": 1.0 / rate},
)
