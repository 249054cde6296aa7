"""What a run shows in the terminal: a live table, or a bar for a run without a display."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arm_control.exceptions import MissingExtra

try:
    from rich.console import Console
    from rich.live import Live
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text
except ImportError as error:
    raise MissingExtra("rich", "demo") from error

__all__ = ["Console", "Live", "Progress", "live_table"]


def live_table(
    title: str, stamp_ns: int, target: int, figures: Mapping[str, float], health: Mapping[str, Any]
) -> Table:
    """Return the table of a running scenario.

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
    """
    osc, simulator = health.get("osc", {}), health.get("simulator", {})
    rows = {
        "time [s]": f"{max(stamp_ns, 0) * 1e-9:.2f}",
        "target": str(target),
        "position error [mm]": f"{1e3 * figures['position_error']:.3f}",
        "orientation error [deg]": f"{57.29577951308232 * figures['orientation_error']:.3f}",
        "torque, share of the limit": f"{figures['saturation']:.2f}",
        "condition number": f"{figures['condition_number']:.1f}",
        "controller rate [Hz]": osc.get("rate [Hz]", "-"),
        "controller tick p50 / p99 [ms]": f"{osc.get('tick p50 [ms]', '-')} / {osc.get('tick p99 [ms]', '-')}",
        "answered within 2 ms [%]": simulator.get("answered within 2 ms [%]", "-"),
        "overruns": simulator.get("overruns", "-"),
        "simulator": simulator.get("message", "starting"),
        "controller": osc.get("message", "starting"),
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
    return table
