"""Golden bags: a recording of every scenario, and the controllers of today give the torque that was recorded.

Each bag in ``test/golden`` holds the first part of a scenario's first variant, as ``arm_control simulate --bag`` writes
it. To write them anew, because a law has changed on purpose, in test/bags:
``PYTHONPATH=../..:../oracles python -c "from test_golden import *; write_golden_bags()"``.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from package_scenarios import SCENARIOS

from arm_control.app import cli
from arm_control.bags import (
    Bag,
    Commands,
    ReplayOptions,
    SimulatedBag,
    compare,
    controller_of,
    known_types,
    read_bag,
    recorded_commands,
    replayed_commands,
)
from arm_control.control import Measurement
from arm_control.controllers import control_loop
from arm_control.maths import Mover, Span, rotation_vector
from arm_control.messages import POSE_STAMPED
from arm_control.motion import JointJog, TwistJog
from arm_control.simulation import Push, Scenario, Simulation, World, arm_and_parameters

GOLDEN = Path(__file__).parents[1] / "golden"
NUMBERS, STATES = 2000, 1000
"""Most joint positions in a bag, states times joints, and most states. More would be more megabytes."""
TOLERANCE = 1e-9
"""What another machine, or back end, may make of a torque, as a share of the joint's limit."""
GAINS = {
    "ur5_osc": ("osc", "kp_linear", 202.0),
    "ur5_joint": ("joint", "kp", 101.0),
}
SLOW = {name for name, scenario in SCENARIOS.items() if "scene" in scenario.plan}
"""Motions along a task path, which hardly begin within a bag: their controller is that of ``panda_moving_plan``."""
NAMES = [name for name, scenario in SCENARIOS.items() if scenario.controller and name not in SLOW]
"""Scenarios with something to replay."""
OTHERS = (("ur5_osc", 100), ("ur5_joint", 100))
"""Scenarios, and how many of their states, that every run of the suite replays with the other back end. Planning in
Python takes long, and hardly any of it is the back end's: of iterative LQR it replays one."""


def write_golden_bags() -> None:
    """Write them all."""
    shutil.rmtree(GOLDEN, ignore_errors=True)
    for name in NAMES:
        write(name, GOLDEN / name)


def write(name: str, path: Path) -> None:
    scenario = early(SCENARIOS[name])
    variant = next(iter(scenario.variants), "")
    simulation = Simulation(scenario, variant)
    simulation.queue = sooner(simulation.queue)
    with SimulatedBag(path, simulation, scenario, variant) as bag:
        simulation.run(n_states(simulation.model.nv) * 1e-3, recorder=bag)


def n_states(nv: int) -> int:
    """Length of the bag of an arm with so many joints."""
    return min(NUMBERS // nv, STATES)


def sooner(orders: list) -> list:
    """The same targets, the second of them 0.1 s after the first: some lists begin where the arm is."""
    if len(orders) < 2:
        return orders
    gain_ns = orders[1].stamp_ns - 100_000_000
    return [orders[0], *(at(order, order.stamp_ns - gain_ns) for order in orders[1:])]


def at(order: Any, stamp_ns: int) -> Any:
    """An order at another time; one of a force is a named tuple."""
    return order._replace(stamp_ns=stamp_ns) if isinstance(order, tuple) else replace(order, stamp_ns=stamp_ns)


def early(scenario: Scenario) -> Scenario:
    """The scenario with pushes, near obstacles and a policy within what is recorded; too near is a brake in a cell."""
    pushes = tuple(Push(push.wrench, Span(0.05, 0.3)) for push in scenario.world.pushes[:1])
    movers = scenario.world.movers if scenario.name == "ur5_cell" else tuple(map(on_its_way, scenario.world.movers))
    duration = 0.4 if "policy" in scenario.nodes.get("targets", {}) else scenario.duration
    return replace(scenario, world=World(movers, pushes), duration=duration)


def on_its_way(mover: Mover) -> Mover:
    end = mover.span.end
    return mover if np.isinf(end) else Mover(mover.at(0.6 * end), Span(0.0, 0.4 * end))


def replay(bag: Bag, choice: ReplayOptions | None = None) -> tuple[Commands, Commands, np.ndarray]:
    """What was commanded, what is commanded now, and the torque limits."""
    model, parameters = controller_of(bag, choice or ReplayOptions())
    return recorded_commands(bag, model), replayed_commands(bag, model, parameters), model


def beginning(bag: Bag, n: int) -> Bag:
    """The part up to the n-th state."""
    bag.messages = [message for message in bag.messages if message.log_ns < n * 1_000_000]
    return bag


def test_every_scenario_has_a_bag_and_they_are_small():
    assert sorted(path.name for path in GOLDEN.iterdir()) == NAMES
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*") if path.is_file()) < 4.5e6


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_bag_replays_to_what_was_recorded(name: str):
    bag = read_bag(GOLDEN / name)
    recorded, replayed, model = replay(bag)
    assert np.array_equal(replayed.stamps, recorded.stamps)
    assert len(recorded.stamps) == n_states(model.nv)
    np.testing.assert_array_less(np.abs(replayed.tau - recorded.tau) / model.tau_max, TOLERANCE)
    speed = max(np.abs(message.velocity).max() for _, _, message in bag.contents("joint_states"))
    assert speed > 0.05, "nothing moves"
    assert not bag.malformed


@pytest.mark.parametrize(
    ("name", "n"),
    [
        *OTHERS,
        pytest.param("ur5_ilqr", 45, marks=pytest.mark.campaign),
    ],
)
def test_another_back_end_gives_the_same_torque(name: str, n: int):
    bag = beginning(read_bag(GOLDEN / name), n)
    recorded, replayed, model = replay(bag, ReplayOptions(changes={"backend": "python"}))
    assert model.backend == "python"
    assert len(replayed.stamps) == n
    comparison = compare(recorded, replayed, model, TOLERANCE)
    assert not comparison.first, comparison.first


@pytest.mark.parametrize("name", GAINS)
def test_a_changed_gain_is_found_and_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    node, gain, value = GAINS[name]
    file = tmp_path / "gain.yaml"
    file.write_text(f"{node}: {{ros__parameters: {{{gain}: {value}}}}}\n")
    assert cli.main(["replay", str(GOLDEN / name), "--offline"]) == 0
    assert "MISS" not in capsys.readouterr().out
    assert cli.main(["replay", str(GOLDEN / name), "--offline", "--params-file", str(file)]) == 1
    text = capsys.readouterr().out
    recorded, replayed, model = replay(read_bag(GOLDEN / name), ReplayOptions(params_file=str(file)))
    k, joint = np.argwhere(np.abs(replayed.tau - recorded.tau) > TOLERANCE * model.tau_max)[0]
    where = f"joint_commands at {recorded.stamps[k] * 1e-9:.9f} s: effort[{model.joint_names[joint]}] was"
    assert (
        f"first difference above 1e-09: {where} {recorded.tau[k, joint]:.12g} and is {replayed.tau[k, joint]:.12g}"
        in text
    )


def test_only_states_that_were_answered_count():
    """In real time a node may skip a state: its next tick then has the time of both."""
    bag = beginning(read_bag(GOLDEN / "ur5_osc"), 20)
    skipped = 7_000_000
    bag.messages = [m for m in bag.messages if m.topic.name != "/joint_commands" or m.log_ns != skipped]
    recorded, replayed, _ = replay(bag)
    assert np.array_equal(replayed.stamps, recorded.stamps)
    assert skipped not in replayed.stamps
    after = replayed.stamps == skipped + 1_000_000
    change = np.abs(replayed.tau[after] - replayed.tau[replayed.stamps == skipped - 1_000_000])
    assert change.max() == pytest.approx(1.25), "the rate limit of 1000 N m/s; a gap counts as 1.25 ms"
    bag.messages = [m for m in bag.messages if m.topic.name != "/joint_commands"]
    assert len(replay(bag)[1].stamps) == 20, "without commands every state is answered"


def test_a_recording_in_which_time_starts_over_is_followed():
    bag = beginning(read_bag(GOLDEN / "ur5_osc"), 30)
    again = [m for m in bag.messages if m.topic.name in ("/joint_states", "/joint_commands")]
    bag.messages += [m._replace(log_ns=m.log_ns + 10**9) for m in again]
    recorded, replayed, model = replay(bag)
    assert replayed.stamps.tolist() == recorded.stamps.tolist() == 2 * [k * 1_000_000 for k in range(30)]
    assert np.array_equal(replayed.tau[30:], replayed.tau[:30])
    assert not bag.malformed
    same = compare(recorded, replayed, model, 0.0)
    assert (same.compared, same.missing, same.identical) == (60, 0, True)
    recorded.tau[45, 2] += 1.0  # in the second round
    changed = compare(recorded, replayed, model, TOLERANCE).first
    assert changed.startswith(f"joint_commands at 0.015000000 s: effort[{model.joint_names[2]}] was ")


def test_what_the_node_would_refuse_is_counted_and_passed_over():
    bag = beginning(read_bag(GOLDEN / "ur5_osc"), 10)
    target = next(m for m in bag.messages if m.topic.name == "/target_pose")
    message = target.topic.decoder.content(target.raw)
    message.header.frame_id = "nowhere"
    wrong = known_types("kilted").serialize_cdr(message, POSE_STAMPED)
    bag.messages.insert(0, target._replace(raw=bytes(wrong)))
    recorded, replayed, model = replay(bag)
    assert compare(recorded, replayed, model, 0.0).identical
    assert bag.malformed == {("/target_pose", "unknown frame 'nowhere'; the model has"): 1}


@pytest.mark.parametrize("name", ["ur5_press", "ur5_moving_obstacle", "panda_reach", "ur5_joint"])
def test_a_bag_of_today_replays_to_the_same_bits(name: str, tmp_path: Path):
    """The simulated controller hears its orders as messages say them: rounded, as quaternions round."""
    write(name, tmp_path / "bag")
    recorded, replayed, model = replay(read_bag(tmp_path / "bag"))
    assert compare(recorded, replayed, model, 0.0).identical


def test_a_braked_arm_is_let_go():
    """Where it is when it is enabled again, it is held: there is no error left of before."""
    model, parameters = arm_and_parameters(SCENARIOS["ur5_joint"])
    loop, v = control_loop(model, parameters), np.zeros(6)
    q = np.array([0.3, -1.0, 0.8, 0.1, 0.0, 0.2])
    loop.tick(Measurement(0, np.zeros(6), v, 0.0, is_restart=True))
    assert np.abs(loop.tick(Measurement(1_000_000, q, v, 1e-3)).law.tau - model.gravity(q)).max() > 10.0
    loop.gate.brake("a test")
    np.testing.assert_allclose(loop.tick(Measurement(2_000_000, q, v, 1e-3)).law.tau, model.gravity(q), atol=1e-9)


def test_two_bags_of_one_scenario_are_the_same_bytes(tmp_path: Path):
    for folder in ("one", "two"):
        write("planar3_moving_obstacle", tmp_path / folder / "bag")
    for file in ("metadata.yaml", "bag.mcap"):
        one, two = ((tmp_path / folder / "bag" / file).read_bytes() for folder in ("one", "two"))
        assert one == two


@pytest.mark.parametrize("name", ["ur5_osc", "ur5_joint"])
def test_jogging_moves_the_arm_as_far_as_asked_without_a_jump_and_replays_to_the_same_bits(name: str, tmp_path: Path):
    simulation, n_ms = Simulation(SCENARIOS[name]), 700
    twist = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.2])
    speeds = np.array([0.2, 0.0, 0.0, 0.0, 0.0, -0.3])
    stamps = [ms * 1_000_000 for ms in range(100, 400, 20)]
    is_pose = name == "ur5_osc"
    simulation.queue = [TwistJog(ns, ns, "base_link", twist) if is_pose else JointJog(ns, ns, speeds) for ns in stamps]
    with SimulatedBag(tmp_path / "bag", simulation, SCENARIOS[name]) as bag:
        trace = simulation.run(n_ms * 1e-3, recorder=bag)
    seconds = (stamps[-1] - stamps[0]) * 1e-9 + 0.1  # the time-out
    X, X_0 = simulation.model.pose(trace.q[-1]), simulation.model.pose(trace.q[0])
    if is_pose:
        np.testing.assert_allclose(X.p - X_0.p, twist[:3] * seconds, rtol=0, atol=3e-4)
        np.testing.assert_allclose(rotation_vector(X.R @ X_0.R.T), twist[3:] * seconds, rtol=0, atol=1e-3)
    else:
        np.testing.assert_allclose(trace.q[-1] - trace.q[0], speeds * seconds, rtol=0, atol=1e-3)
    assert np.abs(trace.v[-1]).max() < 1e-2, "it has come to rest"
    recorded, replayed, model = replay(read_bag(tmp_path / "bag"))
    np.testing.assert_array_equal(replayed.tau, recorded.tau)
    assert np.abs(np.diff(recorded.tau, axis=0) / model.tau_max).max() < 0.02
