"""The table of the campaign, on a terminal and as a page: one line a fault, the worst of all its runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from arm_control.faults.campaign import Row

HEAD = """# Faults

Made by `arm_control faults --page docs/faults.md`: {n} runs in simulated time, of {robots}, with the controllers
{controllers}, in these arrangements:

| arrangement | what stands between states and motors |
|---|---|
| `controller` | a controller, whose own gate is the only one |
| `gate` | a controller, the node `gate`, a driver that holds the last torque |
| `simulator` | a controller, the gate of a simulated arm |
| `native` | a controller whose ordinary states are answered without Python |
| `serve`, `serve-native` | `arm_control serve`, by Python, and without it |
| `exported` | the exported controller, compiled |

An arm that must brake is run on four plants: its model, with links 5 % heavier, with friction, rotors and errors of
`--variant real`, and that with 1 kg that nobody has told. Each line gives the worst of all runs of a fault: time from
the first wrong message to a braking torque, time to rest (below 0.01 rad/s for 0.25 s), how far the hand has sunk 3 s
later, compared with the exact plant, largest joint speed in the 3 s after *enable*, largest torque as a share of the
effort limit, and the reason for a brake, or for refusing an input. *Computed* stands where no state can be used: then
nobody can stop an arm that weighs more than its model says, and what is given is its fall in 0.6 s, at most 1.2 times
(and 1 mm) that of an ideal brake of the model. An arm that *stays* stops without a brake on the way that chunks of a
[policy](follow.md) led it, at the last point that counts, within 1.5 s, and moves by 0.01 rad at most from then on. One
that *keeps* its [constraints](constraints.md) does not brake, and is at most 0.5 mm outside of them. All rows are in
the file of `--json`.

"""
TITLES = (
    *("fault", "what happens", "must", "brakes [ms]", "rests [ms]", "sinks [mm]", "computed [mm]"),
    *("after enable [rad/s]", "torque", "reason"),
)


def summary(rows: Sequence[Row]) -> dict[str, float]:
    """Return the worst of some rows, by name: largest sink where states come, largest joint speed after *enable*."""
    return {
        "failed_rows": sum(not row.passed for row in rows),
        "worst_sink_mm": max(
            (row.sunk_mm for row in rows if row.sunk_mm is not None and not row.is_blind), default=0.0
        ),
        "worst_speed_after_enable": max(
            (row.speed_after_enable for row in rows if row.speed_after_enable is not None), default=0.0
        ),
    }


def row_text(row: Row) -> str:
    """Return a row as one line of a terminal."""
    sign = "ok  " if row.passed else "FAIL"
    where = f"{row.arrangement:12} {row.plant:9} {row.robot:5} {row.controller:5}"
    figures = f"{_number(row.brake_ms):>4} {_number(row.rest_ms):>4} {_number(row.sunk_mm):>4} {row.peak:5.2f}"
    words = row.failure if not row.passed else row.reason
    return f"{sign} {row.fault:36} {where} {figures}  {words[:60]}"


def page(rows: Sequence[Row]) -> str:
    """Return the table in Markdown, one line for each fault."""
    names = {what: _names(getattr(row, what) for row in rows) for what in ("robot", "controller")}
    head = HEAD.format(n=len(rows), robots=names["robot"], controllers=names["controller"])
    lines = [f"{head}| {' | '.join(TITLES)} |", "|---" * len(TITLES) + "|"]
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.fault, []).append(row)
    lines.extend(_line(group) for group in groups.values())
    if failed := [row for row in rows if not row.passed]:
        lines += ["", "Not passed:", ""]
        lines += [
            f"- `{row.fault}`, {row.arrangement}, {row.plant}, {row.robot}, {row.controller}: {row.failure}"
            for row in failed
        ]
    return "\n".join(lines)


def _line(group: Sequence[Row]) -> str:
    first = group[0]
    blind = [row for row in group if row.is_blind]
    rested = [row for row in group if not row.is_blind or row.plant == "exact"]
    cells = (
        f"`{first.fault}`",
        first.what,
        first.verdict,
        _worst(row.brake_ms for row in group),
        _worst(row.rest_ms for row in rested) if first.verdict in ("brakes", "holds", "stays") else "-",
        _worst(row.sunk_mm for row in (blind or group)),
        _worst(row.fall_mm for row in blind),
        _worst((row.speed_after_enable for row in group), 4),
        f"{max(row.peak for row in group):.2f}",
        next((row.reason for row in group if row.reason), "").replace("|", "/"),
    )
    return f"| {' | '.join(cells)} |"


def _names(names: Iterable[Any]) -> str:
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))


def _worst(values: Iterable[float | None], digits: int = 0) -> str:
    found = [value for value in values if value is not None]
    return f"{max(found):.{digits}f}" if found else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
