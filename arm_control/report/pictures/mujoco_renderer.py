"""Frames of an arm by MuJoCo: ``python -m arm_control.report.pictures.mujoco_renderer JOB.npz FRAMES.npy``.

A process of its own, started by :func:`arm_control.report.pictures.rendering.render`, with ``MUJOCO_GL`` set.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from arm_control.exceptions import MissingExtra
from arm_control.maths import Array
from arm_control.report.pictures.rendering import Frames

try:
    import mujoco
except ImportError as error:
    raise MissingExtra("mujoco", "mujoco") from error

BACKGROUND = (1.0, 1.0, 1.0)
TRAIL_RADIUS = 0.005
TRAIL = (0.90, 0.47, 0.0, 1.0)
AXES = ((0.84, 0.2, 0.1, 1.0), (0.0, 0.62, 0.45, 1.0), (0.0, 0.35, 0.75, 1.0))
GHOST_ALPHA = 0.22
FIELD_OF_VIEW = 32.0
FLOOR, SIDE = 1.0, 65.0
SHAPES = mujoco.mjtGeom


class Studio:
    """A floor, lights, a camera and the arm.

    Parameters
    ----------
    job : mapping
        The arrays of :class:`~arm_control.report.pictures.rendering.Shots`, ``urdf`` and ``joint_names``.
    """

    def __init__(self, job: Mapping[str, Any]) -> None:
        self._job = job
        self.model = _stage(str(job["urdf"]), job["size"])
        self.data = mujoco.MjData(self.model)
        self._qpos = [self.model.joint(str(name)).qposadr[0] for name in job["joint_names"]]
        self._option = mujoco.MjvOption()
        self._visual = bool((self.model.geom_group == 1).any())
        self._option.geomgroup[:] = 0
        self._option.geomgroup[[1 if self._visual else 0, 2]] = 1
        self._bones_only = self.model.ngeom == 1  # the floor
        self._camera = self._aim()

    def frames(self) -> Iterator[Frames]:
        """Yield every frame, as uint8 of shape (height, width, 3)."""
        width, height = (int(side) for side in self._job["size"])
        with mujoco.Renderer(self.model, height, width, max_geom=20_000) as renderer:
            for i in range(len(self._job["qs"])):
                self._compose(renderer, i)
                yield renderer.render().copy()

    def _compose(self, renderer: mujoco.Renderer, i: int) -> None:
        self._pose(self._job["qs"][i])
        renderer.update_scene(self.data, self._camera, self._option)
        scene = renderer.scene
        if self._bones_only:
            self._add_bones(scene)
        for point in self._job["trail"][: self._job["n_trail_points"][i]]:
            _add(scene, SHAPES.mjGEOM_SPHERE, [TRAIL_RADIUS, 0.0, 0.0], point, TRAIL)
        for X in self._job["targets"][self._job["visible"][i]]:
            _add_triad(scene, X, float(self._job["triad"]))
        for ghost in self._job["ghosts"]:
            self._add_ghost(scene, ghost)

    def _pose(self, q: Array) -> None:
        self.data.qpos[self._qpos] = q
        mujoco.mj_forward(self.model, self.data)

    def _add_ghost(self, scene: mujoco.MjvScene, q: Array) -> None:
        self._pose(q)
        first, moving = scene.ngeom, mujoco.mjtCatBit.mjCAT_DYNAMIC
        mujoco.mjv_addGeoms(self.model, self.data, self._option, mujoco.MjvPerturb(), moving, scene)
        for geom in scene.geoms[first : scene.ngeom]:
            geom.rgba[3] = GHOST_ALPHA

    def _add_bones(self, scene: mujoco.MjvScene) -> None:
        for body in range(1, self.model.nbody):
            _add_line(scene, self.data.xpos[self.model.body_parentid[body]], self.data.xpos[body], 0.025)

    def _aim(self) -> mujoco.MjvCamera:
        """Point a camera at everything the arm sweeps, from the side to which it reaches."""
        points = [self._job["trail"], self._job["targets"][:, :3, 3]]
        for q in [*self._job["qs"][:: max(1, len(self._job["qs"]) // 40)], *self._job["ghosts"]]:
            self._pose(q)
            points.append(self.data.xpos.copy())
        swept = np.concatenate(points)
        low, high = swept.min(axis=0), swept.max(axis=0)
        camera = mujoco.MjvCamera()
        camera.lookat = 0.5 * (low + high)
        camera.distance = 0.42 * np.linalg.norm(high - low) / np.tan(np.radians(FIELD_OF_VIEW / 2))
        camera.azimuth = np.degrees(np.arctan2(camera.lookat[1], camera.lookat[0])) + 180.0 - SIDE
        camera.elevation = -20.0
        return camera


def _stage(urdf: str, size: Array) -> mujoco.MjModel:
    """MuJoCo's model of the arm on a floor; its inertia does not matter here."""
    compiler = '<compiler discardvisual="false" boundmass="1e-6" boundinertia="1e-9" fusestatic="false"/>'
    spec = mujoco.MjSpec.from_string(urdf.replace("</robot>", f"<mujoco>{compiler}</mujoco></robot>"))
    spec.visual.global_.offwidth, spec.visual.global_.offheight = (int(side) for side in size)
    spec.visual.global_.fovy = FIELD_OF_VIEW
    quality = spec.visual.quality
    quality.shadowsize, quality.numslices, quality.numstacks = 2048, 24, 8
    headlight = spec.visual.headlight
    headlight.ambient, headlight.diffuse, headlight.specular = [0.5] * 3, [0.3] * 3, [0.1] * 3
    lamp = {"pos": [1.3, -1.0, 4.0], "dir": [-0.3, 0.23, -0.92], "cutoff": 30.0, "exponent": 0.0}
    spec.worldbody.add_light(**lamp, diffuse=[0.38] * 3, specular=[0.2] * 3)
    _add_floor(spec)
    return spec.compile()


def _add_floor(spec: mujoco.MjSpec) -> None:
    flat, grid = mujoco.mjtBuiltin.mjBUILTIN_FLAT, mujoco.mjtBuiltin.mjBUILTIN_CHECKER
    sky = mujoco.mjtTexture.mjTEXTURE_SKYBOX
    spec.add_texture(name="sky", type=sky, builtin=flat, rgb1=BACKGROUND, rgb2=BACKGROUND, width=16, height=96)
    spec.add_texture(
        name="grid",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=grid,
        rgb1=[0.72, 0.76, 0.81],
        rgb2=[0.80, 0.83, 0.87],
        width=256,
        height=256,
    )
    floor = spec.add_material(name="floor", texrepeat=[2, 2], texuniform=True, specular=0.0)
    floor.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "grid"
    spec.worldbody.add_geom(type=SHAPES.mjGEOM_PLANE, size=[FLOOR, FLOOR, 0.05], material="floor", group=2)


def _add(scene: mujoco.MjvScene, shape: Any, size: list[float], p: Array, rgba: tuple[float, ...]) -> Any:
    geom = scene.geoms[scene.ngeom]
    mujoco.mjv_initGeom(geom, shape, size, p, np.eye(3).ravel(), np.array(rgba, dtype=np.float32))
    geom.emission = 0.5
    geom.category = mujoco.mjtCatBit.mjCAT_DECOR
    scene.ngeom += 1
    return geom


def _add_line(
    scene: mujoco.MjvScene, a: Array, b: Array, width: float, rgba: tuple[float, ...] = (0.5, 0.55, 0.6, 1.0)
) -> None:
    geom = _add(scene, SHAPES.mjGEOM_CAPSULE, [0.0] * 3, np.zeros(3), rgba)
    mujoco.mjv_connector(geom, SHAPES.mjGEOM_CAPSULE, width, a, b)


def _add_triad(scene: mujoco.MjvScene, X: Array, length: float) -> None:
    for axis, rgba in zip(X[:3, :3].T, AXES, strict=True):
        _add_line(scene, X[:3, 3], X[:3, 3] + length * axis, 0.06 * length, rgba)


def main(job_path: str, result_path: str) -> None:
    """Render one job."""
    with np.load(job_path) as job:
        frames = np.array(list(Studio(dict(job)).frames()))
    np.save(result_path, frames)


if __name__ == "__main__":
    main(*sys.argv[1:])
