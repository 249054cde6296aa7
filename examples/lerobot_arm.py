"""An arm of arm_control as a robot of LeRobot: joints observed, actions followed with torque, in MuJoCo or your own.

    pip install "arm_control[lerobot,mujoco]"     # Python 3.12 or newer
    import lerobot_arm                            # registers the type "arm_control"

A thread runs the controller ``follow`` at 1 kHz; each action is a chunk of one point, ``reach_time`` ahead. For an arm
that is not simulated, override :meth:`ArmControlRobot.read` and :meth:`ArmControlRobot.write`.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lerobot.robots import Robot, RobotConfig

from arm_control import RobotModel, urdf_path
from arm_control.control import Measurement
from arm_control.controllers import FollowLoopParameters, control_loop
from arm_control.motion import Chunk, ChunkGoal
from arm_control.simulation import MujocoSimulator

PERIOD_NS = 1_000_000
"""Time between two states [ns]."""


@RobotConfig.register_subclass("arm_control")
@dataclass(kw_only=True)
class ArmControlRobotConfig(RobotConfig):
    """An arm by its URDF, where it starts, and parameters of the controller ``follow``.

    Attributes
    ----------
    reach_time : float
        Time in which an action is to be reached [s]; at least three knots of the plan, 0.06 s.
    """

    robot: str = "ur5"
    start: list[float] = field(default_factory=lambda: [0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
    reach_time: float = 0.1
    parameters: dict[str, float] = field(default_factory=dict)


class ArmControlRobot(Robot):
    """Follows actions of a policy, each a position of every joint."""

    config_class, name = ArmControlRobotConfig, "arm_control"

    def __init__(self, config: ArmControlRobotConfig) -> None:
        super().__init__(config)
        self.config, self.model = config, RobotModel.from_urdf(urdf_path(config.robot))
        self._keys = [f"{name}.pos" for name in self.model.joint_names]
        self.cameras: dict[str, Any] = {}  # a subclass may have some
        self._thread: threading.Thread | None = None

    @property
    def observation_features(self) -> dict[str, type]:
        """Position of each joint [rad or m]; those of actions are the same."""
        return dict.fromkeys(self._keys, float)

    action_features = observation_features
    is_calibrated = True

    @property
    def is_connected(self) -> bool:
        """Whether the control loop runs."""
        return self._thread is not None and self._thread.is_alive()

    def connect(self, calibrate: bool = True) -> None:
        """Hold the arm where it is, and run the control loop."""
        self.loop = control_loop(self.model, FollowLoopParameters.from_mapping(self.config.parameters))
        self._plant = MujocoSimulator(self.model, np.array(self.config.start))
        self._lock, self._ends, self._stamp_ns = threading.Lock(), threading.Event(), 0
        self.q, _ = self.read()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Return measured positions and velocities."""
        return self._plant.q, self._plant.v

    def write(self, tau: np.ndarray) -> None:
        """Apply a torque for a period."""
        self._plant.step(tau)

    def _run(self) -> None:
        """Tick by the steady clock, until :meth:`disconnect`."""
        begin = time.monotonic_ns()
        while not self._ends.is_set():
            with self._lock:
                q, v = self.read()
                first = self._stamp_ns == 0
                result = self.loop.tick(Measurement(self._stamp_ns, q, v, 0.0 if first else 1e-9 * PERIOD_NS, first))
                self.write(result.gate.tau)
                self.q, self._stamp_ns = q, self._stamp_ns + PERIOD_NS
            time.sleep(max(0.0, 1e-9 * (begin + self._stamp_ns - time.monotonic_ns())))

    def get_observation(self) -> dict[str, Any]:
        """Return the newest measured positions."""
        return dict(zip(self._keys, self.q.tolist(), strict=True))

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Let the arm reach a position of each joint in ``reach_time``."""
        positions = np.array([[float(action[key]) for key in self._keys]])
        with self._lock:
            chunk = Chunk(self._stamp_ns, [self.config.reach_time], positions)
            self.loop.controller.add(ChunkGoal(self._stamp_ns, chunk))
        return dict(zip(self._keys, positions[0].tolist(), strict=True))

    def disconnect(self) -> None:
        """End the control loop."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join()
        self._thread = None

    def calibrate(self) -> None:
        """Joints of a URDF need no calibration."""

    def configure(self) -> None:
        """The parameters are those of the configuration."""
