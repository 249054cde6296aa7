"""Pinocchio's reading of an arm's URDF, beside which the arm's dynamics are compared."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from arm_control.exceptions import ModelError
from arm_control.model.tree import Tree


class PinocchioBackEnd:
    """Pinocchio's model of an arm.

    Attributes
    ----------
    model : pinocchio.Model
        Its joints are the tree's bodies, one number each.
    tip_id : int
        Number of a frame that stands for the arm's tip: at first that of the joint that carries it.
    G : ndarray, shape (n_bodies, n)
        Velocities of those joints by those of the tree's: what mimics one another is one.
    """

    def __init__(self, tree: Tree, urdf_text: str) -> None:
        self.model = pin.buildModelFromXML(urdf_text.replace('type="continuous"', 'type="revolute"'))
        self.model.gravity.linear = tree.gravity
        ids = [self.model.getJointId(body.name) for body in tree.bodies]
        if len(ids) != self.model.nv or self.model.nq != self.model.nv:
            raise ModelError(f"Pinocchio finds {self.model.nv} joints, expected {len(ids)}")
        tip = pin.Frame("the arm's tip", ids[tree.tip.body], pin.SE3.Identity(), pin.FrameType.OP_FRAME)
        self.tip_id = self.model.addFrame(tip)
        self.G = np.zeros((self.model.nv, tree.n))
        for joint, body in zip(ids, tree.bodies, strict=True):
            self.G[self.model.joints[joint].idx_v, body.coordinate] = body.ratio
