"""Mutation test: how many small changes of the modules that guard an arm do their fast tests notice?

    python benchmark/mutation.py [GROUP...] [--only PATH...] [--sample N] [--seed S] [--again FILE] [--jobs N]
        [--json FILE]

A mutant (:mod:`mutators`) is killed when a test fails, or when one needs far more time of the processor than it does
without a mutant. Fast tests need at most a second of the processor each. The share of killed ones leaves out those that
``equivalent_mutants.py`` lists with reasons. ``mutant_runs.py`` says how a mutant runs.

Exit status: 0, or 1 when the list of equivalent mutants is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from equivalent_mutants import EQUIVALENT
from mutant_runs import PACKAGE, Group, Run, run_group
from mutators import Mutant, mutants_of

GROUPS = {
    "gate": Group(
        (
            *(f"gate/{path.name}" for path in sorted((PACKAGE / "gate").glob("[!_]*.py"))),
            "processes/gate_process.py",
            "processes/controller_process.py",
        ),
        (
            "test/gate",
            "test/constraints/test_constraint_set.py",
            *(f"test/processes/test_{name}.py" for name in ("gate_process", "controller_process", "braked_arm")),
            "test/messages/test_joint_states.py",
        ),
    ),
    "states": Group(
        ("messages/joint_states.py", "messages/publisher_lock.py"),
        (
            *(f"test/messages/test_{name}.py" for name in ("joint_states", "publisher_lock")),
            *(f"test/processes/test_{name}.py" for name in ("gate_process", "controller_process")),
        ),
    ),
    "cache": Group(("core/cache.py",), ("test/core/test_cache.py",)),
    "viewer": Group(("viewer/guard.py",), ("test/viewer/test_guard.py",)),
    "constraints": Group(
        (
            *(f"constraints/{name}.py" for name in ("barriers", "joint_program", "joint_rows", "constraint")),
            *(f"constraints/kinds/{path.name}" for path in sorted((PACKAGE / "constraints/kinds").glob("[!_]*.py"))),
        ),
        ("test/constraints", "test/gate/test_joint_limits.py", "test/gate/test_compiled_limits.py"),
    ),
    "solver": Group(("constraints/least_change.py",), ("test/constraints/test_least_change.py",)),
    "urdf": Group(
        ("model/urdf/checks.py",),
        ("test/model/urdf/test_load.py", "test/model/urdf/test_part.py"),
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the groups and print what survived."""
    options = _options(arguments)
    figures: dict[str, object] = {}
    n_wrong, is_whole = 0, not (options.only or options.sample or options.again)
    for name in options.groups or GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            mutants = _selected(name, options)
            results = run_group(GROUPS[name], mutants, Path(folder), options.jobs, name)
        n_wrong += _report(name, mutants, results, figures, is_whole=is_whole)
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    return 1 if n_wrong else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Mutation test of the modules that guard an arm.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; default: all")
    parser.add_argument("--only", nargs="+", metavar="PATH", help="only these modules, such as gate/gaps.py")
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutants of each group, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw; default: 0")
    parser.add_argument("--again", metavar="FILE", help="only mutants that survived in this file of --json")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time; default: one a core")
    parser.add_argument("--json", metavar="FILE", help="write shares, counts and survivors to a file")
    options = parser.parse_args(arguments)
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"unknown group {sorted(unknown)}; allowed: {', '.join(GROUPS)}")
    return options


def _selected(name: str, options: argparse.Namespace) -> list[Mutant]:
    """Return the mutants of a group that the options ask for."""
    paths = [path for path in GROUPS[name].modules if not options.only or path in options.only]
    mutants = [mutant for path in paths for mutant in mutants_of(PACKAGE / path, PACKAGE)]
    if options.again:
        survivors = json.loads(Path(options.again).read_text()).get(f"{name}.survivors", ())
        keys = {re.sub(r"^(\S+):\d+ ", r"\1 ", text) for text in survivors}  # lines may have moved since
        mutants = [mutant for mutant in mutants if mutant.key in keys]
    if options.sample is None or options.sample >= len(mutants):
        return mutants
    drawn = random.Random(options.seed).sample(range(len(mutants)), options.sample)
    return [mutants[i] for i in sorted(drawn)]


# -- report --------------------------------------------------------------------------------------------


def _report(
    name: str, mutants: list[Mutant], runs: dict[int, Run], figures: dict[str, object], *, is_whole: bool
) -> int:
    """Print and note how a group has done.

    Parameters
    ----------
    name : str
        The group.
    mutants : list of Mutant
        Its mutants.
    runs : dict of int to Run
        How they ended, by number.
    figures : dict
        Takes shares, counts and survivors.
    is_whole : bool
        Whether these are all mutants: then an unused entry of the list of equivalent ones is wrong.

    Returns
    -------
    int
        Number of wrong entries in the list of equivalent mutants.
    """
    survivors = [mutant for number, mutant in enumerate(mutants) if runs[number].status == pytest.ExitCode.OK]
    listed = [key for key in EQUIVALENT if key.partition(" ")[0] in GROUPS[name].modules]
    used = {key for key in listed if any(_is_listed(mutant, key) for mutant in survivors)}
    wrong = [key for key in listed if key not in used] if is_whole else []
    alive = [str(mutant) for mutant in survivors if not any(_is_listed(mutant, key) for key in used)]
    n_equivalent, n_timed_out = len(survivors) - len(alive), sum(run.status < 0 for run in runs.values())
    n_killed = len(mutants) - len(survivors)
    share = n_killed / max(len(mutants) - n_equivalent, 1)
    figures |= {
        f"{name}.mutants": len(mutants),
        f"{name}.killed": n_killed,
        f"{name}.timed_out": n_timed_out,
        f"{name}.equivalent": n_equivalent,
        f"{name}.killed_share": share,
        f"{name}.survivors": alive,
    }
    print(f"{name}: {n_killed} of {len(mutants)} killed, {n_timed_out} of them by their time;", end=" ")
    print(f"{n_equivalent} equivalent; {len(alive)} survived; killed share {100.0 * share:.2f} %")
    print(*(f"  survived: {text}" for text in alive), *(f"  not equivalent: {key}" for key in wrong), sep="\n")
    return len(wrong)


def _is_listed(mutant: Mutant, key: str) -> bool:
    return mutant.key.startswith(key[:-1]) if key.endswith("*") else mutant.key == key


if __name__ == "__main__":
    sys.exit(main())
