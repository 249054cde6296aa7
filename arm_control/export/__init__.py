"""Controllers as C (:mod:`arm_control.export.c_folder`), and arms as pages (:mod:`arm_control.export.web_page`)."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.export.c_check import PythonController
    from arm_control.export.c_folder import EXAMPLE_ARM, write_folder
    from arm_control.export.c_pieces import ExportedController, exported_controller
    from arm_control.export.web_page import write_page
else:
    __getattr__, __dir__, __all__ = face(__name__)
