"""The robot: the kinematics and dynamics computed from its description."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.model.arm import Arm, describe, drawn_range
    from arm_control.model.arm_parameters import ArmParameters, arm_values_in
    from arm_control.model.engine import BACKENDS
    from arm_control.model.methods import TERMS, TERMS_RESULT, Terms
    from arm_control.model.quantities import TOOL, State, input_sizes, quantity_law, reference, tool_numbers
    from arm_control.model.recursions import axis, frame_pose, jacobian, joint_poses, velocities, world_poses
    from arm_control.model.robot_model import RobotModel
    from arm_control.model.spatial_vectors import Force, Inertia, SpatialMotion
    from arm_control.model.tool import Tool
    from arm_control.model.tree import Body, Frame, Tree, build_tree
    from arm_control.model.urdf.capsules import LinkCapsule, link_capsules, mesh_excesses, shape_pose
    from arm_control.model.urdf.changes import inertia_in, with_inertias, with_payload
    from arm_control.model.urdf.facts import Facts, JointFacts, LinkFacts, choose_part, read_facts
    from arm_control.model.urdf.load import (
        WITHOUT_XACRO,
        find_description,
        friction_in,
        load_urdf,
        read_description,
        read_source,
        refuse_xacro,
        refuse_xacro_in,
        split_arguments,
    )
    from arm_control.model.urdf.packages import add_package_path, folders_near, mesh_path, package_folders
    from arm_control.model.urdf.warnings import find_notes, find_warnings, gripper_warnings, mesh_warnings
    from arm_control.model.urdf.xml import principal_moments, read_robot
    from arm_control.model.weights import carried_weight
else:
    __getattr__, __dir__, __all__ = face(__name__)
