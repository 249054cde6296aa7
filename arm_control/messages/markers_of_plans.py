"""A plan as markers: for people in RViz and on the page, and its obstacles for programs. No ROS here."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.maths import Array, Mover, Obstacle, Span, rotation_vector
from arm_control.messages.build import MessageBuilder, set_header
from arm_control.messages.fields import nanoseconds, pose_from_message
from arm_control.messages.markers import ADD, DELETEALL, LINE_LIST, shapes_of
from arm_control.model import RobotModel
from arm_control.planning import MotionPlan, PlanRecord

LINE_POINTS, POSTURES, MOMENTS = 60, 6, 4
"""Points of the end effector's line, postures of the arm, and later moments of the obstacles that are drawn."""
MOST_EDGES = 1000
"""Edges of the trees that are drawn: the first ones."""
SCENE_STEP_NS = 100_000_000
"""Time between the two poses of an obstacle from which its twist follows [ns]."""
PLAN, POSTURE, TREE, OBSTACLE, SCENE = "plan", "plan_posture", "plan_tree", "plan_obstacle", "plan_scene"
"""Namespaces of the markers."""
POSTURE_COLOUR, TREE_COLOUR, OBSTACLE_COLOUR = (0.1, 0.5, 0.9, 0.35), (0.5, 0.5, 0.5, 0.5), (0.8, 0.3, 0.2, 0.2)


def plan_markers(builder: MessageBuilder, model: RobotModel, plan: MotionPlan, frame: str) -> list[Any]:
    """Return markers of a plan: lines of the end effector and of the trees, postures, moving obstacles later on."""
    times = np.linspace(0.0, plan.duration, LINE_POINTS)
    qs = [plan.motion.sample(t).q_des for t in times.tolist()]
    line = np.array([model.pose(q).p for q in qs])
    markers = [_removal(builder, plan.begin_ns), builder.line_marker(line, frame, plan.begin_ns)]
    for q in qs[:: LINE_POINTS // POSTURES]:
        markers.append(builder.line_marker(_skeleton(model, q), frame, plan.begin_ns, 0.01))
        _name(markers[-1], POSTURE, len(markers), POSTURE_COLOUR)
    if len(plan.tree):
        ends = np.array([model.pose(q).p for edge in plan.tree[:MOST_EDGES] for q in edge])
        markers.append(builder.line_marker(ends, frame, plan.begin_ns, 0.002))
        markers[-1].type = LINE_LIST
        _name(markers[-1], TREE, len(markers), TREE_COLOUR)
    for t in np.linspace(0.0, plan.duration, MOMENTS + 1)[1:].tolist():
        for obstacle in plan.obstacles_at(t):
            if np.any(obstacle.V_WO):
                markers.append(_obstacle(builder, obstacle, frame, plan.begin_ns))
                _name(markers[-1], OBSTACLE, len(markers), OBSTACLE_COLOUR)
    return markers


def scene_markers(builder: MessageBuilder, plan: MotionPlan, frame: str) -> list[Any]:
    """Return the obstacles of a plan as markers, from which its begin and twists follow.

    Each obstacle that moves is there twice, with the stamp of the plan's begin and a tenth of a second later.
    """
    markers = [_removal(builder, plan.begin_ns)]
    later = plan.obstacles_at(SCENE_STEP_NS * 1e-9)
    for number, pair in enumerate(zip(plan.obstacles, later, strict=True)):
        for k, obstacle in enumerate(pair if np.any(pair[0].V_WO) else pair[:1]):
            markers.append(_obstacle(builder, obstacle, frame, plan.begin_ns + k * SCENE_STEP_NS))
            markers[-1].ns, markers[-1].id = SCENE, number
    return markers


def record_of(model: RobotModel, plan: Any, scene: Any) -> PlanRecord:
    """Return the plan of messages of the node ``planner``.

    Parameters
    ----------
    scene : MarkerArray
        The markers of :func:`scene_markers`, in the base.

    Raises
    ------
    ArmControlError
        When a joint or a number is missing, or a marker is no obstacle.
    """
    times = np.array([nanoseconds(point.time_from_start) / NANOSECONDS for point in plan.points])
    qs = np.array([model.in_joint_order(plan.joint_names, point.positions) for point in plan.points])
    pairs: dict[int, list[Any]] = {}
    for marker in scene.markers:
        if marker.action == ADD:
            pairs.setdefault(marker.id, []).append(marker)
    movers = [mover for pair in pairs.values() for mover in _movers(pair)]
    return PlanRecord(str(model.urdf.robot.name), times, qs, tuple(movers))


def _movers(pair: list[Any]) -> list[Mover]:
    """The obstacles of one or two markers: with the twist from the first to the second."""
    X_WM, *later = (pose_from_message(marker) for marker in pair)
    twist = np.zeros(6)
    if later:
        turn = rotation_vector(later[0].R @ X_WM.R.T)
        twist = np.concatenate([later[0].p - X_WM.p, turn]) / (SCENE_STEP_NS / NANOSECONDS)
    shapes = [(shape, X_WM @ X_MO) for shape, X_MO in shapes_of(pair[0])]
    return [Mover(Obstacle(shape, X, _at(twist, X.p - X_WM.p)), Span()) for shape, X in shapes]


def _at(twist: Array, p: Array) -> Array:
    """A twist about a point p away, shape (6,) [m/s, rad/s]."""
    return np.concatenate([twist[:3] + np.cross(twist[3:], p), twist[3:]])


def _skeleton(model: RobotModel, q: Array) -> Array:
    """Origins of the links from the base to the end effector, shape (m, 3) [m]."""
    chain = model.urdf.robot.get_chain(model.base, model.tip, joints=False)
    return np.array([model.pose(q, link).p for link in chain])


def _obstacle(builder: MessageBuilder, obstacle: Obstacle, frame: str, stamp_ns: int) -> Any:
    marker = builder.marker(obstacle)
    set_header(marker, frame, stamp_ns)
    return marker


def _removal(builder: MessageBuilder, stamp_ns: int) -> Any:
    """A marker that removes those of the plan before."""
    marker = builder.line_marker(np.zeros((0, 3)), "", stamp_ns)
    marker.ns, marker.action = "", DELETEALL
    return marker


def _name(marker: Any, namespace: str, number: int, colour: tuple[float, float, float, float]) -> None:
    marker.ns, marker.id = namespace, number
    marker.color.r, marker.color.g, marker.color.b, marker.color.a = colour
