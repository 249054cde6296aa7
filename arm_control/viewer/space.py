"""The space of the page: the arm, its target, its trace and plan, obstacles, and what others draw.

A scene is told what is so; it sends a browser only what has changed. What a person drags becomes a wish, and while
it is dragged nobody else moves it.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from arm_control.maths.poses import Array, Pose, quaternion_from_rotation, rotation_from_quaternion
from arm_control.model import RobotModel
from arm_control.viewer.arm_shapes import Part
from arm_control.viewer.drawings import Drawing, Thing
from arm_control.viewer.page_commands import Wishes
from arm_control.viewer.solids import joined, mesh_of

TRACE_STEP, TRACE_MOST = 0.004, 1500
"""Distance between two points of the trace [m], and how many are kept."""
ORANGE, BLUE = (230, 120, 0), (25, 118, 210)
FIELD_OF_VIEW = 0.75
"""Of the camera, from top to bottom [rad]."""
NARROW = 0.75
"""Width by height of the space between the open panels, in which the whole arm must be seen."""
VIEW_FROM = np.array([0.52, 0.67, 0.53])
"""Where the camera is, seen from the middle of the arm."""
MARGIN, RISE = 0.1, 0.75
"""Room around what is drawn, of its size; how high an arm may rise above its base, of its length."""
HELD = 0.4
"""Time after a drag in which what was dragged stays, until others have heard of it [s]."""
LEAST = 1e-5
"""What moves less is not sent [m or 1]."""


class Scene:
    """Draws in viser's scene.

    Parameters
    ----------
    server : viser.ViserServer
        Where to draw.
    wishes : Wishes
        Where to say what was dragged.
    control : bool
        Whether things can be dragged.
    """

    def __init__(self, server: Any, wishes: Wishes, control: bool) -> None:
        self._server, self._draw = server, server.scene
        self._wishes, self._control = wishes, control
        self._links: dict[str, Any] = {}
        self._obstacles: dict[Hashable, tuple[Thing, Any]] = {}
        self._drawn: dict[Hashable, tuple[Drawing, Any]] = {}
        self._held: dict[Hashable, float] = {}
        self._trace: list[Array] = []
        self._target: Any = None
        self._has_target = True
        self._numbers = itertools.count(1)
        self._light()
        self._draw.add_grid("/floor", 3.0, 3.0, cell_size=0.1, section_size=0.5, section_color=(170, 178, 186),
                            cell_color=(216, 221, 226), fade_distance=8.0, position=(0.0, 0.0, -0.003))  # fmt: skip
        self._draw.add_frame("/base", axes_length=0.12, axes_radius=0.004)

    def _light(self) -> None:
        """Light without shadows and mirrors: without a graphics card these take most of the time."""
        self._draw.configure_environment_map(None)
        self._draw.configure_default_lights(enabled=False)
        self._draw.add_light_hemisphere(
            "/light/sky", sky_color=(255, 255, 255), ground_color=(120, 126, 138), intensity=1.2
        )
        for name, position, intensity in (("key", (3.0, 0.5, 4.0), 2.2), ("side", (-1.0, 3.0, 1.0), 0.7)):
            self._draw.add_light_directional(f"/light/{name}", intensity=intensity, position=position)

    # -- the arm -----------------------------------------------------------------------------------

    def set_arm(self, model: RobotModel, parts: list[Part]) -> None:
        """Draw another arm."""
        for handle in self._links.values():
            handle.remove()
        self._model, self._parts = model, parts
        self._links = {part.link: self._draw.add_frame(f"/arm/{part.link}", show_axes=False) for part in parts}
        for i, part in enumerate(parts):
            colour, opacity = _colour(part.rgba)
            self._draw.add_mesh_simple(
                f"/arm/{part.link}/{i}", part.mesh.corners, part.mesh.faces, color=colour, opacity=opacity
            )
        self.clear_trace()
        self._aim()

    def set_joints(self, q: Array) -> Pose:
        """Move the arm; returns the end effector's pose."""
        with self._server.atomic():
            for link, handle in self._links.items():
                _move(handle, self._model.pose(q, link))
        return self._model.pose(q)

    def _aim(self) -> None:
        """Let the camera begin where the whole arm is seen, from the side to which it reaches."""
        camera = self._server.initial_camera
        camera.position, camera.look_at = camera_of(self._model, self._parts)
        camera.fov = FIELD_OF_VIEW

    # -- the target ----------------------------------------------------------------------------------

    def set_target(self, X: Pose) -> None:
        """Show where the end effector should be, unless it is being dragged."""
        if self._target is None:
            self._target = self._new_target(X)
        if not self._is_held("target"):
            _move(self._target, X)

    def offer_target(self, is_there: bool) -> None:
        """Show the target, or hide it where nobody follows it."""
        self._has_target = is_there
        if self._target is not None and self._target.visible is not is_there:
            self._target.visible = is_there

    def _new_target(self, X: Pose) -> Any:
        place = {"position": X.p, "wxyz": _wxyz(X.R)}
        if self._control:
            handle = self._draw.add_transform_controls("/target", scale=0.16, depth_test=False, **place)
            self._listen(handle, "target")
        else:
            handle = self._draw.add_frame("/target", axes_length=0.1, axes_radius=0.003, **place)
        handle.visible = self._has_target
        self._draw.add_icosphere("/target/ball", radius=0.016, color=ORANGE)
        return handle

    def _is_held(self, key: Hashable) -> bool:
        """Whether something is being dragged, or was just now: what others say of it is old yet."""
        return time.monotonic() < self._held.get(key, 0.0)

    def _listen(self, handle: Any, key: Hashable) -> None:
        """Tell where something is dragged to; on the server's own thread, so that the order stays."""

        async def told(event: Any) -> None:
            if event.phase == "start":
                self._held[key] = math.inf
                return
            handle = event.target
            position, (w, x, y, z) = np.array(handle.position, float), np.array(handle.wxyz, float).tolist()
            if np.isfinite([*position, w, x, y, z]).all() and w * w + x * x + y * y + z * z > 0.25:
                X = Pose(rotation_from_quaternion([x, y, z, w]), position)
                self._wishes.put("target" if key == "target" else "obstacle", key, X)
            if event.phase == "end":
                self._held[key] = time.monotonic() + HELD

        handle.on_update(told)

    # -- trace and plan ------------------------------------------------------------------------------

    def add_to_trace(self, p: Array) -> None:
        """Go on with the line behind the end effector, where it has moved."""
        if not self._trace or np.linalg.norm(p - self._trace[-1]) > TRACE_STEP:
            self._trace = [*self._trace[1 - TRACE_MOST :], p]
            self._line("/trace", np.array(self._trace), ORANGE, 0.004)

    def clear_trace(self) -> None:
        """Begin the line anew."""
        self._trace = []
        self._line("/trace", np.zeros((0, 3)), ORANGE, 0.004)

    def set_path(self, points: Array) -> None:
        """Show where the end effector is going to be, shape (n, 3) [m]."""
        self._line("/path", points, BLUE, 0.005)

    def _line(self, name: str, points: Array, colour: tuple[int, int, int], thickness: float) -> None:
        if len(points) < 2:
            self._draw.remove_by_name(name)
            return
        segments = np.stack([points[:-1], points[1:]], axis=1)
        self._draw.add_line_segments(name, segments, colour, thickness=thickness)

    # -- obstacles -----------------------------------------------------------------------------------

    def set_obstacles(self, things: Mapping[Hashable, Thing]) -> None:
        """Show these obstacles and no others."""
        for key in set(self._obstacles) - set(things):
            self._obstacles.pop(key)[1].remove()
            self._held.pop(key, None)
        for key, thing in things.items():
            old, handle = self._obstacles.get(key, (None, None))
            if old is None or old.form != thing.form:
                if handle is not None:
                    handle.remove()
                handle = self._new_obstacle(key, thing)
            elif not self._is_held(key):
                _move(handle, thing.X)
            self._obstacles[key] = thing, handle

    def _new_obstacle(self, key: Hashable, thing: Thing) -> Any:
        X, name = thing.X, f"/obstacles/{next(self._numbers)}"
        mesh = joined([mesh_of(shape).moved(X_MO.R, X_MO.p) for shape, X_MO in thing.solids])
        colour, opacity = _colour(thing.rgba)
        place = {"position": X.p, "wxyz": _wxyz(X.R)}
        if self._control:
            reach = float(np.abs(mesh.corners).max()) + 0.06
            options = {"scale": reach, "disable_rotations": True, "disable_sliders": True, "line_width": 1.5}
            handle = self._draw.add_transform_controls(name, **options, **place)
            self._listen(handle, key)
        else:
            handle = self._draw.add_frame(name, show_axes=False, **place)
        self._draw.add_mesh_simple(f"{name}/shape", mesh.corners, mesh.faces, color=colour, opacity=opacity)
        return handle

    # -- what others draw ------------------------------------------------------------------------------

    def set_drawings(self, drawings: Mapping[Hashable, Drawing]) -> None:
        """Show these drawings and no others."""
        for key in set(self._drawn) - set(drawings):
            self._drawn.pop(key)[1].remove()
        for key, drawing in drawings.items():
            old, handle = self._drawn.get(key, (None, None))
            if old is drawing:
                continue
            if old is not None and handle is not None and _same_form(old, drawing):
                _move(handle, drawing.X)
            else:
                handle = self._new_drawing(drawing, handle.name if handle is not None else self._free_name())
            self._drawn[key] = drawing, handle

    def _free_name(self) -> str:
        """A name that no drawing has now: viser keeps each name that was removed, until another page is opened."""
        used = {handle.name for _, handle in self._drawn.values()}
        return next(name for name in map("/drawn/{}".format, itertools.count()) if name not in used)

    def _new_drawing(self, drawing: Drawing, name: str) -> Any:
        """Draw it; what had the name is gone then."""
        (colour, opacity), points = _colour(drawing.rgba), drawing.points
        place = {"position": drawing.X.p, "wxyz": _wxyz(drawing.X.R)}
        if drawing.kind == "text":
            return self._draw.add_label(name, drawing.text, anchor="center-center", **place)
        if drawing.kind == "lines":
            return self._draw.add_line_segments(
                name, points.reshape(-1, 2, 3), colour, thickness=drawing.width, **place
            )
        if drawing.kind == "points":
            return self._draw.add_point_cloud(name, points, colour, point_size=drawing.width, **place)
        if drawing.kind == "arrow":
            r = drawing.width / 2
            options = {"shaft_radius": r, "head_radius": 2 * r, "head_length": min(4 * r, _length(points) / 2)}
            return self._draw.add_arrows(name, points.reshape(1, 2, 3), colour, **options, **place)
        faces = np.arange(len(points)).reshape(-1, 3)
        return self._draw.add_mesh_simple(name, points, faces, color=colour, opacity=opacity, side="double", **place)


def camera_of(model: RobotModel, parts: list[Part]) -> tuple[Array, Array]:
    """Where a camera sees the whole arm from, and where it looks, shape (3,) each [m].

    It sees the arm in its first pose, and raised: from the middle of the box around these points it goes back as far
    as each of them, with its margin, needs.
    """
    q = np.clip(np.zeros(model.nq), model.q_min, model.q_max)
    chain = model.urdf.robot.get_chain(model.base, model.tip, joints=False)
    length = float(sum(np.linalg.norm(np.diff([model.pose(q, link).p for link in chain], axis=0), axis=1)))
    drawn = [part.mesh.moved(*model.pose(q, part.link)).corners for part in parts]
    points = np.vstack([*drawn, [0.0, 0.0, RISE * length]])
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    back = VIEW_FROM / np.linalg.norm(VIEW_FROM)
    right = np.cross([0.0, 0.0, 1.0], back)
    right /= np.linalg.norm(right)
    slope, margin = np.tan(FIELD_OF_VIEW / 2), MARGIN * float(np.ptp(points, axis=0).max())
    across, up, near = np.array([right, np.cross(back, right), back]) @ (points - middle).T
    seen = np.maximum(np.abs(across) / NARROW, np.abs(up)) + margin / NARROW
    return middle + float(np.max(near + seen / slope)) * back, middle


def _move(handle: Any, X: Pose) -> None:
    """Send a pose, if it is another one."""
    wxyz = _wxyz(X.R)
    if np.abs(handle.position - X.p).max() > LEAST:
        handle.position = X.p
    if min(np.abs(handle.wxyz - wxyz).max(), np.abs(handle.wxyz + wxyz).max()) > LEAST:
        handle.wxyz = wxyz


def _wxyz(R: Array) -> Array:
    return np.roll(quaternion_from_rotation(R), 1)


def _colour(rgba: tuple[float, ...]) -> tuple[tuple[int, ...], float | None]:
    """Colour as viser takes it, and opacity; None for what is not transparent."""
    opacity = float(rgba[3])
    return tuple(round(255 * min(max(x, 0.0), 1.0)) for x in rgba[:3]), opacity if opacity < 0.999 else None


def _same_form(a: Drawing, b: Drawing) -> bool:
    same = (a.kind, a.rgba, a.width, a.text) == (b.kind, b.rgba, b.width, b.text)
    return same and np.array_equal(a.points, b.points)


def _length(points: Array) -> float:
    return float(np.linalg.norm(points[1] - points[0]))
