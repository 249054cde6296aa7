"""Pictures of a run: charts, the path in space, and the arm moving. No ROS here."""

from arm_control.exceptions import MissingExtra

try:
    import matplotlib
except ImportError as error:
    raise MissingExtra("matplotlib", "demo") from error

from arm_control.report.pictures.charts import draw_overview, draw_report

__all__ = ["draw_overview", "draw_report"]
