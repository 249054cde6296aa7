"""What a viewer costs the control loop: lateness of commands without, with a viewer, and with its page open.

Real processes: MuJoCo and operational space control of a UR5 at 1 kHz, in real time. All three ways take turns in one
run: the processes of the loop stay, the viewer comes and goes. For each state the lateness is the time from its
publication to that of the command that answers it, on the middleware's clock. States that were passed over for newer
ones are counted apart.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from measure import processor, versions

WAYS = ("without", "with a viewer", "with an open page")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HOME = "[0.0, -1.4, 1.9, -2.07, -1.5708, 0.0]"
SETTLE = 6.0
"""Time after a change until it is measured [s]: whoever came finds the others and compiles."""
TOLERANT = ("-p", "max_missed:=1000", "-p", "max_age:=5.0")
"""A late command is to be counted, not to end the run."""


@contextmanager
def node(name: str, folder: Path, *options: str) -> Iterator[Path]:
    """Run a node of the package; yields the file with its output."""
    output = folder / f"{name}.log"
    command = [sys.executable, "-m", "arm_control.nodes", name, "--ros-args", *options]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with output.open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield output
    finally:
        process.terminate()
        process.wait()


@contextmanager
def open_page(output: Path) -> Iterator[None]:
    """Open the page whose address a viewer has printed, in a browser without a window."""
    from playwright.sync_api import sync_playwright

    while "http://" not in output.read_text():
        time.sleep(0.1)
    address = next(word for word in output.read_text().split() if word.startswith("http://"))
    program = next(filter(None, map(shutil.which, BROWSERS)))
    flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
    with sync_playwright() as playwright:
        command = [*(["nice", "-n", "19"] if shutil.which("nice") else []), program]
        browser = playwright.chromium.launch(executable_path=niced(Path(output).parent, command), args=flags)
        page = browser.new_page(viewport={"width": 800, "height": 400}, device_scale_factor=0.5)
        page.goto(address, timeout=120_000)
        page.get_by_text("target x, y, z [m]").wait_for(timeout=120_000)
        yield
        browser.close()


def niced(folder: Path, command: list[str]) -> str:
    """A program that starts another one with less priority: a machine with a graphics card draws beside the CPU."""
    script = folder / "browser.sh"
    script.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
    script.chmod(0o700)
    return str(script)


class Ear:
    """Hears states and commands, and when each was published."""

    def __init__(self) -> None:
        import rclpy
        from rclpy.node import Node
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from sensor_msgs.msg import JointState

        from arm_control.nodes import PolledGroup

        rclpy.init()
        self.node = Node("ear")
        qos = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
        self.states, self.commands = (
            self.node.create_subscription(JointState, topic, lambda _: None, qos, callback_group=PolledGroup())
            for topic in ("joint_states", "joint_commands")
        )

    def lateness(self, seconds: float) -> list[float]:
        """Milliseconds from each state to its command, for so long; infinite where a newer state was answered."""
        from arm_control.messages import nanoseconds
        from arm_control.nodes import poll

        sent: dict[int, int] = {}
        late: dict[int, float] = {}
        for subscription in (self.states, self.commands):
            list(poll(subscription))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            for message, info in poll(self.states):
                sent.setdefault(nanoseconds(message.header.stamp), info["source_timestamp"])
            for message, info in poll(self.commands):
                stamp = nanoseconds(message.header.stamp)
                if stamp in sent:
                    late.setdefault(stamp, (info["source_timestamp"] - sent[stamp]) * 1e-6)
        last = max(sent, default=0) - 50_000_000  # the newest have had no time for an answer
        return [late.get(stamp, math.inf) for stamp in sent if stamp <= last]


def measure(seconds: float, rounds: int) -> dict[str, list[float]]:
    """Lateness [ms] of every state, by the way; the ways take turns."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name, ExitStack() as loop:
        folder = Path(name)
        loop.enter_context(node("osc", folder, *TOLERANT))
        loop.enter_context(node("simulator", folder, "-p", "robot:=ur5", "-p", f"initial_position:={HOME}", *TOLERANT))
        ear = Ear()
        time.sleep(2 * SETTLE)
        for _ in range(rounds):
            for way in WAYS:
                with ExitStack() as beside:
                    if way != WAYS[0]:
                        output = beside.enter_context(node("viewer", folder, "-p", "control:=true", "-p", "port:=0"))
                    if way == WAYS[2]:
                        beside.enter_context(open_page(output))
                    time.sleep(SETTLE)
                    found[way] += ear.lateness(seconds)
    return found


def figures_of(found: dict[str, list[float]]) -> dict[str, Any]:
    """Median and p99 [ms] of each way, how many states, and the ratios of the medians to that without."""
    figures: dict[str, Any] = {"cpu": processor(), "versions": versions("viser", "rclpy", "mujoco")}
    for way, late in found.items():
        key = way.replace(" ", "_")
        ordered = sorted(x for x in late if math.isfinite(x))
        figures[f"viewer.{key}_ms"] = median(ordered)
        figures[f"viewer.{key}_p99_ms"] = ordered[int(0.99 * (len(ordered) - 1))]
        figures[f"viewer.{key}_states"] = len(late)
        figures[f"viewer.{key}_unanswered"] = 1.0 - len(ordered) / len(late)
        figures[f"viewer.{key}_ratio"] = figures[f"viewer.{key}_ms"] / figures["viewer.without_ms"]
    return figures


def main() -> None:
    """Print the table; with ``--json`` write the figures too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="one short round: to see that it works")
    options = parser.parse_args()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", "93")
    figures = figures_of(measure(2.0, 1) if options.quick else measure(10.0, 6))
    print(f"{figures['cpu']}, {figures['versions']}")
    for way in WAYS:
        key = f"viewer.{way.replace(' ', '_')}"
        print(
            f"{way:18} median {figures[f'{key}_ms']:6.3f} ms   p99 {figures[f'{key}_p99_ms']:7.3f} ms"
            f"   {figures[f'{key}_ratio']:.3f} times the median without"
            f"   ({figures[f'{key}_states']} states, {100 * figures[f'{key}_unanswered']:.2f} % passed over)"
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
