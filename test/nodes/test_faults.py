"""Faults of nodes: a clear message or a brake, never a jump, never a crash."""

import signal
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rig import HOME, LATCHED, in_motion
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool

from arm_control import RobotModel, urdf_path
from arm_control.gate import AT_REST, EffortGate, GateParameters
from arm_control.messages import brake_reason, nanoseconds
from arm_control.nodes import ros

PATIENT = {"max_missed": 1000, "max_age": 5.0}
RATE = GateParameters().rate_limit
MS = 1_000_000


def speeds(states) -> np.ndarray:
    return np.array([np.abs(state.velocity).max() for state in states])


def assert_no_jump(states, model: RobotModel) -> None:
    """No torque above a limit, no step above the rate limit, no state that is not finite."""
    applied = [state for state in states if state.effort]
    stamps = np.array([nanoseconds(state.header.stamp) for state in applied])
    efforts = np.array([state.effort for state in applied])
    new = np.flatnonzero(np.diff(stamps) > 0)
    steps = np.abs(np.diff(efforts, axis=0))[new] / (np.diff(stamps)[new, None] * 1e-9)
    assert np.isfinite(efforts).all()
    assert (np.abs(efforts) <= model.tau_max).all()
    assert steps.max() <= RATE * (1 + 1e-6)


@pytest.mark.processes
def test_processes_that_are_killed_or_end_in_motion_leave_the_arm_at_rest(rig, ur5):
    """The controller by SIGKILL: the gate brakes. The gate by SIGTERM: the arm rests before it ends. Others at once."""
    rig.start_process("osc", "-r", "joint_commands:=effort_in", publish_effort_array=False, **PATIENT)
    rig.start_process("gate", publish_effort_array=False, **PATIENT)
    rig.start_process("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.5, **PATIENT)
    rig.start_process("dynamics")
    in_motion(rig, ur5)
    rig.processes["osc"].kill()
    assert rig.wait("osc") == -signal.SIGKILL
    rig.spin(lambda: "braking: the controller brakes: no command for 1000 states" in rig.log("simulator"), "the brake")
    rig.spin(lambda: speeds(rig.states[-1:]) < AT_REST, what="rest")
    assert_no_jump(rig.states, ur5)
    for name, number in (("gate", signal.SIGTERM), ("dynamics", signal.SIGTERM), ("simulator", signal.SIGINT)):
        rig.processes[name].send_signal(number)
        assert rig.wait(name) == 0
        assert "Traceback" not in rig.log(name)
    assert "the arm rests: the node ends" in rig.log("gate")


def test_a_bad_joint_state(rig, ur5):
    """It is refused by name; whoever waits hears that at once; the next good state is answered."""
    rig.start("osc", robot_description=urdf_path("ur5").read_text(), lock_step=True)
    arrays = rig.hear(Float64MultiArray, "effort_controller/commands")
    driver = rig.state_publisher()
    rig.driver = driver
    rig.spin(lambda: all(rig.matched()), what="the controller's commands")
    rig.answer(driver, home_state(ur5, MS))
    driver.publish(bytes([0, 1, 0, 0]))
    rig.spin(lambda: "joint_states refused: not a JointState: it ends after 4 bytes" in rig.log("osc"))
    driver.publish(ros.joint_state(ur5.joint_names, 2 * MS, position=np.array(HOME) * np.nan, velocity=np.zeros(6)))
    rig.spin(lambda: "joint_states refused: position is not finite" in rig.log("osc"), what="the refusal")
    rig.spin(lambda: nanoseconds(rig.commands[-1].header.stamp) == 2 * MS)
    assert brake_reason(rig.commands[-1])
    rig.spin(lambda: len(arrays) == len(rig.commands), what="an array for each command")
    show_state(rig, ur5, 10 * MS)
    rig.spin(lambda: nanoseconds(rig.commands[-1].header.stamp) == 10 * MS)
    assert not brake_reason(rig.commands[-1])


@pytest.fixture
def alone(rig, ur5):
    """The node ``gate`` in lock step, with a driver and a controller that are the test's own."""
    description = urdf_path("ur5").read_text()
    rig.start("gate", robot_description=description, lock_step=True, max_missed=1000, driver_adds_gravity=True)
    rig.driver = rig.state_publisher()
    rig.first = rig.publisher(JointState, "effort_in")
    return rig


def show_state(rig, model: RobotModel, stamp_ns: int) -> None:
    rig.driver.publish(home_state(model, stamp_ns))


def home_state(model: RobotModel, stamp_ns: int) -> JointState:
    return ros.joint_state(model.joint_names, stamp_ns, position=np.array(HOME), velocity=np.zeros(6))


def test_the_gate_brakes_where_another_node_commands_its_driver(alone, ur5):
    show_state(alone, ur5, MS)
    alone.first.publish(ros.joint_state(ur5.joint_names, MS, effort=ur5.gravity(HOME)))
    alone.spin(lambda: len(alone.commands) == 1)
    for topic, kind in (("joint_commands", JointState), ("effort_controller/commands", Float64MultiArray)):
        rival = alone.node.create_publisher(kind, topic, 10)
        reason = f"/{topic} has other publishers than this gate: "
        said = f"braking: {reason}/test"
        alone.spin(lambda said=said: said in alone.log("gate"), what=said)
        shown = alone.call("gate/enable", SetBool.Request(data=False)).message
        assert shown.removeprefix(reason) in ("/test", "one that is not known yet"), "as the middleware has told so far"
        alone.node.destroy_publisher(rival)
        alone.spin(lambda topic=topic: alone.node.count_publishers(topic) == 1, what="the end of the rival")
        assert alone.call("gate/enable", SetBool.Request(data=True)).message == EffortGate.ENABLED_REASON


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"kp_linear": -1.0}, "kp_linear = -1.0 is out of bounds"),
        ({"robot_description": "nan"}, "link 'upper_arm_link'"),
    ],
)
def test_parameters_that_must_not_be_end_the_node_with_a_sentence(rig, parameters, sentence):
    if "robot_description" in parameters:
        parameters = {"robot_description": urdf_with_nan()}
    rig.start("osc", **parameters)
    assert rig.wait("osc") == 2
    assert sentence in rig.log("osc")
    assert "Traceback" not in rig.log("osc")


def test_ros_own_parameters_are_no_unknown_ones(rig):
    """Nor are empty lists, which ``ros2 param dump`` writes, and which have no type."""
    rig.start("osc", use_sim_time=True, qos_overrides={"/clock": {"subscription": {"depth": 1}}}, armature=[])
    rig.start("simulator", robot="ur5", initial_position=HOME)
    rig.spin(lambda: rig.commands, what="commands")


def test_urdf_with_a_mass_of_nan_on_the_topic(rig):
    """The node says so and waits for a better one."""
    process = rig.start("osc")
    description = rig.publisher(String, "robot_description", LATCHED)
    description.publish(String(data=urdf_with_nan()))
    rig.spin(lambda: "robot_description refused" in rig.log("osc"))
    assert process.poll() is None
    description.publish(String(data=urdf_path("ur5").read_text()))
    rig.spin(lambda: "robot with joints shoulder_pan_joint" in rig.log("osc"))


@pytest.mark.parametrize("name", ["osc", "joint", "gate", "proximity"])
def test_a_robot_that_cannot_be_controlled_on_the_topic(rig, name: str, tmp_path: Path):
    """A node that cannot make its controller takes no goal, says why, and begins once with a robot that it can take."""
    missing = tmp_path / "added_later.yaml"
    topic = "allowed_pairs" if name == "proximity" else "constraints"
    rig.start(name, **{topic: str(missing)})
    description, said = rig.publisher(String, "robot_description", LATCHED), rig.hear(DiagnosticArray, "/diagnostics")
    description.publish(String(data=urdf_path("ur5").read_text()))
    why = f"robot_description refused: there is no file {missing}"
    rig.spin(lambda: any(why in status.message for array in said for status in array.status))
    assert why in rig.log(name)
    goals = rig.node.create_publisher(PoseStamped, "target_pose", LATCHED)
    goals.publish(PoseStamped())
    missing.write_text("never: []" if name == "proximity" else "constraints: []")
    description.publish(String(data=urdf_path("ur5").read_text()))
    rig.spin(lambda: rig.log(name).count("robot with joints") == 2)
    said.clear()
    rig.spin(lambda: any("refused" not in status.message for array in said for status in array.status))
    topics = rig.node.get_subscriptions_info_by_topic("joint_states")
    assert [info.node_name for info in topics].count(name) == 1


def urdf_with_nan() -> str:
    text = urdf_path("ur5").read_text()
    assert text.count('<mass value="8.393"/>') == 1
    return text.replace('<mass value="8.393"/>', '<mass value="nan"/>')
