"""From the start of a node's process to its first command, with a warm cache; a part of ``benchmark/start.py``.

A publisher offers the robot description and joint states at 200 Hz all the time; the process of the node ``osc`` is
started again and again. Measured are the CPU time of the process and the time that passed, at its first command, and
the CPU time of what it imports.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from arm_control import urdf_path
from arm_control.nodes import STATE

DOMAIN, PERIOD, PATIENCE = 77, 0.005, 120.0
HOME = (0.0, -1.4, 1.9, -2.07, -1.5708, 0.0)
NAMES = [f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")]
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Plant(Node):
    """Publishes joint states of an arm that stands still, and notes when commands arrive."""

    def __init__(self) -> None:
        super().__init__("plant")
        self.n_commands = 0
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=Path(urdf_path("ur5")).read_text()))
        self._states = self.create_publisher(JointState, "joint_states", STATE)
        self.create_subscription(JointState, "joint_commands", self._on_command, STATE)
        self.create_timer(PERIOD, self._publish)

    def _publish(self) -> None:
        message = JointState(name=NAMES, position=HOME, velocity=[0.0] * 6, effort=[0.0] * 6)
        message.header.stamp = self.get_clock().now().to_msg()
        self._states.publish(message)

    def _on_command(self, _: JointState) -> None:
        self.n_commands += 1


def cpu_time(pid: int) -> float:
    """CPU time of a process with all its threads so far [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first_command(plant: Plant) -> tuple[float, float]:
    """CPU time and time of a node from its start to its first command [s]."""
    plant.n_commands, begin = 0, time.monotonic()
    with subprocess.Popen([sys.executable, "-m", "arm_control.nodes", "osc"], stderr=subprocess.DEVNULL) as process:
        try:
            while not plant.n_commands and time.monotonic() - begin < PATIENCE:
                rclpy.spin_once(plant, timeout_sec=PERIOD)
            if not plant.n_commands:
                raise RuntimeError(f"no command within {PATIENCE} s")
            return cpu_time(process.pid), time.monotonic() - begin
        finally:
            process.kill()


def import_time() -> float:
    """CPU time of a process that imports the node [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import arm_control.nodes.osc"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def node_start(rounds: int) -> dict[str, float]:
    """Medians by name [s]."""
    os.environ["ROS_DOMAIN_ID"] = str(DOMAIN)
    rclpy.init(domain_id=DOMAIN)
    plant = Plant()
    first_command(plant)  # fills the cache
    starts = [first_command(plant) for _ in range(rounds)]
    imports = [import_time() for _ in range(rounds)]
    rclpy.shutdown()
    return {
        "osc.start_cpu_s": median(cpu for cpu, _ in starts),
        "osc.start_s": median(passed for _, passed in starts),
        "osc.imports_cpu_s": median(imports),
    }
