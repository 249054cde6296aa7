"""``arm_control check``: the content of a URDF and its problems, as text or as JSON.

Text from a file reaches the terminal with its control characters escaped.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arm_control.app.commands import shared
from arm_control.collision import density_warnings
from arm_control.constraints import ClearanceConstraint, Constraint, Constraints, Violation, in_words, read_constraints
from arm_control.controllers import CONTROLLERS
from arm_control.core import printable, urdf_path
from arm_control.exceptions import ArmControlError, FrameNotFound, InputError, ModelError, UrdfError
from arm_control.maths import Pose
from arm_control.model import (
    ArmParameters,
    Facts,
    JointFacts,
    LinkFacts,
    RobotModel,
    arm_values_in,
    carried_weight,
    describe,
    find_description,
    find_notes,
    folders_near,
    gripper_warnings,
    mesh_warnings,
    read_facts,
    read_robot,
    read_source,
    refuse_xacro,
    split_arguments,
)

if TYPE_CHECKING:
    from arm_control.report import CheckedTarget

MISSING_LIMIT = re.compile(r"<limit> has no (effort|velocity); |<limit (effort|velocity)> is 0; ")
"""A problem that options or a parameter file can solve."""
WIDTH = 100
"""Columns of a line."""
NAME_WIDTH = 30
"""Columns of a name in a table."""
MAX_INDENT = 16
"""Deepest level of the tree with an indent of its own."""

EXAMPLES = (
    "check --robot my_arm.urdf",
    "check --robot my_arm.urdf.xacro --trust name:=left",
    "check --robot my_arm.urdf --tip gripper_link --json",
    "check --robot ur5 --constraints ur5_cell --targets ur5_cell",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_chosen_robot(parser)
    shared.add_arm_options(parser)
    parser.add_argument("--params-file", default="", metavar="FILE", help="a ROS parameter file, as for run")
    parser.add_argument("--kinematics-only", action="store_true", help="masses and these limits may be missing")
    shared.add_trust_option(parser, "a xacro file")
    about = parser.add_argument_group("constraints")
    about.add_argument(
        "--constraints", default="", metavar="FILE", help="say whether the start keeps them: a file, or a name"
    )
    about.add_argument(
        "--start",
        nargs="+",
        type=float,
        metavar="Q",
        help="joint positions; default: the hand moves well there [rad|m]",
    )
    about.add_argument("--targets", default="", metavar="FILE", help="say which targets of a list they forbid")
    parser.add_argument("--strict", action="store_true", help="count warnings as errors")
    shared.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the content of a URDF and its problems; whether a start, and targets, keep constraints.

    Exit status: 0 usable, 1 problems, or a start or a target that constraints forbid, 2 not readable.
    """
    robot = shared.chosen_robot(options)
    if not options.constraints and (options.start or options.targets):
        raise InputError("--start and --targets say what is asked of constraints: name a file with --constraints")
    if not options.trust:
        refuse_xacro(robot)
    check = check_file(robot, options.package_path, strict=options.strict, **_choices(options))
    kept = None if check.problems or not options.constraints else _check_constraints(robot, check, options)
    encoding = sys.stdout.encoding or "utf-8"
    text = as_json(check, kept) if options.json else as_text(check, kept)
    print(text.encode(encoding, "backslashreplace").decode(encoding))
    if options.constraints and kept is None and not options.json:
        print("constraints are not checked: the arm has problems")
    if check.problems and not options.json and all(MISSING_LIMIT.search(problem) for problem in check.problems):
        _print_proposal(robot, options)
    return 1 if check.problems or (kept is not None and kept.is_forbidden) else 0


@dataclass(frozen=True)
class ConstraintCheck:
    """What constraints say to a start and to targets.

    Attributes
    ----------
    file : str
        Where the constraints are from.
    start : mapping of str to float
        Joint positions [rad or m].
    least : mapping of str to Violation
        Where each constraint holds least at the start.
    broken : tuple of str
        Constraints that do not hold there.
    """

    file: str
    constraints: Constraints
    start: Mapping[str, float]
    least: Mapping[str, Violation]
    broken: tuple[str, ...]
    targets: tuple[CheckedTarget, ...] = ()

    @property
    def is_forbidden(self) -> bool:
        """Whether a gate would refuse the start, or keep the arm from a target."""
        is_refused = bool(self.broken) and not self.constraints.allow_recovery
        return is_refused or any(target.broken for target in self.targets)


def _check_constraints(robot: str, check: Check, options: argparse.Namespace) -> ConstraintCheck:
    """Check the constraints of the options; the arm has no problems."""
    from arm_control.messages import link_of
    from arm_control.motion import TargetList
    from arm_control.report import KeptConstraints
    from arm_control.simulation import start_posture

    constraints = read_constraints(options.constraints)
    listed = TargetList.load(options.targets) if options.targets else None
    path, arguments = find_description(robot)
    choices = {**_choices(options), "base": check.base, "tip": check.tip}
    model = RobotModel.from_urdf(path, xacro_args=arguments or None, **choices)
    kept = KeptConstraints(model, constraints.constraints)
    q = start_posture(model) if options.start is None else shared.positions_of(options.start, model, "--start")
    X_WF = Pose.identity() if listed is None else model.pose(q, link_of(listed.frame, model))
    return ConstraintCheck(
        options.constraints,
        constraints,
        dict(zip(model.joint_names, q.tolist(), strict=True)),
        kept.at(q),
        tuple(x.name for x in kept.broken(q)),
        () if listed is None else tuple(kept.check(X_WF @ X, q) for X in listed.targets),
    )


def _print_proposal(robot: str, options: argparse.Namespace) -> None:
    """Print the limits with which a simulation would run, where nothing else is missing."""
    from arm_control.simulation import proposed_limits

    try:
        limits = proposed_limits(robot, shared.arm_of(options))
    except ArmControlError as error:
        print(f"\nwith limits there is another problem: {printable(str(error))}")
        return
    print(
        "\nonly limits are missing: `run` and `simulate` with --robot propose them, in simulation:\n"
        + shared.as_options(limits)
    )


def _choices(options: argparse.Namespace) -> dict[str, Any]:
    """Return what parameter file and options say about the arm; the options take precedence."""
    values = arm_values_in(options.params_file, tuple(CONTROLLERS))
    for name in ("effort_limits", "velocity_limits"):
        values[name] = [*values.get(name, []), *getattr(options, name)]
    values |= {name: getattr(options, name) for name in ("tip", "base") if getattr(options, name)}
    choices = ArmParameters.from_mapping(values, where=options.params_file or "check").choices()
    return {**choices, "kinematics_only": options.kinematics_only}


@dataclass(frozen=True)
class Check:
    """Result of a check.

    Attributes
    ----------
    base, tip : str or None
        Ends of the chain that moves; None when the tip is ambiguous.
    problems, warnings, notes : tuple of str
        Every command refuses an arm with problems.
    """

    file: str
    facts: Facts
    base: str | None
    tip: str | None
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def chain(self) -> tuple[JointFacts, ...]:
        """The movable joints between base and tip."""
        path = self.facts.path(self.tip) if self.tip is not None else ()
        parents = [joint.parent for joint in path]
        start = parents.index(self.base) if self.base in parents else len(path)
        return tuple(joint for joint in path[start:] if joint.is_movable)


def check_file(file: str, mesh_roots: Sequence[str | Path] = (), *, strict: bool = False, **choices: Any) -> Check:
    """Check a URDF or xacro file.

    Parameters
    ----------
    file : str
        Path, or the name of a robot that comes with the package; after a xacro file, its arguments.
    mesh_roots : sequence of str or Path
        Folders that may contain packages with meshes.
    **choices : object
        Options of :meth:`arm_control.RobotModel.from_urdf`, such as the ends of the arm.

    Raises
    ------
    UrdfError
        When the file cannot be read or expanded, or is not XML of a robot.
    FrameNotFound, ModelError
        When there is no such link, or the tip is not below the base.
    """
    roots = [Path(root) for root in mesh_roots]
    robot_name, arguments = split_arguments(file)
    path = Path(robot_name) if Path(robot_name).is_file() else urdf_path(robot_name)
    text, name = read_source(path, arguments, roots)
    robot = read_robot(text)
    facts = read_facts(robot)
    base, tip = choices.pop("base", None), choices.pop("tip", None)
    has_tip = tip is not None
    _refuse_other_ends(facts, base, tip)
    about_meshes, about_packages = mesh_warnings(robot, path, roots)
    warnings: tuple[str, ...] = ()
    try:
        arm = describe(text, base=base, tip=tip, **choices)
        tip, problems = arm.tip, list[str]()
        warnings = (*arm.warnings, *density_warnings(arm, [*roots, *folders_near(path)]))
        is_too_heavy, weight = carried_weight(arm) if arm.has_dynamics else (False, "")
        problems += [weight] if is_too_heavy else []
        warnings += (weight,) if weight and not is_too_heavy else ()
    except UrdfError as error:
        problems, tip = [*error.problems], tip or _tip_without_limits(text, base)
    except ModelError as error:
        problems = [str(error)]
    notes = (*find_notes(facts), *about_packages)
    check = Check(name, facts, base or facts.root or None, tip, tuple(problems), (*warnings, *about_meshes), notes)
    if not has_tip:
        check = replace(check, warnings=(*check.warnings, *gripper_warnings(check.chain)))
    return replace(check, problems=(*check.problems, *check.warnings), warnings=()) if strict else check


def _tip_without_limits(text: str, base: str | None) -> str | None:
    """The tip of a URDF whose problems may be limits and masses alone; None where it is ambiguous, or more is wrong."""
    with suppress(ModelError):
        return describe(text, base=base, kinematics_only=True).tip
    return None


def _refuse_other_ends(facts: Facts, base: str | None, tip: str | None) -> None:
    """Raise where base or tip is no link, or the tip is not below the base."""
    links = [link.name for link in facts.links]
    for name in (base, tip):
        if name is not None and name not in links:
            raise FrameNotFound(name, links)
    above = [] if tip is None else [joint.parent for joint in facts.path(tip)]
    if tip is not None and base not in (None, tip, *above):
        raise ModelError(f"link {tip!r} is not below {base!r}; above it are: {', '.join(above) or 'no links'}")


def as_json(check: Check, kept: ConstraintCheck | None = None) -> str:
    """Return a check as JSON; null for a number that is missing or not finite."""
    facts = check.facts
    links = [asdict(link) | {"joint": link.joint.name if link.joint else None} for link in facts.links]
    values = {
        "file": check.file,
        "robot": facts.name,
        "usable": not check.problems,
        "problems": check.problems,
        "warnings": check.warnings,
        "notes": check.notes,
        "base": check.base,
        "tip": check.tip,
        "chain": [joint.name for joint in check.chain],
        "tip_candidates": facts.tip_candidates,
        "mass": facts.mass,
        "moving_mass": facts.moving_mass,
        "links": links,
        "joints": [asdict(joint) for joint in facts.joints],
        **({} if kept is None else {"constraints": _constraints_as_values(kept)}),
    }
    return json.dumps(_finite(values), indent=2)


def _constraints_as_values(kept: ConstraintCheck) -> dict[str, Any]:
    return {
        "file": kept.file,
        "allow_recovery": kept.constraints.allow_recovery,
        "start": kept.start,
        "constraints": [
            {"name": c.name, "kind": c.kind, "of": _of(c), "level": c.level.name.lower(), "unit": c.unit}
            | (_left(kept.least[c.name]) if c.name in kept.least else {"at": None, "left": None})
            | {"holds": c.name not in kept.broken}
            for c in kept.constraints.constraints
        ],
        "targets": [
            {"position": target.X.p.tolist(), "why_unreachable": target.why}
            | {"forbidden_by": [{"name": x.name, "unit": x.unit} | _left(x) for x in target.broken]}
            for target in kept.targets
        ],
    }


def _left(x: Violation) -> dict[str, Any]:
    return {"at": x.what, "left": x.left}


def _of(c: Constraint) -> str:
    """What a constraint is about; a clearance does not say."""
    return "arm" if isinstance(c, ClearanceConstraint) else c.of


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_text(check: Check, kept: ConstraintCheck | None = None) -> str:
    """Return a check as text of at most 100 columns, unless a name is longer."""
    facts = check.facts
    movable = [joint for joint in facts.joints if joint.is_movable]
    counts = f"{len(facts.links)} links, {len(facts.joints)} joints of which {len(movable)} can move"
    head = f"robot {_name(facts.name)}: {counts}, {facts.mass:.5g} kg of which {facts.moving_mass:.5g} kg move"
    is_forbidden = kept is not None and kept.is_forbidden
    usable = "usable" + is_forbidden * ", but constraints forbid the start or a target"
    sections = [
        [printable(check.file), *_wrapped(head)],
        ["Tree", *_tree(facts)],
        ["Joints that can move", *_joint_table(movable)] if movable else [],
        ["Chain", *_chain(check)],
        ["Inertia of the links that move", *_inertia_table(facts)] if facts.moving_mass else [],
        *(_listing(title, getattr(check, title)) for title in ("notes", "warnings", "problems")),
        *([] if kept is None else [_constraint_table(kept), _target_table(kept)]),
        [f"not usable: {len(check.problems)} problem(s)" if check.problems else usable],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section)


def _constraint_table(kept: ConstraintCheck) -> list[str]:
    from arm_control.report import text_table

    rows = [("name", "kind", "of", "level", "at", "left")]
    for c in kept.constraints.constraints:
        x = kept.least.get(c.name)
        what, left = ("nothing is near", "-") if x is None else (printable(x.what), in_words(x.left, x.unit))
        rows.append((printable(c.name), c.kind, printable(_of(c)), c.level.name.lower(), what, left))
    start = ", ".join(f"{_name(name)} {_number(x)}" for name, x in kept.start.items())
    broken = ", ".join(map(printable, kept.broken))
    ends = f"does not keep {broken}" + ("; it is led back" if kept.constraints.allow_recovery else ": it is refused")
    return [
        f"Constraints of {printable(kept.file)}",
        *("  " + line for line in text_table(rows, n_left=5).splitlines()),
        *_wrapped(f"the start ({start}) {ends if broken else 'keeps all of them'}", 2),
    ]


def _target_table(kept: ConstraintCheck) -> list[str]:
    lines = []
    for number, target in enumerate(kept.targets, 1):
        broken = ", ".join(f"{x.name} ({x.what}) by {in_words(-x.left, x.unit)}" for x in target.broken)
        what = f"forbidden by {broken}" if broken else f"not reachable: {target.why}" if target.why else "allowed"
        lines += _wrapped(f"{number} at {' '.join(f'{x:.3f}' for x in target.X.p)}: {printable(what)}", 2)
    return [f"Targets ({len(kept.targets)})", *lines] if lines else []


def _name(name: str) -> str:
    return printable(name) or "(no name)"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _wrapped(text: str, indent: int = 0) -> list[str]:
    first, rest = " " * indent, " " * (indent + 4)
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _tree(facts: Facts) -> Iterator[str]:
    for link in facts.links:
        joint = "" if link.joint is None else f"  <- {_describe_joint(link.joint)}"
        mass = "" if link.mass is None else f", {link.mass:.4g} kg"
        yield from _wrapped(f"{_name(link.name)}{mass}{joint}", 2 + 2 * min(link.depth, MAX_INDENT))


def _describe_joint(joint: JointFacts) -> str:
    text = f"{_name(joint.name)}, {printable(joint.type)}"
    if not joint.is_movable:
        return text
    axis = "-" if joint.axis is None else " ".join(map(_number, joint.axis))
    unit = "m" if joint.type == "prismatic" else "rad"
    ends = "" if joint.type == "continuous" else f", {_number(joint.lower)} to {_number(joint.upper)} {unit}"
    return f"{text} ({axis}){ends}" + (f", mimics {_name(joint.mimic)}" if joint.mimic is not None else "")


def _joint_table(joints: Iterable[JointFacts]) -> Iterator[str]:
    yield _row("", "lower", "upper", "lower", "upper", "effort", "speed", "damping")
    yield _row("name", "[rad|m]", "[rad|m]", "[deg]", "[deg]", "[N m|N]", "[1/s]", "[SI]")
    for joint in joints:
        ends = (joint.lower, joint.upper)
        degrees = (None if end is None or joint.type == "prismatic" else math.degrees(end) for end in ends)
        yield _row(_name(joint.name), *map(_number, (*ends, *degrees, joint.effort, joint.velocity, joint.damping)))


def _inertia_table(facts: Facts) -> Iterator[str]:
    yield _row("", "mass", "I1", "I2", "I3", "k", "size")
    yield _row("name", "[kg]", "[kg m^2]", "[kg m^2]", "[kg m^2]", "[m]", "[m]")
    for link in facts.links:
        if link.moves and link.mass is not None:
            yield _inertia_row(link)
    yield "  k: radius of gyration sqrt(I3 / mass); size: of shapes and joints, ~ where meshes count too"


def _inertia_row(link: LinkFacts) -> str:
    moments = link.principal_moments or (None, None, None)
    size = ("" if link.is_size_known else "~") + _number(link.size)
    return _row(_name(link.name), *map(_number, (link.mass, *moments, link.radius_of_gyration)), size)


def _row(name: str, *cells: str) -> str:
    name = name if len(name) <= NAME_WIDTH else name[: NAME_WIDTH - 3] + "..."
    return f"  {name:{NAME_WIDTH}}" + "".join(f" {cell:>8}" for cell in cells)


def _chain(check: Check) -> list[str]:
    candidates = ", ".join(map(_name, check.facts.tip_candidates)) or "none"
    if check.tip is None:
        is_ambiguous = len(check.facts.tip_candidates) > 1
        reason = "the tip is ambiguous: name it with --tip" if is_ambiguous else "unknown for the problems below"
        return _wrapped(f"{reason}; candidates: {candidates}", 2)
    joints = ", ".join(_name(joint.name) for joint in check.chain) or "no joint that can move"
    others = _wrapped(f"candidates for the tip: {candidates}", 2)
    return [*_wrapped(f"from {_name(check.base or '')} to {_name(check.tip)}: {joints}", 2), *others]


def _listing(title: str, sentences: Sequence[str]) -> list[str]:
    lines = [line for sentence in sentences for line in _wrapped(f"- {printable(sentence)}", 2)]
    return [f"{title.capitalize()} ({len(sentences)})", *lines] if sentences else []
