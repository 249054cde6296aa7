"""The node ``ilqr``: what it publishes of its plans, and what becomes of it when planning fails."""

from __future__ import annotations

import os
import re
import signal
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseArray, PoseStamped
from rig import HOME, Driver, Rig, target
from std_msgs.msg import Float64
from std_srvs.srv import SetBool
from visualization_msgs.msg import Marker, MarkerArray

from arm_control import Pose, RobotModel
from arm_control.messages import pose_from_message
from arm_control.motion import FARTHEST
from arm_control.nodes.support.topics import LOSSLESS
from arm_control.optimal import ReachPlanner, RecedingParameters

START = np.concatenate([HOME, np.zeros(6)])


def goal(model: RobotModel, p: np.ndarray | None = None, ms: int = 0) -> PoseStamped:
    """A target 0.35 m from the start, or elsewhere."""
    X = model.pose(HOME)
    return target((X.p + [-0.1, -0.3, 0.15] if p is None else p).tolist(), X, ms * 1e-3)


def send(driver: Driver, message: PoseStamped, n: int) -> None:
    """Send the n-th target and wait until it is known."""
    driver.rig.publisher(PoseStamped, "target_pose").publish(message)
    driver.wait_for_targets(n)


def diagnosis(rig: Rig, heard: list[DiagnosticArray], begin: str) -> dict[str, str]:
    """Figures of a status that begins so."""
    rig.spin(lambda: heard and heard[-1].status[0].message.startswith(begin), what=begin)
    return {item.key: item.value for item in heard[-1].status[0].values}


def test_a_failed_solve_is_said_and_after_a_brake_it_plans_anew(rig: Rig, ur5: RobotModel):
    """Also with another tube; a parameter of the planner does not change live."""
    heard = rig.hear(DiagnosticArray, "/diagnostics")
    driver, weight, p = Driver(rig, ur5, "ilqr", replan_rate=50.0), ur5.gravity(HOME), ur5.pose(HOME).p
    send(driver, goal(ur5), 1)
    driver.answers(20)
    send(driver, goal(ur5, -(FARTHEST - 0.1) * p / np.linalg.norm(p), 20), 2)
    driver.answers(11)
    driver.logged("plan refused: ")
    figures = diagnosis(rig, heard, "no plan: ")
    assert (figures["plans"], figures["plans failed"]) == ("1", "1")
    for data in (False, True):
        driver.call("enable", SetBool.Request(data=data))
        assert np.abs(driver.answers(100)[-1] - weight).max() < 1e-6, "the old target has ended"
    assert [result.successful for result in driver.set(tube=0.01, position_weight=1.0)] == [True, False]
    send(driver, goal(ur5, None, driver.ms), 3)
    assert np.abs(driver.answers(20)[-1] - weight).max() > 5.0
    diagnosis(rig, heard, "passing commands")


@pytest.mark.processes
def test_without_its_planner_it_brakes_and_enabling_does_not_help(rig: Rig, ur5: RobotModel):
    heard = rig.hear(DiagnosticArray, "/diagnostics")
    driver, weight = Driver(rig, ur5, "ilqr", replan_rate=50.0), ur5.gravity(HOME)
    send(driver, goal(ur5), 1)
    assert np.abs(driver.answers(40)[-1] - weight).max() > 5.0
    driver.logged("the planner is process")
    os.kill(int(re.findall(r"the planner is process (\d+)", rig.log("ilqr"))[-1]), signal.SIGKILL)
    for _ in range(2):
        np.testing.assert_allclose(driver.answers(200)[-1], weight, atol=1e-6)
        diagnosis(rig, heard, "the planner has died")
        assert driver.call("enable", SetBool.Request(data=True)).success
        heard.clear()


def test_plan_figures_and_path_are_published(rig: Rig, ur5: RobotModel):
    names = ("plan_cost", "plan_iterations", "plan_ms", "tube_error", "position_error")
    begun = time.monotonic()
    heard = {name: rig.hear(Float64, f"controller_state/{name}") for name in names}
    paths = rig.hear(PoseArray, "planned_path", LOSSLESS)
    lines = rig.hear(MarkerArray, "plan_markers", LOSSLESS)
    driver = Driver(rig, ur5, "ilqr")
    send(driver, goal(ur5), 1)
    driver.answers(60)
    rig.spin(lambda: all(heard.values()) and paths and lines, what="figures and path")
    X: Pose = pose_from_message(goal(ur5))
    plan = ReachPlanner(ur5, RecedingParameters()).plan(0, START, X)
    assert (heard["plan_cost"][0].data, heard["plan_iterations"][0].data) == (plan.cost, plan.iterations)
    assert 0.0 < heard["plan_ms"][0].data < 1e3 * (time.monotonic() - begun)
    assert heard["position_error"][0].data == pytest.approx(0.35)
    tube = np.abs(plan.state(0.04)[:6] - HOME).max()
    rig.spin(lambda: any(message.data == pytest.approx(tube, abs=1e-9) for message in heard["tube_error"]), what="tube")
    ends = [ur5.pose(plan.xs[k, :6]).p for k in (0, -1)]
    for points in ([pose.position for pose in paths[0].poses], lines[0].markers[0].points):
        assert len(points) == 11
        for point, p in zip((points[0], points[-1]), ends, strict=True):
            np.testing.assert_allclose([point.x, point.y, point.z], p, atol=1e-12)
    assert lines[0].markers[0].type == Marker.LINE_STRIP
    assert paths[0].header.frame_id == lines[0].markers[0].header.frame_id == ur5.base
