"""What is asked of a task-constrained planner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arm_control.collision import Validity
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.planning.task_constrained.task_path import TaskPath


@dataclass(frozen=True)
class TaskConstrainedProblem:
    """Follow a task path from its begin to its end among obstacles, from time 0 on.

    Attributes
    ----------
    validity : Validity
        Arm and obstacles, which move as told.
    path : TaskPath
        With fewer rows than the arm has joints.
    horizon : float
        Latest arrival [s].
    q_start : ndarray, shape (n,), optional
        Joint positions at time 0, with the end effector at the begin of the path; by default any [rad or m].
    v_max : ndarray, shape (n,), optional
        Largest joint speeds; by default those of the arm [rad/s or m/s].
    tau_max : ndarray, shape (n,), optional
        Largest joint torques, and the motion begins and ends at rest: the dynamic problem. By default only speeds are
        limited: the kinematic problem [N m or N].

    Raises
    ------
    InputError
        When a size is wrong, a limit is not positive, or the arm has no joint to spare.
    """

    validity: Validity
    path: TaskPath
    horizon: float
    q_start: Array | None = None
    v_max: Array | None = None
    tau_max: Array | None = None

    def __post_init__(self) -> None:
        n = self.model.nq
        for name in ("q_start", "v_max", "tau_max"):
            values = getattr(self, name)
            if values is not None and (np.shape(values) != (n,) or not np.isfinite(values).all()):
                raise InputError(f"{name} has shape {np.shape(values)}; needed are {n} finite numbers")
        for name in ("v_max", "tau_max"):
            values = getattr(self, name)
            if values is not None and not (np.asarray(values) > 0.0).all():
                raise InputError(f"{name} = {np.asarray(values).tolist()}: positive numbers are needed")
        if not 0.0 < self.horizon < np.inf:
            raise InputError(f"horizon = {self.horizon}: a positive time is needed [s]")
        if not len(self.path.rows) < n:
            raise InputError(f"a task of {len(self.path.rows)} rows leaves {n} joints nothing to choose")

    @property
    def model(self) -> RobotModel:
        """The arm."""
        return self.validity.shape.model

    @property
    def is_dynamic(self) -> bool:
        """Whether torques are limited."""
        return self.tau_max is not None

    @property
    def speed_limits(self) -> Array:
        """Largest joint speeds, shape (n,) [rad/s or m/s]."""
        return np.asarray(self.model.v_max if self.v_max is None else self.v_max, dtype=float)


@dataclass(frozen=True)
class TaskParameters:
    """How the tree grows.

    Attributes
    ----------
    levels : int
        Pieces of the task path: N samples less one.
    steps : int
        Steps of integration of one piece.
    lanes : int
        Expansions in a round.
    chain : int
        Largest number of pieces of one expansion.
    rounds : int
        Largest number of rounds.
    greedy : float
        Share of the samples at the end of the path.
    waits : float
        Share of the expansions that wait.
    gain : float
        Gain K of the motion law, times the length of a step: the share of an error that a step takes off.
    tolerance : float
        Largest error of the task at the ends of steps [m].
    """

    levels: int = 40
    steps: int = 2
    lanes: int = 64
    chain: int = 8
    rounds: int = 1000
    greedy: float = 0.5
    waits: float = 0.3
    gain: float = 0.5
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        for name in ("levels", "steps", "lanes", "chain", "rounds"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; 1 or more is needed")
        for name in ("greedy", "waits", "gain"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name} is {getattr(self, name)}; allowed: 0 to 1")
        if not 0.0 < self.tolerance < np.inf:
            raise InputError(f"tolerance is {self.tolerance}; a positive number is needed [m]")


DEFAULTS = TaskParameters()
"""How trees grow by default."""
