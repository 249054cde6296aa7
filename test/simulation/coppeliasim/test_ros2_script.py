"""The script for simROS2, run by a real Lua between a scene and a made-up ROS."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from lua_sim import C, World, lua_with
from lupa import lua54

from arm_control import RobotModel
from arm_control.core import share_path
from arm_control.simulation.coppeliasim.arm_scene import build

TEXT = share_path("coppeliasim", "ros2_bridge.lua").read_text()
HOME = [0.0, -1.4, 1.9, -2.07, -1.5708, 0.0]


class Ros:
    """What simROS2 offers, with messages that are taken and given by hand."""

    def __init__(self) -> None:
        self.publishers: dict[str, str] = {}
        self.subscriptions: dict[str, tuple[str, str]] = {}
        self.published: list[tuple[str, Any]] = []
        self.waiting: list[tuple[str, Any]] = []
        self.lua: Any = None

    def functions(self) -> dict[str, Any]:
        return {
            "createPublisher": self.publisher,
            "createSubscription": self.subscription,
            "publish": lambda topic, message: self.published.append((topic, message)),
            "spinSome": self.spin,
        }

    def publisher(self, topic: str, kind: str) -> str:
        self.publishers[topic] = kind
        return topic

    def subscription(self, topic: str, kind: str, callback: str) -> None:
        self.subscriptions[topic] = kind, callback

    def spin(self) -> None:
        from lua_sim import to_lua

        for topic, message in self.waiting:
            self.lua.globals()[self.subscriptions[topic][1]](to_lua(self.lua, message))
        self.waiting.clear()

    def newest(self, topic: str) -> Any:
        return next(message for name, message in reversed(self.published) if name == topic)


class Scene:
    """The UR5 of the script in a scene, stepped as CoppeliaSim would."""

    def __init__(
        self, model: RobotModel, version: int = 40900, text: str = TEXT, step: float = 0.005, is_real_time: bool = True
    ) -> None:
        self.world, self.ros, self.now = World(version), Ros(), 100.0
        self.world.clock = lambda: self.now
        self.world.params[C.floatparam_simulation_time_step] = step
        self.world.params[C.boolparam_realtime_simulation] = is_real_time
        api = type("sim", (), {**{k: staticmethod(f) for k, f in self.world.api().items()}, **vars(C)})
        build(api, model, np.array(HOME))
        self.joints = [self.world.sim_getObject(f"/{name}") for name in model.joint_names]
        for joint, q in zip(self.joints, HOME, strict=True):
            self.world.sim_setJointPosition(joint, q)
        functions = {**self.world.api(), "setJointTargetPosition": lambda joint, q: None}
        functions["getSimulationTimeStep"] = lambda: self.world.params[C.floatparam_simulation_time_step]
        self.ros.lua = lua_with(text, functions, simROS2=self.ros.functions())
        self.world.sim_startSimulation()
        self.ros.lua.globals().sysCall_init()

    def step(self, wall: float = 0.005) -> None:
        self.now += wall
        self.ros.lua.globals().sysCall_actuation()
        if self.world.state == C.simulation_advancing_running:
            self.world.sim_getSimulationTime()
            self.world.advance()
            self.world.steps -= 1  # sensing comes before time goes on
            self.ros.lua.globals().sysCall_sensing()
            self.world.steps += 1

    def torque(self) -> list[float]:
        return [self.world.torque(self.world.items[joint]) for joint in self.joints]


@pytest.fixture
def scene(ur5: RobotModel) -> Scene:
    return Scene(ur5)


def command(model: RobotModel, tau: list[float]) -> tuple[str, Any]:
    order = [3, 0, 5, 1, 4, 2]
    names = [model.joint_names[i] for i in order]
    return "/joint_commands", {"name": names, "effort": [float(tau[i]) for i in order]}


def test_the_list_of_interfaces_is_what_the_topics_are_made_of(scene: Scene):
    """Of every message that goes over a topic, all that it consists of; nothing else."""
    wanted, open_ = set(), {*scene.ros.publishers.values(), *(kind for kind, _ in scene.ros.subscriptions.values())}
    while open_:
        kind = open_.pop()
        wanted.add(kind)
        package, _, name = kind.split("/")
        fields = getattr(import_module(f"{package}.msg"), name).get_fields_and_field_types()
        parts = {re.sub(r"^sequence<|>$|\[.*", "", field) for field in fields.values()}
        open_ |= {"{}/msg/{}".format(*part.split("/")) for part in parts if "/" in part} - wanted
    assert share_path("coppeliasim", "interfaces.txt").read_text().split() == sorted(wanted)


def test_states_and_clock_are_those_of_the_arm(scene: Scene, ur5: RobotModel):
    scene.step()
    state, clock = scene.ros.newest("/joint_states"), scene.ros.newest("/clock")
    assert state["name"] == list(ur5.joint_names)
    assert state["position"] == [scene.world.items[joint].q for joint in scene.joints]
    assert state["velocity"] == [scene.world.items[joint].v for joint in scene.joints]
    assert state["header"]["stamp"] == clock["clock"] == {"sec": 0, "nanosec": 5_000_000}
    assert scene.ros.published[-1][0] == "/clock", "the clock comes last"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"is_real_time": False}, "switch on real time, then play: otherwise much simulated time passes until the"),
        ({"step": 0.01}, "a time step of 5 ms or less is needed; it is 0.01 s"),
    ],
)
def test_a_simulation_that_outruns_its_watchdog_or_its_gains_is_refused(settings, sentence: str, ur5: RobotModel):
    """CoppeliaSim is not in real time by default: 0.5 s of silence were 4 to 8 s of the arm."""
    with pytest.raises(lua54.LuaError, match=sentence):
        Scene(ur5, **settings)


def test_torque_before_4_4_is_the_sign_of_a_speed_and_a_force(scene: Scene):
    """The cases in which a rule that turns the sign only on a change of sign is wrong, among them."""
    for tau in (-5.0, 3.0, 0.0, -3.0, 0.0, 3.0, 1e-300, -1e-9):
        velocity, force = scene.ros.lua.globals().arm_velocity_and_force(tau)
        assert abs(velocity) == 1e4, "never reached"
        assert force == abs(tau)
        assert np.copysign(force, velocity) == tau


@pytest.mark.parametrize("version", [40900, 40300])
def test_commands_are_obeyed_by_name_and_cut_at_the_limits(version: int, ur5: RobotModel):
    scene = Scene(ur5, version)
    tau = [1000.0, -22.0, -15.0, -1.5, 0.0, -1000.0]
    scene.ros.waiting.append(command(ur5, tau))
    scene.step()
    assert scene.torque() == [150.0, -22.0, -15.0, -1.5, 0.0, -28.0]
    assert scene.ros.newest("/joint_states")["effort"] == scene.torque()
    scene.ros.waiting.append(("/effort_controller/commands", {"data": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}))
    scene.step()
    assert scene.torque() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize(
    "wrong",
    [
        ("/joint_commands", {"name": ["elbow_joint"], "effort": [1.0]}),
        ("/joint_commands", {"name": ["elbow_joint"] * 6, "effort": [1.0] * 6}),
        ("/effort_controller/commands", {"data": [1.0] * 5}),
        ("/effort_controller/commands", {"data": [1.0] * 5 + [float("nan")]}),
        ("/effort_controller/commands", {"data": [1.0] * 5 + [float("inf")]}),
    ],
)
def test_a_wrong_command_is_refused_and_said(wrong, scene: Scene, ur5: RobotModel):
    scene.ros.waiting.append(command(ur5, [1.0] * 6))
    scene.step()
    scene.ros.waiting.append(wrong)
    scene.step()
    assert scene.torque() == [1.0] * 6
    assert "refused" in scene.world.log[-1]


def test_the_arm_holds_itself_until_somebody_commands(scene: Scene, ur5: RobotModel):
    mode = C.jointintparam_dynctrlmode
    scene.step(wall=10.0)
    assert {scene.world.sim_getObjectInt32Param(joint, mode) for joint in scene.joints} == {C.jointdynctrl_position}
    assert scene.world.state == C.simulation_advancing_running, "nobody was there to be lost"
    scene.ros.waiting.append(command(ur5, [1.0] * 6))
    scene.step()
    assert {scene.world.sim_getObjectInt32Param(joint, mode) for joint in scene.joints} == {C.jointdynctrl_force}


@pytest.mark.parametrize("version", [40900, 40300])
def test_the_first_command_holds_at_once_and_not_the_limits_until_the_next_actuation(version: int, ur5: RobotModel):
    """A step under the limits, which are what the position controller may use, threw the arm by radians."""
    scene = Scene(ur5, version)
    scene.step()
    scene.ros.waiting.append(command(ur5, [1.0, -2.0, 3.0, -4.0, 5.0, -6.0]))
    scene.ros.spin()
    assert scene.torque() == [1.0, -2.0, 3.0, -4.0, 5.0, -6.0]


@pytest.mark.parametrize("pause", [True, False])
def test_silence_takes_the_torque_away(pause: bool, ur5: RobotModel):
    scene = Scene(ur5, text=TEXT.replace("pause = true", f"pause = {str(pause).lower()}"))
    scene.ros.waiting.append(command(ur5, [1.0] * 6))
    scene.step()
    scene.step(wall=0.49)
    assert scene.torque() == [1.0] * 6
    scene.step(wall=0.02)
    assert scene.torque() == [0.0] * 6
    assert scene.world.state == (C.simulation_paused if pause else C.simulation_advancing_running)
    scene.world.sim_startSimulation()
    scene.ros.waiting.append(command(ur5, [2.0] * 6))
    scene.step()
    assert scene.torque() == [2.0] * 6


def test_the_target_is_published_when_it_is_moved(scene: Scene):
    scene.step()
    scene.step()
    assert "/target_pose" not in dict(scene.ros.published)
    scene.world.sim_setObjectPosition(scene.world.sim_getObject("/target"), [0.1, 0.2, 0.3])
    scene.step()
    scene.step()
    assert [topic for topic, _ in scene.ros.published].count("/target_pose") == 1
    message = scene.ros.newest("/target_pose")
    assert message["pose"]["position"] == pytest.approx({"x": 0.1, "y": 0.2, "z": 0.3})
    assert message["header"]["frame_id"] == "base_link"
