"""The command line, runs of scenarios, and launch descriptions."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.app.cli import main
    from arm_control.app.commands.serve_command import Changes, answer_newest, answer_states, answer_waiting
    from arm_control.app.launch_description import scenario_launch_description, view_launch_description
    from arm_control.app.run_options import RunOptions
else:
    __getattr__, __dir__, __all__ = face(__name__)
