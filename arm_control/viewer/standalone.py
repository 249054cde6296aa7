"""The page by itself: an arm with its sliders, or with a plan, without ROS."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.planning import PlanRecord
from arm_control.viewer.arm_shapes import arm_parts, mesh_roots
from arm_control.viewer.page import Page
from arm_control.viewer.page_commands import PageCommand
from arm_control.viewer.panel import Line

PERIOD = 1.0 / 30.0
"""Time between two updates of the page [s]."""


class ArmPage:
    """A page with one arm, moved by its sliders.

    Parameters
    ----------
    model : RobotModel
        The arm; kinematics are enough.
    file : Path
        Its URDF, beside which meshes are searched.
    port : int
        Port of the page, or the next free one; 0: any.
    plan : PlanRecord, optional
        A plan of this arm.

    Raises
    ------
    InputError
        When the plan is one of an arm with another number of joints.

    Attributes
    ----------
    page : Page
        The page.
    notes : list of str
        A sentence for each mesh that is not drawn.
    q : ndarray, shape (nq,)
        Joint positions [rad or m].
    """

    def __init__(self, model: RobotModel, file: Path, port: int = 0, plan: PlanRecord | None = None) -> None:
        if plan is not None and plan.qs.shape[1] != model.nq:
            raise InputError(f"a plan of {plan.qs.shape[1]} joints; '{model.urdf.robot.name}' has {model.nq}")
        parts, self.notes = arm_parts(model, mesh_roots(file))
        self.page = Page(control=False, port=port)
        self.page.set_arm(model, parts)
        self.page.offer(simulator=False, gate=False, target=False)
        self.q: Array = np.clip(np.zeros(model.nq), model.q_min, model.q_max)
        if plan is not None:
            self.q = plan.qs[0].copy()
            self.page.plan.show(plan)
        self._model = model
        self._status = {"robot": Line(str(model.urdf.robot.name)), "moved by": Line("sliders")}

    def update(self) -> None:
        """Take the sliders' positions, and draw."""
        for command in self.page.commands.take():
            self._move(command)
        X_WE = self.page.scene.set_joints(self.q)
        position = ", ".join(f"{x:.3f}" for x in X_WE.p + 0.0)
        self._status["hand"] = Line(f"{self._model.tip} at", figure=f"{position} m")
        self.page.plan.update()
        self.page.panel.set_status(self._status)
        self.page.panel.show_joints(dict(zip(self._model.joint_names, self.q.tolist(), strict=True)), fixed=False)

    def run(self) -> None:
        """Update until an exception, such as that of Ctrl-C, and close the page."""
        try:
            while True:
                self.update()
                time.sleep(PERIOD)
        finally:
            self.page.close()

    def _move(self, command: PageCommand) -> None:
        if command.type == "joint" and command.name in self._model.joint_names and np.isfinite(command.value):
            i = self._model.joint_names.index(command.name)
            self.q[i] = np.clip(command.value, self._model.q_min[i], self._model.q_max[i])
