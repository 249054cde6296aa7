"""Scenarios and simulated arms: state out, torque in, one step at a time. No ROS here."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.simulation.compared_dynamics import (
        LIBRARIES,
        OURS,
        QUANTITIES,
        TOLERANCE,
        ComparedQuantity,
        Dynamics,
        compare_dynamics,
    )
    from arm_control.simulation.coppeliasim.coppeliasim_simulator import CoppeliasimParameters, CoppeliasimSimulator
    from arm_control.simulation.engine import ENGINES, EngineParameters, RealArm, SimulatedArm, make_simulator, true_arm
    from arm_control.simulation.independent_arm import IndependentArm, coal_capsule, coal_distance
    from arm_control.simulation.mujoco_simulator import MujocoSimulator, build_mujoco_model, save_mujoco_model
    from arm_control.simulation.obstacle_schedule import LEAD, NAMESPACE, PERIOD_NS, ObstacleSchedule, ObstacleUpdate
    from arm_control.simulation.offline import FreeMotion, FreeTrace, Simulation
    from arm_control.simulation.own_arm import bare_scenario, proposed_limits, start_posture, write_scenario
    from arm_control.simulation.plan_check import (
        PlanCheck,
        PlanRun,
        ScenePlanner,
        check_plan,
        checking_arm,
        nearest_distances,
    )
    from arm_control.simulation.plan_scene import PlanFile, PlanScene, plan_names
    from arm_control.simulation.planned_motion import planned, planned_motion_of
    from arm_control.simulation.plant_properties import PREFIX, PlantProperties, real_values
    from arm_control.simulation.recording import MotionRecord, Recording, Stamps, Trace, WrenchSeries, motion_record
    from arm_control.simulation.rigid_body import RigidBodyParameters, RigidBodySimulator, StepLaw
    from arm_control.simulation.scenario import (
        CHOICES,
        NODES,
        SIMULATORS,
        Scenario,
        arm_and_parameters,
        check_parameter_file,
        merged,
        require_values,
        save_scenario,
        scenario_in,
        scenario_names,
        with_values,
    )
    from arm_control.simulation.scene import FAR, GuidingHand, Push, World
    from arm_control.simulation.sensors import RangeSensor, Sampling, SimulatedSensors
else:
    __getattr__, __dir__, __all__ = face(__name__)
