"""The commands of ``arm_control``, one module each: ``add_command`` adds its parser, which knows its function."""
