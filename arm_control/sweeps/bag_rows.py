"""Figures of recorded bags, one row each: what a sweep runs that has bags for its axis.

A bag that cannot be read, or has not what its figures need, is a row with the reason; one that is damaged has the
damage for a reason, beside the figures of what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from glob import glob
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from arm_control.exceptions import ArmControlError, InputError, MissingExtra

REPORT, IDENTIFY, REPLAY = "report", "identify", "replay"
MOTOR_FIGURES = ("rotor_inertia", "coulomb", "viscous", "offset")
"""Mean of all joints of which the recording tells it."""
BAG_FIGURES = {
    REPORT: (
        *("model_error_share", "correlation", "torque_share", "speed_share"),
        *("seconds", "states", "rate", "longest_gap", "messages", "malformed"),
    ),
    IDENTIFY: ("error_share", "error_share_of_model", "r2", "r2_of_model", "payload", *MOTOR_FIGURES, "windows"),
    REPLAY: ("largest_difference", "identical", "compared", "missing", "states"),
}
"""Figures of each kind; of the joints the worst one, shares are those of the joint's limit."""


def content_of_bags(pattern: str, kind: str, robot: str = "") -> dict[str, Any]:
    """Return the content of a sweep over bags, for :meth:`~arm_control.sweeps.sweep.Sweep.from_content`.

    Parameters
    ----------
    pattern : str
        Path with wildcards, ``**`` for any folders; or an address such as ``s3://bucket/**/*.mcap``, for fsspec.
    robot : str
        Name or URDF of the arm; empty: as recorded.

    Raises
    ------
    InputError
        When no bag has such a path.
    """
    files = glob(str(Path(pattern).absolute()), recursive=True)
    bags = _addresses(pattern) if "://" in pattern else sorted({_whole(Path(file)) for file in files})
    if not bags:
        raise InputError(f"no bag has the path {pattern}")
    axes = {"bag": bags, "robot": [robot]} if robot else {"bag": bags}
    function = f"{__name__}:{kind}"
    return {"function": function, "axes": axes, "figures": list(BAG_FIGURES[kind])}


def report(bag: str, robot: str = "") -> dict[str, Any]:
    """Return contents, timing, speeds and torques of a bag; what needs the arm is not a number where it is unknown."""
    from arm_control.bags import arm_of, recorded_commands, require_states
    from arm_control.report import correlation, inverse_dynamics, timing

    def figures(read: Any, options: Any) -> dict[str, float]:
        series = require_states(read, "joint_states").increasing()
        _, steps, *_ = timing(read, series)
        found = dict.fromkeys(BAG_FIGURES[REPORT], float("nan"))
        found |= {"seconds": read.duration, "states": len(series.stamps), "messages": len(read.messages)}
        found |= {"malformed": sum(read.malformed.values()), "longest_gap": steps.max(initial=0.0)}
        median = float(np.median(steps)) if len(steps) else 0.0
        found["rate"] = 1.0 / median if median > 0.0 else float("nan")
        try:
            model = arm_of(read, options, series.names)
            torque, _ = inverse_dynamics(series, model)
        except ArmControlError:
            if robot:
                raise
            return found
        found["speed_share"] = np.nanmax(np.abs(series.of(model, "velocity")) / model.v_max, initial=0.0)
        commands = recorded_commands(read, model).tau
        found["torque_share"] = np.abs(commands / model.tau_max).max() if len(commands) else float("nan")
        measured = series.of(model, "effort")
        known = np.isfinite(measured).all(axis=1)
        if known.any():
            effort, tau = measured[known], torque[known]
            found["model_error_share"] = (np.sqrt(((tau - effort) ** 2).mean(axis=0)) / model.tau_max).max()
            found["correlation"] = min(correlation(a, b) for a, b in zip(tau.T, effort.T, strict=True))
        return found

    return _of_bag(bag, robot, figures)


def identify(bag: str, robot: str = "") -> dict[str, Any]:
    """Return what an identification with a payload finds, and how well it explains the torque held out."""
    from arm_control import identification
    from arm_control.bags import arm_of, require_states
    from arm_control.report import recorded_motion

    def figures(read: Any, options: Any) -> dict[str, float]:
        series = require_states(read, "joint_states").increasing()
        options.changes["payload_mass"] = 0.0
        model = arm_of(read, options, series.names)
        motion, _ = recorded_motion(series, model)
        found = identification.identify(model, motion, identification.PAYLOAD)
        fit, payload = found.fit, identification.payload_of(found)
        motor = np.where(fit.is_identified, fit.motor, np.nan)
        means = [float(np.nanmean(x)) if np.isfinite(x).any() else float("nan") for x in motor.T]
        return {
            "windows": len(fit.t),
            "r2": np.min(fit.r2),
            "r2_of_model": np.min(fit.r2_model),
            "error_share": (fit.error / model.tau_max).max(),
            "error_share_of_model": (fit.error_model / model.tau_max).max(),
            "payload": payload.mass if payload is not None else float("nan"),
            **dict(zip(MOTOR_FIGURES, means, strict=True)),
        }

    return _of_bag(bag, robot, figures)


def replay(bag: str, robot: str = "") -> dict[str, Any]:
    """Return how far commands, computed again from the recorded states, are from the recorded ones."""
    from arm_control.bags import compare, controller_of, recorded_commands, replayed_commands

    def figures(read: Any, options: Any) -> dict[str, float]:
        model, parameters = controller_of(read, options)
        recorded, replayed = recorded_commands(read, model), replayed_commands(read, model, parameters)
        found = compare(recorded, replayed, model, 0.0)
        counts = {"states": len(replayed.stamps), "compared": found.compared, "missing": found.missing}
        return counts | {"identical": found.identical, "largest_difference": found.largest.max(initial=0.0)}

    return _of_bag(bag, robot, figures)


def _of_bag(bag: str, robot: str, figures: Callable[[Any, Any], Mapping[str, float]]) -> dict[str, Any]:
    """Figures of a bag, and its damage."""
    from arm_control.bags import ReplayOptions, read_bag

    with TemporaryDirectory() as folder:
        file = Path(bag)
        if "://" in bag:
            files, path = _fsspec().core.url_to_fs(bag)
            file = Path(folder, Path(path).name)
            files.get_file(path, str(file))
        read = read_bag(file)
        found = figures(read, ReplayOptions(urdf=robot))
    return {**found, "error": "; ".join(f"damaged: {text}" for text in read.damage)}


def _whole(file: Path) -> str:
    """The bag that a file is part of: its folder, where that has ``metadata.yaml``."""
    return str(file.parent if file.with_name("metadata.yaml").exists() else file)


def _addresses(pattern: str) -> list[str]:
    """Addresses of all files that a pattern means, where they are stored."""
    files, paths = _fsspec().core.url_to_fs(pattern)
    return sorted(map(files.unstrip_protocol, files.glob(paths)))


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise MissingExtra("fsspec", "sweep") from None
    return fsspec
