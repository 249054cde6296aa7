"""Fixtures of the node tests: real processes, each test on a domain of its own, on this machine only."""

from __future__ import annotations

import fcntl
import itertools
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fork_server import ForkServer
from geometry_msgs.msg import PoseStamped
from rig import CHECKED, HOME, PATIENCE, Rig, repeating, spin_through_stalls, target

from arm_control import RobotModel, urdf_path


@pytest.fixture
def domain() -> Iterator[int]:
    """A domain id that no other test on this machine has meanwhile, whoever runs it."""
    for number in itertools.cycle(range(1, 101)):
        with (Path(tempfile.gettempdir()) / f"arm_control_domain_{number}").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield number
            return


@pytest.fixture(scope="session")
def ur5() -> RobotModel:
    """The UR5."""
    return RobotModel.from_urdf(urdf_path("ur5"))


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer | None]:
    """One server for all tests of this worker."""
    server = ForkServer.launch({**os.environ, **CHECKED}) if sys.platform == "linux" else None
    yield server
    if server is not None:
        server.close()


@pytest.fixture
def rig(domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fork_server: ForkServer | None) -> Iterator[Rig]:
    """Processes on a domain of their own."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    rig = Rig(tmp_path, domain, fork_server)
    try:
        yield rig
    finally:
        rig.close()


PATIENT = {"max_missed": 1000, "max_age": 5.0}
"""Gates that a stall of the machine does not trip, where a test is about something else."""


@pytest.fixture
def moving(rig: Rig, ur5: RobotModel) -> Rig:
    """A UR5 in the middle of a reach of 0.35 m, in real time, slowed down so that a busy machine keeps up."""
    rig.start("osc", publish_effort_array=False, **PATIENT)
    rig.start("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.5, **PATIENT)
    return in_motion(rig, ur5)


@pytest.fixture
def moving_behind_a_gate(rig: Rig, ur5: RobotModel) -> Rig:
    """The same, with the node ``gate`` between the controller and the arm."""
    rig.start("osc", "-r", "joint_commands:=effort_in", publish_effort_array=False, **PATIENT)
    rig.start("gate", publish_effort_array=False, **PATIENT)
    rig.start("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.5, **PATIENT)
    return in_motion(rig, ur5)


@pytest.fixture
def moving_alert(rig: Rig, ur5: RobotModel) -> Rig:
    """The same, with gates that brake after 20 states without a command, as they do by default."""
    rig.start("osc", publish_effort_array=False)
    rig.start("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.2)
    return in_motion(rig, ur5)


@pytest.fixture
def moving_behind_an_alert_gate(rig: Rig, ur5: RobotModel) -> Rig:
    """The same, with the node ``gate`` between the controller and the arm."""
    rig.start("osc", "-r", "joint_commands:=effort_in", publish_effort_array=False)
    rig.start("gate", publish_effort_array=False)
    rig.start("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.2)
    return in_motion(rig, ur5)


@pytest.fixture
def stepping(rig: Rig, ur5: RobotModel) -> Rig:
    """The same in lock step, with time for the two to find each other: the simulator brakes when nobody answers."""
    rig.start("osc", publish_effort_array=False, lock_step=True)
    slowed = {"lock_step": True, "paced": True, "real_time_factor": 0.5}
    rig.start("simulator", robot="ur5", initial_position=HOME, loss_time=PATIENCE, **slowed)
    return in_motion(rig, ur5)


def in_motion(rig: Rig, model: RobotModel) -> Rig:
    """Send a target and wait for full speed; gates that a stall of the machine has tripped are enabled again.

    A target may be lost, and a motion may be over before it is seen: the arm then goes back, and once more.
    """
    rig.until(0.02)
    start = model.pose(HOME)
    away = target((start.p + np.array([-0.1, -0.3, 0.15])).tolist(), start)
    goals = itertools.cycle([away, target(start.p.tolist(), start)])
    rig.target_publisher = rig.publisher(PoseStamped, "target_pose")

    def send_next() -> None:
        rig.goal = next(goals)
        rig.target_publisher.publish(rig.goal)

    def fast() -> bool:
        return max(map(abs, rig.states[-1].velocity)) > 0.5

    spin_through_stalls(rig, repeating(send_next, fast), "motion", send_next)
    return rig
