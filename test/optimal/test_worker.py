"""Planning in another process: it answers as the planner would, survives errors, and its death is seen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from problems import planar

from arm_control import RobotModel, urdf_path
from arm_control.exceptions import ArmControlError
from arm_control.optimal import InlinePlanner, PlannerProcess, ReachPlanner, RecedingParameters, Request, reach_planner
from arm_control.optimal.receding import _recipe

PARAMETERS = RecedingParameters(orientation_weight=0.0)
MAKE = partial(reach_planner, PARAMETERS)
START = np.array([0.5, 1.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def process() -> Iterator[PlannerProcess]:
    """One for all tests that leave it alive; in the end it is closed, twice."""
    process = PlannerProcess(planar(2), MAKE)
    yield process
    process.close()
    assert not process.alive
    process.close()
    process.request(request(1))
    assert process.poll() is None


def request(number: int, x0=START, stamp_ns: int = 0, is_warm: bool = False) -> Request:
    return Request(number, stamp_ns, x0, planar(2).pose([0.8, 0.7]), is_warm)


def test_it_answers_as_the_planner_in_this_process(process: PlannerProcess):
    inline = InlinePlanner(ReachPlanner(planar(2), PARAMETERS))
    assert process.poll() is None
    for number, (stamp_ns, is_warm) in enumerate([(0, False), (40_000_000, True), (40_000_000, False)]):
        answers = []
        for planner in (process, inline):
            planner.request(request(number, START, stamp_ns, is_warm))
            answers.append(planner.poll(wait=True))
            assert planner.poll() is None
        ours, theirs = answers
        assert ours.number == theirs.number == number
        assert ours.plan.stamp_ns == stamp_ns
        assert ours.plan.iterations == theirs.plan.iterations
        np.testing.assert_array_equal(ours.plan.us, theirs.plan.us)
        np.testing.assert_array_equal(ours.plan.K, theirs.plan.K)
        assert ours.failure == ""
        assert ours.seconds > 0.0


def test_an_error_is_a_sentence_and_the_next_request_is_answered(process: PlannerProcess):
    process.request(request(1, START * np.nan))
    answer = process.poll(wait=True)
    assert (answer.number, answer.plan) == (1, None)
    assert answer.failure.startswith("the start is [nan")
    process.request(request(2, "nonsense"))
    assert process.poll(wait=True).failure.startswith("ValueError: could not convert")
    process.request(Request(3, 0, START, None, False))
    assert process.poll(wait=True).failure.startswith("AttributeError: ")
    process.request(request(4))
    assert process.poll(wait=True).plan is not None
    assert process.alive


def test_a_failed_solve_leaves_the_last_plan_for_the_next_warm_start():
    inline = InlinePlanner(ReachPlanner(planar(2), PARAMETERS))
    iterations = []
    for number, x0 in enumerate((START, START * np.nan, START)):
        inline.request(request(number, x0, is_warm=True))
        answer = inline.poll()
        iterations.append(answer.plan.iterations if answer.plan else -1)
    assert iterations[1] == -1
    assert iterations[2] < iterations[0]


def test_a_killed_planner_is_dead_and_one_that_cannot_start_says_why():
    process = PlannerProcess(planar(2), MAKE)
    assert process.alive
    os.kill(process.pid, signal.SIGKILL)
    process.request(request(1))
    assert process.poll(wait=True) is None
    assert not process.alive
    process.request(request(2))
    assert process.poll(wait=True) is None
    process.close()
    with pytest.raises(ArmControlError, match=r"the planner did not start: 1 problem"):
        PlannerProcess(Broken(planar(2)), MAKE)


class Broken:
    """A model whose description no other process can read."""

    def __init__(self, model: RobotModel) -> None:
        self._model, self.urdf = model, type("Urdf", (), {"text": "<robot name='none'/>"})

    def __getattr__(self, name: str):
        return getattr(self._model, name)


ORPHAN = """
import os, signal
from functools import partial
from arm_control import RobotModel, urdf_path
from arm_control.optimal import RecedingParameters
from arm_control.optimal.receding import PlannerProcess, reach_planner
if __name__ == "__main__":
    make = partial(reach_planner, RecedingParameters(orientation_weight=0.0))
    process = PlannerProcess(RobotModel.from_urdf(urdf_path("planar2")), make)
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_ends_when_the_one_who_asks_is_killed(tmp_path):
    """Its output, a pipe that it inherits, is at its end only when it has ended."""
    script = tmp_path / "orphan.py"
    script.write_text(ORPHAN)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert int(done.stdout) > 0


@pytest.mark.parametrize(
    ("robot", "choices"),
    [
        ("ur5", {"armature": 0.1, "effort_limits": {"elbow_joint": 50.0}, "gravity": [1.0, 0.0, -9.0]}),
        ("ur5", {"tip": "forearm_link"}),
        ("panda", {"locked": {"panda_joint3": 0.3}, "joints": ["panda_joint1", "panda_joint2", "panda_joint4"]}),
    ],
)
def test_the_other_process_has_the_same_arm(robot: str, choices):
    model = RobotModel.from_urdf(urdf_path(robot), **choices)
    again = RobotModel.from_urdf(**_recipe(model))
    assert (again.joint_names, again.tip, again.base) == (model.joint_names, model.tip, model.base)
    q = np.linspace(0.1, 0.8, model.nv)
    for what in ("mass_matrix", "gravity"):
        np.testing.assert_array_equal(getattr(again, what)(q), getattr(model, what)(q))
    np.testing.assert_array_equal(again.pose(q).p, model.pose(q).p)
    for what in ("tau_max", "v_max", "q_min", "q_max"):
        np.testing.assert_array_equal(getattr(again, what), getattr(model, what))
