"""Velocities that come in steps: found, and filtered.

Many drivers send differences of encoder counts as velocities. With 17 bits and 1 kHz a count is a step of 0.048 rad/s,
of 12 bits one of 1.5 rad/s: noise that gains multiply, and that looks like chatter. Two findings for each joint:

    (1)  x is *on a grid* of the width p where its changes are multiples of p, and go back and forth: a change and its
         opposite behind it, and no change, in turns, four times.
    (2)  v comes from positions where it is their difference behind a lag: y = alpha x, with x = d - v_0, y = v - v_0,
         0.02 < alpha = S_xy / S_xx < 1.05,   S_xy^2 > 0.98 S_xx S_yy,   S_yy - alpha S_xy < 0.003 S_1 (alpha p / dt)^2

with sums that forget, S <- 0.98 S + ...; a velocity that is measured leaves a sixth of a step's square, the rounding of
the positions. x of (1) is the difference of positions d dt, or the velocity. Where positions are on a grid and v comes
from them, or v is on a grid of its own, the velocity is filtered, for as long as this run lasts:

    (3)  v_f <- v_f + dt / (T + dt) (w - v_f),   T = sqrt(p / a)

with w = d, or w = v and p dt in place of p. Joints of which nothing is known yet follow the largest T of the others. T
is where the steps that are left, p / T, are as large as what the lag makes of an acceleration, a T. Without (1) nothing
is changed, not by a bit.

*Noise* is measured in the first 0.1 s, and while the gate holds the arm at rest: the median m of second differences,

    (4)  m <- 1.15 m   where |v - 2 v_0 + v_00| > m,   else  m <- m / 1.15;      sigma = m / (0.67 sqrt(6))

Above 0.005 rad/s it is filtered by (3), with w = v and T = (dt / 2) (sigma / 0.003)^2, at most 0.05 s. What is as large
in the first 0.1 s may be chatter of a joint whose floor of inertia is too large, where no velocity is the same as the
one before, as in steps: it is measured once more, in 0.1 s with the smallest floor, where nothing chatters.

    q, v, q_0, v_0  positions and velocities, before           [rad, rad/s; m, m/s if prismatic]
    d               differences of positions, (q - q_0) / dt   [rad/s]
    p               width of the grid of positions             [rad]
    T, a            time constant; 1.5 rad/s^2                 [s; rad/s^2]

Beyond a T of 0.05 s nothing helps: :attr:`VelocityFilter.fault` says why the gate must brake.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from arm_control.compiler import Floats, Rows, compile_procedure, direct_call, nearest, procedure
from arm_control.maths import Array

LAG_ACCELERATION = 1.5
"""``a`` [rad/s^2 or m/s^2]."""
LONGEST = 0.05
"""Longest ``T`` [s]."""
SMALLEST_COUNT, SMALLEST_STEP = 2e-6, 2e-3
"""Changes of positions [rad or m] and of velocities [rad/s or m/s] below which a grid does no harm."""
TOLERANCE = 0.02
"""Deviation from a multiple of the width, as a share of the width."""
TURNS = 4.0
"""How often a signal goes back and forth before its grid is believed."""
KEPT, AGREEMENT, LEFT_OVER = 0.98, 0.98, 0.003
"""Of the sums in (2), of their correlation, and of what of a step it leaves over."""
LEAST_SHARE, LARGEST_SHARE = 0.02, 1.05
"""``alpha`` of (2)."""
LISTENING, MEDIAN_STEP = 0.1, 1.15
"""Time in which noise is measured at the beginning, once or twice [s]; growth of m in (4)."""
SECOND_DIFFERENCE = 0.6745 * sqrt(6.0)
"""Median of second differences of a noise with a standard deviation of 1."""
NOISY, QUIET = 5e-3, 3e-3
"""Noise from which on it is filtered, and that is left and assumed at first [rad/s or m/s]."""
NOT_FOUND, OF_POSITIONS, OF_VELOCITIES, OF_NOISE = 0.0, 1.0, 2.0, 3.0
"""What is filtered."""

Q, MOVED, V, V_RAW, KIND, WIDTH, LAG = 0, 1, 2, 3, 4, 5, 6
"""Rows of the memory: position and its change; filtered and measured velocity; what is filtered, p, T."""
S_XX, S_XY, S_YY = 7, 8, 9
"""Sums of (2)."""
Q_GRID, V_GRID = 10, 14
"""First rows of the two grids."""
P, CHANGE, RESTED, COUNT = 0, 1, 2, 3
"""Rows of a grid: width, last change, whether there was none since the last turn, turns."""
NOISE, V_CHANGE, UNCHANGED = 18, 19, 20
"""``m`` of (4), the change of the velocity before; whether a velocity was ever the same as before, as in steps."""
LEFT = 21
"""Change that is left in the filtered velocity, p / T of steps, sigma dt / T of noise."""
N_ROWS = 22


class FilterMemory(NamedTuple):
    """What is known of the velocities of n joints.

    Attributes
    ----------
    rows : ndarray, shape (N_ROWS, n)
        Rows by the names of this module.
    q, v : ndarray, shape (n,)
        The state at hand; v becomes the filtered velocity.
    numbers : ndarray, shape (7,)
        Time since the state before [s]; 1 before there was one; whether the arm is held; time for which noise has been
        measured [s]; 1 while that is done once more, 2 afterwards; largest T [s]; whether row ``LEFT`` has changed.
    """

    rows: Rows
    q: Floats
    v: Floats
    numbers: Floats
    n: int


DT, IS_FIRST, IS_HELD, TIME, REPEATED, LARGEST_LAG, IS_NEW = 0, 1, 2, 3, 4, 5, 6
"""Entries of ``numbers``."""


@procedure
def is_multiple(change: float, width: float) -> bool:
    """Whether a change is a multiple of a width."""
    ratio = change / width
    return abs(ratio - nearest(ratio)) <= TOLERANCE


@procedure
def follow_grid(rows: Rows, grid: int, i: int, change: float, smallest: float) -> None:
    """Take note of a change of a signal, (1)."""
    size = abs(change)
    last = rows[grid + CHANGE, i]
    rows[grid + CHANGE, i] = change
    if size < smallest:
        rows[grid + CHANGE, i] = 0.0
        rows[grid + RESTED, i] = 1.0
        return
    width = rows[grid + P, i]
    if width == 0.0 or size < (1.0 - TOLERANCE) * width or not is_multiple(size, width):
        rows[grid + P, i] = size
        rows[grid + COUNT, i] = 0.0
        rows[grid + RESTED, i] = 0.0
    elif rows[grid + RESTED, i] > 0.0 and abs(change + last) <= TOLERANCE * width:
        rows[grid + COUNT, i] += 1.0
        rows[grid + RESTED, i] = 0.0


@procedure
def are_of_positions(rows: Rows, i: int, dt: float) -> bool:
    """Whether the velocity of a joint is made of its positions, (2)."""
    xx = rows[S_XX, i]
    xy = rows[S_XY, i]
    yy = rows[S_YY, i]
    if not (LEAST_SHARE * xx < xy < LARGEST_SHARE * xx and xy * xy > AGREEMENT * xx * yy):
        return False
    alpha = xy / xx
    step = alpha * rows[Q_GRID + P, i] / dt
    return (1.0 - KEPT) * (yy - alpha * xy) < LEFT_OVER * step * step


@procedure
def find_steps(rows: Rows, i: int, dt: float) -> None:
    """Decide what is filtered at a joint, by its own findings."""
    if rows[Q_GRID + COUNT, i] >= TURNS and are_of_positions(rows, i, dt):
        rows[KIND, i] = OF_POSITIONS
        rows[WIDTH, i] = rows[Q_GRID + P, i]
    elif rows[KIND, i] != OF_POSITIONS and rows[V_GRID + COUNT, i] >= TURNS:
        rows[KIND, i] = OF_VELOCITIES
        rows[WIDTH, i] = rows[V_GRID + P, i] * dt


@procedure
def find_noise(m: FilterMemory, i: int, change: float, dt: float) -> None:
    """Measure the noise of a joint's velocity, (4), and decide whether it is filtered."""
    rows = m.rows
    size = abs(change - rows[V_CHANGE, i])
    rows[V_CHANGE, i] = change
    if m.numbers[IS_HELD] > 0.0 or m.numbers[TIME] <= LISTENING:
        median = rows[NOISE, i]
        rows[NOISE, i] = median * MEDIAN_STEP if size > median else median / MEDIAN_STEP
    sigma = rows[NOISE, i] / SECOND_DIFFERENCE
    is_measured = m.numbers[TIME] > LISTENING
    if is_measured and sigma > NOISY and (rows[KIND, i] == NOT_FOUND or rows[KIND, i] == OF_NOISE):
        lag = min(0.5 * dt * (sigma / QUIET) * (sigma / QUIET), LONGEST)
        rows[KIND, i] = OF_NOISE
        rows[WIDTH, i] = LAG_ACCELERATION * lag * lag


@procedure
def listen_again(m: FilterMemory) -> None:
    """Once noise has been measured: where it is large, let it be measured once more."""
    is_noisy = False
    has_steps = False
    for i in range(m.n):
        is_large = m.rows[KIND, i] == NOT_FOUND and m.rows[NOISE, i] > NOISY * SECOND_DIFFERENCE
        is_noisy = is_noisy or is_large
        has_steps = has_steps or m.rows[UNCHANGED, i] > 0.0
    if is_noisy and not has_steps and m.numbers[REPEATED] == 0.0:
        m.numbers[TIME] = 0.0
        m.numbers[REPEATED] = 1.0
    else:
        m.numbers[REPEATED] = 2.0


@procedure
def take_note(m: FilterMemory, i: int, dt: float) -> None:
    """Look for steps at a joint, in the state at hand and the one before."""
    rows = m.rows
    v = m.v[i]
    v_0 = rows[V_RAW, i]
    moved = m.q[i] - rows[Q, i]
    d = moved / dt
    if v == v_0:
        rows[UNCHANGED, i] = 1.0
    follow_grid(rows, Q_GRID, i, moved - rows[MOVED, i], SMALLEST_COUNT)
    follow_grid(rows, V_GRID, i, v - v_0, SMALLEST_STEP)
    rows[S_XX, i] = KEPT * rows[S_XX, i] + (d - v_0) * (d - v_0)
    rows[S_XY, i] = KEPT * rows[S_XY, i] + (d - v_0) * (v - v_0)
    rows[S_YY, i] = KEPT * rows[S_YY, i] + (v - v_0) * (v - v_0)
    find_steps(rows, i, dt)
    find_noise(m, i, v - v_0, dt)
    rows[MOVED, i] = moved


@procedure
def note_what_is_left(m: FilterMemory, i: int, dt: float, has_steps: bool) -> None:
    """Take note of the changes that are left in the filtered velocity of a joint."""
    lag = m.rows[LAG, i]
    left = LAG_ACCELERATION * lag if has_steps else m.rows[NOISE, i] / SECOND_DIFFERENCE * dt / lag
    if left != m.rows[LEFT, i]:
        m.rows[LEFT, i] = left
        m.numbers[IS_NEW] = 1.0
    m.numbers[LARGEST_LAG] = lag if i == 0 else max(m.numbers[LARGEST_LAG], lag)


@procedure
def filter_velocities(m: FilterMemory) -> float:
    """Filter the velocities of the state at hand; return the largest width of a grid, 0 where nothing is filtered."""
    dt = m.numbers[DT]
    is_known = dt > 0.0 and m.numbers[IS_FIRST] == 0.0
    m.numbers[IS_FIRST] = 0.0
    m.numbers[TIME] += dt
    if m.numbers[TIME] > LISTENING and m.numbers[REPEATED] < 2.0:
        listen_again(m)
    rows = m.rows
    kind = NOT_FOUND
    width = 0.0
    has_steps = False
    m.numbers[IS_NEW] = 0.0
    for i in range(m.n):
        if is_known:
            take_note(m, i, dt)
        kind = kind if rows[KIND, i] == NOT_FOUND else rows[KIND, i]
        has_steps = has_steps or rows[KIND, i] == OF_POSITIONS or rows[KIND, i] == OF_VELOCITIES
        width = max(width, rows[WIDTH, i])
    for i in range(m.n):
        w = m.v[i]
        rows[Q, i] = m.q[i]
        rows[V_RAW, i] = w
        if kind == NOT_FOUND:
            rows[V, i] = w
        elif is_known:
            own = rows[KIND, i] if rows[KIND, i] != NOT_FOUND else kind
            w = rows[MOVED, i] / dt if own == OF_POSITIONS else w
            rows[LAG, i] = sqrt((rows[WIDTH, i] if rows[WIDTH, i] > 0.0 else width) / LAG_ACCELERATION)
            note_what_is_left(m, i, dt, has_steps)
            rows[V, i] += dt / (rows[LAG, i] + dt) * (w - rows[V, i])
        m.v[i] = rows[V, i]
    return width


class VelocityFilter:
    """The filter of one arm, state by state.

    Attributes
    ----------
    lag : float
        Largest T of the joints that are filtered [s]; 0 without any.
    left : ndarray, shape (n,)
        Changes left in the filtered velocities, p / T of steps, sigma dt / T of noise [rad/s or m/s]; 0 where nothing
        is filtered. Another array where they have changed.
    """

    def __init__(self, n: int) -> None:
        self._memory = FilterMemory(np.zeros((N_ROWS, n)), np.zeros(n), np.zeros(n), np.zeros(7), n)
        self._procedure = compile_procedure(filter_velocities)(self._memory)
        self._call = direct_call(self._procedure)
        self.reset()

    def reset(self) -> None:
        """A run begins: nothing is known of its velocities."""
        self._memory.rows[:] = 0.0
        self._memory.rows[NOISE] = QUIET * SECOND_DIFFERENCE
        self._memory.numbers[:] = 0.0
        self._memory.numbers[IS_FIRST] = 1.0
        self.lag, self.left, self._dt = 0.0, np.zeros(self._memory.n), 1.0

    def filtered(self, q: Array, v: Array, dt: float, *, is_held: bool = False) -> Array:
        """Return the velocities of a state, shape (n,) [rad/s or m/s]; v itself where nothing is filtered.

        Parameters
        ----------
        is_held : bool
            Whether the gate holds the arm, so that its velocities show their noise.
        """
        m = self._memory
        m.q[:], m.v[:], m.numbers[DT], m.numbers[IS_HELD] = q, v, dt, float(is_held)
        if not self._call():
            return v
        self._dt = dt or self._dt
        if m.numbers[IS_NEW]:
            self.lag, self.left = float(m.numbers[LARGEST_LAG]), m.rows[LEFT].copy()
        return m.v.copy()

    @property
    def doubts(self) -> bool:
        """Whether noise is measured once more, with the smallest floor of inertia."""
        return bool(self._memory.numbers[REPEATED] == 1.0)

    @property
    def step(self) -> float:
        """Largest step of the velocities [rad/s or m/s]; 0 where they come in none."""
        rows = self._memory.rows
        return float(rows[WIDTH, rows[KIND] % OF_NOISE > 0.0].max(initial=0.0)) / self._dt

    @property
    def sentence(self) -> str:
        """What is filtered; empty where nothing is."""
        if not self.lag:
            return ""
        if not self.step:
            noise = float(self._memory.rows[NOISE].max()) / SECOND_DIFFERENCE
            return f"velocities have a noise of {noise:.2g} rad/s: filtered, {1e3 * self.lag:.2g} ms"
        return f"velocities come in steps of {self.step:.2g} rad/s: filtered, {1e3 * self.lag:.2g} ms"

    @property
    def fault(self) -> str:
        """Why the gate must brake: no filter helps; empty where it need not."""
        if self.lag <= LONGEST:
            return ""
        lags = f"a filter would need {1e3 * self.lag:.2g} ms, at most {1e3 * LONGEST:.2g} ms are allowed"
        return f"velocities come in steps of {self.step:.2g} rad/s: {lags}"
