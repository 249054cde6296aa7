"""What runs for one message: controller, gate, planner and monitor without ROS, with or without Python in between."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.processes.controller_process import Command, ControllerProcess
    from arm_control.processes.datagrams import (
        CHUNK,
        ENABLE,
        HEAD,
        NUMBER,
        SILENCE,
        STATE,
        DatagramKey,
        DatagramProcess,
        OwnerConnection,
        Sender,
        bind,
        is_loopback,
        read_key,
    )
    from arm_control.processes.gate_process import OUT_OF_ORDER, Answers, GateProcess
    from arm_control.processes.gate_watch import (
        JOINTS,
        SINCE,
        STAMP,
        SUCCESS_RATE,
        TORQUE,
        GateWatch,
        gate_values,
        read_gate_report,
    )
    from arm_control.processes.motion_process import (
        ExecutionParameters,
        MotionProcess,
        MotionStatus,
        Phase,
        PlannerGoal,
    )
    from arm_control.processes.native_controller import (
        DATA,
        LENGTH,
        NOT_TAKEN,
        PUBLISHER,
        REASON_SIZE,
        RECEIVED_NS,
        TAKE_FAILED,
        WRITTEN_NS,
        Mailbox,
        MailboxEnd,
        Middleware,
        NativeController,
        SerializedMessage,
        compile_loop,
    )
    from arm_control.processes.native_datagrams import (
        ADDRESS_SIZE,
        NativeDatagrams,
        Network,
        address_of_sender,
        network_of,
        new_datagram,
        why_not_native,
    )
    from arm_control.processes.native_step import SystemClock, step_kernels_of
    from arm_control.processes.proximity_process import ProximityParameters, ProximityProcess, Verdict
    from arm_control.processes.trajectory_actions import (
        INVALID_GOAL,
        SUCCESSFUL,
        ActionResult,
        GoalRefused,
        action_goal_of,
        fill_feedback,
        planner_goal_of,
        planner_result,
        trajectory_result,
    )
else:
    __getattr__, __dir__, __all__ = face(__name__)
