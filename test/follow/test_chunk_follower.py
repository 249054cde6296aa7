"""Chunks are followed without a jump, within limits that hold between the knots, too, and the arm comes to rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.follow import PASS, REFUSE, SLEW, ChunkFollower, ChunkParameters
from arm_control.follow import chunk_plan as plan
from arm_control.follow.chunk_follower import KNOT_NS
from arm_control.maths import Array
from arm_control.model import RobotModel, Tool
from arm_control.motion import Chunk, JointReference, stacked

MS = 1_000_000
FREE = ChunkParameters(follow_torque=0.0)
TIMES = np.arange(1, 31) / 30.0
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])


def chunk(stamp_ms: float, path: Array | float, times: Array = TIMES) -> Chunk:
    """A chunk of all joints together, beside HOME."""
    return Chunk(int(stamp_ms * MS), times, HOME + np.broadcast_to(path, (len(times),))[:, None])


def wave(t_ms: float, times: Array = TIMES) -> Array:
    return 0.1 * np.sin(2.0 * (t_ms / 1e3 + times))


def follower(model: RobotModel, parameters: ChunkParameters = FREE) -> ChunkFollower:
    return ChunkFollower(model, parameters, HOME, 0)


def motion(f: ChunkFollower, first_ms: float, last_ms: float, step_ms: float = 1.0) -> tuple[Array, Array, Array]:
    return stacked([f.at(int(ms * MS)) for ms in np.arange(first_ms, last_ms, step_ms)])


def streamed(f: ChunkFollower, chunks: Iterator[tuple[int, Chunk]], step_ns: int) -> list[JointReference]:
    """References from 0 on, while chunks come at some times [ns]; each is taken in the next tick."""
    references, now_ns = [], 0
    for at_ns, one in chunks:
        while now_ns < at_ns:
            references.append(f.at(now_ns))
            now_ns += step_ns
        f.take(one, now_ns)
    return references + [f.at(now_ns + k * step_ns) for k in range(3_000_000_000 // step_ns)]


# -- a chunk that can be followed ----------------------------------------------------------------------


def test_a_smooth_stream_is_followed_without_delay(ur5: RobotModel):
    f = follower(ur5)
    for k in range(40):
        assert f.take(chunk(66 * k, wave(66 * k)), (66 * k + 50) * MS).band == PASS
    q, v, a = motion(f, 2630, 2700)
    t = np.arange(2630, 2700) / 1e3
    np.testing.assert_allclose(q[:, 0], 0.1 * np.sin(2.0 * t), atol=2e-4)
    np.testing.assert_allclose(v[:, 3], 0.2 * np.cos(2.0 * t), atol=2e-3)
    np.testing.assert_allclose(a[:, 5], -0.4 * np.sin(2.0 * t), atol=0.05)
    assert f.counts == {PASS: 40, SLEW: 0, REFUSE: 0}


def test_points_of_the_past_are_dropped_and_latency_is_measured(ur5: RobotModel):
    f = follower(ur5)
    report = f.take(chunk(0, np.linspace(0.0, 0.05, 30)), 800 * MS)
    assert report == (PASS, "", 0.8, report.error)
    assert 0.03 < report.error < 0.05
    assert f.at(1900 * MS).q_des[0] == pytest.approx(0.05, abs=5e-4)
    assert f.take(chunk(900, 0.0), 2000 * MS).reason == "all its points are past"


def test_a_jump_is_joined_within_the_stated_time(ur5: RobotModel):
    for join_time in (0.15, 0.3, 0.6):
        f = follower(ur5, replace(FREE, join_time=join_time, follow_jerk=5000.0, follow_acceleration=50.0))
        assert f.take(chunk(0, 0.02, np.arange(1, 61) / 30.0), 10 * MS).band == PASS
        after = 2 * KNOT_NS / 1e9 + join_time  # what acts now cannot change
        q, _, _ = motion(f, 1e3 * after, 1800)
        assert abs(q[:, 0] - 0.02).max() < 0.05 * 0.02
        assert abs(f.at(int((0.35 * join_time) * 1e9)).q_des[0] - 0.02) > 0.05 * 0.02


def test_a_plan_costs_least_of_all():
    """The two runs of the filter give what minimises (2), with the points that stay."""
    tau, n, rng = 2.5, 160, np.random.default_rng(0)
    g = plan.gains_of(tau)
    u = np.concatenate([np.cumsum(rng.normal(size=60)), np.full(n, 3.0)])
    y, d, e, smooth = u[-1], 0.0, 0.0, np.empty_like(u)
    for i in reversed(range(len(u))):
        e += g[0] * (u[i] - y) + g[1] * d - g[2] * e
        d, y = d + e, y + d + e
        smooth[i] = y
    held = np.array([0.3, 0.1, -0.4])
    c, d, e, found = held[2], held[2] - held[1], held[2] - 2 * held[1] + held[0], []
    for value in smooth:
        e += g[0] * (value - c) + g[1] * d - g[2] * e
        d, c = d + e, c + d + e
        found.append(c)
    third = np.diff(np.eye(len(u) + 3), 3, axis=0) * tau**3
    rows = np.vstack([np.eye(len(u) + 3)[3:], third])
    right = np.concatenate([u, np.zeros(len(third))]) - rows[:, :3] @ held
    best = np.linalg.lstsq(rows[:, 3:], right, rcond=None)[0]
    np.testing.assert_allclose(found[:150], best[:150], atol=1e-9)


def test_where_chunks_overlap_the_newest_has_its_weight(ur5: RobotModel):
    rest = []
    for weight in (1.0, 0.5):
        f = follower(ur5, replace(FREE, newest_weight=weight))
        f.take(chunk(0, 0.0, np.arange(1, 61) / 30.0), 10 * MS)
        f.take(chunk(20, 0.02, np.arange(1, 61) / 30.0), 40 * MS)
        rest.append(f.at(1500 * MS).q_des[0])
    np.testing.assert_allclose(rest, [0.02, 0.01], atol=1e-4)


def test_beyond_the_chunk_before_the_newest_counts_alone(ur5: RobotModel):
    f = follower(ur5, replace(FREE, newest_weight=0.5))
    f.take(chunk(0, 0.0, TIMES[:9]), 10 * MS)
    f.take(chunk(20, 0.0), 40 * MS)
    np.testing.assert_allclose(motion(f, 40, 1500, 10)[0] - HOME, 0.0, atol=1e-12)


def test_a_chunk_that_begins_later_is_reached_in_a_straight_line(ur5: RobotModel):
    f = follower(ur5)
    f.take(chunk(0, 0.1, TIMES + 0.5), 0)
    slope = 0.1 / (0.5 + TIMES[0] - 2 * KNOT_NS / 1e9)
    assert f.at(270 * MS).q_des[0] == pytest.approx((0.27 - 2 * KNOT_NS / 1e9) * slope, abs=5e-4)


def test_what_is_too_fast_to_join_is_joined_over_a_longer_time(ur5: RobotModel):
    report = follower(ur5).take(chunk(0, 0.12), 10 * MS)
    assert report[:2] == (SLEW, "joined over 0.45 s")


def test_it_never_stops_at_the_end_of_a_chunk_while_the_next_one_arrives(ur5: RobotModel):
    f, slowest = follower(ur5), []
    for k in range(30):
        f.take(chunk(60 * k, 0.3 * (0.06 * k + TIMES[:9]), TIMES[:9]), (60 * k + 40) * MS)
        if k > 8:
            slowest.append(motion(f, 60 * k + 40, 60 * k + 100)[1].min())
    assert min(slowest) > 0.9 * 0.3


# -- limits ----------------------------------------------------------------------------------------------


def bad_stream(seed: int, n: int, q: Array, low: Array, high: Array) -> Iterator[tuple[int, Chunk]]:
    """Chunks with jitter, latency, drops, repeats, contradictions and steps; and when each comes [ns]."""
    rng, at_ns = np.random.default_rng(seed), 0
    phase, size = rng.uniform(0, 6, len(q)), rng.uniform(0.0, 0.6, len(q))
    for k in range(n):
        at_ns += int(66e6 * rng.uniform(0.7, 1.3))
        latency_ns = int(rng.uniform(0.0, 0.3) * 1e9)
        times = np.sort(rng.uniform(0.0, 1.2, rng.integers(1, 40)))
        t = (at_ns - latency_ns) / 1e9 + times
        way = q + size * (np.sin(2.0 * t[:, None] + phase) - np.sin(phase)) + rng.normal(0.0, 0.05, len(q))
        if k % 7 == 3:
            way[len(way) // 2 :] += rng.choice([-0.15, 0.15])
        if rng.uniform() < 0.9 and (np.diff(times) > 0.0).all():
            yield at_ns, Chunk(at_ns - latency_ns, times, np.clip(way, low, high))


@pytest.mark.parametrize(("share", "jerk"), [(0.0, 500.0), (0.8, 500.0), (0.0, 40.0)])
def test_all_limits_hold_everywhere_and_nothing_jumps(panda: RobotModel, share: float, jerk: float):
    p = ChunkParameters(follow_torque=share, follow_jerk=jerk, max_jump=0.5, follow_speed=0.3, follow_acceleration=4.0)
    low, high = panda.q_min, panda.q_max
    q = np.clip(np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.7]), low + 0.01, high - 0.01)
    q[3] = low[3] + 0.05  # near a limit of position
    f, step_ns = ChunkFollower(panda, p, q, 0), 1_000_000
    q, v, a = stacked(streamed(f, bad_stream(0, 150, q, low, high), step_ns))
    dt = step_ns / 1e9
    assert (q >= low - 1e-9).all()
    assert (q <= high + 1e-9).all()
    assert (abs(v) <= 0.3 * panda.v_max * (1 + 1e-9)).all()
    assert abs(a).max() <= 4.0 * (1 + 1e-9)
    assert abs(np.diff(a, axis=0)).max() <= jerk * dt * (1 + 1e-6)
    np.testing.assert_allclose(np.diff(q, axis=0), (v[1:] + v[:-1]) / 2 * dt, atol=jerk * dt**3)
    np.testing.assert_allclose(np.diff(v, axis=0), (a[1:] + a[:-1]) / 2 * dt, atol=1e-9)
    assert f.counts[SLEW] > 30
    assert f.counts[PASS] + f.counts[SLEW] > 60
    assert abs(v).max() > 0.2
    assert abs(a).max() > 3.0
    assert not v[-1].any()
    assert not a[-1].any()
    if share:
        torque = np.array([panda.inverse_dynamics(*x) for x in zip(q, v, a, strict=True)])
        assert (abs(torque) <= share * panda.tau_max).all()


def test_a_joint_stops_before_its_limit_with_the_brake_and_without_a_bounce(ur5: RobotModel):
    f = follower(ur5, replace(FREE, follow_acceleration=2.0, follow_jerk=20.0, max_jump=6.5))
    f.restart(ur5.q_max - 0.4, 0)
    assert f.take(Chunk(0, TIMES[:12], np.tile(ur5.q_max, (12, 1))), 10 * MS).band == SLEW
    q, v, _ = motion(f, 0, 4000)
    assert (q <= ur5.q_max + 1e-9).all()
    assert not v[-1].any()
    assert v.max() > 0.4


def test_a_plan_too_heavy_becomes_smoother_and_one_that_cannot_be_carried_is_refused(ur5: RobotModel):
    heavy = Tool(mass=5.0)
    fast = chunk(0, 0.05 * np.sin(9.0 * TIMES))
    bands = []
    for share in (0.6, 0.4, 0.2):
        ur5.attach(heavy)
        f = follower(ur5, ChunkParameters(follow_torque=share))
        report = f.take(fast, 20 * MS)
        q, v, a = motion(f, 20, 1500, 5)
        torque = np.array([ur5.inverse_dynamics(*x) for x in zip(q, v, a, strict=True)])
        ur5.attach(None)
        bands.append(report.band)
        assert report.band == REFUSE or (abs(torque) <= share * ur5.tau_max).all()
    assert bands == [PASS, SLEW, REFUSE]
    assert "needs a torque up to" in report.reason


def test_an_arm_that_starts_beyond_a_limit_is_led_back(ur5: RobotModel):
    f = follower(ur5)
    f.restart(ur5.q_max + 0.05, 0)
    back = Chunk(0, TIMES, ur5.q_max + 0.05 - 0.1 * TIMES[:, None] * np.ones(6))
    assert f.take(back, 20 * MS).band == PASS
    np.testing.assert_allclose(f.at(1500 * MS).q_des, ur5.q_max - 0.05, atol=1e-3)


# -- the proof -----------------------------------------------------------------------------------------


def drafted(model: RobotModel) -> tuple[ChunkFollower, plan.PlanMemory]:
    """A follower whose draft is a plan that is proved."""
    f = follower(model)
    f.take(chunk(0, 0.05 * np.sin(7.0 * TIMES)), 20 * MS)
    assert plan.is_proved(f._memory)
    return f, f._memory


@pytest.mark.parametrize("row", [plan.JERK, plan.ACCELERATION, plan.SPEED, plan.LOW, plan.HIGH])
def test_a_plan_beyond_any_limit_is_not_proved(ur5: RobotModel, row: int):
    _, m = drafted(ur5)
    moving = m.draft[2, : m.ends[2]]
    orders = {plan.JERK: 3, plan.ACCELERATION: 2, plan.SPEED: 1}
    most = abs(np.diff(moving, orders[row])).max() if row in orders else getattr(moving, ["min", "max"][row - 3])()
    m.limits[row, 2] = most
    assert plan.is_proved(m)
    m.limits[row, 2] = most * (1.0 + 1e-6 if row == plan.LOW else 1.0 - 1e-6)
    assert not plan.is_proved(m)
    assert m.counts[plan.JOINT] == 2


def test_a_plan_that_does_not_come_to_rest_is_not_proved(ur5: RobotModel):
    _, m = drafted(ur5)
    m.ends[1] = m.capacity - plan.FROZEN + 1
    assert not plan.is_proved(m)


@pytest.mark.parametrize(("knot", "piece", "share", "is_proved"), [
    (9, 30, 0.5, True), (9, 9, 0.5, False), (9, 8, 0.5, False), (9, 10, 0.5, True), (9, 9, 0.04, True)
])  # fmt: skip
def test_torque_between_knots_counts(ur5: RobotModel, knot: int, piece: int, share: float, is_proved: bool):
    """A torque of 0.95 at a knot, and a bend of the piece behind it, or before it, that may add a share."""
    _, m = drafted(ur5)
    n, seen = 6, []
    q, v, a, v_most, a_most, j_most, tau, bend, before = np.zeros((9, n))
    h = m.numbers[plan.H]

    def run() -> float:
        tau[4], bend[4] = 0.95 * (len(seen) == knot), share * 8.0 / h**2 * (len(seen) == piece)
        seen.append((q.copy(), v_most.copy(), a_most.copy(), j_most.copy()))
        return 0.0

    t = plan.TorqueMemory(m, run, q, v, a, v_most, a_most, j_most, tau, bend, before, np.ones(n))
    assert plan.torque_is_proved(t) is is_proved
    if is_proved:
        assert len(seen) == m.ends.max() - 2
        (at, fastest, *_), (_, _, strongest, most) = seen[9], seen[9]
        c = m.draft[:, 9:13]
        np.testing.assert_allclose(at, (c[:, 0] + 4 * c[:, 1] + c[:, 2]) / 6)
        np.testing.assert_allclose(fastest, abs(np.diff(c)).max(axis=1) / h)
        np.testing.assert_allclose(strongest, abs(np.diff(c, 2)).max(axis=1) / h**2)
        np.testing.assert_allclose(most, abs(np.diff(c, 3))[:, 0] / h**3, atol=1e-6)


def test_a_torque_that_is_no_number_is_not_proved(ur5: RobotModel):
    _, m = drafted(ur5)
    arrays = np.zeros((10, 6))
    assert not plan.torque_is_proved(plan.TorqueMemory(m, lambda: np.nan, *arrays))


# -- the end ---------------------------------------------------------------------------------------------


def test_without_chunks_it_comes_to_rest_at_the_last_point_and_is_stale(ur5: RobotModel):
    f = follower(ur5)
    assert f.is_stale(0)
    f.take(chunk(0, 0.2 * TIMES), 20 * MS)
    assert not f.is_stale(990 * MS)
    assert f.is_stale(1050 * MS)
    end = f.at((1000 + 400) * MS)
    assert abs(end.q_des - HOME - 0.2).max() < 1e-3
    assert not end.v_des.any()
    assert not end.a_des.any()
    assert (f.at(60_000 * MS).q_des == end.q_des).all()
    assert f.take(chunk(60_000, 0.2), 60_010 * MS).band == PASS


def test_no_more_of_a_chunk_than_the_horizon_is_followed(ur5: RobotModel):
    f = follower(ur5, replace(FREE, chunk_horizon=0.5))
    f.take(chunk(0, 0.2 * TIMES), 20 * MS)
    end = f.at(1000 * MS)
    assert not end.v_des.any()
    assert 0.05 < end.q_des[0] < 0.12


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda c: c._replace(stamp_ns=2000 * MS), "it was observed 1.000 s after now"),
        (lambda c: c._replace(stamp_ns=900 * MS), "it is not newer than the last one"),
        (lambda c: c._replace(positions=c.positions * np.nan), "shoulder_pan_joint has a position that is no number"),
        (lambda c: c._replace(positions=c.positions + 0.3), "shoulder_pan_joint begins 0.306 away; max_jump is 0.2"),
        (
            lambda c: c._replace(times=c.times + 0.2, positions=c.positions + 9.0),
            "shoulder_pan_joint at 9.01 is out",
        ),
        (lambda c: c._replace(positions=c.positions - 9.0), "shoulder_pan_joint at -8.99 is out"),
        (lambda c: c._replace(times=c.times * 1e-2), "all its points are past"),
        (lambda c: c._replace(times=c.times[::-1]), "its times do not increase"),
        (lambda c: c._replace(times=["one"] * 30), "no numbers"),
        (lambda c: c._replace(times=1.0), "no numbers"),
        (lambda c: c._replace(names=[1, None]), "no numbers, or no names"),
        (lambda c: c._replace(positions=c.positions[:, :5]), "positions of shape (30, 5)"),
        (lambda c: c._replace(times=c.times[:0], positions=c.positions[:0]), "positions of shape (0, 6)"),
        (lambda c: c._replace(names=("a", "b", "c", "d", "e", "f")), "it has the joints a, b"),
    ],
)
def test_a_wrong_chunk_is_dropped_and_the_last_one_goes_on(ur5: RobotModel, wrong, reason: str):
    f, other = follower(ur5), follower(ur5)
    for one in (f, other):
        one.take(chunk(900, wave(0)), 940 * MS)
    report = f.take(wrong(chunk(950, wave(0))), 1000 * MS)
    assert report.band == REFUSE
    assert report.reason.startswith(reason), report.reason
    assert f.counts == {PASS: 1, SLEW: 0, REFUSE: 1}
    assert f.last is report
    for x, y in zip(motion(f, 1000, 2500, 20), motion(other, 1000, 2500, 20), strict=True):
        assert (x == y).all()


def test_a_chunk_that_is_torn_is_refused(ur5: RobotModel):
    path = np.where(np.arange(30) == 20, 0.5, 0.0)
    assert follower(ur5).take(chunk(0, path), 10 * MS).reason == "shoulder_pan_joint jumps by 0.5 between two points"
    late = follower(ur5).take(chunk(0, 1.2, TIMES + 0.3), 10 * MS)
    assert late.reason.startswith("shoulder_pan_joint begins")


def test_joints_may_be_named_in_any_order(ur5: RobotModel):
    f, names = follower(ur5), ur5.joint_names[::-1]
    positions = HOME + 0.1 * np.arange(6) * TIMES[:, None]
    f.take(Chunk(0, TIMES, positions[:, ::-1], names), 10 * MS)
    np.testing.assert_allclose(f.at(2000 * MS).q_des, HOME + 0.1 * np.arange(6), atol=1e-3)
    assert f.take(Chunk(1, TIMES, positions), 20 * MS).band == PASS, "none: the order of the arm"


def test_turns_of_a_joint_without_limits_are_left_out(load_robot):
    model = load_robot("kinova")
    assert np.isinf(model.q_max[0])
    q = np.where(np.isinf(model.q_max), 0.1, (np.maximum(model.q_min, -9) + np.minimum(model.q_max, 9)) / 2)
    f = ChunkFollower(model, FREE, q, 0)
    turned = np.where(np.isinf(model.q_max), q + 4 * np.pi, q)
    assert f.take(Chunk(0, TIMES, np.tile(turned, (30, 1))), 10 * MS).band == PASS
    np.testing.assert_allclose(f.at(900 * MS).q_des, q, atol=1e-9)


def test_parameters_and_arrays_are_checked(ur5: RobotModel):
    with pytest.raises(InputError):
        ChunkFollower(ur5, FREE, np.zeros(5), 0)


# -- machine code --------------------------------------------------------------------------------------


def test_the_text_gives_the_same_bits_as_the_machine_code(planar2: RobotModel, monkeypatch: pytest.MonkeyPatch):
    def run() -> tuple[Array, Array, Array]:
        f = ChunkFollower(planar2, replace(FREE, chunk_horizon=0.3, max_jump=1.0), np.zeros(2), 0)
        chunks = bad_stream(3, 8, np.zeros(2), planar2.q_min, planar2.q_max)
        return stacked(streamed(f, chunks, 20 * MS))

    compiled = run()
    compiles = "arm_control.follow.chunk_follower.compile_procedure"
    monkeypatch.setattr(compiles, lambda entry, keeps_lock: partial(partial, entry))
    for x, y in zip(run(), compiled, strict=True):
        assert (x == y).all()
