"""The space of the page: the arm, its target, trace and plan, obstacles, and drawings of other nodes.

A scene gets everything and sends a browser only the changes. A drag becomes a command; while it lasts, and shortly
after, the dragged object stays where the person has put it.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from arm_control.maths import Array, Pose, quaternion_from_rotation, rotation_from_quaternion
from arm_control.model import RobotModel
from arm_control.viewer.arm_shapes import Mesh, MeshPart, joined, mesh_of
from arm_control.viewer.drawings import Drawing, ShownObstacle
from arm_control.viewer.panel import PageCommandQueue

TRACE_STEP = 0.004
"""Distance between two points of the trace [m]."""
TRACE_POINTS = 1500
"""Points of the trace; older ones are removed."""
ORANGE, RED, BLUE = (230, 120, 0), (211, 47, 47), (25, 118, 210)
FIELD_OF_VIEW = 0.75
"""Vertical field of view of the camera [rad]."""
ASPECT = 0.75
"""Width by height of the space between the open panels, in which the whole arm is visible."""
VIEW_DIRECTION = np.array([0.52, 0.67, 0.53])
"""Direction from the middle of the arm to the camera."""
MARGIN = 0.1
"""Margin around the arm, as a share of its size."""
RISE = 0.75
"""Height to which an arm may rise above its base, as a share of its length."""
HOLD_TIME = 0.4
"""Time after a drag for which the dragged object stays, until other nodes have received its pose [s]."""
MOVABLE_SIZE = 0.15
"""Length of the arrows at a drawing that can be dragged [m]."""
MIN_MOVE = 1e-5
"""Least change of a pose that is sent [m or 1]."""


class Scene:
    """Draws in viser's scene."""

    def __init__(self, server: Any, commands: PageCommandQueue, control: bool) -> None:
        self._server = server
        self._draw = server.scene
        self._commands = commands
        self._control = control
        self._links: dict[str, Any] = {}
        self._obstacles: dict[Hashable, tuple[ShownObstacle, Any]] = {}
        self._drawings: dict[Hashable, tuple[Drawing, Any]] = {}
        self._hold_ends: dict[Hashable, float] = {}
        self._trace: list[Array] = []
        self._target: Any = None
        self._unreachable: Any = None
        self._has_target = True
        self._numbers = itertools.count(1)
        self._add_lights()
        self._draw.add_grid("/floor", 3.0, 3.0, cell_size=0.1, section_size=0.5, section_color=(170, 178, 186),
                            cell_color=(216, 221, 226), fade_distance=8.0, position=(0.0, 0.0, -0.003))  # fmt: skip
        self._draw.add_frame("/base", axes_length=0.12, axes_radius=0.004)

    def _add_lights(self) -> None:
        """Add lights without shadows and reflections: without a graphics card these take most of the time."""
        self._draw.configure_environment_map(None)
        self._draw.configure_default_lights(enabled=False)
        self._draw.add_light_hemisphere(
            "/light/sky", sky_color=(255, 255, 255), ground_color=(120, 126, 138), intensity=1.2
        )
        for name, position, intensity in (("key", (3.0, 0.5, 4.0), 2.2), ("side", (-1.0, 3.0, 1.0), 0.7)):
            self._draw.add_light_directional(f"/light/{name}", intensity=intensity, position=position)

    # -- the arm -----------------------------------------------------------------------------------

    def set_arm(self, model: RobotModel, parts: list[MeshPart]) -> None:
        """Show another arm."""
        for handle in self._links.values():
            handle.remove()
        self._model = model
        self._links = draw_arm(self._draw, "/arm", parts)
        self.clear_trace()
        camera = self._server.initial_camera
        camera.position, camera.look_at = camera_of(model, parts)
        camera.fov = FIELD_OF_VIEW

    def set_joints(self, q: Array) -> Pose:
        """Move the arm to joint positions, shape (nq,) [rad or m]; return the end effector's pose."""
        with self._server.atomic():
            for link, handle in self._links.items():
                move(handle, self._model.pose(q, link))
        return self._model.pose(q)

    # -- the target ----------------------------------------------------------------------------------

    def set_target(self, X: Pose) -> None:
        """Show the desired pose of the end effector, unless a person drags it."""
        if self._target is None:
            self._target = self._new_target(X)
        if not self._is_held("target"):
            move(self._target, X)

    def offer_target(self, is_followed: bool) -> None:
        """Show the target, or hide it where no node follows it."""
        self._has_target = is_followed
        if self._target is not None and self._target.visible is not is_followed:
            self._target.visible = is_followed

    def _new_target(self, X: Pose) -> Any:
        place = _place(X)
        if self._control:
            handle = self._draw.add_transform_controls("/target", scale=0.16, depth_test=False, **place)
            self._send_drags(handle, "target", "target")
        else:
            handle = self._draw.add_frame("/target", axes_length=0.1, axes_radius=0.003, **place)
        handle.visible = self._has_target
        self._draw.add_icosphere("/target/ball", radius=0.016, color=ORANGE)
        self._unreachable = self._draw.add_icosphere("/target/unreachable", radius=0.024, color=RED, visible=False)
        return handle

    def show_reach(self, is_reachable: bool) -> None:
        """Turn the target red where the arm cannot reach it."""
        if self._unreachable is not None and self._unreachable.visible is is_reachable:
            self._unreachable.visible = not is_reachable

    def _is_held(self, key: Hashable) -> bool:
        """Return whether a person drags an object, or has just done so: its pose from other nodes is old."""
        return time.monotonic() < self._hold_ends.get(key, 0.0)

    def _send_drags(self, handle: Any, key: Hashable, command: str) -> None:
        """Put the poses of a dragged object into the queue, on the server's own thread, which keeps their order."""

        async def on_update(event: Any) -> None:
            if event.phase == "start":
                self._hold_ends[key] = math.inf
                return
            handle = event.target
            p = np.array(handle.position, float)
            w, x, y, z = np.array(handle.wxyz, float).tolist()
            if np.isfinite([*p, w, x, y, z]).all() and w * w + x * x + y * y + z * z > 0.25:
                X = Pose(rotation_from_quaternion([x, y, z, w]), p)
                self._commands.put(command, key, X)
            if event.phase == "end":
                self._hold_ends[key] = time.monotonic() + HOLD_TIME

        handle.on_update(on_update)

    # -- trace and plan ------------------------------------------------------------------------------

    def add_to_trace(self, p: Array) -> None:
        """Append a point, shape (3,) [m], to the trace of the end effector, if it has moved."""
        if not self._trace or np.linalg.norm(p - self._trace[-1]) > TRACE_STEP:
            self._trace = [*self._trace[1 - TRACE_POINTS :], p]
            self._line("/trace", np.array(self._trace), ORANGE, 0.004)

    def clear_trace(self) -> None:
        """Remove the trace."""
        self._trace = []
        self._line("/trace", np.zeros((0, 3)), ORANGE, 0.004)

    def set_path(self, points: Array) -> None:
        """Show the planned path of the end effector, shape (n, 3) [m]."""
        self._line("/path", points, BLUE, 0.005)

    def _line(self, name: str, points: Array, colour: tuple[int, int, int], thickness: float) -> None:
        if len(points) < 2:
            self._draw.remove_by_name(name)
            return
        segments = np.stack([points[:-1], points[1:]], axis=1)
        self._draw.add_line_segments(name, segments, colour, thickness=thickness)

    # -- obstacles -----------------------------------------------------------------------------------

    def set_obstacles(self, obstacles: Mapping[Hashable, ShownObstacle]) -> None:
        """Show these obstacles and no others."""
        for key in set(self._obstacles) - set(obstacles):
            self._obstacles.pop(key)[1].remove()
            self._hold_ends.pop(key, None)
        for key, obstacle in obstacles.items():
            before, handle = self._obstacles.get(key, (None, None))
            if before is None or before.appearance != obstacle.appearance:
                if handle is not None:
                    handle.remove()
                handle = self._new_obstacle(key, obstacle)
            elif not self._is_held(key):
                move(handle, obstacle.X)
            self._obstacles[key] = obstacle, handle

    def _new_obstacle(self, key: Hashable, obstacle: ShownObstacle) -> Any:
        name = f"/obstacles/{next(self._numbers)}"
        mesh = joined([mesh_of(shape).moved(X_MO.R, X_MO.p) for shape, X_MO in obstacle.solids])
        if self._control:
            handle = self._new_handle(name, obstacle.X, scale=float(np.abs(mesh.corners).max()) + 0.06)
            self._send_drags(handle, key, "obstacle")
        else:
            handle = self._draw.add_frame(name, show_axes=False, **_place(obstacle.X))
        draw_mesh(self._draw, f"{name}/shape", mesh, obstacle.rgba)
        return handle

    def _new_handle(self, name: str, X: Pose, **options: Any) -> Any:
        """Return arrows by which an object is dragged."""
        options |= {"disable_rotations": True, "disable_sliders": True, "line_width": 1.5}
        return self._draw.add_transform_controls(name, **options, **_place(X))

    # -- drawings of other nodes ------------------------------------------------------------------------------

    def set_drawings(self, drawings: Mapping[Hashable, Drawing]) -> None:
        """Show these drawings and no others."""
        for key in set(self._drawings) - set(drawings):
            self._drawings.pop(key)[1].remove()
            self._hold_ends.pop(key, None)
        for key, drawing in drawings.items():
            before, handle = self._drawings.get(key, (None, None))
            if before is drawing or self._is_held(key):
                continue
            if before is not None and handle is not None and _same_appearance(before, drawing):
                move(handle, drawing.X)
            else:
                name = handle.name if handle is not None else self._free_name()
                if drawing.is_movable and self._control:
                    handle = self._new_movable(key, drawing, name)
                else:
                    handle = self._new_drawing(drawing, name)
            self._drawings[key] = drawing, handle

    def _new_movable(self, key: Hashable, drawing: Drawing, name: str) -> Any:
        """Draw it at arrows in the place of the drawing with this name."""
        handle = self._new_handle(name, drawing.X, scale=MOVABLE_SIZE, depth_test=False)  # seen through the arm
        self._send_drags(handle, key, "constraint")
        self._new_drawing(replace(drawing, X=Pose.identity()), f"{name}/shape")
        return handle

    def _free_name(self) -> str:
        """Return a name without a drawing; names are reused, since viser keeps removed ones until a page is opened."""
        used = {handle.name for _, handle in self._drawings.values()}
        return next(name for name in map("/drawn/{}".format, itertools.count()) if name not in used)

    def _new_drawing(self, drawing: Drawing, name: str) -> Any:
        """Draw it in the place of the drawing with this name."""
        (colour, opacity), points, place = _colour(drawing.rgba), drawing.points, _place(drawing.X)
        if drawing.type == "text":
            return self._draw.add_label(name, drawing.text, anchor="center-center", **place)
        if drawing.type == "lines":
            return self._draw.add_line_segments(
                name, points.reshape(-1, 2, 3), colour, thickness=drawing.width, **place
            )
        if drawing.type == "points":
            return self._draw.add_point_cloud(name, points, colour, point_size=drawing.width, **place)
        if drawing.type == "arrow":
            r = drawing.width / 2
            options = {"shaft_radius": r, "head_radius": 2 * r, "head_length": min(4 * r, _length(points) / 2)}
            return self._draw.add_arrows(name, points.reshape(1, 2, 3), colour, **options, **place)
        faces = np.arange(len(points)).reshape(-1, 3)
        return self._draw.add_mesh_simple(name, points, faces, color=colour, opacity=opacity, side="double", **place)


def camera_of(model: RobotModel, parts: list[MeshPart]) -> tuple[Array, Array]:
    """Return a position of the camera and its look-at point, shape (3,) each [m].

    The camera sees the arm in its first pose, and raised: it is as far from the middle of the box around these points
    as each of them needs, with a margin.
    """
    q = np.clip(np.zeros(model.nq), model.q_min, model.q_max)
    chain = model.urdf.robot.get_chain(model.base, model.tip, joints=False)
    length = float(sum(np.linalg.norm(np.diff([model.pose(q, link).p for link in chain], axis=0), axis=1)))
    corners = [part.mesh.moved(*model.pose(q, part.link)).corners for part in parts]
    points = np.vstack([*corners, [0.0, 0.0, RISE * length]])
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    back = VIEW_DIRECTION / np.linalg.norm(VIEW_DIRECTION)
    right = np.cross([0.0, 0.0, 1.0], back)
    right /= np.linalg.norm(right)
    slope = np.tan(FIELD_OF_VIEW / 2)
    margin = MARGIN * float(np.ptp(points, axis=0).max())
    across, up, near = np.array([right, np.cross(back, right), back]) @ (points - middle).T
    half_height = np.maximum(np.abs(across) / ASPECT, np.abs(up)) + margin / ASPECT
    return middle + float(np.max(near + half_height / slope)) * back, middle


def draw_arm(draw: Any, root: str, parts: Sequence[MeshPart], rgba: tuple[float, ...] = ()) -> dict[str, Any]:
    """Draw an arm below a name, in one colour where one is given; return the frames of its links."""
    links = {part.link: draw.add_frame(f"{root}/{part.link}", show_axes=False) for part in parts}
    for i, part in enumerate(parts):
        draw_mesh(draw, f"{root}/{part.link}/{i}", part.mesh, rgba or part.rgba)
    return links


def draw_mesh(draw: Any, name: str, mesh: Mesh, rgba: tuple[float, ...]) -> None:
    """Draw triangles in one colour."""
    colour, opacity = _colour(rgba)
    draw.add_mesh_simple(name, mesh.corners, mesh.faces, color=colour, opacity=opacity)


def move(handle: Any, X: Pose) -> None:
    """Send a pose, if it differs."""
    wxyz = _wxyz(X.R)
    if np.abs(handle.position - X.p).max() > MIN_MOVE:
        handle.position = X.p
    if min(np.abs(handle.wxyz - wxyz).max(), np.abs(handle.wxyz + wxyz).max()) > MIN_MOVE:
        handle.wxyz = wxyz


def _place(X: Pose) -> dict[str, Array]:
    return {"position": X.p, "wxyz": _wxyz(X.R)}


def _wxyz(R: Array) -> Array:
    return np.roll(quaternion_from_rotation(R), 1)


def _colour(rgba: tuple[float, ...]) -> tuple[tuple[int, ...], float | None]:
    """Return a colour for viser, 0 to 255, and the opacity; None for an opaque one."""
    opacity = float(rgba[3])
    return tuple(round(255 * min(max(x, 0.0), 1.0)) for x in rgba[:3]), opacity if opacity < 0.999 else None


def _same_appearance(a: Drawing, b: Drawing) -> bool:
    same = (a.type, a.rgba, a.width, a.text) == (b.type, b.rgba, b.width, b.text)
    return same and np.array_equal(a.points, b.points)


def _length(points: Array) -> float:
    return float(np.linalg.norm(points[1] - points[0]))
