"""ROS 2 nodes: thin adapters from messages to the package's functions and back."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.nodes.osc import OscNode
    from arm_control.nodes.simulator import SimulatorParameters
    from arm_control.nodes.support.node_parameters import NODES, check_node_parameters, parameter_class
    from arm_control.nodes.support.node_process import ProcessEnd, check_environment, describe_reach, security_explained
    from arm_control.nodes.support.plant_node import PlantNode
    from arm_control.nodes.support.polling import PolledGroup, poll
    from arm_control.nodes.support.real_time import take_real_time_priority
    from arm_control.nodes.support.running import run, run_named
    from arm_control.nodes.support.topics import LATCHED, STATE, doubles, ros
    from arm_control.nodes.tools.bag_player import PlaybackOptions, play
    from arm_control.nodes.tools.bag_recorder import TopicSelection, record
    from arm_control.nodes.tools.command_line_node import (
        ArmClient,
        CommandLineNode,
        live_parameters,
        prefix_of,
        published_already,
        set_parameter,
    )
    from arm_control.nodes.tools.gate_commands import current_gates, enable_gates, watch_gates
    from arm_control.nodes.tools.run_monitor import FIGURES, MonitorNode, wrench_series
    from arm_control.nodes.tools.topic_commands import echo_topic, list_topics
else:
    __getattr__, __dir__, __all__ = face(__name__)
