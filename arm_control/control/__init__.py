"""Control laws, what limits their torque, and the loop that runs them. No ROS here."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.control.adaptive_torque import AdaptationParameters, AdaptiveTorque, compensated_share
    from arm_control.control.avoidance_law import (
        SPEED_LIMITS,
        Avoidance,
        AvoidanceOutput,
        AvoidanceParameters,
        avoidance_numbers,
        inverse_factors,
        pair_repulsion,
        shorten_torque,
        takeover_torque,
    )
    from arm_control.control.compiled_step import StepOutput, between_law_and_gate, osc_laws, step_limits
    from arm_control.control.controller import (
        TERM_WORDS,
        ArmNodeParameters,
        Controller,
        ControllerNodeParameters,
        ControllerRow,
        DriverParameters,
        LawOutput,
        LoopParameters,
        Measurement,
        RealTimeParameters,
        pose_figures,
        pose_goal,
    )
    from arm_control.control.joint_space import JOINT_TERMS, JointParameters, JointSpaceController
    from arm_control.control.load_watch import LoadWatch
    from arm_control.control.loop import FIRST_DT, ControlLoop, TickResult
    from arm_control.control.osc.compiled_osc import CompiledOsc
    from arm_control.control.osc.force_follower import NO_FORCE, ForceFollower, HandWrench
    from arm_control.control.osc.osc_controller import TERMS, OperationalSpaceController, OscOutput, movable_rows
    from arm_control.control.osc.osc_parameters import GAINS, SINGULARITIES, OscParameters
    from arm_control.control.osc.task import (
        error_rows,
        orientation_error,
        pose_error,
        pose_errors,
        rotate_to,
        rows_of,
        task_motion,
        task_rotation,
    )
    from arm_control.control.osc.task_inertia import condition_number, row_scales, scaled_jacobian, task_inertia
    from arm_control.control.osc.tuning import (
        OF_ONE_ARM,
        PROPOSED,
        OscTuning,
        capability,
        describe_proposals,
        propose,
        propose_rate_limit,
        resolve_parameters,
    )
    from arm_control.control.osc.wrench_estimate import SensorReading, hand_wrench
    from arm_control.control.push_limit import PushLimit
    from arm_control.control.reachable_poses import ON_THE_WAY, REACHED, STOPPED, Approach, reachability
    from arm_control.control.stall_watch import FAULT, StallWatch
    from arm_control.control.weight_watch import WeightWatch
    from arm_control.control.whole_step import StepMemory, kernels_of, step_run
else:
    __getattr__, __dir__, __all__ = face(__name__)
