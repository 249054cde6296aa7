"""What plans keep of constraints: places, as functions of points, distances, as margins, and limits of speed.

Speeds of points but the hand's are limited by those of the joints, as a share of theirs:

    (1)  share = min(1, limit / sum_j reach_j v_max_j)      for the reach of :mod:`arm_control.collision.kept_points`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.collision import ArmShape, KeptPoint, by_coordinate, point_reach
from arm_control.constraints.constraint import ARM, HAND, NONE, Constraint, Point
from arm_control.constraints.constraint_file import read_constraints
from arm_control.constraints.constraint_set import PointColumn, Violation, point_columns
from arm_control.constraints.constraint_set import in_words as words_of
from arm_control.constraints.kinds.clearance import ClearanceConstraint
from arm_control.constraints.kinds.speed import SpeedConstraint
from arm_control.maths import Array, Pose, Scalar
from arm_control.model import RobotModel

FREE = 1e9
"""Stands for no limit of speed [m/s]."""


class PlanBounds(NamedTuple):
    """What a plan has to keep.

    Attributes
    ----------
    kept : tuple of KeptPoint
        Points with their places.
    distance, links : float
        Distance from obstacles, and between links [m].
    tip_speed : float
        Limit of the hand's speed [m/s].
    share, share_with_tip : float
        Share of the joint speeds at which no other point, and at which none, is faster than its limit, (1).
    """

    kept: tuple[KeptPoint, ...] = ()
    distance: float = 0.0
    links: float = 0.0
    tip_speed: float = FREE
    share: float = 1.0
    share_with_tip: float = 1.0


def bounds_of_constraints(model: RobotModel, constraints: Sequence[Constraint]) -> PlanBounds:
    """Return what plans of an arm have to keep of constraints; other kinds of velocities than speeds are left out.

    Raises
    ------
    ParameterError
        When numbers of a constraint cannot be used.
    FrameNotFound, ModelError
        When a link is not there, or the shape of the arm is needed and not complete.
    """
    shape = ArmShape(model) if any(c.of == ARM for c in constraints) else ArmShape(model, (), is_partial=True)
    bounds = PlanBounds()
    for c in constraints:
        columns = point_columns(model, shape, c)
        if isinstance(c, ClearanceConstraint):
            distance, links = c.numbers[0]
            bounds = bounds._replace(distance=max(bounds.distance, distance), links=max(bounds.links, links))
        elif isinstance(c, SpeedConstraint):
            share = min(_share(model, column, c.limit) for column in columns)
            bounds = bounds._replace(share_with_tip=min(bounds.share_with_tip, share))
            if c.of == HAND and not np.any(c.points):
                bounds = bounds._replace(tip_speed=min(bounds.tip_speed, c.limit))
            else:
                bounds = bounds._replace(share=min(bounds.share, share))
        elif not c.is_speed:
            bounds = bounds._replace(kept=(*bounds.kept, *(_kept_point(model, column) for column in columns)))
    return bounds


def bounds_of_file(model: RobotModel, file: str) -> PlanBounds:
    """Return what plans have to keep of a file of constraints, if one is named; errors of :func:`read_constraints`."""
    return bounds_of_constraints(model, read_constraints(file).constraints) if file else PlanBounds()


def _in_body(model: RobotModel, column: PointColumn) -> tuple[int, Pose, Array]:
    """The body of a point, the pose of its link there, and its place in its link."""
    link = column.ball.link
    frame = model.tree.tip if link is None else model.tree.frames[link]
    return frame.body, frame.X_BF, np.array(column.ball.centre)


def _share(model: RobotModel, column: PointColumn, limit: float) -> float:
    """Equation (1) of a point."""
    body, X, place = _in_body(model, column)
    speed = float(by_coordinate(model.tree, point_reach(model, body, X.R @ place + X.p)) @ model.v_max)
    return min(1.0, limit / speed) if speed > 0.0 else 1.0


def _kept_point(model: RobotModel, column: PointColumn) -> KeptPoint:
    c, radius, numbers = column.constraint, column.ball.radius, column.constraint.numbers[column.side]
    body, X, place = _in_body(model, column)

    def function(p: Array, axis: Array) -> Scalar:
        return type(c).gradient(np.array(numbers), Point(p, NONE, axis, NONE, radius)).h

    def in_words(h: float) -> str:
        x = Violation.of(c, column.label, h)
        if h <= 0.0:
            return str(x)
        return f"constraint '{x.name}' ({x.what}) has {words_of(x.left, x.unit)} left, less than the margin"

    axis, is_angle = X.R @ place, c.unit == "rad"
    made_from: list[object] = [c.kind, numbers, radius]
    return KeptPoint(body, axis + X.p, axis, function, c.slope, is_angle, c.inside, in_words, made_from)
