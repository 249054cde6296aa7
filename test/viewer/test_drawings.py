"""Markers as drawings and things, without ROS: what is kept, how long, and what it looks like."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mesh_files import UNIT_CUBE, write_stl

from arm_control import RobotModel
from arm_control.constraints import (
    BoxConstraint,
    Constraint,
    CylinderConstraint,
    HalfSpaceConstraint,
    SpeedConstraint,
    UprightConstraint,
)
from arm_control.constraints.constraint import Point
from arm_control.exceptions import FrameNotFound
from arm_control.maths import Capsule, Hull, Pose, Sphere
from arm_control.viewer import MarkerStore, drawings_of_constraints
from arm_control.viewer.constraint_drawings import ACTING, QUIET
from arm_control.viewer.drawings import drawing_of

HERE = Pose(np.eye(3), np.zeros(3))
ARROW, CUBE, SPHERE, STRIP, LIST, POINTS, TEXT, MESH, TRIANGLES = 0, 1, 2, 4, 5, 8, 9, 10, 11


def xyz(x: float, y: float, z: float, **more: float) -> SimpleNamespace:
    return SimpleNamespace(x=x, y=y, z=z, **more)


def marker(kind: int = SPHERE, scale=(0.2, 0.2, 0.2), at=(1.0, 2.0, 3.0), points=(), **fields: Any) -> SimpleNamespace:
    base: dict[str, Any] = {
        "ns": "a",
        "id": 1,
        "action": 0,
        "type": kind,
        "text": "",
        "mesh_resource": "",
        "frame": "",
        "seconds": 0.0,
        "stamp": 0.0,
        "rgba": (1.0, 0.0, 0.0, 0.5),
    }
    base |= fields
    r, g, b, a = base.pop("rgba")
    ns, stamp = round(base.pop("seconds") * 1e9), round(base.pop("stamp") * 1e9)
    return SimpleNamespace(
        **base,
        scale=xyz(*scale),
        points=[xyz(*p) for p in points],
        color=SimpleNamespace(r=r, g=g, b=b, a=a),
        pose=SimpleNamespace(position=xyz(*at), orientation=xyz(0.0, 0.0, 0.0, w=1.0)),
        header=SimpleNamespace(
            frame_id=base["frame"], stamp=SimpleNamespace(sec=stamp // 10**9, nanosec=stamp % 10**9)
        ),
        lifetime=SimpleNamespace(sec=ns // 10**9, nanosec=ns % 10**9),
    )


def book(*markers: Any, ignored: tuple[str, ...] = (), now_ns: int = 0, are_obstacles: bool = False) -> MarkerStore:
    def pose_of(frame: str) -> Pose:
        if frame not in ("", "hand"):
            raise FrameNotFound(frame, ("hand",))
        return Pose(np.eye(3), np.array([0.0, 0.0, 10.0])) if frame else HERE

    made = MarkerStore(pose_of, ignored, are_obstacles=are_obstacles)
    made.update(SimpleNamespace(markers=list(markers)), now_ns)
    return made


def test_things_are_obstacles_where_they_are():
    made = book(marker(), marker(STRIP, id=2, points=[(0, 0, 0), (1, 0, 0), (1, 1, 0)]), marker(TEXT, id=3))
    things = made.obstacles(0)
    assert list(things) == [("a", 1), ("a", 2)]
    ((shape, _),) = things["a", 1].solids
    assert (shape, things["a", 1].rgba) == (Sphere(0.1), (1.0, 0.0, 0.0, 0.5))
    np.testing.assert_allclose(things["a", 1].X.p, [1, 2, 3])
    assert [type(shape) for shape, _ in things["a", 2].solids] == [Capsule, Capsule]


def test_triangles_and_mesh_files_are_shown_as_their_hulls(tmp_path: Path):
    file = write_stl(tmp_path / "cube.stl", UNIT_CUBE)
    made = book(
        marker(TRIANGLES, scale=(1.0, 1.0, 1.0), points=UNIT_CUBE.reshape(-1, 3).tolist()),
        marker(MESH, scale=(0.5, 0.5, 0.5), id=2, mesh_resource=f"file://{file}"),
        marker(MESH, id=3, mesh_resource="file:///etc/hostname"),
    )
    assert list(made.obstacles(0)) == [("a", 1)]
    made.folders = (tmp_path,)
    shown = made.obstacles(0)
    assert list(shown) == [("a", 1), ("a", 2)]
    made.update(SimpleNamespace(markers=[marker(MESH, scale=(0.5, 0.5, 0.5), id=2, mesh_resource="package://a/b")]), 0)
    assert list(made.obstacles(0)) == [("a", 1)], "another file"
    for (shape, _), extent in zip((thing.solids[0] for thing in shown.values()), (3.0**0.5, 0.75**0.5), strict=True):
        assert isinstance(shape, Hull)
        assert shape.extent == pytest.approx(extent)


@pytest.mark.parametrize("are_obstacles", [True, False])
def test_a_late_marker_does_not_replace_a_newer_one(are_obstacles: bool):
    made = book(are_obstacles=are_obstacles)

    def x_after(stamp: float, x: float, now: float) -> float | None:
        made.update(SimpleNamespace(markers=[marker(stamp=stamp, at=(x, 0.0, 0.0))]), round(now * 1e9))
        shown = made.obstacles(round(now * 1e9))
        return float(shown["a", 1].X.p[0]) if shown else None

    assert x_after(100.02, 1.2, 100.021) == 1.2
    assert x_after(100.015, 1.15, 100.026) == 1.2, "5 ms older"
    assert x_after(100.02, 1.3, 100.027) == 1.3, "the same moment"
    made.update(SimpleNamespace(markers=[marker(stamp=100.03, action=2)]), 100_031 * 10**6)
    assert x_after(100.025, 1.25, 100.032) is None, "nor does a late one bring a deleted one back"
    assert x_after(100.025, 1.25, 102.0) == 1.25, "but after a second"
    assert x_after(99.0, 1.0, 99.001) == 1.0, "time has started over"


def test_a_thing_that_only_moves_keeps_its_form():
    given = (((0, 0, 0), 1), ((1, 0, 0), 1), ((0, 0, 0), 2))
    forms = [book(marker(at=at, scale=(s, s, s))).obstacles(0)["a", 1].appearance for at, s in given]
    assert forms[0] == forms[1] != forms[2]


def test_frames_and_markers_that_cannot_be_drawn_are_passed_over():
    bad = marker(id=4, at=(np.nan, 0.0, 0.0))
    made = book(marker(frame="hand"), marker(id=2, frame="nowhere"), marker(id=3, scale=(1, 2, 3)), bad)
    assert list(made.obstacles(0)) == [("a", 1)]
    assert made.obstacles(0)["a", 1].X.p[2] == 13.0


def test_markers_go_by_name_by_time_and_all_at_once():
    made = book(marker(), marker(id=2, seconds=1.0), marker(ns="b", id=1))
    assert len(made.obstacles(10**9)) == 3
    assert list(made.obstacles(10**9 + 1)) == [("a", 1), ("b", 1)]
    made.update(SimpleNamespace(markers=[marker(action=2)]), 0)
    assert list(made.obstacles(0)) == [("b", 1)]
    made.update(SimpleNamespace(markers=[marker(), marker(ns="b", action=3)]), 0)
    assert list(made.obstacles(0)) == [("a", 1)], "of one namespace"
    made.update(SimpleNamespace(markers=[marker(ns="", action=3)]), 0)
    assert not made.obstacles(0)


def test_a_marker_holds_on_when_time_starts_over():
    made = book(marker(seconds=1.0), now_ns=50 * 10**9)
    assert made.obstacles(0)
    assert not made.obstacles(2 * 10**9), "from then on its time counts anew"


def test_only_so_many_and_no_ignored_ones_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("arm_control.viewer.drawings.MAX_MARKERS", 2)
    made = book(marker(ns="trace"), *(marker(id=i) for i in range(5)), ignored=("trace",))
    assert list(made.markers) == [("a", 0), ("a", 1)]
    made.update(SimpleNamespace(markers=[marker(id=1, at=(9, 9, 9))]), 0)
    assert made.obstacles(0)["a", 1].X.p[0] == 9.0, "one that is there is told anew"


@pytest.mark.parametrize(
    ("given", "kind", "points", "width"),
    [
        (marker(ARROW, (0.01, 0.02, 0), points=[(0, 0, 0), (0, 0, 1)]), "arrow", [[0, 0, 0], [0, 0, 1]], 0.01),
        (marker(ARROW, (2.0, 0.1, 0)), "arrow", [[0, 0, 0], [2, 0, 0]], 0.1),
        (marker(STRIP, (0.1, 0, 0), points=[(0, 0, 0), (1, 0, 0), (2, 0, 0)]), "lines",
         [[0, 0, 0], [1, 0, 0], [1, 0, 0], [2, 0, 0]], 0.1),
        (marker(LIST, (0.1, 0, 0), points=[(0, 0, 0), (1, 0, 0), (2, 0, 0)]), "lines", [[0, 0, 0], [1, 0, 0]], 0.1),
        (marker(POINTS, (0.1, 0, 0), points=[(0, 0, 0)]), "points", [[0, 0, 0]], 0.1),
        (marker(TRIANGLES, (2, 1, 1), points=[(1, 0, 0), (0, 1, 0), (0, 0, 1), (5, 5, 5)]), "mesh",
         [[2, 0, 0], [0, 1, 0], [0, 0, 1]], 2.0),
    ],
)  # fmt: skip
def test_a_marker_is_drawn_as_what_it_is(given: Any, kind: str, points: list[Any], width: float):
    drawing = drawing_of(given, HERE)
    assert (drawing.type, drawing.width, drawing.rgba) == (kind, width, (1.0, 0.0, 0.0, 0.5))
    np.testing.assert_allclose(drawing.points, points)


def test_text_and_solids_are_drawn():
    assert drawing_of(marker(TEXT, text="12 mm" + 300 * "x"), HERE).text == "12 mm" + 195 * "x"
    corners = drawing_of(marker(CUBE, (1.0, 2.0, 3.0)), HERE).points
    np.testing.assert_allclose(np.ptp(corners, axis=0), [1, 2, 3])


@pytest.mark.parametrize(
    "given",
    [
        marker(ARROW, points=[(1, 1, 1), (1, 1, 1)]),
        marker(STRIP, points=[(0, 0, 0)]),
        marker(STRIP, points=[(0, 0, 0), (np.inf, 0, 0)]),
        marker(10),
        marker(LIST),
    ],
)
def test_what_cannot_be_drawn_is_nothing(given: Any):
    assert drawing_of(given, HERE) is None


# -- what is told ahead of time -------------------------------------------------------------------------

MOVES = [marker(at=(x, 0.0, 0.0), stamp=x) for x in (100.0, 100.1, 100.2)]
"""A ball that is told ahead: at each time it is where its place says."""
NOW_NS = 100_000_000_000


def places(made: MarkerStore, *seconds: float) -> list[float | None]:
    """Where the ball is seen at these times."""
    things = [made.obstacles(round(t * 1e9)) for t in seconds]
    return [float(found["a", 1].X.p[0]) if found else None for found in things]


def test_an_obstacle_that_is_told_ahead_is_seen_when_it_is_there():
    made = book(*MOVES, now_ns=NOW_NS, are_obstacles=True)
    assert places(made, 100.0, 100.05, 100.15, 100.2) == [100.0, 100.0, 100.1, 100.2]
    assert places(book(*MOVES), 100.0) == [100.2], "what is only drawn is there at once"
    assert places(book(*MOVES, now_ns=2 * NOW_NS, are_obstacles=True), 200.0) == [100.2], "and what is late"
    assert places(book(marker(stamp=60.0), are_obstacles=True), 0.0) == [1.0], "and what has another clock"


def test_an_obstacle_stays_where_its_frame_was_when_it_came_and_a_drawing_moves_with_it():
    """As controllers avoid it; an obstacle in a frame that nobody knows is none for them either."""
    for are_obstacles, z in (True, 3.0), (False, 4.0):
        frame = Pose(np.eye(3), np.zeros(3))
        made = MarkerStore(lambda _: frame, are_obstacles=are_obstacles)  # noqa: B023 - the frame of now
        made.update(SimpleNamespace(markers=[marker(frame="hand"), marker(id=2, frame="hand", stamp=1.0)]), 0)
        frame = Pose(np.eye(3), np.array([0.0, 0.0, 1.0]))
        assert [thing.X.p[2] for thing in made.obstacles(NOW_NS // 50).values()] == [z, z]
    assert book(marker(frame="nowhere"), are_obstacles=True).markers == {}


# -- constraints ----------------------------------------------------------------------------------

CELL = (
    HalfSpaceConstraint("table", (0.1, 0.2, 0.02), (0.1, 0.2, -2.0)),
    BoxConstraint("cell", (0.3, 0.1, 0.5), (1.0, 1.2, 0.9), (0.1, 0.2, 0.3)),
    CylinderConstraint("column", (0.0, 0.1, 0.0), (0.2, 0.1, 1.0), 0.9),
    CylinderConstraint("pillar", (0.4, 0.1, 0.3), (0.2, 0.1, 1.0), 0.1, outside=True),
)


@pytest.mark.parametrize("constraint", CELL, ids=lambda c: c.name)
def test_what_is_drawn_of_a_constraint_is_where_it_is_zero(constraint: Constraint, ur5: RobotModel):
    ((key, drawing),) = drawings_of_constraints([constraint], (), ur5, np.zeros(6)).items()
    assert key == ("constraint", constraint.name, 0)
    rest = np.zeros(3)
    for p in drawing.points @ drawing.X.R.T + drawing.X.p:
        point = Point(p, rest, rest, rest, 0.0)
        h = min(type(constraint).gradient(np.array(numbers), point).h for numbers in constraint.numbers)
        assert h == pytest.approx(0.0, abs=1e-9)
    assert np.ptp(drawing.points, axis=0).max() > 0.8


def test_a_box_has_twelve_edges(ur5: RobotModel):
    (drawing,) = drawings_of_constraints(CELL[1:2], (), ur5, np.zeros(6)).values()
    lengths = np.linalg.norm(np.diff(drawing.points.reshape(-1, 2, 3), axis=1), axis=2)
    assert sorted(lengths.ravel()) == pytest.approx([0.9] * 4 + [1.0] * 4 + [1.2] * 4)


def test_a_cone_is_at_the_hand_with_its_axis_in_it(ur5: RobotModel):
    q, glass = np.array([0.3, -1.4, 1.9, -2.07, -1.5, 0.2]), UprightConstraint("glass", 0.4, (0.1, 0.0, -1.0))
    X_WE = ur5.pose(q)
    cone, axis = drawings_of_constraints([glass], (), ur5, q).values()
    np.testing.assert_allclose(cone.X.p, X_WE.p, atol=1e-12)
    sides = cone.points @ cone.X.R.T
    sides = sides[np.linalg.norm(sides, axis=1) > 0.1]
    up = np.array(glass.numbers[0][:3])
    np.testing.assert_allclose(np.arccos(sides @ up / np.linalg.norm(sides, axis=1)), 0.4, atol=1e-9)
    ends = axis.points @ axis.X.R.T + axis.X.p
    np.testing.assert_allclose(ends, [X_WE.p, X_WE.p + 0.2 * X_WE.R[:, 2]], atol=1e-12)


def test_what_acts_has_another_colour_and_what_has_no_shape_is_not_drawn(ur5: RobotModel):
    others = (SpeedConstraint("slow", 0.25), UprightConstraint("glass", 0.4, of="arm"))
    drawings = drawings_of_constraints([*CELL, *others], ("cell", "slow"), ur5, np.zeros(6))
    assert [key[1] for key, drawing in drawings.items() if drawing.rgba == ACTING] == ["cell"]
    assert [key[1] for key, drawing in drawings.items() if drawing.rgba == QUIET] == ["table", "column", "pillar"]
