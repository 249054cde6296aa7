"""Exported controllers and an arm in MuJoCo: a brake brings it to rest, and holds it there."""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from exported_library import CC, CPU, CController, library_of

from arm_control import RobotModel, urdf_path
from arm_control.export.c_folder import write_folder
from arm_control.export.exported_controller import exported_controller
from arm_control.faults.campaign import setup_of
from arm_control.faults.catalogue import all_faults
from arm_control.maths.poses import Array, Pose
from arm_control.messages.bags.message_definitions import plain
from arm_control.motion.references import Reference
from arm_control.simulation.scenario import Scenario

pytestmark = [
    pytest.mark.skipif(CC is None, reason="there is no C compiler"),
    pytest.mark.skipif(find_spec("mujoco") is None, reason="mujoco is not installed"),
]

DT = 1e-3
SLOW = 0.02
"""Speed of an arm that counts as being at rest [rad/s]."""
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
BRAKING = 2


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("faults")
    write_folder(folder, exported_controller(Scenario("ur5", "", "ur5", {"osc": {}})), [CPU])
    return library_of(Path(folder), "ur5_osc")


@pytest.fixture
def c(library: ctypes.CDLL) -> CController:
    return CController(library, "ur5_osc", 6)


@pytest.mark.parametrize(
    ("name", "latest"),
    [
        ("states:frozen", 0.01),
        ("states:position-jumps", 0.0),
        ("states:position-nan", 0.02),
        ("states:velocity-nan", 0.02),
    ],
)
def test_an_arm_is_at_rest_soon_after_a_fault(c: CController, name: str, latest: float):
    fault = next(fault for fault in all_faults() if fault.name == name)
    setup = setup_of(fault, "hardware", "osc")
    simulator = setup.plant.simulator(setup.model, setup.q, DT)
    c.set_reference(Reference(setup.goal.X_FT))
    tau, speeds, modes, n_faulty = np.zeros(6), list[float](), list[int](), 0
    for k in range(1500):
        t, states = k * DT, [(simulator.q.copy(), simulator.v.copy())]
        if t >= setup.onset - 1e-9:
            message = plain.joint_state(
                setup.model.joint_names, round(t * 1e9), position=states[0][0], velocity=states[0][1]
            )
            states = [
                (np.array(x.message.position, dtype=float), np.array(x.message.velocity, dtype=float))
                for x in setup.states(n_faulty, message)
            ]
            n_faulty += 1
        for q, v in states[:1]:
            tau, status = c.tick(q, v, DT)
            modes.append(status.mode)
        speeds.append(float(np.abs(simulator.v).max()))
        simulator.step(tau)
    first = round((setup.onset + fault.n_right * fault.period) / DT)
    assert speeds[first] > 0.5
    assert modes.index(BRAKING) - first <= round(latest / DT)
    assert max(speeds[first + 600 :]) < SLOW


def brake_with(c: CController, payload: float) -> tuple[Array, float]:
    """Brake an arm in motion whose payload nobody has told; heights of the hand since [m], and the speed at the end."""
    model = RobotModel.from_urdf(urdf_path("ur5"))
    from arm_control.simulation.mujoco_simulator import MujocoSimulator

    simulator = MujocoSimulator(RobotModel.from_urdf(urdf_path("ur5"), payload_mass=payload), HOME)
    X, heights = model.pose(HOME), list[float]()
    c.set_reference(Reference(Pose(X.R, X.p + [-0.1, 0.3, -0.1])))
    for k in range(6800):
        if k == 800:
            c.call("brake")
        if k >= 800:
            heights.append(model.pose(simulator.q).p[2])
        simulator.step(c.tick(simulator.q.copy(), simulator.v.copy(), DT)[0])
    assert c.state()[0] == BRAKING
    return np.array(heights), float(np.abs(simulator.v).max())


@pytest.mark.parametrize("payload", [0.0, 0.5, 1.0])
def test_a_brake_holds_an_unknown_payload(c: CController, payload: float):
    heights, speed = brake_with(c, payload)
    assert heights[0] - heights[-1] <= 0.02
    assert speed < 1e-3
