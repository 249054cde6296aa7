"""An arm of more joints than any of the package has."""

from __future__ import annotations

from arm_control.model import RobotModel


def long_arm(n: int, strength: float = 300.0) -> RobotModel:
    """Links of 1 kg and 0.2 m, whose axes lie across each other in turns, and joints weaker from one to the next."""
    links = "".join(
        f"""<link name="l{i}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/><inertia ixx="0.01" iyy="0.01"
        izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j{i}" type="revolute">
        <parent link="{f"l{i - 1}" if i else "base"}"/><child link="l{i}"/><origin xyz="0.2 0 0"/>
        <axis xyz="0 {i % 2} {1 - i % 2}"/>
        <limit lower="-2" upper="2" velocity="3" effort="{strength * (0.7**i + 0.03)}"/></joint>"""
        for i in range(n)
    )
    return RobotModel.from_urdf(f'<robot name="long_arm"><link name="base"/>{links}</robot>')
