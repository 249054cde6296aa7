"""Photographs of the arm by MuJoCo, taken in another process.

MuJoCo chooses how it draws without a window once, when it is imported (``MUJOCO_GL``), and a missing or
broken OpenGL driver may end the process or hang. So each way is tried in a process of its own, with a
time limit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import arm_control
from arm_control.maths import Array
from arm_control.model import RobotModel

Frames = npt.NDArray[np.uint8]

BACKENDS = ("egl", "osmesa") if sys.platform == "linux" else ("",)
"""Values of ``MUJOCO_GL`` to try, in this order; empty: leave it to MuJoCo."""
START_TIME, FRAME_TIME = 30.0, 0.7
"""Wall time that starting, and one frame, may take [s]."""


@dataclass(frozen=True)
class Shots:
    """Contents of a series of frames.

    Attributes
    ----------
    qs : ndarray, shape (n, nq)
        Joint positions, one row per frame [rad or m].
    trail : ndarray, shape (m, 3)
        Points of the end effector's path [m].
    n_trail_points : ndarray of int, shape (n,)
        Number of these points in each frame.
    targets : ndarray, shape (k, 4, 4)
        Target poses in the world, homogeneous.
    visible : ndarray of bool, shape (n, k)
        Whether each target is in each frame.
    ghosts : ndarray, shape (g, nq)
        Joint positions of translucent arms, in every frame [rad or m].
    size : tuple of int
        Width and height of a frame [pixels].
    triad : float
        Length of the axes drawn at a target [m].
    """

    qs: Array
    trail: Array
    n_trail_points: npt.NDArray[np.int64]
    targets: Array
    visible: npt.NDArray[np.bool_]
    ghosts: Array
    size: tuple[int, int] = (480, 360)
    triad: float = 0.1


def render(model: RobotModel, shots: Shots, backends: Sequence[str] | None = None) -> tuple[Frames, str]:
    """Render the arm with MuJoCo, by the first back end that works on this machine.

    Returns the frames, none when no way worked, and how they were made, or why there are none: one sentence.

    Parameters
    ----------
    model : RobotModel
        The arm. Meshes are left out; an arm of meshes only is drawn as capsules.
    backends : sequence of str, optional
        Values of ``MUJOCO_GL`` to try; :data:`BACKENDS` by default.
    """
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        job, result = Path(folder, "job.npz"), Path(folder, "frames.npy")
        np.savez(job, urdf=model.urdf.without_meshes(), joint_names=model.joint_names, **asdict(shots))
        for backend in BACKENDS if backends is None else backends:
            failure = _run(backend, job, result, START_TIME + FRAME_TIME * len(shots.qs))
            if not failure:
                return np.load(result), f"rendered by MuJoCo ({backend or 'its default'})"
            failures.append(f"{backend or 'default'}: {failure}")
    no_frames = np.zeros((0, *shots.size[::-1], 3), np.uint8)
    return no_frames, f"MuJoCo cannot render here ({'; '.join(failures)})"


def _run(backend: str, job: Path, result: Path, seconds: float) -> str:
    """Render in another process; return the reason of a failure, empty without one."""
    command = [sys.executable, "-m", "arm_control.report.pictures.mujoco_renderer", str(job), str(result)]
    try:
        done = subprocess.run(
            command,
            env=_environment(backend),
            cwd=job.parent,  # MuJoCo leaves its log where it runs
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {seconds:.0f} s"
    if done.returncode == 0 and result.exists():
        return ""
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"ended with status {done.returncode}"


def _environment(backend: str) -> dict[str, str]:
    """Environment with the backend's choice in place of one that an import of mujoco left here."""
    environment = {name: value for name, value in os.environ.items() if name != "PYOPENGL_PLATFORM"}
    root = str(Path(arm_control.__file__).resolve().parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH", "")]))
    return environment | ({"MUJOCO_GL": backend} if backend else {})
