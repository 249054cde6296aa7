"""The commands of ``arm_control``, one module each: ``add_options`` adds its options, ``run`` runs it."""
