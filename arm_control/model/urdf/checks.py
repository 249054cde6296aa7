"""Checks of a URDF, before a robotics library reads it.

Robotics libraries trust their input: one reads a mass of ``nan`` or ``1,5`` as 0 without a warning. Therefore every
number, name and physical quantity of the core that :mod:`arm_control.model.urdf.xml` reads is checked. A defect is a
problem where it breaks the controlled arm (:class:`~arm_control.model.urdf.part.Part`): the place of a link of the arm,
the mass of a link that it moves, the inertia of a link on the chain, a limit of a controlled joint. Anywhere else it is
a warning, and what is defective is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from xml.etree.ElementTree import Element

from arm_control.exceptions import UrdfError
from arm_control.model.urdf.facts import read_facts
from arm_control.model.urdf.findings import Finding, problems_of
from arm_control.model.urdf.inertial_checks import inertial_findings
from arm_control.model.urdf.joint_checks import joint_findings, mimic_findings
from arm_control.model.urdf.part import Part, whole_robot
from arm_control.model.urdf.shape_checks import material_findings, shape_findings
from arm_control.model.urdf.structure import label_of, structure_problems
from arm_control.model.urdf.xml import read_robot

NO_NAME = "robot without a name is called 'robot'"


def find_problems(text: str, effort_limits: Collection[str] = (), velocity_limits: Collection[str] = ()) -> list[str]:
    """List the problems of a URDF in which every joint is controlled, one sentence each.

    Parameters
    ----------
    text : str
        The XML of the robot, with xacro already expanded.
    effort_limits, velocity_limits : collection of str
        Joints whose effort limit [N m or N] or velocity limit [rad/s or m/s] comes from outside the file: it need
        not be in the file, and the value there is not used.

    Returns
    -------
    list of str
        Empty when there is no problem. XML that cannot be read gives one problem, the first.

    Notes
    -----
    A plausible but wrong value is not a problem: a mass of 5 instead of 0.5 kg passes.

    Examples
    --------
    >>> find_problems('<robot name="r"><link name="a"/></robot>')
    []
    >>> find_problems('<robot name="r"><link name="a"/><link name="a"/></robot>')
    ["the link name 'a' is used 2 times; allowed: once"]
    """
    try:
        robot = read_robot(text)
    except UrdfError as error:
        return [str(error)]
    part = whole_robot(read_facts(robot))
    return [*structure_problems(robot), *problems_of(find_findings(robot, part, effort_limits, velocity_limits))]


def find_findings(
    robot: Element, part: Part, effort_limits: Collection[str] = (), velocity_limits: Collection[str] = ()
) -> list[Finding]:
    """List the defects of a robot's values, in the order of the file.

    Parameters
    ----------
    robot : Element
        The robot's XML, from :func:`arm_control.model.urdf.xml.read_robot`.
    part : Part
        The part that is controlled.
    effort_limits, velocity_limits : collection of str
        Joints whose limit comes from outside the file.
    """
    findings = list(_robot_findings(robot))
    for link in robot.iterfind("link"):
        findings += [*inertial_findings(link, part), *shape_findings(link)]
    for joint in robot.iterfind("joint"):
        findings += joint_findings(joint, part, effort_limits, velocity_limits)
    return [*findings, *mimic_findings(robot, part)]


def _robot_findings(robot: Element) -> Iterator[Finding]:
    if not robot.get("name"):
        yield Finding("robot", "", "", NO_NAME, False, partial(robot.set, "name", "robot"))
    for material in robot.findall("material"):
        yield from material_findings(robot, material, label_of(material))
