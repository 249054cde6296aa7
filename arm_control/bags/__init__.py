"""Bags: recordings of topics, read, written and replayed without ROS."""

from typing import TYPE_CHECKING

from arm_control.core.face import face
from arm_control.exceptions import MissingExtra

try:
    import rosbags
except ImportError as error:
    raise MissingExtra("rosbags", "bags") from error

if TYPE_CHECKING:
    from arm_control.bags.bag import (
        Bag,
        JointSeries,
        Message,
        RecordedPath,
        Topic,
        joint_series,
        oddities_of_path,
        oddities_of_states,
        recorded_path,
        require_states,
    )
    from arm_control.bags.message_definitions import known_types, local_types, plain
    from arm_control.bags.reader import read_bag
    from arm_control.bags.replay import (
        Commands,
        Comparison,
        ReplayOptions,
        arm_of,
        compare,
        controller_of,
        recorded_commands,
        replayed_commands,
        scenario_of,
    )
    from arm_control.bags.simulated_bag import SimulatedBag
    from arm_control.bags.writer import STORAGES, BagWriter, refuse_existing
else:
    __getattr__, __dir__, __all__ = face(__name__)
