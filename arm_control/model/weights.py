"""Whether the motors of an arm can carry it: the weight at each joint over postures, beside the effort limits.

Of 64 random postures within the limits of position, the arm holds those in which no joint's gravity torque is above its
effort limit. A description with the limits of another arm, or with placeholders, holds few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arm_control.model.arm import Arm, drawn_range
from arm_control.model.quantities import reference

if TYPE_CHECKING:
    from arm_control.model.robot_model import RobotModel

N_POSTURES = 64
HELD = 0.5
"""Share of the postures that an arm must hold."""


def carried_weight(arm: Arm | RobotModel) -> tuple[bool, str]:
    """Compare the weight of an arm with its effort limits.

    Returns
    -------
    bool
        Whether it is too much: most postures are not held.
    str
        Which joints are too weak, and by how much; empty where none is.
    """
    low, high = drawn_range(arm.q_min, arm.q_max)
    shares = np.random.default_rng(0).random((N_POSTURES, arm.tree.n))
    weights = np.abs([reference(arm.tree, ["g"], {"q": q})["g"] for q in low + shares * (high - low)])
    is_held = weights <= arm.tau_max
    largest, held = weights.max(axis=0), float(is_held.all(axis=1).mean())
    weak = [
        f"'{arm.tree.joint_names[k]}' (up to {largest[k]:.3g}, limit {arm.tau_max[k]:.3g} N m or N)"
        for k in np.flatnonzero(~is_held.all(axis=0))
    ]
    what = f"the arm cannot carry itself in {100.0 * (1.0 - held):.0f} % of its postures: joint {', '.join(weak)}"
    return held < HELD, f"{what}: set limits with --effort-limits" if weak else ""
