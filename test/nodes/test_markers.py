"""Markers as obstacles, without processes: shapes, frames, velocity, lifetime, what is refused."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import Point
from mesh_files import UNIT_CUBE, dented, write_stl
from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker, MarkerArray

from arm_control import RobotModel, urdf_path
from arm_control.exceptions import InputError
from arm_control.maths import Box, Capsule, Cone, Cylinder, Hull, Sphere, rotation_from_vector
from arm_control.messages import (
    MOST,
    MOST_AHEAD,
    MOST_BYTES,
    MOST_MARKERS,
    MOST_MARKS,
    MOST_POINTS,
    MOST_TRIANGLES,
    ObstacleTracker,
    Rejections,
    check_serialized_size,
)
from arm_control.nodes import ros
from arm_control.nodes.support.subscriptions import subscribe_to_markers

SECOND = 1_000_000_000
MODEL = RobotModel.from_urdf(urdf_path("planar2"))
Q = np.array([0.4, 0.7])
HAND = MODEL.pose(Q)


def marker(
    kind: int = Marker.SPHERE, scale=(0.2, 0.2, 0.2), at=(0.5, 0.0, 0.2), stamp=0.0, lifetime=0.0, **fields
) -> Marker:
    message = Marker(type=kind, **fields)
    message.scale.x, message.scale.y, message.scale.z = map(float, scale)
    message.pose.position = Point(x=float(at[0]), y=float(at[1]), z=float(at[2]))
    message.pose.orientation.w = 1.0
    message.header.stamp = ros.time(round(stamp * SECOND))
    message.lifetime.sec, message.lifetime.nanosec = int(lifetime), round(lifetime % 1 * SECOND)
    return message


def points(rows) -> list[Point]:
    return [Point(x=float(x), y=float(y), z=float(z)) for x, y, z in rows]


def cone_triangles(R: np.ndarray, p: np.ndarray, with_base: bool, n: int = 24) -> np.ndarray:
    """Triangles of a cone of radius 0.3 and height 0.5 whose base's centre is p."""
    angle = np.linspace(0, 2 * np.pi, n + 1)
    ring = np.stack([0.3 * np.cos(angle), 0.3 * np.sin(angle), 0 * angle], axis=1)
    tips = [[0, 0, 0.5]] + ([[0, 0, 0]] if with_base else [])
    return np.array([corner for tip in tips for a, b in itertools.pairwise(ring) for corner in (tip, a, b)]) @ R.T + p


def take(*markers: Marker, book: ObstacleTracker | None = None, now: float = 0.0):
    book, now_ns = book or ObstacleTracker(MODEL), round(now * SECOND)
    book.set_state(now_ns, Q)
    errors = book.update(MarkerArray(markers=list(markers)))
    return book.obstacles(now_ns, Q), errors


@pytest.mark.parametrize(
    ("kind", "scale", "shape"),
    [
        (Marker.SPHERE, (0.2, 0.2, 0.2), Sphere(0.1)),
        (Marker.CUBE, (0.1, 0.2, 0.3), Box((0.1, 0.2, 0.3))),
        (Marker.CYLINDER, (0.2, 0.2, 0.5), Cylinder(0.1, 0.5)),
    ],
)
def test_shapes_and_the_frame_of_any_link(kind: int, scale, shape):
    message = marker(kind, scale)
    message.header.frame_id = MODEL.tip
    (obstacle,), errors = take(message)
    assert obstacle.shape == shape
    np.testing.assert_allclose(obstacle.X_WO.p, HAND.R @ [0.5, 0, 0.2] + HAND.p, rtol=0, atol=1e-12)
    np.testing.assert_allclose(obstacle.X_WO.R, HAND.R, rtol=0, atol=1e-12)
    assert errors == []


@pytest.mark.parametrize("with_base", [True, False])
def test_a_cone_is_found_in_its_triangles(with_base: bool):
    R, p = rotation_from_vector([0.4, -1.0, 0.3]), np.array([0.1, 0.2, 0.3])
    message = marker(Marker.TRIANGLE_LIST, (1, 1, 1), (0, 0, 0), points=points(cone_triangles(R, p, with_base)))
    (obstacle,), _ = take(message)
    assert isinstance(obstacle.shape, Cone)
    assert (obstacle.shape.radius, obstacle.shape.length) == pytest.approx((0.3, 0.5))
    np.testing.assert_allclose(obstacle.X_WO.p, p + R @ [0, 0, 0.25], rtol=0, atol=1e-7)
    np.testing.assert_allclose(obstacle.X_WO.R[:, 2], R[:, 2], rtol=0, atol=1e-7)
    corners = (cone_triangles(R, p, with_base) - obstacle.X_WO.p) @ obstacle.X_WO.R
    assert obstacle.shape.signed_distance(corners).distance.max() < 1e-6


def test_other_triangles_are_their_convex_hull(caplog: pytest.LogCaptureFixture):
    """A cube, a pyramid, which is no cone, and a mesh with a dent, of which the log says so once."""
    for corners, volume in ((UNIT_CUBE, 1.0), (pyramid(), 1.0 / 3.0), (dented(), 1.0)):
        message = marker(Marker.TRIANGLE_LIST, (0.1, 0.2, 0.3), (0.5, 0, 0), points=points(corners.reshape(-1, 3)))
        for _ in range(2):
            (obstacle,), errors = take(message)
            assert isinstance(obstacle.shape, Hull)
            assert (volume_of(obstacle.shape), errors) == (pytest.approx(0.006 * volume), [])
        np.testing.assert_allclose(obstacle.X_WO.p, [0.5, 0, 0], rtol=0, atol=1e-12)
    assert caplog.messages == ["a TRIANGLE_LIST is not convex: its hull is taken, up to 0.03 m outside of it"]


def pyramid() -> np.ndarray:
    """A square base of 1 m and a point 1 m above its middle: triangles without the base."""
    ring = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]], dtype=float)
    return np.array([(a, b, [0.5, 0.5, 1.0]) for a, b in itertools.pairwise(ring)])


def volume_of(hull: Hull) -> float:
    return float(np.linalg.det(hull.corners).sum()) / 6.0


def test_a_mesh_file_is_its_hull_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "stones").mkdir()
    file = write_stl(tmp_path / "stones" / "cube.stl", UNIT_CUBE)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    for name in ("package://stones/cube.stl", f"file://{file}"):
        (obstacle,), errors = take(marker(Marker.MESH_RESOURCE, (0.1, 0.2, 0.3), mesh_resource=name))
        assert (volume_of(obstacle.shape), errors) == (pytest.approx(0.006), [])
    file.unlink()
    book = ObstacleTracker(MODEL)
    for k in range(2):  # one that moves
        (moved,), _ = take(
            marker(Marker.MESH_RESOURCE, (0.1, 0.2, 0.3), (k, 0, 0), 1.0 + k, mesh_resource=name), book=book, now=9.0
        )
    assert moved.shape is obstacle.shape
    np.testing.assert_allclose(moved.V_WO, [1, 0, 0, 0, 0, 0])
    monkeypatch.setenv("ROS_PACKAGE_PATH", "")
    _, (error,) = take(marker(Marker.MESH_RESOURCE, (1, 1, 1), mesh_resource=name))
    assert "there is no file" in str(error), "outside of all packages"


def test_a_mesh_file_that_takes_too_long_to_read_or_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    write_stl(tmp_path / "stones" / "large.stl", np.repeat(UNIT_CUBE, 200, axis=0))
    (tmp_path / "stones" / "none.stl").write_text("solid")
    for name, why in (
        ("large", f"large.stl has 120084 bytes; allowed are {MOST_BYTES}: simplify the mesh"),
        ("none", "none.stl cannot be read"),
    ):
        _, (error,) = take(marker(Marker.MESH_RESOURCE, mesh_resource=f"package://stones/{name}.stl"))
        assert str(error).startswith("MESH_RESOURCE '' 0: ")
        assert why in str(error)


def test_lines_are_capsules():
    rows = points([(0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 0, 1)])
    for kind, n in ((Marker.LINE_LIST, 2), (Marker.LINE_STRIP, 3)):
        obstacles, errors = take(marker(kind, (0.1, 0, 0), (0, 0, 0), points=rows))
        assert (len(obstacles), errors) == (n, [])
    assert obstacles[1].shape == Capsule(0.05, 1.0)
    np.testing.assert_allclose(obstacles[1].X_WO.p, [0.5, 0, 1])
    np.testing.assert_allclose(np.abs(obstacles[1].X_WO.R[:, 2]), [1, 0, 0], atol=1e-12)
    assert obstacles[2].shape == Sphere(0.05), "a line without length"


def test_the_velocity_is_the_difference_of_stamped_poses():
    book = ObstacleTracker(MODEL)
    take(marker(stamp=1.0), book=book, now=1.0)
    turned = marker(stamp=1.5, at=(0.6, 0.0, 0.2))
    turned.pose.orientation.z, turned.pose.orientation.w = np.sin(0.1), np.cos(0.1)
    (obstacle,), _ = take(turned, book=book, now=9.0)
    np.testing.assert_allclose(obstacle.V_WO, [0.2, 0, 0, 0, 0, 0.4], rtol=0, atol=1e-12)
    (obstacle,), _ = take(turned, book=book, now=9.0)
    assert np.allclose(obstacle.V_WO, [0.2, 0, 0, 0, 0, 0.4]), "no time has gone by"
    (obstacle,), _ = take(marker(stamp=1.6, at=(3.6, 0.0, 0.2)), book=book, now=9.0)
    assert not np.any(obstacle.V_WO), "a jump is no motion"
    assert not np.any(take(marker(stamp=5.0), now=5.0)[0][0].V_WO), "the first one is at rest"


def xs(book: ObstacleTracker, now: float) -> list[float]:
    return [obstacle.X_WO.p[0] for obstacle in book.obstacles(round(now * SECOND), Q)]


def test_what_is_foreseen_ends_with_its_time_and_has_an_end():
    book = ObstacleTracker(MODEL)
    take(marker(stamp=20.0), marker(stamp=20.1, at=(0.6, 0, 0)), book=book, now=20.0)
    book.restart(0)
    assert xs(book, 21.0) == [0.5], "time has started over"
    errors = [take(marker(stamp=k * 1e-3), book=book)[1] for k in range(1, MOST_AHEAD + 2)]
    assert not any(errors[:-1])
    assert "ahead of time" in str(errors[-1][0])
    take(marker(action=Marker.DELETEALL, ns=""), book=book)
    assert xs(book, 1.0) == []


def test_delete_and_delete_all():
    book = ObstacleTracker(MODEL)
    take(marker(), marker(id=1), marker(ns="a"), book=book)
    assert len(take(marker(id=1, action=Marker.DELETE), book=book)[0]) == 2
    assert len(take(marker(id=7, action=Marker.DELETE), book=book)[0]) == 2
    assert len(take(marker(ns="a", action=Marker.DELETEALL), book=book)[0]) == 1
    assert take(marker(action=Marker.DELETEALL), book=book) == ([], [])


def wrong() -> list[tuple[Marker, str]]:
    nowhere, nan, turned = marker(), marker(at=(np.nan, 0, 0)), marker()
    nowhere.header.frame_id, turned.pose.orientation.w = "moon", 0.0
    far = marker(Marker.LINE_LIST, (0.1, 0, 0), points=points([(np.inf, 0, 0), (0, 0, 0)]))
    flat = points([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)])
    ball = np.random.default_rng(0).normal(size=(600, 3))
    ball = points(ball / np.linalg.norm(ball, axis=1, keepdims=True))
    return [
        (nowhere, "unknown frame 'moon'"),
        (nan, "not finite"),
        (turned, "not a rotation"),
        (far, "points of marker '' 0 are not finite"),
        (marker(scale=(0.2, 0.2, 0.3)), "must be round"),
        (marker(Marker.CYLINDER, (0.2, 0.3, 0.3)), "must be round"),
        (marker(scale=(0, 0, 0)), "must be finite and above 0"),
        (marker(Marker.CUBE, (0.1, -0.1, 0.1)), "must be finite and above 0"),
        (marker(Marker.ARROW), "is no obstacle"),
        (
            marker(Marker.TRIANGLE_LIST, (1, 1, 1), points=flat),
            "TRIANGLE_LIST '' 0: the hull of a TRIANGLE_LIST is flat",
        ),
        (marker(Marker.TRIANGLE_LIST, (1, 1, 1)), "the hull of a TRIANGLE_LIST needs four corners"),
        (marker(Marker.TRIANGLE_LIST, (1, 1, 1), points=ball), "1196 triangles; allowed are 1000"),
        (marker(Marker.TRIANGLE_LIST, (1, 1, np.nan), points=ball), "a corner of marker '' 0 is nan m away"),
        (marker(Marker.TRIANGLE_LIST, (1, 1e300, 1e300), points=ball), "m away; allowed: less than 1e+06 m"),
        (marker(Marker.MESH_RESOURCE, (1, 1, np.inf), mesh_resource="file:///a"), "scale of marker '' 0 is inf m away"),
        (marker(Marker.MESH_RESOURCE, mesh_resource="stone.stl"), "is 'stone.stl'; package:// or file:// is needed"),
        (marker(Marker.MESH_RESOURCE, mesh_resource="http://a/b.stl"), "package:// or file:// is needed"),
        (
            marker(Marker.MESH_RESOURCE, mesh_resource="file:///etc/hostname"),
            "no file 'file:///etc/hostname' in a package",
        ),
        (marker(Marker.MESH_RESOURCE, mesh_resource="package://arm_control/../../x.stl"), "no file 'package://arm_con"),
        (marker(Marker.LINE_LIST, points=points([(0, 0, 0)] * 3)), "even number"),
        (marker(Marker.LINE_STRIP, points=points([(0, 0, 0)])), "allowed: 1 to"),
        (marker(action=7), "ADD, DELETE or DELETEALL"),
    ]


@pytest.mark.parametrize(("message", "why"), wrong(), ids=[why for _, why in wrong()])
def test_a_wrong_marker_is_refused_with_a_sentence_and_the_others_hold(message: Marker, why: str):
    obstacles, (error,) = take(message, marker(id=5))
    assert why in str(error)
    assert len(obstacles) == 1


def test_there_is_an_end_to_the_number_of_obstacles():
    book = ObstacleTracker(MODEL)
    for i in range(0, MOST, MOST_MARKERS):
        obstacles, errors = take(*(marker(id=i + k) for k in range(MOST_MARKERS)), book=book)
        assert not errors
    assert len(obstacles) == book.n_obstacles == MOST
    obstacles, (error,) = take(marker(id=MOST), book=book)
    assert isinstance(error, InputError)
    assert "too many" in str(error)
    assert len(take(marker(id=0, at=(9.0, 0.0, 0.0)), book=book)[0]) == MOST, "a known one may still move"
    take(marker(id=0, action=Marker.DELETE), book=book)
    assert len(take(marker(id=MOST), book=book, now=2.0)[0]) == book.n_obstacles == MOST


def test_there_is_an_end_to_the_triangles_of_hulls():
    corners = np.random.default_rng(0).normal(size=(202, 3))
    hull = Hull.of_points(corners / np.linalg.norm(corners, axis=1, keepdims=True))
    most, book = MOST_TRIANGLES // len(hull.triangles), ObstacleTracker(MODEL)
    one = marker(Marker.TRIANGLE_LIST, (1, 1, 1), points=points(hull.corners.reshape(-1, 3)))
    for one.id in range(most + 1):
        obstacles, errors = take(one, book=book)
        assert [str(error) for error in errors] == ["too many triangles of hulls: at most 50000 at a time"] * (
            one.id == most
        )
    assert len(obstacles) == most
    one.id = 0
    assert not take(one, marker(id=MOST), book=book)[1], "a known one may move, and others come"
    take(marker(id=1, action=Marker.DELETE), book=book)
    take(marker(id=MOST), book=book, now=2.0)
    one.id = most
    assert len(take(one, book=book, now=2.0)[0]) == most + 1


def test_there_is_an_end_to_the_markers_that_are_deleted():
    book, errors = ObstacleTracker(MODEL), []
    for i in range(0, MOST_MARKS + 100, MOST_MARKERS):
        errors += take(*(marker(id=i + k, action=Marker.DELETE) for k in range(MOST_MARKERS)), book=book)[1]
    assert len(errors) == 100
    assert "too many markers" in str(errors[0])


def test_a_message_that_takes_too_long_to_read_is_refused_before_it_is_read():
    many = [marker(id=i) for i in range(MOST_MARKERS + 1)]
    assert take(*many[1:])[1] == []
    obstacles, (error,) = take(*many)
    assert obstacles == []
    assert f"{MOST_MARKERS + 1} markers in one message: at most {MOST_MARKERS}" in str(error)
    check_serialized_size(serialize_message(MarkerArray(markers=many[1:])))
    with pytest.raises(InputError, match=r"101 markers in one message"):
        check_serialized_size(serialize_message(MarkerArray(markers=many)))
    with pytest.raises(InputError, match=r"101 markers in one message"):
        check_serialized_size(bytes([0, 0, 0, 0, 0, 0, 0, 101]))
    with pytest.raises(InputError, match=r"bytes in one message: at most"):
        check_serialized_size(bytes([0, 1, 0, 0, 1, 0, 0, 0]) + bytes(MOST_BYTES))
    with pytest.raises(InputError, match="no markers"):
        check_serialized_size(b"\0\1\0\0\1")


def test_no_message_on_the_topic_ends_a_node():
    taken, node = [], SimpleNamespace(control_path=SimpleNamespace(), rejections=Rejections(logging.getLogger()))
    node.control_path.subscribe = lambda _type, _topic, callback, _qos, raw: subscribed.append((callback, raw))
    subscribed: list[tuple[Callable, bool]] = []
    subscribe_to_markers(node, lambda message, _: taken.append(len(message.markers)))
    ((on_data, is_raw),) = subscribed
    assert is_raw
    for data in (b"", b"\0\1\0\0\x32\0\0\0", bytes([0, 1, 0, 0, 1, 0, 0, 0]) + b"\xff" * 300):
        on_data(data, {})
    on_data(serialize_message(MarkerArray(markers=[marker()] * 10_000)), {})
    on_data(serialize_message(MarkerArray(markers=[marker()])), {})
    assert taken == [1]
    assert sum(node.rejections.counts.values()) == 4
    assert "obstacles: # markers in one message" in node.rejections.counts


def test_a_marker_with_too_many_points_is_refused_before_they_are_read():
    class Points(list):
        def __iter__(self):
            raise AssertionError("they are read")

    message = marker(Marker.LINE_LIST, (0.1, 0, 0))
    message._points = Points([Point()] * (MOST_POINTS + 1))
    _, (error,) = take(message)
    assert f"allowed: at most {MOST_POINTS}" in str(error)


def test_a_thousand_resting_obstacles_are_looked_through_only_when_something_changes():
    book = ObstacleTracker(MODEL)
    take(*(marker(id=k, stamp=1.0, lifetime=2.0) for k in range(50)), book=book, now=1.0)
    now = round(1.5 * SECOND)
    resting = book.obstacles(now, Q)
    assert book.obstacles(now + 1, Q) is resting
    assert len(book.obstacles(3 * SECOND, Q)) == 50
    assert book.obstacles(3 * SECOND + 1, Q) == []
