"""``arm_control cache``."""

from __future__ import annotations

import argparse
import re
import time

from arm_control.core import Cache, default_directory

EXAMPLES = ("cache list", "cache clear")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "clear"))


def run(options: argparse.Namespace) -> int:
    """List or clear the cache between runs: compiled code and long computations of each robot."""
    directory = default_directory()
    if directory is None:
        print("the cache is off")
    elif options.action == "clear":
        print(f"{directory}: {Cache(directory).clear()} files removed")
    else:
        _list_entries(Cache(directory))
    return 0


def _list_entries(cache: Cache) -> None:
    entries = cache.entries()
    print(f"{cache.directory}: {len(entries)} entries, {sum(entry.size for entry in entries) / 1e6:.2f} MB")
    if entries:
        print(f"{'what':36} {'robot':16} {'size':>8} {'used':>6} {'key':>9}")
    for entry in entries:
        robot, content = _split_title(entry.title)
        size, age = f"{entry.size / 1e3:.0f} kB", _age(time.time() - entry.used)
        print(f"{content:36.36} {robot:16.16} {size:>8} {age:>6} {entry.path.name[:8]:>9}")


def _split_title(title: str) -> tuple[str, str]:
    """Return robot and content of an entry from its title, without digests and layouts."""
    robot, _, content = title.partition(": ") if ": " in title else ("", "", title)
    return robot, re.split(r" \(| ?[0-9a-f]{64}| \[", content)[0]


def _age(seconds: float) -> str:
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
