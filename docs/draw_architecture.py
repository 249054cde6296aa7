"""Draw the pictures of docs/architecture.md from the code, and write its list of the path of a joint state.

``python docs/draw_architecture.py`` in the environment of ``make setup``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import rclpy
from rclpy.serialization import serialize_message

from arm_control import urdf_path
from arm_control.nodes import OscNode, ros

matplotlib.use("agg")
ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "arm_control"
PAGE = ROOT / "docs" / "architecture.md"
PICTURES = ROOT / "docs" / "pictures"
ORDER = tuple(re.findall(r"^\| `(\w+)/` \|", PAGE.read_text(), re.MULTILINE))
"""The folders; each imports from those before it."""
BEGIN, END = "<!-- path: begin -->", "<!-- path: end -->"


class Hop(NamedTuple):
    """A function of the package that runs between a joint state and its torque.

    Attributes
    ----------
    depth : int
        Number of functions that are waiting for it.
    module : str
        Path below the package.
    name : str
        Its qualified name.
    """

    depth: int
    module: str
    name: str


def folder_imports() -> tuple[dict[str, int], Counter[tuple[str, str]]]:
    """Return the number of modules in each folder, and of imports from one folder in another."""
    modules = {folder: list((PACKAGE / folder).rglob("*.py")) for folder in ORDER}
    imports: Counter[tuple[str, str]] = Counter()
    for folder, paths in modules.items():
        for path in paths:
            imports.update((folder, name) for name in _imported_folders(path) if name in ORDER)
    return {folder: len(paths) for folder, paths in modules.items()}, imports


def _imported_folders(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("arm_control."):
            yield str(node.module).split(".")[1]


def path_of_a_state() -> list[Hop]:
    """Return the functions of the package that the node ``osc`` calls for one joint state, without telemetry."""
    rclpy.init(args=["--ros-args", "-p", "lock_step:=true"])
    node = OscNode()
    try:
        node.take_model(urdf_path("ur5").read_text())
        names, q = node.model.joint_names, np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
        (on_joint_state,) = (
            callback
            for subscription, callback in node.control_path.subscriptions
            if subscription.topic_name.endswith("joint_states")
        )
        for k in range(1, 4):  # the first states make the law, and send telemetry
            message = ros.joint_state(names, k * 1_000_000, position=q, velocity=np.zeros(6))
            hops = _traced(on_joint_state, serialize_message(message), {"source_timestamp": 0, "received_timestamp": 0})
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return hops


def _traced(function: Any, *arguments: Any) -> list[Hop]:
    """Return the functions of the package that a call runs, in order."""
    hops: list[Hop] = []
    depth = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth
        path = Path(frame.f_code.co_filename)
        if PACKAGE not in path.parents:
            return
        if event == "call":
            hops.append(Hop(depth, str(path.relative_to(PACKAGE)), _qualified_name(frame)))
            depth += 1
        elif event == "return":
            depth -= 1

    sys.setprofile(profile)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return hops


def _qualified_name(frame: FrameType) -> str:
    owner = frame.f_locals.get("self")
    name = frame.f_code.co_name
    return name if owner is None else f"{type(owner).__name__}.{name}"


def listing(hops: list[Hop]) -> str:
    """Return the path as a numbered list in Markdown."""
    return "\n".join(f"{i}. `{hop.name}` (`{hop.module}`)" for i, hop in enumerate(hops, 1))


def draw_folders(path: Path) -> None:
    """Draw the imports between folders as a matrix: nothing stands above its diagonal."""
    counts, imports = folder_imports()
    matrix = np.array([[imports[row, column] for column in ORDER] for row in ORDER], dtype=float)
    figure, axes = plt.subplots(figsize=(8.0, 6.4), layout="constrained")
    axes.imshow(np.where(matrix > 0, np.log1p(matrix), np.nan), cmap="Blues", vmin=0.0, vmax=8.0)
    for (i, j), n in np.ndenumerate(matrix):
        if n:
            is_own = i == j
            axes.text(j, i, f"{n:.0f}", ha="center", va="center", fontsize=8, color="grey" if is_own else "black")
    axes.set_xticks(range(len(ORDER)), ORDER, rotation=60, ha="right")
    axes.set_yticks(range(len(ORDER)), [f"{folder}  ({counts[folder]})" for folder in ORDER])
    axes.set_xlabel("imported folder")
    axes.set_ylabel("importing folder (modules)")
    axes.set_title("Import statements between the folders of arm_control", fontsize=11)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_path(path: Path, hops: list[Hop]) -> None:
    """Draw the path of a joint state: calls from top to bottom, indented by depth, in the colour of their folder."""
    folders = list(dict.fromkeys(hop.module.partition("/")[0] for hop in hops))
    colours = dict(zip(folders, matplotlib.colormaps["tab10"].colors, strict=False))
    n = len(hops)
    figure, axes = plt.subplots(figsize=(7.2, 0.36 * (n + 2)), layout="constrained")
    labels = ["joint_states", *(hop.name for hop in hops), "joint_commands"]
    for row, label in enumerate(labels):
        y = n + 1 - row
        if row in (0, n + 1):
            axes.text(0.0, y, label, va="center", family="monospace", fontsize=9, fontweight="bold")
            continue
        hop = hops[row - 1]
        colour = colours[hop.module.partition("/")[0]]
        axes.text(
            0.35 * hop.depth, y, f"{row:2d}  {label}", va="center", family="monospace", fontsize=9,
            bbox={"boxstyle": "round", "facecolor": colour, "alpha": 0.25, "edgecolor": colour},
        )  # fmt: skip
        axes.text(4.0, y, hop.module, va="center", fontsize=9, color="dimgrey")
    axes.set_xlim(-0.1, 6.6)
    axes.set_ylim(-0.6, n + 1.6)
    axes.set_axis_off()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Draw both pictures and write the list."""
    hops = path_of_a_state()
    draw_folders(PICTURES / "folders.png")
    draw_path(PICTURES / "path_of_a_state.png", hops)
    text = PAGE.read_text()
    page = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{listing(hops)}\n{END}", text, flags=re.DOTALL)
    PAGE.write_text(page)
    print(f"{len(hops)} functions from a joint state to its torque")


if __name__ == "__main__":
    main()
