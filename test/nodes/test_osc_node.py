"""The node ``osc`` with obstacles, a known disturbance and proposed gains: what it says, and what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import Parameter, ParameterDescriptor, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.parameter import parameter_dict_from_yaml_file, parameter_value_to_python
from rig import HOME, Driver, Rig, stamp
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from test_markers import marker
from visualization_msgs.msg import MarkerArray

from arm_control import Pose, RobotModel, urdf_path
from arm_control.control import PROPOSED, Avoidance, AvoidanceParameters, CompiledOsc, propose
from arm_control.gate import EffortGate, GateParameters
from arm_control.maths import Obstacle, Sphere
from arm_control.motion import Reference
from arm_control.nodes import ros
from arm_control.nodes.support.page_requests import ServiceClients

QUICK = {"rate_limit": 1e9, "telemetry_every": 15}
"""A gate that lets a step of torque pass."""


def at_home(model: RobotModel, **given: Any) -> CompiledOsc:
    return CompiledOsc(model, propose(model, 1000.0, posture=tuple(HOME), **given))


def passed(model: RobotModel, *taus: np.ndarray) -> np.ndarray:
    """What a gate makes of torques that come one after the other, where the arm is held."""
    gate, state = EffortGate(model, GateParameters(rate_limit=1e9)), model.evaluate(HOME, np.zeros(6))
    for tau in taus:
        gate.offer(model.joint_names, tau.tolist())
        output = gate.tick(state, 1e-3)
    return output.tau


# -- obstacles -----------------------------------------------------------------------------------------


def test_an_obstacle_is_avoided_as_the_functions_say_and_told_of(rig: Rig, ur5: RobotModel):
    """So near that the task has to go."""
    heard = {name: rig.hear(Float64, f"controller_state/{name}") for name in ("nearest_distance", "task_share")}
    terms = rig.hear(JointState, "torque_terms/avoidance")
    sets = rig.hear(Float64MultiArray, "controller_state/figures")
    held = Driver(rig, ur5, "osc", **QUICK, avoid_obstacles=True)
    plain = held.answers()[0]
    state = at_home(ur5).tick(HOME, np.zeros(6), Reference(ur5.pose(HOME))).state
    law, own = Avoidance(ur5, AvoidanceParameters()), propose(ur5, 1000.0, QUICK["rate_limit"])
    law.speed_limits = own.speed_limit_linear, own.speed_limit_angular
    direction, size = np.array([0.0, 1.0, 0.0]), 0.05
    at = ur5.pose(HOME).p + direction * 0.1
    far = law.proximity.near(HOME, [Obstacle(Sphere(size), Pose(np.eye(3), at))], 2.0, 0.0).rho.min()
    at = at + direction * (0.012 - far)
    wanted = law.tick(state, [Obstacle(Sphere(size), Pose(np.eye(3), at))], plain)
    assert 0.0 < wanted.distance < 0.1
    assert wanted.task_share < 1.0
    rig.publisher(MarkerArray, "obstacles").publish(MarkerArray(markers=[marker(scale=(2 * size,) * 3, at=at)]))
    tau = held.until(lambda tau: not np.allclose(tau, plain, rtol=0, atol=1e-6))
    np.testing.assert_allclose(tau, passed(ur5, plain, wanted.tau_total), rtol=0, atol=1e-6)
    held.until(lambda _: all(heard.values()) and np.isfinite(heard["nearest_distance"][-1].data))
    held.until(lambda _: terms and not np.allclose(terms[-1].effort, 0.0))
    np.testing.assert_allclose(terms[-1].effort, wanted.tau_total - plain, rtol=0, atol=1e-6)
    assert heard["nearest_distance"][-1].data == pytest.approx(wanted.distance, abs=1e-9)
    assert heard["task_share"][-1].data == pytest.approx(wanted.task_share, abs=1e-9)
    assert heard["nearest_distance"][0].data == np.inf
    held.until(lambda _: sets and np.isfinite(sets[-1].data).all())
    (dim,) = sets[-1].layout.dim
    names, _, seconds = dim.label.removeprefix("rows: ").partition("; stamp: ")
    figures = dict(zip(names.split(", "), sets[-1].data, strict=True))
    assert figures["nearest_distance"] == pytest.approx(wanted.distance, abs=1e-9)
    assert {"position_error", "task_share", "saturation", "braking"} < set(figures)
    assert any(stamp(message) == pytest.approx(float(seconds), abs=1e-9) for message in rig.commands)


# -- a known disturbance -------------------------------------------------------------------------------


def test_a_known_disturbance_is_cancelled_until_it_is_old(rig: Rig, ur5: RobotModel):
    held = Driver(rig, ur5, "osc", **QUICK, disturbance_timeout=0.05)
    plain, tau_dist = held.answers()[0], np.array([3.0, -2.0, 1.0, 0.5, -0.5, 0.2])
    wanted = at_home(ur5).tick(HOME, np.zeros(6), Reference(ur5.pose(HOME)), tau_dist).tau
    assert np.abs(wanted - plain).max() > 1.0
    publisher, names = rig.publisher(JointState, "disturbance"), ur5.joint_names
    publisher.publish(ros.joint_state(names[::-1], 0, effort=tau_dist[::-1]))
    tau = held.until(lambda tau: not np.allclose(tau, plain, rtol=0, atol=1e-6))
    np.testing.assert_allclose(tau, passed(ur5, plain, wanted), rtol=0, atol=1e-6)
    ticks = 1
    while not np.allclose(held.answers()[0], plain, rtol=0, atol=1e-6) and ticks < 100:
        ticks += 1
    assert ticks == 50, "50 ms by the stamps, the one it came with not counted"


OTHERS = {
    "kp_linear": ParameterValue(type=2, integer_value=400),
    "tip": ParameterValue(type=4, string_value="x"),
}

# -- gains that nobody gave ----------------------------------------------------------------------------


def test_a_hand_presses_as_a_wrench_says_and_tells_what_it_refuses(rig: Rig, ur5: RobotModel):
    held = Driver(rig, ur5, "osc", **QUICK, force_axes=["z"], force_rise_time=0.2, force_timeout=60.0)
    plain, terms = held.answers()[0], ur5.evaluate(np.array(HOME), np.zeros(6))
    target, sensor = (rig.publisher(WrenchStamped, f"{what}_wrench") for what in ("target", "measured"))
    wrenches, forces = [], {"commanded": [], "measured": []}
    rig.node.create_subscription(WrenchStamped, "commanded_wrench", wrenches.append, 10)
    for name, messages in forces.items():
        rig.node.create_subscription(Float64, f"controller_state/{name}_force", messages.append, 10)
    rig.spin(lambda: target.get_subscription_count() and sensor.get_subscription_count(), what="the node")
    target.publish(ros.wrench_stamped((0.0, 0.0, -10.0, 0.0, 0.0, 0.0), "base_link", 0))
    to_hand = np.linalg.solve(terms.J @ np.linalg.solve(terms.M, terms.J.T), terms.J @ np.linalg.inv(terms.M))
    held.until(lambda tau: to_hand[2] @ (tau - plain) < -10.0 + 1e-6)
    held.until(lambda _: wrenches and wrenches[-1].wrench.force.z == -10.0)
    assert to_hand[2] @ (held.answers()[0] - plain) == pytest.approx(-10.0, abs=1e-6)
    sensor.publish(ros.wrench_stamped((0.0, 3.0, 4.0, 0.0, 0.0, 0.0), "tool0", 0))
    held.until(lambda _: forces["measured"])
    assert forces["measured"][-1].data == pytest.approx(5.0)
    assert forces["commanded"][-1].data <= 10.0
    target.publish(ros.wrench_stamped((0.0, 0.0, -80.0, 0.0, 0.0, 0.0), "base_link", 0))
    sensor.publish(ros.wrench_stamped((np.nan, 0.0, 0.0, 0.0, 0.0, 0.0), "tool0", 0))
    for reason in ("target_wrench: 80 N, and the limit is 50 N", "measured_wrench refused: wrench [nan"):
        rig.spin(lambda r=reason: r in rig.log("osc"), what=reason)
    target.publish(ros.wrench_stamped((0.0,) * 6, "base_link", 0))
    held.until(lambda tau: np.abs(tau - plain).max() < 1e-9)


def test_ros_shows_what_was_proposed_and_a_gain_that_is_set_changes_what_follows(rig: Rig, ur5: RobotModel):
    held = Driver(rig, ur5, "osc", **QUICK, kp_angular=50.0, rate=200.0)
    expected = propose(ur5, 200.0, kp_angular=50.0)
    assert held.shown(*PROPOSED) == [getattr(expected, name) for name in PROPOSED]
    assert expected.kp_linear == pytest.approx(100.0)
    line = next(line for line in rig.log("osc").splitlines() if "proposed for this arm" in line)
    assert "kp_linear = 100, " in line
    assert "kp_angular" not in line
    assert held.set(kp_linear=400.0)[0].successful
    expected = propose(ur5, 200.0, kp_angular=50.0, kp_linear=400.0)
    rig.spin(lambda: held.shown("speed_limit_linear") == [expected.speed_limit_linear], what="what follows")
    assert held.shown(*PROPOSED) == [getattr(expected, name) for name in PROPOSED]
    assert held.set(acceleration_limit_linear=5.0)[0].successful
    refused = held.set(speed_limit_linear=50.0)[0]
    assert not refused.successful
    assert "acceleration_limit_linear = 5.0 is too small to stop from speed_limit_linear" in refused.reason
    whole = SetParameters.Request(parameters=[Parameter(name=k, value=v) for k, v in OTHERS.items()])
    results = held.call("set_parameters", whole, SetParameters).results
    assert [result.successful for result in results] == [True, False], "a whole number is a number; the tip stays"
    rig.spin(lambda: held.shown("kp_linear", "kp_angular") == [400.0, 50.0], what="a float, and what was given")
    page = ServiceClients(rig.node, lambda *_: None)
    rig.spin(lambda: page.discover() or page.gains, what="what the page shows of them")
    assert (next(iter(page.gains)), page.gains["kp_linear"], page.gains["kp_angular"]) == ("kp_linear", 400.0, 50.0)
    assert not {"rate_limit", "rate", "posture"} & page.gains.keys(), "common, fixed, no number"


def test_ros_loads_the_dump_of_the_node_and_a_refused_value_changes_no_type(rig: Rig, ur5: RobotModel):
    """As ``ros2 param load`` sends it: one by one, read-only ones and empty lists, too; rclpy reads no URDF there."""
    held = Driver(rig, ur5, "osc", **QUICK, rate=200.0)
    names = held.call("list_parameters", ListParameters.Request(), ListParameters).result.names
    names = [name for name in names if name != "robot_description"]
    asked = GetParameters.Request(names=names)
    values = [parameter_value_to_python(v) for v in held.call("get_parameters", asked, GetParameters).values]
    shown = {name: list(v) if hasattr(v, "typecode") else v for name, v in zip(names, values, strict=True)}
    assert shown["effort_limits"] == []
    (rig.folder / "dump.yaml").write_text(yaml.dump({"/osc": {"ros__parameters": shown}}))

    def described() -> list[ParameterDescriptor]:
        asked = DescribeParameters.Request(names=names)
        return held.call("describe_parameters", asked, DescribeParameters).descriptors

    before = described()
    loaded = parameter_dict_from_yaml_file(str(rig.folder / "dump.yaml"), target_nodes=["/osc"]).values()
    results = held.call("set_parameters", SetParameters.Request(parameters=list(loaded)), SetParameters).results
    assert [result.reason for result in results] == [""] * len(names)
    wrong = {name: ParameterValue(type=4, string_value="x") for name in ("kp_linear", "telemetry_every", "posture")}
    request = SetParameters.Request(parameters=[Parameter(name=k, value=v) for k, v in wrong.items()])
    results = held.call("set_parameters", request, SetParameters).results
    assert [result.successful for result in results] == [False] * 3
    assert "Wrong parameter type" in results[0].reason
    assert described() == before


# -- gravity that the driver adds ---------------------------------------------------------------------


@pytest.mark.parametrize(("behind", "adds"), [([], True), (["gate"], False)])
def test_torque_for_a_driver_that_adds_gravity_is_without_it(behind: list[str], adds: bool, rig: Rig, ur5: RobotModel):
    """On both topics; a gate behind the controller takes it off instead."""
    arrays = rig.hear(Float64MultiArray, "effort_controller/commands")
    given = {"driver_adds_gravity": True, "gates_behind": behind, "publish_effort_array": True}
    held = Driver(rig, ur5, "osc", **QUICK, **given)
    (tau,) = held.answers()
    np.testing.assert_allclose(tau, ur5.gravity(HOME) * (not adds), atol=1e-9)
    rig.spin(lambda: arrays, what="the array")
    np.testing.assert_array_equal(arrays[-1].data, tau)


# -- saved and used again ------------------------------------------------------------------------------


def tune(rig: Rig, name: str, *arguments: str) -> tuple[int, str]:
    return rig.command("tune", "save", *arguments, label=name), rig.log(name)


def test_what_is_saved_is_what_a_new_node_takes(rig: Rig, ur5: RobotModel):
    held = Driver(rig, ur5, "osc", **QUICK)
    assert rig.command("tune", "set", "kp_linear", "123.0", label="set") == 0
    assert "kp_linear = 123.0" in rig.log("set")
    assert rig.command("tune", "set", "kp_linear", "-1.0", label="refused") == 1
    assert "kp_linear = -1.0 is out of bounds" in rig.log("refused")
    assert rig.command("tune", "set", "kp_linaer", "1.0", label="misspelt") == 1
    assert "osc: unknown kp_linaer; allowed: " in rig.log("misspelt")
    assert "did you mean 'kp_linear'?" in rig.log("misspelt")
    rig.spin(lambda: held.shown("speed_limit_linear") == [propose(ur5, kp_linear=123.0).speed_limit_linear])
    file = rig.folder / "saved.yaml"
    status, said = tune(rig, "save", str(file))
    assert (status, "parameters of osc" in said) == (0, True), said
    values = yaml.safe_load(file.read_text())["/**/osc"]["ros__parameters"]
    assert values["kp_linear"] == 123.0
    assert {*PROPOSED, "threshold"} <= set(values)
    assert not {"tip", "lock_step", "robot_description", "use_sim_time"} & set(values)
    shown = held.shown(*PROPOSED)
    assert [values[name] for name in PROPOSED] == shown, "to the last bit"
    assert "    # stiffness of the position [1/s^2], allowed >= 0.001\n    kp_linear: 123.0\n" in file.read_text()
    status, said = tune(rig, "nobody", str(rig.folder / "x.yaml"), "--node", "joint", "--namespace", "cell")
    assert (status, "no node /cell/joint is running; there are: " in said) == (2, True), said
    assert not (rig.folder / "x.yaml").exists()
    rig.processes["osc"].terminate()
    rig.wait("osc")
    description = Path(urdf_path("ur5")).read_text()
    given = {"/**": {"ros__parameters": {"robot_description": description, "kp_linear": 1.0}}}
    (rig.folder / "first.yaml").write_text(yaml.safe_dump(given))
    rig.start("osc", "--params-file", str(rig.folder / "first.yaml"), "--params-file", str(file))
    rig.spin(lambda: "robot with joints" in rig.log("osc"))
    assert held.shown(*PROPOSED) == shown
    assert "proposed" not in rig.log("osc"), "everything is given now"
