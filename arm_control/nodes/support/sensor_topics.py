"""Topics of the sensors of a simulated arm: ``wrench`` and ``range/<name>``, each at a rate of its own.

A range sensor that is not at the origin of its link has a frame ``range_<name>``, which goes to ``/tf_static`` where
tf2_msgs is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Range

from arm_control.control import ArmNodeParameters
from arm_control.maths import Array
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.topics import LATCHED, ros
from arm_control.simulation import RangeSensor, Sampling

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # it is not among the wheels on PyPI
    TFMessage = None


class Sensors(Protocol):
    """What the sensors measure in the newest state; None where there is no measurement."""

    def wrench(self) -> Array | None:
        """Force and moment at the end effector, in its axes, shape (6,) [N, N m]."""

    def distance(self, sensor: RangeSensor) -> float | None:
        """What a range sensor reports [m]."""


class SensorTopics:
    """Publishers of the sensors.

    Parameters
    ----------
    node : ArmNode
        The node that owns them; its model is known.
    ranges : sequence of RangeSensor
        The range sensors.
    wrench_rate : float
        Messages per second of ``wrench`` [Hz]; 0: no such topic.
    """

    def __init__(self, node: ArmNode[ArmNodeParameters], ranges: Sequence[RangeSensor], wrench_rate: float) -> None:
        self._node, qos = node, node.state_qos()
        self._wrench = node.create_publisher(WrenchStamped, "wrench", qos) if wrench_rate else None
        self._wrench_sampling = Sampling(wrench_rate)
        self._ranges = [
            (sensor, Sampling(sensor.rate), node.create_publisher(Range, f"range/{sensor.name}", qos))
            for sensor in ranges
        ]
        turned = [sensor for sensor in ranges if not sensor.is_at_link]
        if TFMessage is not None and turned:
            self._tf_static = node.create_publisher(TFMessage, "/tf_static", LATCHED)
            self._tf_static.publish(TFMessage(transforms=[self._transform(sensor) for sensor in turned]))

    def publish(self, stamp_ns: int, sensors: Sensors) -> None:
        """Publish what is due; called once for each state.

        Parameters
        ----------
        stamp_ns : int
            Stamp of the state [ns].
        sensors : Sensors
            What they measure.
        """
        if self._wrench is not None and self._wrench_sampling.is_due(stamp_ns):
            F_E = sensors.wrench()
            if F_E is not None:
                tip = self._node.frame(self._node.model.tip)
                self._wrench.publish(ros.wrench_stamped(F_E.tolist(), tip, stamp_ns))
        for sensor, sampling, publisher in self._ranges:
            if sampling.is_due(stamp_ns):
                distance = sensors.distance(sensor)
                if distance is not None:
                    publisher.publish(ros.range_reading(sensor, distance, self._frame(sensor), stamp_ns))

    def _frame(self, sensor: RangeSensor) -> str:
        return self._node.frame(sensor.frame(self._node.model.tip))

    def _transform(self, sensor: RangeSensor) -> object:
        link = self._node.frame(sensor.link or self._node.model.tip)
        return ros.transform_stamped(sensor.X_LS, link, self._frame(sensor), 0)
