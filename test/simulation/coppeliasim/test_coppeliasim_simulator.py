"""The arm in CoppeliaSim: built, checked, moved, lost and found; the real client against the stand-in."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from lua_sim import C
from stand_in import REAL, stopped_api

from arm_control import RobotModel
from arm_control.exceptions import JointNotFound, MissingExtra, ModelError, SimulatorLost
from arm_control.maths import Box, Capsule, Cone, Cylinder, Sphere
from arm_control.simulation import MujocoSimulator
from arm_control.simulation.coppeliasim import coppeliasim_client
from arm_control.simulation.coppeliasim import coppeliasim_simulator as simulator_module

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
ALIKE = 2e-3 if REAL else 1e-8
"""How far positions may differ from our own simulator's [rad]; CoppeliaSim has another integrator."""
only_stand_in = pytest.mark.skipif(bool(REAL), reason="a running CoppeliaSim has no faults on demand")


def pushed(model: RobotModel, simulator, reference, steps: int, seed: int = 0) -> float:
    """Move both with the same torque, of random accelerations; the largest difference of positions afterwards."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        terms = model.evaluate(simulator.q, simulator.v)
        tau = terms.M @ (rng.uniform(-20.0, 20.0, model.nv) - 5.0 * simulator.v) + terms.h
        tau = np.clip(tau, -model.tau_max, model.tau_max)  # as our own simulator does
        simulator.step(tau)
        reference.step(tau)
    assert np.abs(reference.q - simulator._q_initial).max() > 0.01, "they have moved"
    return float(np.abs(simulator.q - reference.q).max())


# -- building and moving --------------------------------------------------------------------------


@pytest.mark.parametrize(("robot", "q"), [("ur5", HOME), ("panda", [0.1, 0.2, 0.0, -1.5, 0.0, 1.7, 0.3])])
def test_the_arm_that_is_built_moves_as_the_urdf_says(robot: str, q, request, connected):
    """Its only knowledge is the objects in the scene; MuJoCo made from the URDF is the oracle."""
    model = request.getfixturevalue(robot)
    simulator, reference = connected(model, q), MujocoSimulator(model, q, timestep=0.005)
    assert np.allclose(simulator.q, q, atol=1e-9)
    assert pushed(model, simulator, reference, 100) < ALIKE
    assert simulator.steps == 100


SLIDE = """<robot name="crane"><link name="rail"/>
  <link name="cart"><inertial><origin xyz="0.1 0 0.2" rpy="0 0.3 0"/><mass value="3"/>
    <inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0.01" ixz="0" iyz="0.02"/></inertial></link>
  <link name="load"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="run-way" type="prismatic"><parent link="rail"/><child link="cart"/><origin xyz="0 0 1" rpy="0.2 0 0"/>
    <axis xyz="1 1 0"/><limit lower="-2" upper="2" effort="50" velocity="2"/></joint>
  <joint name="swing" type="continuous"><parent link="cart"/><child link="load"/><origin xyz="0.1 0 0" rpy="0 0 0.4"/>
    <axis xyz="0 1 1"/><limit effort="20" velocity="5"/></joint></robot>"""


def test_sliding_joints_slide(connected):
    """Along an axis that is no axis of a frame, and with a name that is none in CoppeliaSim."""
    model = RobotModel.from_urdf(SLIDE)
    simulator, reference = connected(model, [0.1, -0.2]), MujocoSimulator(model, [0.1, -0.2], timestep=0.005)
    assert pushed(model, simulator, reference, 50) < ALIKE


def test_what_pushes_is_no_effort_of_the_motors(ur5, connected):
    simulator, reference = connected(ur5, HOME), MujocoSimulator(ur5, HOME, timestep=0.005)
    tau, load = ur5.gravity(HOME), np.array([8.0, -3.0, 2.0, 0.5, -0.2, 0.05])
    for one in (simulator, reference):
        one.load(load)
        for _ in range(20):
            one.step(tau)
    assert np.abs(simulator.q - HOME).max() > 0.005
    assert np.abs(simulator.q - reference.q).max() < ALIKE
    assert np.allclose(simulator.effort, tau, atol=1e-3 if REAL else 1e-9)
    simulator.reset()
    assert np.allclose(simulator.effort, 0.0, atol=1e-3), "nothing pushes at the start"


def test_a_reset_is_the_start_again(ur5, connected):
    simulator = connected(ur5, HOME)
    rng, first = np.random.default_rng(1), []
    torques = ur5.gravity(HOME) + rng.uniform(-5.0, 5.0, (20, 6))
    for tau in torques:
        simulator.step(tau)
        first.append(simulator.q)
    simulator.reset()
    assert simulator.steps == 0
    assert np.allclose(simulator.q, HOME, atol=1e-9)
    assert not simulator.v.any()
    for tau, q in zip(torques, first, strict=True):
        simulator.step(tau)
        assert np.allclose(simulator.q, q, atol=1e-9)
    simulator.reset(HOME + 0.1)
    assert np.allclose(simulator.q, HOME + 0.1, atol=1e-9)


@only_stand_in
def test_who_leaves_says_so_and_stops_what_it_started(ur5, connected, stand_in):
    server = stand_in()
    server.world.params[C.boolparam_realtime_simulation] = True
    simulator = connected(ur5, HOME, server)
    assert not server.world.params[C.boolparam_realtime_simulation], "it steps as fast as it can"
    simulator.close()
    assert server.asked[-2:] == ["sim.stopSimulation", "_*end*_"]
    assert server.world.state == C.simulation_stopped
    with pytest.raises(SimulatorLost, match="not connected"):
        simulator.step(np.zeros(6))


@only_stand_in
def test_the_arm_of_the_open_scene_is_used(ur5, simulate, connected, stand_in):
    server = stand_in()
    simulate(ur5, HOME, server).connect()
    del server.asked[:]
    server.world.items[server.world.sim_getObject("/elbow_joint")].alias = "renamed"
    connected(ur5, HOME, server, joint_paths=["elbow_joint:/renamed"])
    assert "sim.createJoint" not in server.asked
    assert sum(item.kind == "script" for item in server.world.items.values()) == 1, "the old script is gone"
    with pytest.raises(JointNotFound, match="elbow"):
        simulate(ur5, HOME, server, joint_paths=["elbow:/renamed"]).connect()


# -- refusals -------------------------------------------------------------------------------------

REFUSALS = {
    "version": ({"version": 40500}, "this is CoppeliaSim 4.5.0, which cannot create the script .* 4.6.0 or later is"),
    "script": ({"without": ["createScript"]}, "4.9.0, which cannot create the script that moves the arm"),
    "engine": ({"fixed": {"intparam_dynamic_engine": C.physics_ode}}, "keeps the engine ode; needed: mujoco"),
    "plugin": ({"missing_engine": "physics_mujoco"}, "does not simulate shoulder_pan_joint, .* the plugin of"),
    "simulation step": ({"fixed": {"floatparam_simulation_time_step": 0.05}}, "keeps simulation_time_step at 0.05 s"),
    "dynamic step": (
        {"fixed": {"floatparam_dynamic_step_size": 0.01}},
        "keeps dynamic_step_size at 0.01 s; needed: 0.005 s",
    ),
    "joint mode": ({"joint_mode": "jointmode_kinematic"}, "shoulder_pan_joint is not dynamic"),
    "control mode": ({"stubborn": "jointintparam_dynctrlmode"}, "shoulder_pan_joint is not under torque"),
    "mass": ({"mass_factor": 1.002}, "what shoulder_pan_joint carries weighs 3.707.* kg in CoppeliaSim and 3.7 kg in"),
    "armature": ({"armature_error": 0.1}, "CoppeliaSim keeps an armature of 0.1 kg m\\^2; needed: 0 kg m\\^2"),
    "gravity": ({"fixed": {"arrayparam_gravity": [0, 0, -1.6]}}, r"gravity is \[0.0, 0.0, -1.6\] m/s\^2 in"),
    "position": ({"position_error": 1e-3}, "the arm starts at .* in CoppeliaSim, not at"),
}


@only_stand_in
@pytest.mark.parametrize("what", REFUSALS)
def test_a_mismatch_is_refused_with_a_sentence(what: str, ur5, simulate, stand_in):
    faults, sentence = REFUSALS[what]
    server = stand_in(**faults)
    simulator = simulate(ur5, HOME, server)
    with pytest.raises(ModelError, match=sentence):
        simulator.connect()
    assert server.asked[-1] == "_*end*_"
    assert server.world.state == C.simulation_stopped


def _turned_inertia(world) -> None:
    link = world.items[world.sim_getObject("/elbow_joint_carries")]
    link.inertia = np.roll(link.inertia, 1, axis=(0, 1))


def _turned_joint(world) -> None:
    joint = world.items[world.sim_getObject("/elbow_joint")]
    joint.local = joint.local @ np.diag([1.0, -1.0, -1.0, 1.0])


@only_stand_in
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            _turned_inertia,
            r"what elbow_joint carries has the inertia \[.*\] kg m\^2 in CoppeliaSim and \[.*\] kg m\^2 in",
        ),
        (
            _turned_joint,
            r"elbow_joint turns about \[0.0, -1.0, 0.0\] through .*, \[0.0, 1.0, 0.0\] through .* in the URDF",
        ),
    ],
)
def test_an_arm_that_only_weighs_the_same_is_refused(change, sentence: str, ur5, simulate, connected, stand_in):
    server = stand_in()
    first = connected(ur5, HOME, server)
    first.close()
    change(server.world)
    with pytest.raises(ModelError, match=sentence):
        simulate(ur5, HOME, server).connect()


def test_a_bridge_that_lives_is_not_pushed_aside(ur5, simulate, monkeypatch):
    first, second = simulate(ur5, HOME), simulate(ur5, HOME)
    first.connect()

    def pause(_: float) -> None:
        first._request_time = 0.0
        first.keep_alive()

    monkeypatch.setattr(simulator_module, "time", SimpleNamespace(sleep=pause, monotonic=time.monotonic))
    with pytest.raises(ModelError, match="another bridge moves an arm in this CoppeliaSim: end it first"):
        second.connect()
    first.step(ur5.gravity(HOME))
    assert first.steps == 1
    monkeypatch.undo()
    second.connect()  # the first one says nothing now


@only_stand_in
def test_a_simulation_of_somebody_else_s_is_left_alone(ur5, simulate, stand_in):
    server = stand_in()
    server.world.sim_startSimulation()
    with pytest.raises(ModelError, match="a simulation is running in CoppeliaSim: stop it first"):
        simulate(ur5, HOME, server).connect()
    assert server.world.state == C.simulation_advancing_running


def test_a_scene_that_cannot_be_loaded_is_an_error(ur5, simulate):
    with pytest.raises(ModelError, match=r"loadScene"):
        simulate(ur5, HOME, scene="/nowhere/there.ttt").connect()


def test_without_the_client_the_extra_is_named(ur5, simulate, monkeypatch):
    monkeypatch.setattr(coppeliasim_client, "RemoteAPIClient", None)
    with pytest.raises(MissingExtra, match=r"pip install 'arm_control\[coppeliasim\]'"):
        simulate(ur5, HOME).connect()


# -- losing each other ----------------------------------------------------------------------------


@only_stand_in
def test_a_server_that_dies_is_an_error_and_the_next_one_is_found(ur5, connected, stand_in):
    server = stand_in()
    simulator = connected(ur5, HOME, server)
    handles = list(simulator._handles)
    server.stop()
    with pytest.raises(SimulatorLost, match="no answer within 1 s"):
        simulator.step(np.zeros(6))
    simulator.close()
    successor = stand_in(server.port)
    successor.world.sim_createDummy(0.1)  # so that handles differ
    simulator.connect()
    assert simulator._handles != handles
    simulator.step(ur5.gravity(HOME))
    assert simulator.steps == 1


def test_time_that_goes_on_by_itself_is_an_error(ur5, connected):
    simulator = connected(ur5, HOME)
    with simulator._connected().errors():
        simulator._connected().sim.step()
    with pytest.raises(SimulatorLost, match=r"is at 0.0100 s, not at 0.0050 s: another client has stepped it"):
        simulator.step(np.zeros(6))


@only_stand_in
def test_an_error_in_our_script_is_told_and_its_watchdog_lives(ur5, connected, stand_in):
    """CoppeliaSim ends a script that an error leaves."""
    server = stand_in()
    simulator = connected(ur5, HOME, server)
    with pytest.raises(ModelError, match=r"arm_write: .*got 2 torques for 6 joints"):
        simulator._connected().call(simulator._script, "arm_write", [1.0, 2.0])
    gone = simulator._handles[2]
    del server.world.items[gone]
    with pytest.raises(ModelError, match=r"CoppeliaSim at 127.0.0.1:\d+: arm_write: "):
        simulator.step(ur5.gravity(HOME))
    world, now = server.world, [time.monotonic() + 60.0]
    world.clock = lambda: now[0]
    simulator._connected().sim.step()
    assert "the arm's bridge is gone" in world.log[-1]
    assert world.sim_getJointTargetForce(simulator._handles[0]) == 0.0


def test_nothing_moves_while_somebody_has_paused_it(ur5, connected):
    simulator = connected(ur5, HOME)
    tau, sim = ur5.gravity(HOME) + 1.0, simulator._connected().sim
    simulator.step(tau)
    q = simulator.q
    sim.pauseSimulation()
    for _ in range(4):
        simulator.step(tau)
    assert simulator.is_paused
    made = simulator.steps
    assert made <= 3, "those that were under way are made"
    sim.startSimulation()
    look(simulator)
    assert not simulator.is_paused
    goes_on = simulator.steps
    assert goes_on - made in ((0, 1) if REAL else (0,)), "what runs may be one that makes a step on play"
    simulator.step(tau)
    assert simulator.steps == goes_on + 1
    assert np.abs(simulator.q - q).max() > 0.0


@only_stand_in
@pytest.mark.parametrize("looks", [True, False])
def test_from_4_10_on_play_makes_the_step_of_the_pause(looks: bool, ur5, connected, stand_in):
    """That version lacks a constant, too. No state is lost: the arm moves as without a pause."""
    simulator, reference = connected(ur5, HOME, stand_in(version=41000)), MujocoSimulator(ur5, HOME, timestep=0.005)
    tau, sim = ur5.gravity(HOME) + 1.0, simulator._connected().sim
    assert not hasattr(sim, "simulation_advancing_abouttostop")
    simulator.step(tau)
    sim.pauseSimulation()
    for _ in range(3):
        simulator.step(tau)
    assert (simulator.is_paused, simulator.steps) == (True, 1)
    sim.startSimulation()
    if looks:
        look(simulator)
        assert (simulator.is_paused, simulator.steps) == (False, 2)
    simulator.step(tau)
    assert simulator.steps == 3
    for _ in range(3):
        reference.step(tau)
    assert np.abs(simulator.q - reference.q).max() < 1e-8
    sim.step()
    with pytest.raises(SimulatorLost, match=r"is at 0.0250 s, not at 0.0200 s: another client has stepped it"):
        simulator.step(tau)


@only_stand_in
def test_after_a_pause_another_client_is_still_noticed(ur5, connected, stand_in):
    simulator = connected(ur5, HOME, stand_in(version=41000))
    tau, sim = ur5.gravity(HOME), simulator._connected().sim
    sim.pauseSimulation()
    simulator.step(tau)
    sim.startSimulation()
    sim.step()
    with pytest.raises(SimulatorLost, match=r"is at 0.0100 s, not at 0.0000 s: another client has stepped it"):
        look(simulator)


def look(simulator) -> None:
    """What the node does while nothing is to do."""
    simulator._request_time = 0.0
    simulator.keep_alive()


def stopped_by_hand(model: RobotModel, simulator) -> None:
    """A simulation that somebody stops after its first step."""
    sim = simulator._connected().sim
    simulator.step(model.gravity(HOME))
    sim.stopSimulation()
    while sim.getSimulationState() != sim.simulation_stopped:
        look(simulator)
    look(simulator)
    assert simulator.is_stopped


@only_stand_in
@pytest.mark.parametrize("state", ["abouttostop", "lastbeforestop"])
def test_a_simulation_that_is_about_to_stop_counts_as_stopped(state: str, ur5, connected, stand_in):
    server = stand_in()
    simulator = connected(ur5, HOME, server)
    server.world.state = getattr(C, f"simulation_advancing_{state}")
    look(simulator)
    assert simulator.is_stopped


def test_after_a_stop_by_hand_a_reset_begins_again(ur5, connected):
    simulator = connected(ur5, HOME)
    stopped_by_hand(ur5, simulator)
    simulator.step(ur5.gravity(HOME))
    assert simulator.steps == 1, "nothing happens"
    simulator.reset()
    assert simulator.steps == 0
    simulator.step(ur5.gravity(HOME))
    assert (simulator.steps, simulator.is_stopped) == (1, False)


@only_stand_in
@pytest.mark.parametrize("version", [40900, 41000])
def test_the_watchdog_takes_the_torque_away_and_pauses(version: int, ur5, connected, stand_in):
    server = stand_in(version=version)
    world, now = server.world, [100.0]
    world.clock = lambda: now[0]
    simulator = connected(ur5, HOME, server, watchdog_time=0.5)
    tau = ur5.gravity(HOME)
    simulator.step(tau)
    now[0] += 0.49  # nobody has missed us
    simulator.step(tau)
    assert world.state == C.simulation_advancing_running
    now[0] += 0.51
    for _ in range(3):
        simulator._connected().sim.step()
    simulator._request_time = 0.0
    with pytest.raises(SimulatorLost, match="watchdog has paused the simulation"):
        simulator.keep_alive()
    assert world.state == C.simulation_paused
    assert [world.sim_getJointTargetForce(handle) for handle in simulator._handles] == [0.0] * 6
    assert "the arm's bridge is gone" in world.log[-1]
    simulator.connect()
    simulator.step(tau)
    assert simulator.steps == 1


# -- target and obstacles -------------------------------------------------------------------------


@pytest.fixture
def furnished(ur5, connected):
    """A simulator whose scene has an obstacle of each kind, and a base that is turned and moved."""
    simulator = connected(ur5, HOME)
    simulator.close()
    sim = stopped_api(simulator.parameters.host, simulator.parameters.port)
    shapes = {
        "box": (sim.primitiveshape_cuboid, [0.1, 0.2, 0.3], Box((0.1, 0.2, 0.3))),
        "ball": (sim.primitiveshape_spheroid, [0.2, 0.2, 0.2], Sphere(0.1)),
        "tube": (sim.primitiveshape_cylinder, [0.2, 0.2, 0.4], Cylinder(0.1, 0.4)),
        "hat": (sim.primitiveshape_cone, [0.2, 0.2, 0.4], Cone(0.1, 0.4)),
        "pill": (sim.primitiveshape_capsule, [0.2, 0.2, 0.6], Capsule(0.1, 0.4)),
    }
    handles = {}
    for number, (name, (kind, size, _)) in enumerate(shapes.items()):
        handles[name] = sim.createPrimitiveShape(kind, size)
        sim.setObjectAlias(handles[name], name)
        sim.setObjectPosition(handles[name], [1.0, 0.1 * number, 0.5], sim.handle_world)
    return ur5, simulator, shapes


def test_obstacles_have_the_shapes_and_poses_of_the_scene(furnished, simulate):
    model, other, shapes = furnished
    simulator = simulate(model, HOME, obstacle_objects=[f"/{name}" for name in shapes])
    simulator.parameters = simulator.parameters.replace(host=other.parameters.host, port=other.parameters.port)
    simulator.connect()
    found = dict(simulator.obstacles)
    for number, (name, (_, _, shape)) in enumerate(shapes.items()):
        theirs = found[f"/{name}"]
        assert type(theirs) is type(shape)
        assert [*vars(theirs).values()] == [pytest.approx(value) for value in vars(shape).values()]
        assert np.allclose(simulator.X_BO[number].p, [1.0, 0.1 * number, 0.5])
    simulator.close()


@only_stand_in
def test_poses_are_seen_from_the_arm_s_base(ur5, simulate, connected, stand_in):
    """The arm is turned by 90 degrees about z: x of the world is -y of its base; gravity stays."""
    server = stand_in()
    first = connected(ur5, HOME, server)
    first.close()
    world = server.world
    frame = world.sim_getObject("/base_link")
    world.sim_setObjectMatrix(frame, [0.0, -1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.5], -1)
    world.sim_setObjectPosition(world.sim_getObject("/target"), [2.0, 0.0, 0.5])
    simulator = connected(ur5, HOME, server, base_object="/base_link")
    assert np.allclose(simulator.X_BT.p, [0.0, -1.0, 0.0])
    simulator.close()
    with pytest.raises(ModelError, match="is it another arm, or is base_object wrong"):
        simulate(ur5, HOME, server).connect()
    world.sim_setObjectMatrix(frame, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0], -1)
    with pytest.raises(ModelError, match="gravity is"):
        simulate(ur5, HOME, server, base_object="/base_link").connect()
    world.sim_setObjectMatrix(frame, np.eye(4)[:3].ravel().tolist(), -1)
    world.items[world.sim_createDummy(0.1)].alias = "frame"
    with pytest.raises(ModelError, match="lacks /nowhere"):
        simulate(ur5, HOME, server, obstacle_objects=["/nowhere"]).connect()
    with pytest.raises(ModelError, match="the obstacle /frame is no cuboid"):
        simulate(ur5, HOME, server, obstacle_objects=["/frame"]).connect()
