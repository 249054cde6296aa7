"""Controllers as C: object files, sources and examples (:mod:`arm_control.export.c_folder`)."""
