"""An arm with joints that slide, as text: a carriage, two turning links, a quill that slides and turns."""

_LINKS = (
    ("rail", '<box size="0.1 1.2 0.1"/>', "0 0 0"),
    ("carriage", '<box size="0.2 0.2 0.15"/>', "0 0 0.1"),
    ("upper", '<box size="0.45 0.08 0.08"/>', "0.2 0 0"),
    ("fore", '<cylinder radius="0.04" length="0.3"/>', "0.3 0 0"),
    ("quill", '<cylinder radius="0.03" length="0.5"/>', "0 0 -0.1"),
    ("tool", '<sphere radius="0.05"/>', "0.1 0 0"),
)
_JOINTS = (
    ("rail_joint", "prismatic", "0 0 0", "0 1 0", -0.4, 0.4),
    ("shoulder", "revolute", "0 0 0.25", "0 0 1", -2.8, 2.8),
    ("elbow", "revolute", "0.4 0 0.1", "0 1 1", -2.6, 2.6),
    ("plunge", "prismatic", "0.45 0 0", "0 0 1", -0.25, 0.1),
    ("roll", "continuous", "0 0 -0.3", "0 0.2 1", 0.0, 0.0),
)


def _link(name: str, shape: str, xyz: str) -> str:
    return f'<link name="{name}"><collision><origin xyz="{xyz}"/><geometry>{shape}</geometry></collision></link>'


def _joint(number: int, name: str, of_type: str, xyz: str, axis: str, low: float, high: float) -> str:
    parent, child = _LINKS[number][0], _LINKS[number + 1][0]
    limit = f'<limit effort="50" velocity="2" lower="{low}" upper="{high}"/>'
    return (
        f'<joint name="{name}" type="{of_type}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>{limit}</joint>'
    )


SLIDING_ARM = (
    '<robot name="sliding">'
    + "".join(_link(*link) for link in _LINKS)
    + "".join(_joint(k, *joint) for k, joint in enumerate(_JOINTS))
    + "</robot>"
)
"""Its URDF."""
