"""Small robots as text: links, and the joints between them."""

from __future__ import annotations

Moments = float | tuple[float, float, float]


def link(name: str, mass: float = 0.0, moments: Moments = 0.1, centre: str = "0 0 0", shapes: str = "") -> str:
    """A body of a mass [kg] with principal moments of inertia [kg m^2]; without a mass, a frame."""
    xx, yy, zz = moments if isinstance(moments, tuple) else (moments,) * 3
    inertia = f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/>'
    body = f'<inertial><origin xyz="{centre}"/><mass value="{mass}"/>{inertia}</inertial>' if mass else ""
    return f'<link name="{name}">{body}{shapes}</link>'


def joint(
    name: str, parent: str, child: str, axis: str = "0 0 1", kind: str = "revolute", xyz: str = "0 0 0", *,
    travel: tuple[float, float] = (-1.0, 1.0), speed: float = 1.0, effort: float = 1.0, safety: str = "",
) -> str:  # fmt: skip
    """A joint from one frame to another, with its limits."""
    lower, upper = travel
    limit = f'<limit lower="{lower}" upper="{upper}" velocity="{speed}" effort="{effort}"/>'
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{limit}{safety}</joint>'


def robot_of(*parts: str) -> str:
    return f'<robot name="small">{"".join(parts)}</robot>'
