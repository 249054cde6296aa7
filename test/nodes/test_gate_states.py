"""``~/state`` of gates, controllers that listen to the gates behind them, and the stop of a driver."""

from __future__ import annotations

import itertools
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue, SetParametersResult
from rcl_interfaces.srv import SetParameters
from rig import HOME, LATCHED, Rig, repeating, target, tells_publishers_apart
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool

from arm_control import RobotModel, urdf_path
from arm_control.core import yaml_document
from arm_control.gate import EffortGate, GateReport
from arm_control.messages import JointStateReader, brake_reason, braked_frame, nanoseconds
from arm_control.nodes import ros
from arm_control.nodes.support import gates as gate_states
from arm_control.nodes.support.diagnostics import ERROR, OK, WARN
from arm_control.nodes.tools.gate_commands import OUTLOOK
from arm_control.processes import read_gate_report

MS = 1_000_000


def reports(messages: list[DiagnosticStatus]) -> list[GateReport]:
    return [read_gate_report(message) for message in messages]


def health(messages: list[DiagnosticArray], name: str) -> tuple[str, dict[str, str]]:
    """Newest message and figures of a node."""
    heard = [status for array in messages for status in array.status if status.name == name]
    return (heard[-1].message, {item.key: item.value for item in heard[-1].values}) if heard else ("", {})


def state(model: RobotModel, k: int) -> JointState:
    return ros.joint_state(model.joint_names, k * MS, position=HOME, velocity=np.zeros(6))


def test_a_gate_says_what_it_does_at_once_and_again_and_again(rig: Rig, ur5: RobotModel):
    heard = rig.hear(DiagnosticStatus, "gate/state", LATCHED)
    rig.start("gate", robot_description=ur5.urdf.text, lock_step=True)
    rig.spin(lambda: len(heard) > 2, what="a heartbeat without any state")
    assert reports(heard)[-1] == GateReport(
        "/gate", "holding", "waiting for the first command", 0, None, tuple(ur5.joint_names), "100"
    )
    states, efforts = rig.publisher(JointState, "joint_states"), rig.publisher(JointState, "effort_in")
    tau = ur5.gravity(np.array(HOME))

    def answer(k: int) -> None:
        states.publish(state(ur5, k))
        efforts.publish(ros.joint_state(ur5.joint_names, k * MS, effort=tau))
        rig.spin(lambda: rig.commands and rig.commands[-1].header.stamp.nanosec == k * MS, what="a command")

    for k in range(1, 4):
        answer(k)
    rig.spin(lambda: heard[-1].level == OK and "3000000" in [item.value for item in heard[-1].values], what="stamp")
    passing = reports(heard)[-1]
    assert (passing.state, passing.reason, passing.since_ns) == ("passing", "", 1 * MS)
    np.testing.assert_array_equal(passing.tau, rig.commands[-1].effort)
    n = len(heard)
    rig.spin(lambda: len(heard) > n + 1, what="heartbeats where nothing changes")
    assert rig.call("gate/enable", SetBool.Request(data=False)).success
    rig.spin(lambda: heard[-1].level == ERROR, what="the brake")
    braking = reports(heard)[-1]
    assert (braking.state, braking.reason, braking.since_ns) == ("braking", "disabled", 3 * MS)
    assert rig.call("gate/enable", SetBool.Request(data=True)).success
    rig.spin(lambda: heard[-1].level == WARN, what="the hold")


def set_constraints(rig: Rig, name: str, file: str) -> SetParametersResult:
    value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=file)
    request = SetParameters.Request(parameters=[Parameter(name="constraints", value=value)])
    return rig.call(f"{name}/set_parameters", request, SetParameters).results[0]


def test_a_controller_and_the_gate_behind_it_name_the_constraint_that_is_nearest(rig: Rig, tmp_path: Path):
    model, q = RobotModel.from_urdf(urdf_path("planar2")), np.array([0.6, 1.2])
    wall = {"name": "wall", "kind": "half_space", "point": [float(model.pose(q).p[0]) + 0.02, 0, 0]}
    file = tmp_path / "cell.yaml"
    file.write_text(yaml_document({"constraints": [{**wall, "normal": [-1, 0, 0]}]}))
    diagnostics = rig.hear(DiagnosticArray, "/diagnostics")
    common = {"robot_description": model.urdf.text, "lock_step": True, "constraints": str(file)}
    rig.start("gate", **common)
    rig.start("osc", "-r", "joint_commands:=effort_in", **common)
    states, times = rig.state_publisher(), itertools.count(1)

    def is_said(name: str, margin: str) -> bool:
        stamp_ns = next(times) * MS
        rig.answer(states, ros.joint_state(model.joint_names, stamp_ns, position=q, velocity=np.zeros(2)))
        return health(diagnostics, name)[1].get("smallest margin") == f"{margin} mm: wall (hand)"

    def change(name: str, x: object) -> SetParametersResult:
        """Write another wall into the file, and set the parameter again."""
        file.write_text(yaml_document({"constraints": [{**wall, "point": [x, 0, 0], "normal": [-1, 0, 0]}]}))
        return set_constraints(rig, name, str(file))

    for name in ("/osc", "/gate"):
        rig.spin(partial(is_said, name, "20"), what=f"the margin in {name}")
        assert health(diagnostics, name)[1]["active constraints"] == ""
        assert "3 finite numbers are needed" in change(name, "far").reason
        assert change(name, wall["point"][0] + 0.01).successful
        rig.spin(partial(is_said, name, "30"), what=f"the other margin in {name}")
        assert change(name, wall["point"][0]).successful


@tells_publishers_apart
def test_a_controller_says_what_holds_it_and_python_answers_meanwhile(rig: Rig, ur5: RobotModel):
    diagnostics = rig.hear(DiagnosticArray, "/diagnostics")
    rig.start("osc", robot_description=ur5.urdf.text, lock_step=True, loop="native", gates_behind=["gate", "simulator"])
    states = rig.state_publisher()
    gate = rig.publisher(DiagnosticStatus, "gate/state", LATCHED)
    times = itertools.count(1)

    def answer(n: int) -> None:
        for _ in range(n):
            rig.answer(states, state(ur5, next(times)))

    def answered() -> int:
        return int(health(diagnostics, "/osc")[1].get("states answered without Python", 0))

    def is_said(message: str) -> bool:
        answer(1)
        return health(diagnostics, "/osc")[0] == message

    rig.spin(lambda: "not heard yet: gate/state, simulator/state" in rig.log("osc"), what="who is not heard")
    rig.spin(lambda: is_said("passing commands"), what="the first figures")
    gate.publish(DiagnosticStatus(message="braking: no state"))
    rig.spin(lambda: is_said("held: gate: no state"), what="what holds the controller")
    n = answered()
    answer(20)
    seen = len(diagnostics)
    rig.spin(lambda: len(diagnostics) > seen + 1, what="newer figures")
    assert answered() == n, "a held controller is not answered for without Python"
    gate.publish(DiagnosticStatus(message="holding"))
    gate.publish(DiagnosticStatus(message="moving"))
    key = "refused gate/state: "
    rig.spin(lambda: any(key in figure for figure in health(diagnostics, "/osc")[1]), what="the refused message")
    assert is_said("held: gate: no state")
    gate.publish(DiagnosticStatus(message="passing"))
    rig.spin(lambda: is_said(EffortGate.ENABLED_REASON), what="the end of the hold")
    X_WE, goals = ur5.pose(np.array(HOME)), rig.publisher(PoseStamped, "target_pose")
    new = target(X_WE.p.tolist(), X_WE)
    rig.spin(repeating(lambda: goals.publish(new), lambda: is_said("passing commands")), what="a new goal")
    rig.spin(lambda: answer(1) or answered() > n, what="states that are answered without Python again")
    assert rig.log("osc").count("not heard yet") == 1


def test_a_chain_that_brakes_is_enabled_from_the_motors_on(rig: Rig):
    """Where the simulator brakes its controller is held, and goes on with it; where the controller brakes both do.

    The command enables every gate of a namespace, and nothing else that has such a service.
    """
    diagnostics = rig.hear(DiagnosticArray, "/diagnostics")
    patient = {"max_missed": 1000, "max_age": 5.0}
    cell = ("-r", "__ns:=/cell")
    rig.start("osc", *cell, publish_effort_array=False, gates_behind=["simulator"], rate=200.0, **patient)
    rig.start("simulator", *cell, robot="ur5", initial_position=HOME, timestep=0.005, **patient)
    called = []
    rig.node.create_service(SetBool, "/cell/camera/enable", lambda request, response: called.append(1) or response)
    rig.spin(lambda: health(diagnostics, "/cell/osc")[0] == "passing commands", what="commands")
    assert rig.call("cell/simulator/enable", SetBool.Request(data=False)).success
    rig.spin(lambda: health(diagnostics, "/cell/osc")[0] == "held: simulator: disabled", what="the hold")
    assert rig.call("cell/simulator/enable", SetBool.Request(data=True)).success
    rig.spin(lambda: health(diagnostics, "/cell/simulator")[0] == "running", what="commands that hold the arm")
    assert rig.call("cell/osc/enable", SetBool.Request(data=False)).success
    rig.spin(lambda: "controller brakes" in health(diagnostics, "/cell/simulator")[0], what="the simulator's brake")
    rig.spin(lambda: health(diagnostics, "/cell/osc")[0] == "disabled", what="the reason")
    assert rig.command("enable", "--namespace", "elsewhere", label="elsewhere") == 2
    assert "no gate is running in elsewhere" in rig.log("elsewhere")
    assert rig.command("enable", "--namespace", "cell") == 0
    before, after = rig.log("enable").split(OUTLOOK)
    assert re.search(r"/cell/simulator +braking +the controller brakes: disabled", before)
    results = re.findall(r"^(/\S+): enabled; waiting for a new goal", after, re.MULTILINE)
    assert results == ["/cell/simulator", "/cell/osc"]
    now = [line.split()[:2] for line in after.splitlines()[-2:]]
    assert [name for name, _ in now] == results
    assert {word for _, word in now} <= {"passing", "holding"}
    assert not called
    rig.spin(lambda: health(diagnostics, "/cell/osc")[0] == EffortGate.ENABLED_REASON, what="the end of the brake")
    rig.spin(lambda: health(diagnostics, "/cell/simulator")[0] == "running", what="commands again")


@tells_publishers_apart
def test_in_lock_step_the_brake_of_another_controller_is_no_answer(rig: Rig, ur5: RobotModel):
    diagnostics = rig.hear(DiagnosticArray, "/diagnostics")
    rig.start("simulator", robot="ur5", initial_position=HOME, lock_step=True)
    controller, rival = (rig.publisher(JointState, "joint_commands") for _ in range(2))
    tau = ur5.gravity(np.array(HOME))

    def answer(publisher: Any, frame_id: str = "") -> None:
        message = ros.joint_state(ur5.joint_names, nanoseconds(rig.states[-1].header.stamp), effort=tau)
        message.header.frame_id = frame_id
        publisher.publish(message)

    rig.spin(lambda: rig.states, what="the first state")
    assert set_constraints(rig, "simulator", "ur5_cell").reason.endswith(
        "ur5_cell.yaml: this gate is not told of obstacles"
    )
    rig.spin(repeating(lambda: answer(controller), lambda: rig.time > 0.0), what="a step")
    now = rig.time
    answer(rival, braked_frame("late"))
    key = "refused joint_commands: "
    rig.spin(lambda: any(key in figure for figure in health(diagnostics, "/simulator")[1]), what="the refusal")
    assert rig.time == now
    answer(controller)
    rig.spin(lambda: rig.time > now, what="the next step")


@pytest.mark.parametrize(("lock_step", "held_by"), [(False, "left: silent for 1 s"), (True, "")])
def test_a_silent_gate_holds_but_not_in_lock_step(lock_step: bool, held_by: str, monkeypatch: pytest.MonkeyPatch):
    now, callbacks = [0.0], {}

    def subscribe(_: type, topic: str, callback: Any, qos: object) -> None:
        callbacks[topic] = callback

    monkeypatch.setattr(gate_states, "time", SimpleNamespace(monotonic=lambda: now[0]))
    path = SimpleNamespace(subscribe=subscribe)
    node: Any = SimpleNamespace(parameters=SimpleNamespace(lock_step=lock_step), control_path=path)
    gates = gate_states.listen_to_gates(node, ["left", "right"])
    assert [*callbacks] == ["left/state", "right/state"]
    callbacks["left/state"](DiagnosticStatus(name="/cell/left", message="passing"), {})
    now[0] = 2.0
    callbacks["right/state"](DiagnosticStatus(name="/cell/right", message="passing"), {})
    assert gates.held_by == held_by


@pytest.mark.parametrize("node", ["gate", "osc"])
def test_a_gate_brakes_while_the_driver_has_stopped(node: str, rig: Rig, ur5: RobotModel):
    diagnostics = rig.hear(DiagnosticArray, "/diagnostics")
    rig.start(node, lock_step=True, driver_stop_topic="driver/is_stopped")
    stop = rig.publisher(Bool, "driver/is_stopped", LATCHED)

    def says(message: str) -> bool:
        return health(diagnostics, f"/{node}")[0] == message

    stop.publish(Bool(data=True))
    rig.spin(lambda: "braking: the driver has stopped" in rig.log(node), what="the stop, before the robot is known")
    rig.publisher(String, "robot_description", LATCHED).publish(String(data=ur5.urdf.text))
    rig.spin(lambda: says("the driver has stopped"), what="the brake")
    response = rig.call(f"{node}/enable", SetBool.Request(data=True))
    assert (response.success, response.message) == (False, "the driver has stopped")
    stop.publish(Bool(data=False))
    rig.spin(lambda: rig.call(f"{node}/enable", SetBool.Request(data=True)).success, what="the end of the stop")
    assert rig.log(node).count("braking: the driver has stopped") == 1


@pytest.mark.parametrize("node", ["gate", "osc"])
def test_a_braked_arm_is_held_while_the_description_of_another_one_comes(
    node: str, rig: Rig, ur5: RobotModel, monkeypatch: pytest.MonkeyPatch
):
    """What is silent is said by the test, not by the clock."""
    monkeypatch.setattr(JointStateReader, "SILENCE_NS", 10**18)
    rig.start(node, max_age=60.0, max_missed=1000, publish_effort_array=False)
    descriptions = rig.publisher(String, "robot_description", LATCHED)
    descriptions.publish(String(data=ur5.urdf.text))
    rig.spin(lambda: f"robot with joints {ur5.joint_names[0]}" in rig.log(node), what="the model")
    states = rig.state_publisher()
    rig.call(f"{node}/enable", SetBool.Request(data=False))
    rig.answer(states, state(ur5, 1))
    other = urdf_path("planar2").read_text()
    descriptions.publish(String(data=other))
    refusal = "robot_description refused: a robot with other joints is taken only once"
    rig.spin(lambda: refusal in rig.log(node), what="the refusal")
    held = rig.answer(states, state(ur5, 2))
    assert (held.name, brake_reason(held)) == (list(ur5.joint_names), "disabled")
    np.testing.assert_allclose(held.effort, ur5.gravity(np.array(HOME)), atol=1e-6)
    monkeypatch.setattr(JointStateReader, "SILENCE_NS", -1)
    descriptions.publish(String(data=f"{other}\n"))
    rig.spin(lambda: "robot with joints joint0" in rig.log(node), what="the other model")
