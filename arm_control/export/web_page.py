"""A page in which an arm moves: one HTML file, which needs no server and no Python.

Below ``export/page/`` is the page's own code: ``arm.js`` calls the module of WebAssembly, ``page.js`` shows it. Here it
gets what is one arm's: the module and its memory (:mod:`arm_control.export.page_programs`), and the links' triangles.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.control import GAINS, OperationalSpaceController
from arm_control.core import require_writable_folder, share_path, write_text
from arm_control.exceptions import InputError
from arm_control.export.c_pieces import CAUSES, MODES, ExportedController, filled
from arm_control.export.page_laws import avoided_links
from arm_control.export.page_programs import BEGIN, ENTRIES, HIDDEN, WebArm, web_arm
from arm_control.kinematics import TWIST_ROWS
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.viewer import Mesh, MeshPart, arm_parts, mesh_roots

MOST_TRIANGLES = 5_000
"""Triangles of an arm on a page."""
FINEST, COARSER = 1e-4, 1.25
"""Cell in which corners become one, at first [m], and how it grows."""
PAGE = "page/page.html"
"""The text of the page, below ``export/``."""


def write_page(file: str | Path, controller: ExportedController) -> list[str]:
    """Write the page of an arm; return a sentence for each reason why meshes are not drawn."""
    path = Path(file)
    require_writable_folder(path.parent)
    if path.exists() and "Made by `arm_control export`" not in path.read_text(encoding="utf-8", errors="replace"):
        raise InputError(f"{path} was not written by an export: name another folder with --out")
    parts, notes = arm_parts(controller.model, mesh_roots())
    data = page_data(controller, web_arm(controller), reduced(parts))
    texts = {name.upper().partition(".")[0]: _text(name) for name in ("style.css", "arm.js", "page.js")}
    title = controller.model.urdf.robot.name
    write_text(path, filled(PAGE, {**texts, "THREE": _text("three.min.js"), "DATA": _json(data), "TITLE": title}))
    return notes


def _text(name: str) -> str:
    return share_path("export", "page", name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    return json.dumps(data, separators=(",", ":")).replace("</", "<\\/")


def page_data(controller: ExportedController, arm: WebArm, parts: Sequence[MeshPart]) -> dict[str, Any]:
    """Return all that ``arm.js`` and ``page.js`` know of an arm, as JSON has it."""
    model = controller.model
    links, rows = list(model.tree.frames), OperationalSpaceController(model, controller.law).structure.rows
    hand = model.pose(controller.start).p
    return {
        "module": _base64(np.frombuffer(arm.module, np.uint8)),
        "memory": _base64(np.frombuffer(arm.memory, np.uint8)),
        "begin": BEGIN,
        "functions": arm.functions,
        "places": arm.places,
        "record": arm.record,
        "joints": model.joint_names,
        "links": links,
        "start": controller.start.tolist(),
        "period": controller.period,
        "modes": {number: name.lower() for name, (number, _) in MODES.items()},
        "causes": {number: sentence for number, _, sentence in CAUSES.values()},
        "entries": ENTRIES,
        "gains": {name: k for k, name in enumerate(GAINS)},
        "rows": [("" if row < 3 else "turn ") + TWIST_ROWS[row][-1] for row in rows],
        "row_numbers": rows,
        "hasBall": bool(avoided_links(model)),
        "ballHeight": HIDDEN,
        **_directions(model, controller.start, hand, rows),
        "parts": [
            {
                "link": links.index(part.link),
                "rgba": part.rgba,
                "corners": _base64(part.mesh.corners.astype("<f4")),
                "faces": _base64(part.mesh.faces.astype("<u2")),
            }
            for part in parts
        ],
    }


def _directions(model: RobotModel, q: Array, hand: Array, rows: Sequence[int]) -> dict[str, list[Any]]:
    """Where the arm reaches from, two axes of a circle of its hand, and a way for a ball past it."""
    second = next(link for link, frame in model.tree.frames.items() if frame.body == min(1, model.nv - 1))
    shoulder = model.pose(q, second).p
    along = [row for row in (1, 2, 0) if row in rows][:2]
    out = hand - shoulder
    aside = np.cross(out, [0.0, 0.0, 1.0]) if np.ptp(out[:2]) > 0.0 else np.array([0.0, 1.0, 0.0])
    axes = np.zeros((2, 3))
    for axis, row in zip(axes, along, strict=False):
        axis[row] = 1.0
    aside = aside / max(float(np.linalg.norm(aside)), 1e-9)
    return {"hand": hand.tolist(), "shoulder": shoulder.tolist(), "axes": axes.tolist(), "aside": aside.tolist()}


def _base64(array: npt.NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode()


def reduced(parts: Sequence[MeshPart], most: int = MOST_TRIANGLES) -> list[MeshPart]:
    """Return an arm of at most so many triangles: corners in one cell of a grid become one, in as small cells as do."""
    cell, smaller = FINEST, list(parts)
    while sum(len(part.mesh.faces) for part in smaller) > most:
        smaller = [part._replace(mesh=_clustered(part.mesh, cell)) for part in parts]
        cell *= COARSER
    return smaller


def _clustered(mesh: Mesh, cell: float) -> Mesh:
    """The triangles that are left where the corners in each cell are their mean."""
    cells = np.round(mesh.corners / cell).astype(np.int64)
    _, of_corner, n = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    corners = np.zeros((len(n), 3))
    np.add.at(corners, of_corner.ravel(), mesh.corners)
    faces = of_corner.ravel()[mesh.faces]
    a, b, c = faces.T
    return Mesh(corners / n[:, None], faces[(a != b) & (b != c) & (c != a)])
