"""``arm_control formula``: formulas of a small arm as Python, C or LaTeX, by ``model/symbolic.py``."""

from __future__ import annotations

import argparse

from arm_control.app.commands import shared
from arm_control.exceptions import InputError

EXAMPLES = (
    "formula planar2 M --simplify --latex",
    "formula ur5 J --c",
    "formula my_arm.urdf T --tip gripper_link",
)
QUANTITIES = {
    "M": "mass matrix",
    "J": "Jacobian of the end effector, linear rows first",
    "g": "gravity torque",
    "T": "pose of the end effector in the base, 4 x 4",
}
"""What has a formula here."""
MOST_SIMPLIFIED = 4
"""Largest number of joints of an arm whose formulas are simplified: what is not shared grows by powers."""


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_chosen_robot(parser)
    listed = ", ".join(f"{name} ({what})" for name, what in QUANTITIES.items())
    parser.add_argument("quantity", choices=QUANTITIES, help=listed)
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--python", dest="form", action="store_const", const="python", help="a function; the default")
    forms.add_argument("--c", dest="form", action="store_const", const="c", help="a function of C")
    forms.add_argument("--latex", dest="form", action="store_const", const="latex", help="lines for LaTeX's align")
    parser.add_argument(
        "--simplify",
        action="store_true",
        help=f"without shared terms, simplified; of at most {MOST_SIMPLIFIED} joints",
    )
    shared.add_chain_options(parser)
    parser.set_defaults(form="python")


def run(options: argparse.Namespace) -> int:
    """Print a formula of an arm, a function of its joint positions q1, q2, ... in SI units."""
    model = shared.arm_for_kinematics(shared.chosen_robot(options), options)
    if options.simplify and model.nq > MOST_SIMPLIFIED:
        raise InputError(f"--simplify is for at most {MOST_SIMPLIFIED} joints, and this arm has {model.nq}")
    formulas, quantity = model.symbolic(), options.quantity
    formula = formulas.transform(model.tip) if quantity == "T" else formulas.formula(quantity)
    if options.simplify:
        formula = formula.simplified()
    print(formula.latex() if options.form == "latex" else getattr(formula, options.form)(quantity).rstrip())
    return 0
