"""The gate: which states are believed, which torque may reach an actuator, how an arm is braked and held."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.gate.blind_brake import (
        N_NOTED,
        STATE_SILENCE,
        BlindBrake,
        BlindMemory,
        Moments,
        doubted_time,
        end_prediction,
        new_moments,
        note_moment,
        predict_state,
        seconds,
    )
    from arm_control.gate.effort_gate import EffortGate, GateOutput, GateParameters
    from arm_control.gate.gaps import GapWatch, has_gap, has_long_gap, period_after
    from arm_control.gate.gates_behind import GATES_BEHIND, GateReport, GatesBehind, GateState
    from arm_control.gate.joint_limits import (
        LARGEST_SHARE,
        LARGEST_STIFFNESS,
        JointLimits,
        LimitedTorque,
        LimitFunction,
        NextLimits,
        compile_limits,
        is_changed,
        joint_rows_law,
        limit_by_name,
        limit_run,
        limit_samples,
        limits_law,
        program_of_joints,
    )
    from arm_control.gate.state_bounds import (
        BELIEVED,
        DEVIATION,
        DOUBTED,
        NOT_FINITE,
        RETURNED,
        VIOLATION,
        NewState,
        StateBounds,
        StateMemory,
        copy_memory,
        describe_outside,
        is_finite,
        judge_state,
        new_memory,
        new_state,
        remember,
        unwrap,
        violated_bound,
    )
    from arm_control.gate.state_prediction import LONGEST_STEP, PredictedState, is_at_rest, new_prediction, predict
    from arm_control.gate.torque_rules import (
        AT_REST,
        FADED,
        GROWTH,
        IS_RATE_LIMITED,
        IS_RESUMING,
        IS_SATURATED,
        LARGEST,
        MODE,
        MODE_BRAKING,
        MODE_HOLDING,
        MODE_PASSING,
        GateMemory,
        apply_hold,
        begin_brake,
        believed_time,
        end_brake,
        hold_torque,
        left_after,
        miss_command,
        new_gate_memory,
        pass_command,
        period_of_ticks,
        torque_beside_weight,
        within_effort,
        worth_carrying,
    )
    from arm_control.gate.velocity_filter import VelocityFilter
else:
    __getattr__, __dir__, __all__ = face(__name__)
