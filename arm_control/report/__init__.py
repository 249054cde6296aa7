"""Figures, pages and pictures of runs, simulations and bags. No ROS here."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.report.bag_figures import (
        WINDOW,
        correlation,
        fitted,
        inverse_dynamics,
        pose_goals,
        summary,
        timing,
        track_obstacles,
    )
    from arm_control.report.bag_report import topic_table, write_report
    from arm_control.report.contacts import Contacts, ObservedState, find_contacts
    from arm_control.report.figures import (
        HAND_PERIOD,
        Reach,
        Report,
        hand_targets,
        make_report,
        straightness,
        text_table,
    )
    from arm_control.report.figures_of_plans import plan_figures, plan_problems, plan_table
    from arm_control.report.html_page import Section, page
    from arm_control.report.identification_report import (
        identification_table,
        identified_file,
        identified_values,
        notes_on,
        recorded_motion,
    )
    from arm_control.report.kept_constraints import CheckedTarget, KeptConstraints, is_broken
    from arm_control.report.pictures.charts import draw_report
    from arm_control.report.pictures.comparison import draw_comparison, draw_energy
    from arm_control.report.pictures.identification_chart import draw_identification
    from arm_control.report.pictures.in_space import draw_nearest_points
    from arm_control.report.pictures.neural_chart import draw_stepped_goals
    from arm_control.report.pictures.plan_chart import draw_plan
    from arm_control.report.pictures.primitive_chart import draw_primitive
    from arm_control.report.pictures.sketch import link_points
    from arm_control.report.pictures.style import (
        BLUE,
        DASHES,
        GREEN,
        GREY,
        INK,
        ORANGE,
        PURPLE,
        RED,
        SKY,
        limit,
        new_figure,
        save_in_few_colours,
        style,
        time_axis,
    )
    from arm_control.report.pictures.sweep_chart import draw_effects, draw_front, draw_pairs
    from arm_control.report.primitive_figures import poor_coordinates, primitive_table, reproduce
    from arm_control.report.simulation_figures import (
        DEFINITIONS,
        FiguresByName,
        failed_checks,
        figures_of_free_motion,
        figures_of_simulation,
        variants_table,
    )
else:
    __getattr__, __dir__, __all__ = face(__name__)
