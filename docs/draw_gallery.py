"""Draw arms of their makers' descriptions, for docs/gallery.md and the README.

    python docs/draw_gallery.py FOLDER [NAME ...]

FOLDER has a copy of each repository of ``ARMS`` in a folder of its name. Without a NAME it draws all arms, and the row
of the README, at one scale. It needs the environment of ``make setup``; ``pip install pycollada`` in it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("MUJOCO_GL", "egl")  # MuJoCo reads it when it is imported

import mujoco
import numpy as np
import trimesh
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from arm_control import Pose, RobotModel
from arm_control.maths import Array, rotation_from_rpy
from arm_control.viewer import mesh_roots
from arm_control.viewer.arm_shapes import find_mesh

PICTURES = Path(__file__).resolve().parent / "pictures" / "gallery"
EXAMPLES = "example-robot-data"
UR, UR_FILE = "Universal_Robots_ROS2_Description", "urdf/ur.urdf.xacro"
SEVEN = {"dof": "7"}


@dataclass(frozen=True)
class Arm:
    """An arm: its file below a maker's repository, and the posture of its picture [deg]."""

    name: str
    repository: str
    file: str
    posture: tuple[float, ...]
    arguments: dict[str, str] = field(default_factory=dict)

    @property
    def picture(self) -> Path:
        """Where its picture is."""
        return PICTURES / f"{self.name.lower().replace(' ', '_').replace('-', '')}.png"


ARMS = (
    Arm("UR5e", UR, UR_FILE, (0, -75, 85, -100, -90, 0), {"ur_type": "ur5e", "name": "ur"}),
    Arm("UR10e", UR, UR_FILE, (0, -85, 105, -110, -90, 0), {"ur_type": "ur10e", "name": "ur"}),
    Arm("Franka Panda", EXAMPLES, "robots/panda_description/urdf/panda.urdf", (0, -20, 0, -125, 0, 105, 45)),
    Arm("KUKA iiwa 14", "lbr_fri_ros2_stack", "lbr_description/urdf/iiwa14/iiwa14.xacro", (0, 20, 0, -80, 0, 80, 0)),
    Arm("Kinova Gen3", "ros2_kortex", "kortex_description/robots/gen3.xacro", (0, 15, 180, -130, 0, 55, 0), SEVEN),
    Arm("Kinova Jaco", EXAMPLES, "robots/kinova_description/robots/kinova.urdf", (270, 150, 60, 240, 80, 75)),
    Arm("Doosan M1013", "doosan-robot2", "dsr_description2/urdf/m1013.white.urdf", (0, 0, 75, 0, 85, 0)),
    Arm("xArm7", "xarm_ros2", "xarm_description/urdf/xarm_device.urdf.xacro", (0, -30, 0, 50, 0, 80, 0), SEVEN),
    Arm("Piper", "Piper_ros", "src/piper_description/urdf/piper_description.urdf", (0, 60, -70, 0, 30, 0)),
    Arm("Trossen WXAI", "trossen_arm_description", "urdf/generated/wxai/wxai_base.urdf", (0, 60, 60, 30, 0, 0)),
    Arm("OMX", "open_manipulator", "open_manipulator_description/urdf/omx_f/omx_f.urdf.xacro", (0, -40, 40, 30, 0)),
    Arm("SO-101", "SO-ARM100", "Simulation/SO101/so101_new_calib.urdf", (0, -30, 30, 40, 0)),
)  # fmt: skip

AZIMUTH, ELEVATION = 125.0, -16.0
"""Direction of every view [deg]."""
SHARP = np.radians(35.0)
"""Angle between two triangles from which their edge is drawn as one."""
PLAIN = (0.78, 0.80, 0.82, 1.0)
OVERSAMPLING = 3
SIDE, ROW_WIDTH, MARGIN, GAP, NAME_SIZE = 480, 1800, 14, 24, 20
"""Sides of a picture and of the row, what stays free around an arm, and the height of a name [pixels]."""
BAR, BLUR = 0.2, 0.04
"""Lengths of the bar, and of what a shadow fades over [m]."""
INK, GREY, SHADOW, DARKNESS, COLOURS = (38, 50, 56), (120, 130, 138), (60, 70, 80), 90, 160


@dataclass(frozen=True)
class Part:
    """Triangles of one colour, in the world."""

    corners: Array
    faces: Array
    normals: Array
    rgba: tuple[float, ...]


def parts_of(model: RobotModel, q: Array, roots: list[Path]) -> list[Part]:
    """Return all visual shapes of an arm in a posture."""
    colours = {material.name: material.color.rgba for material in model.urdf.robot.materials if material.color}
    parts = []
    for link in model.urdf.robot.links:
        X_WL = model.pose(q, link.name)
        for visual in link.visuals:
            origin = visual.origin
            X_LV = Pose(rotation_from_rpy(origin.rpy), np.array(origin.xyz)) if origin else Pose(np.eye(3), np.zeros(3))
            material = visual.material
            own = None if material is None else material.color.rgba if material.color else colours.get(material.name)
            X = X_WL @ X_LV
            H = np.block([[X.R, X.p[:, None]], [np.zeros(3), 1.0]])
            parts += [part_of(mesh, H, own) for mesh in meshes_of(visual.geometry, roots)]
    return parts


def meshes_of(geometry: Any, roots: list[Path]) -> list[trimesh.Trimesh]:
    """Return a visual shape as meshes of one colour each."""
    shape = type(geometry).__name__
    if shape == "Sphere":
        return [trimesh.creation.icosphere(radius=geometry.radius)]
    if shape == "Cylinder":
        return [trimesh.creation.cylinder(geometry.radius, geometry.length)]
    if shape == "Box":
        return [trimesh.creation.box(geometry.size)]
    scene = trimesh.load_scene(find_mesh(str(geometry.filename), roots))
    meshes = scene.dump() if scene.geometry else []
    for mesh in meshes:
        mesh.apply_scale(geometry.scale or [1.0, 1.0, 1.0])
    return list(meshes)


def part_of(mesh: trimesh.Trimesh, H: Array, own: Any) -> Part:
    """Return a mesh in the world, smooth between sharp edges."""
    rgba = own if own is not None else colour_of(mesh)
    mesh = mesh.copy()
    mesh.visual = trimesh.visual.ColorVisuals()
    mesh.merge_vertices(merge_norm=True, merge_tex=True)
    mesh.apply_transform(H)
    mesh = trimesh.graph.smooth_shade(mesh, angle=SHARP)
    return Part(np.array(mesh.vertices), np.array(mesh.faces), np.array(mesh.vertex_normals), tuple(rgba))


def colour_of(mesh: trimesh.Trimesh) -> tuple[float, ...]:
    """Return the colour that a mesh file states."""
    visual = mesh.visual
    colour = visual.material.main_color if visual.kind == "texture" else visual.main_color if visual.kind else None
    return PLAIN if colour is None else tuple(np.asarray(colour, dtype=float) / 255.0)


def stage(parts: list[Part]) -> mujoco.MjModel:
    """Return MuJoCo's model of parts at rest, white all around."""
    spec = mujoco.MjSpec()
    spec.visual.global_.offwidth = spec.visual.global_.offheight = 4096
    spec.visual.quality.offsamples, spec.visual.quality.shadowsize = 0, 4096
    spec.visual.map.znear, spec.visual.map.zfar = 0.001, 50.0
    light = spec.visual.headlight
    light.ambient, light.diffuse, light.specular = [0.36] * 3, [0.18] * 3, [0.05] * 3
    spec.add_texture(name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
                     rgb1=[1.0] * 3, rgb2=[1.0] * 3, width=16, height=96)  # fmt: skip
    for p, strength, shadow in (((2.2, -2.6, 4.2), 0.42, True), ((3.0, 3.0, 1.5), 0.12, False)):
        spec.worldbody.add_light(pos=p, dir=-np.array(p), type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
                                 castshadow=shadow, diffuse=[strength] * 3, specular=[0.25] * 3)  # fmt: skip
    for k, part in enumerate(parts):
        mesh = spec.add_mesh(name=f"m{k}", uservert=part.corners.ravel(), userface=part.faces.ravel(),
                             usernormal=part.normals.ravel(), userfacenormal=part.faces.ravel())  # fmt: skip
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        material = spec.add_material(name=f"c{k}", rgba=part.rgba, specular=0.35, shininess=0.5)
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"m{k}", material=material.name,
                                contype=0, conaffinity=0)  # fmt: skip
    return spec.compile()


@cache
def view_axes() -> Array:
    """Return the right, up and backward axes of the view, as rows."""
    azimuth, elevation = np.radians([AZIMUTH, ELEVATION])
    forward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return np.array([right, np.cross(right, forward), -forward])


def on_floor(corners: Array, z: float) -> Array:
    """Return points moved down to a floor."""
    return np.column_stack([corners[:, :2], np.full(len(corners), z)])


class Shot:
    """An arm on a floor, as the view has it."""

    def __init__(self, folder: Path, arm: Arm) -> None:
        self.arm, self.parts = arm, parts_in_posture(folder, arm)
        points = np.concatenate([part.corners for part in self.parts])
        self.z = points[:, 2].min()
        seen = np.concatenate([points, on_floor(points, self.z)]) @ view_axes().T
        self.low, self.high = seen.min(axis=0) - BLUR, seen.max(axis=0) + BLUR

    @property
    def size(self) -> Array:
        """Width and height [m]."""
        return (self.high - self.low)[:2]

    def picture(self, scale: float) -> Image.Image:
        """Return the arm and its shadow on white, at a scale [pixels/m]."""
        fine = OVERSAMPLING * scale
        width, height = np.ceil(fine * self.size / OVERSAMPLING).astype(int) * OVERSAMPLING
        colours, inside = self._photograph(int(width), int(height), height / fine)
        picture = Image.new("RGB", colours.size, "white")
        picture.paste(SHADOW, mask=self._shadow(colours.size, fine))
        picture.paste(colours, mask=inside)
        return picture.reduce(OVERSAMPLING)

    def _photograph(self, width: int, height: int, metres: float) -> tuple[Image.Image, Image.Image]:
        model = stage(self.parts)
        model.vis.global_.fovy = metres
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        camera = mujoco.MjvCamera()
        camera.orthographic, camera.azimuth, camera.elevation, camera.distance = 1, AZIMUTH, ELEVATION, 5.0
        camera.lookat = view_axes().T @ (0.5 * (self.low + self.high))
        with mujoco.Renderer(model, height, width) as renderer:
            renderer.update_scene(data, camera)
            colours = Image.fromarray(renderer.render().copy())
            renderer.enable_segmentation_rendering()
            renderer.update_scene(data, camera)
            return colours, Image.fromarray(255 * (renderer.render()[:, :, 0] >= 0).astype(np.uint8))

    def _shadow(self, size: tuple[int, int], fine: float) -> Image.Image:
        """Return how dark the floor is, under light from above."""
        dark = Image.new("L", size)
        draw, middle = ImageDraw.Draw(dark), 0.5 * (self.low + self.high)
        for part in self.parts:
            seen = (on_floor(part.corners, self.z) @ view_axes().T - middle) * [fine, -fine, 0.0]
            for triangle in (seen[:, :2] + 0.5 * np.array(size))[part.faces]:
                draw.polygon([tuple(corner) for corner in triangle], fill=DARKNESS)
        return dark.filter(ImageFilter.GaussianBlur(float(0.4 * BLUR * fine)))


def parts_in_posture(folder: Path, arm: Arm) -> list[Part]:
    """Return the parts of an arm in the posture of its picture."""
    place = folder / arm.repository
    options: dict[str, Any] = {"xacro_args": arm.arguments} if arm.arguments else {}
    model = RobotModel.from_urdf(
        place / arm.file, package_path=[place], kinematics_only=True, backend="python", **options
    )
    return parts_of(model, np.radians(arm.posture), [folder, *mesh_roots(place / arm.file), place])


def save(picture: Image.Image, path: Path) -> None:
    """Save a picture in few colours."""
    path.parent.mkdir(exist_ok=True)
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path.name, path.stat().st_size)


def draw_alone(shot: Shot) -> None:
    """Draw an arm as large as its picture, with a bar for the scale."""
    scale = (SIDE - 2 * MARGIN) / max(shot.size)
    picture, canvas = shot.picture(scale), Image.new("RGB", (SIDE, SIDE), "white")
    canvas.paste(picture, ((SIDE - picture.width) // 2, SIDE - MARGIN - picture.height))
    draw, y = ImageDraw.Draw(canvas), SIDE - MARGIN
    draw.line([(MARGIN, y), (MARGIN + BAR * scale, y)], fill=GREY, width=3)
    draw.text((MARGIN, y - 6), f"{100 * BAR:.0f} cm", font=font(17), fill=GREY, anchor="ls")
    save(canvas, shot.arm.picture)


def draw_row(shots: list[Shot]) -> None:
    """Draw arms beside each other at one scale, with their names."""
    words = [font(NAME_SIZE).getlength(shot.arm.name) for shot in shots]

    def widths(scale: float) -> list[float]:
        return [max(scale * shot.size[0], word) + GAP for shot, word in zip(shots, words, strict=True)]

    scale = next(scale for scale in np.arange(600.0, 0.0, -1.0) if sum(widths(scale)) < ROW_WIDTH)
    height = int(scale * max(shot.size[1] for shot in shots))
    canvas = Image.new("RGB", (ROW_WIDTH, height + 2 * NAME_SIZE), "white")
    draw, x = ImageDraw.Draw(canvas), 0.5 * (ROW_WIDTH - sum(widths(scale)))
    for shot, width in zip(shots, widths(scale), strict=True):
        picture, middle = shot.picture(scale), x + 0.5 * width
        canvas.paste(picture, (int(middle - 0.5 * picture.width), height - picture.height))
        draw.text((middle, height + 1.4 * NAME_SIZE), shot.arm.name, font=font(NAME_SIZE), fill=INK, anchor="ms")
        x += width
    save(canvas, PICTURES / "row.png")


def font(size: int) -> Any:
    """Return matplotlib's own font."""
    return ImageFont.truetype(font_manager.findfont("DejaVu Sans"), size)


def main(folder: str, *names: str) -> None:
    """Draw some arms, or all of them and the row."""
    shots = [Shot(Path(folder), arm) for arm in ARMS if not names or arm.picture.stem in names]
    for shot in shots:
        draw_alone(shot)
    if not names:
        draw_row(shots)


if __name__ == "__main__":
    main(*sys.argv[1:])
