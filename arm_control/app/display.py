"""What a run shows in the terminal: a live table, or a bar for a run without a display."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arm_control.exceptions import MissingExtra

try:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text
except ImportError as error:
    raise MissingExtra("rich", "demo") from error

__all__ = ["Console", "Live", "Progress", "live_table"]


def live_table(
    title: str,
    stamp_ns: int,
    target: int,
    figures: Mapping[str, float],
    health: Mapping[str, Any],
    nodes: tuple[str, str],
    address: str = "",
) -> Group:
    """Return the table of a running scenario, below the address of its page.

    Parameters
    ----------
    title : str
        What runs.
    stamp_ns : int
        Simulated time [ns].
    target : int
        Number of the active target.
    figures : mapping
        Newest ``controller_state`` figures.
    health : mapping
        Newest diagnostics by node.
    nodes : tuple of str
        Names of the nodes that control and that simulate.
    address : str
        Of the page; it is never broken into lines, so that a terminal can open it.
    """
    controller, simulator = (health.get(node, {}) for node in nodes)
    rows = {
        "time [s]": f"{max(stamp_ns, 0) * 1e-9:.2f}",
        "target": str(target),
        "position error [mm]": f"{1e3 * figures['position_error']:.3f}",
        "orientation error [deg]": f"{57.29577951308232 * figures['orientation_error']:.3f}",
        "torque, share of the limit": f"{figures['saturation']:.2f}",
        "condition number": f"{figures['condition_number']:.1f}",
        "controller rate [Hz]": controller.get("rate [Hz]", "-"),
        "controller tick p50 / p99 [ms]": " / ".join(controller.get(f"tick {p} [ms]", "-") for p in ("p50", "p99")),
        "answered within 2 ms [%]": simulator.get("answered within 2 ms [%]", "-"),
        "overruns": simulator.get("overruns", "-"),
        "simulator": _said(simulator),
        "controller": _said(controller),
    }
    refused = {
        f"{node}: {key}": value
        for node, values in health.items()
        for key, value in values.items()
        if key.startswith("refused")
    }
    table = Table(title=title, show_header=False, min_width=58)
    for key, value in {**rows, **refused}.items():
        table.add_row(Text(key), Text(value))
    return Group(*([Text(address, no_wrap=True, overflow="ignore")] if address else []), table)


def _said(status: Mapping[str, str]) -> str:
    """What a node says of itself, and what helps when its gate stays braked."""
    helps = ": braked, `arm_control enable`" if status.get("braked") == "True" else ""
    return status.get("message", "starting") + helps
