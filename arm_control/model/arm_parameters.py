"""Parameters that select the arm in a URDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arm_control.core import Parameters, file_parameters, parameter
from arm_control.exceptions import ParameterError, UrdfError
from arm_control.model import RobotModel


@dataclass(frozen=True)
class ArmParameters(Parameters):
    """The part of a URDF that is the arm, and values that the URDF does not contain."""

    base: str = parameter("", "link fixed to the world; empty: the root")
    tip: str = parameter("", "link of the end effector; empty: tool0, or the only leaf")
    locked_joints: tuple[str, ...] = parameter(
        (), "positions [rad or m] of joints that are not between base and tip, as 'joint:position'; by default 0"
    )
    backend: str = parameter("auto", "back end that computes the model: auto, llvm or python")
    armature: tuple[float, ...] = parameter((), "rotor inertia per joint; empty: none", unit="kg m^2", lower=0.0)
    coulomb_friction: tuple[float, ...] = parameter(
        (), "Coulomb friction per joint, as identified; empty: none is known", unit="N m or N", lower=0.0
    )
    viscous_friction: tuple[float, ...] = parameter(
        (), "viscous friction per joint, as identified; empty: none is known", unit="N m s/rad or N s/m", lower=0.0
    )
    urdf_friction: bool = parameter(
        False, "the URDF's <dynamics> states such friction, where none is given; placeholders in many files"
    )
    payload_mass: float = parameter(0.0, "point mass that the tip carries", unit="kg", lower=0.0)
    payload_centre: tuple[float, ...] = parameter((0.0, 0.0, 0.0), "its place in the frame of the tip", unit="m")
    effort_limits: tuple[str, ...] = parameter(
        (), "effort limits [N m] that replace or supply those of the URDF, as 'joint:limit'"
    )
    velocity_limits: tuple[str, ...] = parameter(
        (), "velocity limits [rad/s] that replace or supply those of the URDF, as 'joint:limit'"
    )

    def choices(self) -> dict[str, Any]:
        """Return what they mean as options of :meth:`arm_control.RobotModel.from_urdf`.

        A ParameterError when an entry is not of the form 'joint:number'.
        """
        return {
            "base": self.base or None,
            "tip": self.tip or None,
            "locked": _by_joint(self.locked_joints, "position"),
            "armature": self.armature or 0.0,
            "coulomb_friction": self.coulomb_friction or 0.0,
            "viscous_friction": self.viscous_friction or 0.0,
            "urdf_friction": self.urdf_friction,
            "payload_mass": self.payload_mass,
            "payload_centre": self.payload_centre,
            "effort_limits": _by_joint(self.effort_limits, "limit"),
            "velocity_limits": _by_joint(self.velocity_limits, "limit"),
        }

    def model(self, description: str, *, kinematics_only: bool = False) -> RobotModel:
        """Return the model of an arm; for kinematics alone masses and limits of effort and speed may be missing.

        A UrdfError when it is the name of a file: a topic or a bag names none, since expanding a xacro file may run any
        code.
        """
        if "<" not in description:
            raise UrdfError(f"{description[:60]!r} is no URDF: its text is needed, not the name of a file")
        choices = {**self.choices(), "kinematics_only": kinematics_only}
        return RobotModel.from_urdf(description, backend=self.backend, **choices)


def arm_values_in(path: str, nodes: Sequence[str]) -> dict[str, Any]:
    """Return what a ROS parameter file says about the arm.

    Parameters
    ----------
    path : str
        The file; an empty path has no values.
    nodes : sequence of str
        Nodes whose parameters count; those of later ones take precedence.
    """
    values: dict[str, Any] = {}
    for node in nodes:
        values |= file_parameters(path, node)
    return {name: value for name, value in values.items() if name in ArmParameters.types()}


def _by_joint(entries: Sequence[str], what: str) -> dict[str, float]:
    """Numbers by joint name, from entries such as ``'elbow_joint:150.0'``."""
    values = {}
    for entry in entries:
        joint, _, value = entry.rpartition(":")
        try:
            values[joint] = float(value)
        except ValueError:
            raise ParameterError(f"{what} '{entry}' is not of the form 'joint:{what}'") from None
    return values
