"""Following of chunks: joint positions that a policy sends again and again, late and contradicting the last ones.

A chunk says where the joints are to be at times after the observation it was made from. What of it is past is dropped;
the rest joins the motion under way (:mod:`arm_control.follow.chunk_plan`), whose plan always ends at rest: at the last
point of the newest chunk, unless the next one comes before. A chunk falls in one of three bands,

    pass      it is followed, smoothed over ``join_time``
    slew      a limit of speed, acceleration, jerk, position or torque makes the plan smoother, or bends it
    refuse    it is dropped, with the reason, and the plan under way goes on

so a plan counts only with all its limits proved, the stop at its end included, and refusing costs nothing of that.
Poses become joint positions one after the other, from the motion under way on, so that the arm stays on its branch.
Poses in a frame that moves with the arm count from where that frame was *meant* to be at the observation: from where it
was measured, a hand that is pressed or sags would go further with each chunk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.compiler import (
    ArrayResult,
    CallForm,
    KernelCall,
    NumberArgument,
    OwnWork,
    TupleResult,
    builtin_call,
    compile_procedure,
)
from arm_control.core import NANOSECONDS, Parameters, parameter
from arm_control.exceptions import ArmControlError, FrameNotFound, InputError
from arm_control.follow import chunk_plan as plan
from arm_control.follow.torque_bound import torque_law, torque_samples
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, rotations_from_quaternions
from arm_control.model import RobotModel
from arm_control.motion import Chunk, JointReference, PoseChunk

KNOT_NS = 20_000_000
"""Time between two knots [ns]."""
MOST_POINTS = 500
"""Largest number of points in a chunk."""
PASS, SLEW, REFUSE = "pass", "slew", "refuse"
NEVER_SEEN = -(2**63)
"""Stamp before all chunks [ns]."""
POSE_COLUMNS = np.arange(7)
"""Numbers of a pose."""
PER_TAU = 6.0
"""Time of a join, over tau."""
N_PAST = 100
"""Former plans that are kept, each for one time between knots or more: 2 s."""


@dataclass(frozen=True)
class ChunkParameters(Parameters):
    """How chunks are followed."""

    join_time: float = parameter(
        0.3, "time in which 95 % of a jump from chunk to chunk are made", unit="s", lower=0.12, upper=3.0
    )
    follow_speed: float = parameter(1.0, "speed, as a share of the speed limits", lower=0.01, upper=1.0)
    follow_acceleration: float = parameter(10.0, "largest acceleration of a joint", unit="rad/s^2", lower=0.01)
    follow_jerk: float = parameter(500.0, "largest jerk of a joint", unit="rad/s^3", lower=0.1)
    follow_torque: float = parameter(
        0.8, "largest torque of the reference, as a share of the effort limits; 0: not bounded", lower=0.0, upper=1.0
    )
    max_jump: float = parameter(
        0.2, "a chunk that begins farther from the motion under way is refused", unit="rad or m", lower=1e-4
    )
    newest_weight: float = parameter(
        1.0, "weight of the newest chunk where chunks overlap; 1: it alone counts", lower=0.01, upper=1.0
    )
    chunk_horizon: float = parameter(
        2.0, "longest part of a chunk that is followed before it comes to rest", unit="s", lower=0.1, upper=20.0
    )


class ChunkReport(NamedTuple):
    """What has become of a chunk.

    Attributes
    ----------
    band : str
        ``pass``, ``slew`` or ``refuse``.
    reason : str
        Why it is refused, or what limits it; empty where it passes.
    latency : float
        Time since its observation [s].
    error : float
        Largest distance of the plan from the chunk, the join included [rad or m].
    """

    band: str
    reason: str
    latency: float
    error: float


class ChunkFollower:
    """Follows chunks with the joints of one arm.

    Parameters
    ----------
    q : array_like, shape (nv,)
        Position to hold until the first chunk comes [rad or m].
    now_ns : int
        Time now [ns].

    Attributes
    ----------
    counts : dict of str to int
        Number of chunks in each band.
    last : ChunkReport or None
        What has become of the newest chunk.
    newest_ns : int
        Stamp of the newest chunk that was joined [ns]; far in the past: none was.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> follower = ChunkFollower(model, ChunkParameters(), np.zeros(6), now_ns=0)
    >>> times = np.arange(1, 31) / 30.0
    >>> follower.take(Chunk(0, times, 0.1 * np.outer(times, np.ones(6))), now_ns=80_000_000).band
    'pass'
    >>> follower.at(500_000_000).q_des.round(3)
    array([0.05, 0.05, 0.05, 0.05, 0.05, 0.05])
    """

    def __init__(self, model: RobotModel, parameters: ChunkParameters, q: npt.ArrayLike, now_ns: int) -> None:
        self.parameters, self._model = parameters, model
        self._memory = memory = _memory(model, parameters)
        self._torque: OwnWork | None = None
        if parameters.follow_torque > 0.0:
            kernel = model.compile_law(torque_law(model), torque_samples(model))
            self._torque = work = OwnWork(kernel)
            arrays = {name: x for name, x in (work.inputs | work.outputs).items() if name != "tool"}
            largest = parameters.follow_torque * model.tau_max
            record = plan.TorqueMemory(memory, work, before=np.zeros(model.nv), largest=largest, **arrays)
            self._join: Any = compile_procedure(plan.join_within_torque, keeps_lock=True)(record)
        else:
            self._join = compile_procedure(plan.join_chunk, keeps_lock=True)(memory)
        self._read = _reader(memory)
        self._named: tuple[Sequence[str], Array] = (), np.arange(model.nv)
        self.counts = {PASS: 0, SLEW: 0, REFUSE: 0}
        self.last: ChunkReport | None = None
        self.restart(q, now_ns)

    def restart(self, q: npt.ArrayLike, now_ns: int) -> None:
        """Hold the arm at q from now on, and forget the chunks so far."""
        m, q = self._memory, np.asarray(q, dtype=float)
        if q.shape != (m.n,) or not np.isfinite(q).all():
            raise InputError(f"q is {q.tolist()}; {m.n} finite numbers are needed")
        m.plan[:] = q[:, None]
        m.limits[plan.LOW], m.limits[plan.HIGH] = np.minimum(self._model.q_min, q), np.maximum(self._model.q_max, q)
        m.counts[plan.KNOWN] = 0
        self._base_ns, self.newest_ns, self._path_ns = now_ns, NEVER_SEEN, now_ns
        self._past: deque[tuple[int, Array]] = deque(maxlen=N_PAST)

    def prepare_poses(self) -> None:
        """Compile what the first chunk of poses would compile, which takes longer than a tick."""
        self._inverse_kinematics.along([], np.zeros(self._model.nq))

    def take(self, chunk: Chunk | PoseChunk, now_ns: int) -> ChunkReport:
        """Follow a chunk from now on, or say why it is refused."""
        try:
            self.last = self._joined(chunk, now_ns)
        except ArmControlError as error:
            self.last = ChunkReport(REFUSE, str(error), (now_ns - chunk.stamp_ns) / NANOSECONDS, 0.0)
        self.counts[self.last.band] += 1
        return self.last

    @property
    def points(self) -> Array:
        """Joint positions of the newest chunk, as far as it has some, shape (k, nv) [rad or m]."""
        return self._memory.chunk[: self._memory.counts[plan.N_POINTS]]

    def at(self, now_ns: int) -> JointReference:
        """Return the reference at a time [ns], not before the chunk that was taken last."""
        reference: JointReference = self._read((now_ns - self._base_ns) / NANOSECONDS)
        return reference

    def is_stale(self, now_ns: int) -> bool:
        """Whether the newest chunk has come to its end, or none has come yet."""
        return now_ns >= self._path_ns

    def _joined(self, chunk: Chunk | PoseChunk, now_ns: int) -> ChunkReport:
        """Join a chunk to the plan; an error where it is refused."""
        m, latency = self._memory, (now_ns - chunk.stamp_ns) / NANOSECONDS
        m.counts[plan.N_POINTS] = 0
        if latency < 0.0:
            raise InputError(f"it was observed {-latency:.3f} s after now")
        if chunk.stamp_ns <= self.newest_ns:
            raise InputError("it is not newer than the last one")
        times, rows = self._numbers(chunk)
        if isinstance(chunk, PoseChunk):
            times, rows = self._joints(chunk, times, rows, now_ns)
        span = max((now_ns - self._base_ns) // KNOT_NS, 0)
        base_ns = self._base_ns + span * KNOT_NS
        m.counts[plan.N_POINTS] = n = len(times)
        m.chunk[:n], m.times[:n] = rows, times + (chunk.stamp_ns - base_ns) / NANOSECONDS
        if self._torque is not None:
            self._torque.inputs["tool"][:] = self._model.tool
        m.counts[plan.SPAN] = span
        before = m.plan[:, : span + plan.FROZEN].copy() if span else None
        result = self._join()
        if result != plan.ACCEPTED:
            raise InputError(self._fault(result))
        if before is not None:
            self._past.append((self._base_ns, before))
        self._base_ns, self.newest_ns = base_ns, chunk.stamp_ns
        self._path_ns = base_ns + int(m.counts[plan.PATH] - 2) * KNOT_NS
        limited = self._limited()
        return ChunkReport(SLEW if limited else PASS, limited, latency, float(m.numbers[plan.ERROR]))

    @cached_property
    def _inverse_kinematics(self) -> InverseKinematics:
        return InverseKinematics(self._model, n_starts=1)

    def _joints(self, chunk: PoseChunk, times: Array, rows: Array, now_ns: int) -> tuple[Array, Array]:
        """Times and joint positions of a chunk of poses, from the last pose before now on."""
        model, poses, frame = self._model, _matrices(rows), chunk.frame or self._model.base
        if frame not in model.frames:
            raise FrameNotFound(frame, model.frames)
        first = max(int(np.searchsorted(times, (now_ns - chunk.stamp_ns) / NANOSECONDS, side="right")) - 1, 0)
        q = self.at(max(now_ns, chunk.stamp_ns + int(times[first] * NANOSECONDS))).q_des
        q_frame = self._past_positions(chunk.stamp_ns) if model.tree.frames[frame].body >= 0 else q
        poses = model.pose(q_frame, None if frame == model.tip else frame).matrix() @ poses[first:]
        positions = self._inverse_kinematics.along(poses, q)
        if len(positions) < len(poses):
            p = poses[len(positions), :3, 3].round(3).tolist()
            raise InputError(f"pose {first + len(positions)}, at {p} m, is out of reach on this branch")
        return times[first:], positions

    def _past_positions(self, stamp_ns: int) -> Array:
        """Joint positions of the reference at a time up to now [ns]."""
        for base_ns, points in ((self._base_ns, self._memory.plan), *reversed(self._past)):
            if base_ns <= stamp_ns:
                k, s = divmod((stamp_ns - base_ns) / KNOT_NS, 1.0)
                i = min(int(k), points.shape[1] - plan.FROZEN)
                r = 1.0 - s
                weights = np.array([r**3, 4.0 - 3.0 * s * s * (1.0 + r), 4.0 - 3.0 * r * r * (1.0 + s), s**3]) / 6.0
                return points[:, i : i + plan.FROZEN] @ weights
        raise InputError("it was observed before all that is known of this motion")

    def _numbers(self, chunk: Chunk | PoseChunk) -> tuple[Array, Array]:
        """Times of a chunk, and its positions in the model's order, or its poses as they are."""
        try:
            numbers = chunk.poses if isinstance(chunk, PoseChunk) else chunk.positions
            times, rows = np.asarray(chunk.times, dtype=float), np.asarray(numbers, dtype=float)
            n, columns = len(times), POSE_COLUMNS if isinstance(chunk, PoseChunk) else self._columns(chunk.names)
        except InputError:
            raise
        except (TypeError, ValueError) as error:
            raise InputError(f"no numbers, or no names: {error}") from None
        if times.ndim != 1 or rows.shape != (n, len(columns)) or not 0 < n <= MOST_POINTS:
            what, row = "positions", f"a position of each of {len(columns)} joints"
            if columns is POSE_COLUMNS:
                what, row = "poses", "x y z and a quaternion x y z w"
            raise InputError(
                f"{what} of shape {rows.shape} at times of shape {times.shape}; allowed: 1 to {MOST_POINTS} times,"
                f" and {row} at each"
            )
        if not np.isfinite(times).all() or (times[1:] <= times[:-1]).any():
            raise InputError("its times do not increase")
        return times, rows[:, columns]

    def _columns(self, names: Sequence[str]) -> Array:
        """Column of each joint; the model's order without names."""
        if names != self._named[0]:
            known = self._model.joint_names
            if sorted(names or known) != sorted(known):
                raise InputError(f"it has the joints {', '.join(names)}; the arm has {', '.join(known)}")
            self._named = names, np.array([list(names or known).index(name) for name in known])
        return self._named[1]

    def _fault(self, result: float) -> str:
        """Why the chunk that was read is refused."""
        m, p = self._memory, self.parameters
        name, size = self._model.joint_names[m.counts[plan.JOINT]], f"{m.numbers[plan.SIZE]:.3g}"
        return {
            plan.NOT_FINITE: f"{name} has a position that is no number",
            plan.OUTSIDE: f"{name} at {size} is out of its limits",
            plan.TORN: f"{name} jumps by {size} between two points",
            plan.JUMPS: f"{name} begins {size} away; max_jump is {p.max_jump:g}",
            plan.PAST: "all its points are past",
            plan.TOO_HEAVY: f"{name} needs a torque up to {size}; follow_torque is {p.follow_torque:g}",
        }.get(result, f"{name} has no plan within its limits")

    def _limited(self) -> str:
        """What limits the plan; empty where nothing does."""
        m = self._memory
        if m.counts[plan.N_CLAMPED]:
            return f"{m.counts[plan.N_CLAMPED]} control points at a limit"
        level = int(m.counts[plan.LEVEL])
        return f"joined over {self.parameters.join_time * plan.GROWTH**level:.2g} s" if level else ""


def _matrices(rows: Array) -> Array:
    """Poses, shape (k, 4, 4), of positions and quaternions, shape (k, 7)."""
    is_pose = (abs(rows) < plan.FARTHEST).all(axis=1) & (abs(rows[:, 3:]).max(axis=1) > plan.ROUNDING)
    if not is_pose.all():
        i = int(np.argmin(is_pose))
        raise InputError(f"pose {i} is {rows[i].tolist()}; allowed: finite numbers, and a quaternion other than 0")
    X = np.tile(np.eye(4), (len(rows), 1, 1))
    X[:, :3, :3] = rotations_from_quaternions(rows[:, 3:] / np.linalg.norm(rows[:, 3:], axis=1)[:, None])
    X[:, :3, 3] = rows[:, :3]
    return X


def _memory(model: RobotModel, p: ChunkParameters) -> plan.PlanMemory:
    """Memory of a follower, with limits in knots."""
    n, h = model.nv, KNOT_NS / NANOSECONDS
    V, A, J = p.follow_speed * model.v_max * h, p.follow_acceleration * h**2, p.follow_jerk * h**3
    n_brake = int((V / A).max() + 4.0 * A / J) + 10
    capacity = 2 * plan.FROZEN + int(p.chunk_horizon / h) + 3 + plan.SETTLING + n_brake
    taus = p.join_time / PER_TAU / h * plan.GROWTH ** np.arange(plan.LEVELS)
    limits = np.array([np.full(n, J), np.full(n, A), V, model.q_min, model.q_max])
    numbers = np.array([h, p.chunk_horizon, p.max_jump, p.newest_weight, 0.0, 0.0])
    control, current, smooth, intent, intended = np.zeros((5, n, capacity))
    gains, ends = np.array([plan.gains_of(tau) for tau in taus]), np.zeros(n, np.int64)
    return plan.PlanMemory(
        control,
        current,
        intent,
        intended,
        smooth,
        np.zeros((MOST_POINTS, n)),
        np.zeros(MOST_POINTS),
        limits,
        gains,
        np.zeros(plan.N_COUNTS, np.int64),
        ends,
        numbers,
        capacity,
        n,
    )


def _reader(memory: plan.PlanMemory) -> Callable[[float], JointReference]:
    """Return a function of the time from the first knot of a plan [s], which gives the reference."""
    n, last = memory.n, memory.capacity - plan.FROZEN
    t, outputs = np.zeros(1), dict(zip(("q", "v", "a"), np.zeros((3, n)), strict=True))
    spline = plan.SplineMemory(memory.plan, t, h=float(memory.numbers[plan.H]), last=last, n=n, **outputs)
    form = CallForm("at", (NumberArgument("t"),), TupleResult(JointReference, tuple(map(ArrayResult, outputs))))
    call = KernelCall(form, compile_procedure(plan.read_spline, keeps_lock=True)(spline), {"t": t}, outputs, {})
    return builtin_call(call, call.__call__) or call
