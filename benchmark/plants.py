"""Arms on plants that are not their model: friction and rotors that no URDF tells of, and a payload of 1 kg.

    python benchmark/plants.py [--json FILE] [--quick] [--velocities] [--robots FOLDER] [--arms NAME ...]

Arms of several makers, gains proposed: nine of example-robot-data, and those of robots.py below ``--robots``, a folder
with a copy of each repository. Below six the exit status is 1. Two plants, each with and without 1 kg that nobody knows
of, at 1000, 500 and 250 Hz: ``real``, the set of the simulator with errors of all kinds, and ``rotors``, the model with
rotors of 0.1 kg m^2, 1 N m s/rad and 1 N m of friction on every joint, 5 % of its effort limit at most. Contenders in
the same run: the law with observer and inertia floor; the law alone; operational space control as it is usually
written, with NumPy. Four targets, 2.5 s for each, or what the slowest joint needs for 3 rad, up to 8 s. The velocities
have a noise of 1e-3 rad/s everywhere.

``--velocities``: the plant ``real``, with velocities as they are, and as differences of encoder counts of 21 to 12
bits, raw and behind a lag of 10 ms.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from measure import processor, versions

# isort: split
import arms
import numpy as np
import robots
from pinocchio_calls import EXAMPLES
from validity import FEWEST, REAL

from arm_control import Pose, RobotModel
from arm_control.control import (
    ControlLoop,
    Measurement,
    pose_error,
    propose,
    propose_rate_limit,
    resolve_parameters,
    scaled_jacobian,
)
from arm_control.controllers import OscLoopParameters, control_loop
from arm_control.core import progress_bar
from arm_control.exceptions import SimulationDiverged
from arm_control.maths import Array
from arm_control.motion import Target
from arm_control.simulation import PlantProperties, RealArm

ARMS = ("ur5", "panda", "xarm7", "kinova", "z1")
MORE = ("real_ur3", "real_ur10", "so100", "so101")
"""Arms of validity.py, without TALOS, whose weight takes 90 % of a shoulder joint's torque."""
RATES = (1000, 500, 250)
CONTENDERS = ("observer", "law", "numpy")
N_TARGETS, LAST = 4, 0.5
SECONDS, WAY, MOST_SECONDS = 2.5, 3.0, 8.0
"""Time for each target [s]: at least, what the slowest joint needs for a way [rad or m], and at most."""
POSITION, ORIENTATION = 1e-3, np.radians(0.2)
"""What counts as reached [m, rad]."""
NOISE = 1e-3
"""Of all velocities [rad/s]."""
COARSE = 10
"""Ticks between two looks at the error."""
QUIET = 1e-5
"""Change of torque from tick to tick that counts as none, as a share of the effort limit."""


BITS = (0, 21, 19, 17, 14, 12)
"""Counts of an encoder's turn, as bits; 0: velocities as they are."""
LAG = 0.01
"""Lag of a driver's velocities [s]."""
FINE = 14
"""Bits from which on the figures of the worst case count."""


class Controller(Protocol):
    """From a state to torque."""

    def go_to(self, k: int, goal: Pose) -> None:
        """Go to a pose from tick ``k`` on."""

    def tick(self, k: int, q: Array, v: Array) -> Array:
        """Torque in tick ``k``, shape (nv,) [N m]."""


class PackageLaw:
    """The package's controller with its gate; with observer and floor, or without."""

    def __init__(self, model: RobotModel, rate: int, *, has_observer: bool) -> None:
        values = {"rate": float(rate), "rate_limit": propose_rate_limit(model), "disturbance_observer": has_observer}
        values["inertia_floor"] = 0.02 if has_observer else 0.0
        self._loop: ControlLoop = control_loop(model, resolve_parameters(OscLoopParameters, values, model))
        self._base, self._dt = model.frames[0], 1.0 / rate

    def go_to(self, k: int, goal: Pose) -> None:
        """See :class:`Controller`."""
        self._loop.controller.add(Target(self._stamp_ns(k), self._base, goal))

    def tick(self, k: int, q: Array, v: Array) -> Array:
        """See :class:`Controller`."""
        dt = self._dt if k else 0.0
        return self._loop.tick(Measurement(self._stamp_ns(k), q, v, dt, is_restart=k == 0)).gate.tau

    def _stamp_ns(self, k: int) -> int:
        return round(k * self._dt * 1e9)

    @property
    def brake(self) -> str:
        """Why the gate brakes; empty when it does not."""
        gate = self._loop.gate
        return gate.reason if gate.is_braked else ""


class UsualLaw:
    """Khatib's law: ``tau = J^T Lambda (k_p e - k_v V) + N^T (posture) + h``, with the same proposed gains."""

    def __init__(self, model: RobotModel, rate: int, q_0: Array) -> None:
        self._model, self._q_0, self._gains = model, q_0, propose(model, float(rate))

    def go_to(self, k: int, goal: Pose) -> None:
        """See :class:`Controller`."""
        self._goal = goal

    def tick(self, k: int, q: Array, v: Array) -> Array:
        """See :class:`Controller`."""
        t, p = self._model.evaluate(q, v), self._gains
        e, V = pose_error(t.X_WE, self._goal), t.V_WE
        A = np.empty(6)
        for part, kp, v_max in (
            (slice(0, 3), p.kp_linear, p.speed_limit_linear),
            (slice(3, 6), p.kp_angular, p.speed_limit_angular),
        ):
            kv = 2.0 * np.sqrt(kp)
            V_des = kp / kv * e[part]
            A[part] = kv * (V_des * min(1.0, v_max / max(np.linalg.norm(V_des), 1e-9)) - V[part])
        M_inv = np.linalg.inv(t.M)
        Lambda = np.linalg.pinv(t.J @ M_inv @ t.J.T, rcond=1e-9)
        J_sharp = M_inv @ t.J.T @ Lambda
        posture = t.M @ (p.kp_posture * (self._q_0 - q) - p.kv_posture * v)
        tau = t.J.T @ (Lambda @ A) + (np.eye(len(q)) - t.J.T @ J_sharp.T) @ posture + t.h
        return np.clip(tau, -self._model.tau_max, self._model.tau_max)


class Outcome(NamedTuple):
    """How well targets were reached: errors [m, rad], largest torque as a share of the limit, unrest at the end.

    ``settled`` is the time after which no error of a target was too large any more [s].
    """

    position: Array
    orientation: Array
    peak: float
    unrest: float
    settled: float


def load(name: str) -> RobotModel:
    """Return the model of an arm, from its vendor's URDF."""
    if name in MORE:
        return RobotModel.from_urdf(file_of(name), **REAL[name][1])
    return RobotModel.from_urdf(file_of(name), tip="link06") if name == "z1" else arms.load(name)


def file_of(name: str) -> Path:
    """Return the URDF of an arm that this package does not have."""
    files = {"z1": REAL["z1"][0]} | {more: REAL[more][0] for more in MORE}
    return EXAMPLES / (files.get(name) or arms.ARMS[name][0])


def arms_below(folder: Path) -> Iterator[tuple[str, RobotModel]]:
    """Name and model of each arm of robots.py whose repository is in a folder."""
    for row in robots.ROBOTS:
        if (path := robots.find_file(folder, row)).is_file():
            arm, _, refusal, _ = robots.load(path, row)
            if arm is None:
                print(f"{row.name} is left out: {refusal}")
            else:
                yield re.sub(r"\W+", "_", f"{row.repository} {row.name}".lower()), RobotModel(arm)


def plants(model: RobotModel) -> Iterator[tuple[str, PlantProperties]]:
    """Name and properties of each plant of an arm."""
    friction = tuple(np.minimum(1.0, 0.05 * model.tau_max).tolist())
    rotors = PlantProperties(coulomb=friction, viscous=(1.0,), rotor_inertia=(0.1,), velocity_noise=NOISE)
    for name, plant in (("real", PlantProperties(set="real")), ("rotors", rotors)):
        yield name, plant
        yield f"{name}_1kg", plant.replace(payload_mass=1.0)


def draw_targets(model: RobotModel) -> tuple[Array, list[Pose]]:
    """A start, shape (nq,) [rad], and targets near it, away from limits and singularities."""
    rng, p = np.random.default_rng(1), propose(model)
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    span = np.minimum(0.5, 0.3 * model.v_max)

    def is_regular(q: Array) -> bool:
        sigma = np.linalg.svd(scaled_jacobian(model.jacobian(q), p.characteristic_length), compute_uv=False)
        return bool(sigma[min(6, model.nv) - 1] > 1.5 * p.singular_value)

    start = (low + high) / 2.0
    while not is_regular(start):
        start = (low + high) / 2.0 + 0.3 * (high - low) * rng.uniform(-1.0, 1.0, model.nv)
    goals: list[Pose] = []
    while len(goals) < N_TARGETS:
        q = start + span * rng.uniform(-1.0, 1.0, model.nv)
        if is_regular(q) and (q > low + 0.1).all() and (q < high - 0.1).all():
            goals.append(model.pose(q))
    return start, goals


def run(model: RobotModel, controller: Controller, arm: RealArm | LaggingArm, goals: list[Pose]) -> Outcome:
    """Go to one target after the other."""
    n, n_last = round(seconds_for(model) / arm.timestep), round(LAST / arm.timestep)
    taus = np.zeros((n * len(goals), model.nv))
    errors, late = np.full((len(goals), 6), np.inf), np.zeros(len(goals))
    try:
        for i, goal in enumerate(goals):
            controller.go_to(i * n, goal)
            for k in range(i * n, (i + 1) * n):
                taus[k] = controller.tick(k, arm.q, arm.v)
                arm.step(taus[k])
                if k % COARSE == 0 and not is_reached(pose_error(model.pose(arm.arm.q), goal)):
                    late[i] = (k - i * n + COARSE) * arm.timestep
            errors[i] = pose_error(model.pose(arm.arm.q), goal)
    except SimulationDiverged:
        pass
    ends = [taus[(i + 1) * n - n_last : (i + 1) * n] for i in range(len(goals))]
    unrest = max(float((np.sqrt(np.mean(np.diff(end, axis=0) ** 2, axis=0)) / model.tau_max).max()) for end in ends)
    peak = float((np.abs(taus) / model.tau_max).max())
    sizes = np.linalg.norm(errors[:, :3], axis=1), np.linalg.norm(errors[:, 3:], axis=1)
    return Outcome(*sizes, peak, unrest, float(late.max()))


def seconds_for(model: RobotModel) -> float:
    """Return the time for each target of an arm [s]."""
    return float(np.clip(WAY / model.v_max.min(), SECONDS, MOST_SECONDS))


def is_reached(error: Array) -> bool:
    """Whether an error of a pose, shape (6,) [m, rad], is small enough."""
    return bool(np.linalg.norm(error[:3]) < POSITION and np.linalg.norm(error[3:]) < ORIENTATION)


class LaggingArm:
    """An arm whose driver sends velocities behind a lag.

    Parameters
    ----------
    lag : float
        Time constant [s]; 0: none.
    """

    def __init__(self, arm: RealArm, lag: float) -> None:
        self.arm, self.timestep, self.q = arm.arm, arm.timestep, arm.q
        self._arm, self._share = arm, 1.0 if not lag else -np.expm1(-arm.timestep / lag)
        self.v = self._share * arm.v

    def step(self, tau: Array) -> None:
        """Command a torque for one time step, shape (nv,) [N m]."""
        self._arm.step(tau)
        self.q, self.v = self._arm.q, self.v + self._share * (self._arm.v - self.v)


def measure_velocities(
    models: dict[str, RobotModel], rates: tuple[int, ...], bits: tuple[int, ...]
) -> dict[str, float]:
    """Figures of velocities that come in steps, by arm, bits, rate and driver."""
    figures: dict[str, float] = {}
    braked = refused = 0
    for name, model in models.items():
        start, goals = draw_targets(model)
        cases = [(b, rate, lag) for b in bits for rate in rates for lag in (0.0, LAG) if b or not lag]
        for b, rate, lag in progress_bar(cases, f"{name}, velocities"):
            plant = PlantProperties(set="real") if not b else encoder_plant(b)
            law = PackageLaw(model, rate, has_observer=True)
            outcome = run(model, law, LaggingArm(arm_of(model, start, plant, rate), lag), goals)
            key = f"velocities.{name}.{b or 'measured'}_{'lag_' if lag else ''}{rate}hz"
            figures[f"{key}.error_mm"] = 1e3 * float(outcome.position.max())
            figures[f"{key}.error_deg"] = float(np.degrees(outcome.orientation.max()))
            braked += bool(law.brake)
            refused += law.brake.startswith("velocities")
    fine = [key for key in figures if (part := key.split(".")[2].split("_")[0]) == "measured" or int(part) >= FINE]
    for unit in ("mm", "deg"):
        figures[f"velocities.worst.error_{unit}"] = max(figures[key] for key in fine if key.endswith(unit))
        figures[f"velocities.coarse.error_{unit}"] = max(x for key, x in figures.items() if key.endswith(unit))
    return {**figures, "velocities.braked": float(braked), "velocities.refused": float(refused)}


def encoder_plant(bits: int) -> PlantProperties:
    """A real arm whose velocities are differences of encoder counts."""
    return PlantProperties(set="real", encoder_resolution=2.0 * np.pi / 2**bits, velocity_from="encoder")


def print_velocities(figures: dict[str, float], bits: tuple[int, ...]) -> None:
    """Print the worst errors for each number of bits, and counts of brakes."""
    for b in bits:
        rows = {key: x for key, x in figures.items() if f".{b or 'measured'}_" in key}
        mm, deg = (max(x for key, x in rows.items() if key.endswith(unit)) for unit in ("mm", "deg"))
        print(f"{f'{b} bits' if b else 'measured':10} {len(rows) // 2:3} cases, worst {mm:8.3f} mm {deg:7.3f} deg")
    print(f"braked {figures['velocities.braked']:.0f}, of these refused {figures['velocities.refused']:.0f}")


def contender(name: str, model: RobotModel, rate: int, start: Array) -> Controller:
    """Return a controller by name."""
    return UsualLaw(model, rate, start) if name == "numpy" else PackageLaw(model, rate, has_observer=name == "observer")


def measure(
    models: dict[str, RobotModel], rates: tuple[int, ...], kinds: tuple[str, ...]
) -> dict[str, dict[str, float]]:
    """Figures of every case, by contender and key."""
    figures: dict[str, dict[str, float]] = {name: {} for name in CONTENDERS}
    for name, model in models.items():
        start, goals = draw_targets(model)
        chosen = [(kind, plant) for kind, plant in plants(model) if kind in kinds]
        for rate, who in progress_bar([(rate, who) for rate in rates for who in CONTENDERS], name):
            every = [PlantProperties(velocity_noise=NOISE), *(plant for _, plant in chosen)]
            ideal, *outcomes = (
                run(model, contender(who, model, rate, start), arm_of(model, start, plant, rate), goals)
                for plant in every
            )
            for (kind, _), outcome in zip(chosen, outcomes, strict=True):
                figures[who] |= {f"{name}.{kind}_{rate}hz.{key}": x for key, x in summary(outcome, ideal).items()}
    for who, values in figures.items():
        figures[who] = values | worst(values)
    return figures


def arm_of(model: RobotModel, start: Array, properties: PlantProperties, rate: int) -> RealArm:
    """Return a simulated arm."""
    return RealArm(model, start, timestep=1.0 / rate, properties=properties)


def summary(outcome: Outcome, ideal: Outcome) -> dict[str, float]:
    """Figures of a case; chatter is the change of torque from tick to tick at rest, against that on the ideal plant."""
    has_reached = (outcome.position < POSITION) & (outcome.orientation < ORIENTATION)
    return {
        "reached_share": float(has_reached.mean()),
        "settled": outcome.settled,
        "error_mm": 1e3 * float(outcome.position.max()),
        "error_deg": float(np.degrees(outcome.orientation.max())),
        "chatter": outcome.unrest / max(ideal.unrest, QUIET),
        "unrest": outcome.unrest,
        "peak": outcome.peak,
        "ideal_error_mm": 1e3 * float(ideal.position.max()),
        "ideal_error_deg": float(np.degrees(ideal.orientation.max())),
    }


def worst(values: dict[str, float]) -> dict[str, float]:
    """The worst of every figure over all cases."""
    by_key: dict[str, list[float]] = {}
    for name, value in values.items():
        by_key.setdefault(name.rpartition(".")[2], []).append(value)
    return {f"worst.{key}": min(x) if key == "reached_share" else max(x) for key, x in by_key.items()}


def print_table(figures: dict[str, dict[str, float]]) -> None:
    """Print each case in a line, for every contender: share reached, errors, chatter, peak torque."""
    cases = dict.fromkeys(key.rpartition(".")[0] for key in figures["observer"])
    print(f"{'':28}" + "".join(f"{who:>46}" for who in CONTENDERS))
    print(f"{'':28}" + "reached   error [mm]  [deg]   chatter  peak    ".rjust(46) * len(CONTENDERS))
    for case in cases:
        row = f"{case:28}"
        for who in CONTENDERS:
            share, mm, deg, chatter, peak = (
                figures[who][f"{case}.{key}"] for key in ("reached_share", "error_mm", "error_deg", "chatter", "peak")
            )
            row += f"{share:10.2f} {mm:11.3f} {deg:8.3f} {chatter:8.2f} {peak:6.2f}"
        print(row)


def main() -> None:
    """Print the table; with ``--json`` write the figures too: of the observer by key, of others below their name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--arms", nargs="+", default=ARMS + MORE, choices=ARMS + MORE)
    parser.add_argument("--robots", type=Path, help="folder with copies of makers' repositories")
    parser.add_argument("--quick", action="store_true", help="one arm, one plant, one rate")
    parser.add_argument("--velocities", action="store_true", help="velocities in steps, instead of plants")
    options = parser.parse_args()
    names = ("ur5",) if options.quick else options.arms
    models = {name: load(name) for name in names if name == "ur5" or file_of(name).is_file()}
    models |= dict(arms_below(options.robots)) if options.robots else {}
    print(f"{processor()}, {versions('numpy', 'mujoco')}; {len(models)} arms: {', '.join(models)}", flush=True)
    if options.velocities:
        bits, rates = ((0, 12), (250,)) if options.quick else (BITS, (1000, 250))
        flat = measure_velocities(models, rates, bits)
        print_velocities(flat, bits)
    else:
        rates = (250,) if options.quick else RATES
        kinds = ("rotors",) if options.quick else ("real", "real_1kg", "rotors", "rotors_1kg")
        figures = measure(models, rates, kinds)
        print_table(figures)
        others = {f"{who}.{key}": x for who in CONTENDERS[1:] for key, x in figures[who].items()}
        flat = {**figures["observer"], **others}
    if options.json:
        options.json.write_text(json.dumps(flat, indent=1) + "\n")
    if len(models) < FEWEST and not options.quick:
        raise SystemExit(f"{len(models)} arms: {FEWEST} are needed; install example-robot-data, or name --robots")


if __name__ == "__main__":
    main()
