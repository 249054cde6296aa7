"""A page in the browser with which a person looks at an arm and works with it. There is no ROS in here.

The page only tells what a person wants (:mod:`.wishes`); the node ``viewer`` decides what comes of it.
"""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.viewer.arm_shapes import Mesh, MeshPart, arm_parts, mesh_roots
    from arm_control.viewer.constraint_drawings import drawings_of_constraints
    from arm_control.viewer.drawings import Drawing, MarkerStore
    from arm_control.viewer.page import PERIOD, ArmPage, Page
    from arm_control.viewer.panel import Line, PageCommand
    from arm_control.viewer.space import FIELD_OF_VIEW, camera_of
else:
    __getattr__, __dir__, __all__ = face(__name__)
