"""The table of the campaign, on a terminal and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arm_control.faults.campaign import Row

HEAD = """# Faults

Made by `arm_control faults --page docs/faults.md`. A UR5 in a reach, {n} runs in simulated time. `simulator`: the gate
of a simulated arm, behind the controller. `hardware`: controller, the node `gate`, a driver that holds the last torque.
Each row gives the slowest figures of the controllers {controllers}: time from the first wrong message to a braking
torque, time to rest (below 0.01 rad/s for 0.25 s), joint speed at the end of the run, largest torque as a share of the
effort limit, largest change of a joint's torque in a millisecond, and the reason that the gate gives.

Without states and without friction an arm is balanced on a prediction, as an inverted pendulum without feedback: its
error grows e-fold in 0.2 s. The column of the speed at the end shows it.

"""
TITLES = (
    *("fault", "what happens", "arrangement", "must", "brakes [ms]", "rests [ms]", "end [rad/s]", "torque"),
    *("step [N m]", "reason"),
)


def row_text(row: Row) -> str:
    """Return a row as one line of a terminal."""
    sign = "ok  " if row.passed else "FAIL"
    figures = f"{_number(row.brake_ms):>5} {_number(row.rest_ms):>5} {row.peak:5.2f} {row.step:6.2f}"
    words = row.failure if not row.passed else row.reason
    return f"{sign} {row.fault:42} {row.arrangement:9} {row.controller:5} {figures}  {words[:60]}"


def page(rows: Sequence[Row]) -> str:
    """Return the table in Markdown, one line for each fault and arrangement.

    Parameters
    ----------
    rows : sequence of Row
        What came of all runs.
    """
    controllers = ", ".join(f"`{name}`" for name in dict.fromkeys(row.controller for row in rows))
    lines = [
        HEAD.format(n=len(rows), controllers=controllers) + f"| {' | '.join(TITLES)} |",
        "|---" * len(TITLES) + "|",
    ]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.fault, row.arrangement), []).append(row)
    lines.extend(_line(group) for group in groups.values())
    unservable = dict.fromkeys((row.fault, row.unservable) for row in rows if row.unservable)
    if unservable:
        lines += ["", "What no software can serve:", ""]
        lines += [f"- `{fault}`: {why}" for fault, why in unservable]
    failed = [row for row in rows if not row.passed]
    if failed:
        lines += ["", "Not passed:", ""]
        lines += [f"- `{row.fault}`, {row.arrangement}, {row.controller}: {row.failure}" for row in failed]
    return "\n".join(lines)


def _line(group: Sequence[Row]) -> str:
    first = group[0]
    brake, rest = _slowest(row.brake_ms for row in group), _slowest(row.rest_ms for row in group)
    reason = next((row.reason for row in group if row.reason), "")
    cells = (
        f"`{first.fault}`",
        first.what,
        first.arrangement,
        first.verdict,
        _number(brake),
        _number(rest),
        f"{max(row.drift for row in group):.3f}",
        f"{max(row.peak for row in group):.2f}",
        f"{max(row.step for row in group):.2f}",
        reason.replace("|", "/"),
    )
    return f"| {' | '.join(cells)} |"


def _slowest(times: Iterable[float | None]) -> float | None:
    """Return the longest time; None where one never came."""
    found = list(times)
    return None if None in found else max(time for time in found if time is not None)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
