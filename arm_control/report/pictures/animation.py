"""The arm moving, as a GIF: rendered by MuJoCo where that works, drawn by matplotlib elsewhere."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.report.pictures.rendering import Frames, Shots, render
from arm_control.report.pictures.sketch import sketch
from arm_control.report.pictures.style import AXIS_COLOURS, ORANGE
from arm_control.simulation import MotionRecord

_log = logging.getLogger(__name__)

RATE = 12.0
"""Frames per second."""
MAX_FRAMES = 240
"""A longer run is played faster than real time."""
MAX_BYTES = 2_000_000
SPACING = 0.02
"""Distance between two points of the trail [m]."""
COLOURS = 112
RARE = tuple(tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5)) for colour in (*AXIS_COLOURS, ORANGE))
"""Colours of targets and trail, which cover too few pixels to be chosen."""


def draw_animation(path: Path, record: MotionRecord, model: RobotModel) -> str:
    """Write a GIF of the arm, its path and its targets.

    Returns
    -------
    str
        How it was drawn: one sentence.
    """
    samples = _samples(record)
    frames, message = render_or_sketch(model, make_shots(record, samples))
    captions = [_caption(record, i) for i in samples]
    path.write_bytes(encode(frames, captions))
    return message


def render_or_sketch(model: RobotModel, shots: Shots) -> tuple[Frames, str]:
    """Return frames by MuJoCo, or, with a warning, by matplotlib where MuJoCo cannot render; and how they were made."""
    frames, message = render(model, shots)
    if len(frames):
        return frames, message
    message = f"drawn by matplotlib, because {message}"
    _log.warning("the arm is %s", message)
    return sketch(model, shots), message


def make_shots(record: MotionRecord, samples: npt.NDArray[np.int64], size: tuple[int, int] = (480, 360)) -> Shots:
    """Return the contents of frames: the arm, its path so far and the active target.

    Parameters
    ----------
    samples : ndarray of int, shape (n,)
        Samples of the record, one per frame.
    size : tuple of int
        Width and height of a frame [pixels].
    """
    points = _trail_samples(record.p)
    targets = np.array([X.matrix() for X in record.goals]).reshape(-1, 4, 4)
    visible = record.active[samples][:, None] == np.arange(len(targets))
    no_ghosts = np.zeros((0, record.q.shape[1]))
    n_trail_points = np.searchsorted(points, samples, side="right")
    return Shots(record.q[samples], record.p[points], n_trail_points, targets, visible, no_ghosts, size)


def encode(frames: Frames, captions: list[str]) -> bytes:
    """Encode frames as a GIF of at most :data:`MAX_BYTES`, leaving frames out where it must.

    Parameters
    ----------
    frames : ndarray of uint8, shape (n, height, width, 3)
        The pictures.
    """
    font = ImageFont.truetype(str(Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), 13)
    images = []
    for frame, caption in zip(frames, captions, strict=True):
        image = Image.fromarray(frame)
        ImageDraw.Draw(image).text((12, 10), caption, fill=(43, 47, 54), font=font)
        images.append(image)
    palette = _palette(images)
    small = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    for step in range(1, len(small) + 1):
        content = _gif(small[::step], step / RATE)
        if len(content) <= MAX_BYTES:
            break
    return content


def _gif(images: list[Image.Image], seconds: float) -> bytes:
    buffer = io.BytesIO()
    durations = [round(1e3 * seconds)] * (len(images) - 1) + [1500]
    images[0].save(buffer, "GIF", save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=False)
    return buffer.getvalue()


def _palette(images: list[Image.Image]) -> Image.Image:
    """Colours that suit all frames: those of a dozen, and a few that are rare but must not be lost."""
    some = images[:: max(1, len(images) // 12)]
    common = Image.fromarray(np.concatenate([np.asarray(image) for image in some])).quantize(COLOURS - len(RARE))
    palette = Image.new("P", (1, 1))
    palette.putpalette(
        (common.getpalette() or [])[: 3 * (COLOURS - len(RARE))] + [value for rgb in RARE for value in rgb]
    )
    return palette


def _samples(record: MotionRecord) -> npt.NDArray[np.int64]:
    count = int(np.clip(record.t[-1] * RATE, 2, MAX_FRAMES))
    return record.at(np.linspace(0.0, record.t[-1], count))


def _trail_samples(p: Array) -> npt.NDArray[np.int64]:
    """Samples at which the path has gone on by :data:`SPACING`."""
    chosen = [0]
    for i, point in enumerate(p):
        if np.linalg.norm(point - p[chosen[-1]]) >= SPACING:
            chosen.append(i)
    return np.array(chosen)


def _caption(record: MotionRecord, i: int) -> str:
    target = f"   target {record.active[i] + 1} of {len(record.goals)}" if record.active[i] >= 0 else ""
    return f"{record.t[i]:5.1f} s{target}"
