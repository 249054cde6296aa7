"""A knot: state and control at one moment of a plan, over any scalar."""

from __future__ import annotations

from typing import Any

from arm_control.exceptions import InputError
from arm_control.maths.poses import Array
from arm_control.model.quantities import State
from arm_control.model.recursions import frame_pose, jacobian


class Knot:
    """One knot: state x and control u, and of an arm its :class:`~arm_control.model.quantities.State`."""

    def __init__(self, x: Array, u: Array, arm: State | None = None) -> None:
        self.x, self.u, self._arm = x, u, arm

    @property
    def arm(self) -> State:
        """The arm in this state."""
        if self._arm is None:
            raise InputError("this cost is about an arm, but the dynamics are not an arm's")
        return self._arm

    def point(self, frame: str | None, point: Array) -> tuple[Array, Any]:
        """Position of a point of a link (of the end effector by default), in its axes, and its Jacobian (6, n)."""
        arm, tree = self.arm, self.arm.tree
        if frame is not None and frame not in tree.frames:
            raise InputError(f"unknown frame '{frame}'; the model has: {', '.join(tree.frames)}")
        body, X = (tree.tip.body, arm.X_WE) if frame is None else (0, None)
        if X is None:
            link = tree.frames[str(frame)]
            body, X = link.body, frame_pose(link, arm.X_W)
        p = X.p + X.R @ point
        return p, _Lazy(lambda: jacobian(tree, arm.X_W, body, p))


class _Lazy:
    """An array that is computed when a part of it is asked for: a value alone needs no Jacobian."""

    def __init__(self, compute: Any) -> None:
        self._compute = compute

    def __getitem__(self, part: Any) -> Any:
        return self._compute()[part]
