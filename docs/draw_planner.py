"""Draw docs/pictures/planner_page.png: a plan on the page of the viewer. Needs Chromium and playwright."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from arm_control import Pose, RobotModel, urdf_path
from arm_control.maths import Box, Obstacle, Sphere
from arm_control.planning import MotionPlanner, MotionPlannerParameters, MotionRequest, PlanRecord
from arm_control.viewer import PERIOD, ArmPage

FILE = Path(__file__).parent / "pictures" / "planner_page.png"
SIZE = {"width": 1200, "height": 640}
WITHOUT_GRAPHICS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
START, GOAL = np.array([0.6, -1.4, 1.9, -2.07, -1.5708, 0.0]), np.array([-0.7, -1.4, 1.9, -2.07, -1.5708, 0.0])
OBSTACLES = (
    Obstacle(Sphere(0.08), Pose.at([0.45, -0.05, 0.5])),
    Obstacle(Box((0.5, 0.04, 0.4)), Pose.at([0.6, 0.03, 0.15])),
)
MOMENT = 0.45
"""Share of the plan's time that is shown."""


def plan(model: RobotModel) -> PlanRecord:
    """Plan the motion."""
    planner = MotionPlanner(MotionPlannerParameters(speed=0.3), model)
    return PlanRecord.of("ur5", planner.plan(MotionRequest(0, START, GOAL, OBSTACLES)))


def photograph(view: ArmPage) -> None:
    """Open the page, choose its tab, and save a picture."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(WITHOUT_GRAPHICS))
        page = browser.new_page(viewport=SIZE)
        page.goto(view.page.address)
        page.get_by_text("Plan", exact=True).click()
        page.get_by_text("play", exact=True).wait_for()
        page.locator(".mantine-Notification-closeButton").first.click()
        page.wait_for_timeout(5000)
        page.screenshot(path=FILE)
        browser.close()
    Image.open(FILE).convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(FILE, optimize=True)


def main() -> None:
    """Plan, show and save."""
    model = RobotModel.from_urdf(urdf_path("ur5"))
    record = plan(model)
    view = ArmPage(model, Path(urdf_path("ur5")), 0, record)
    view.page.plan.stop_at(MOMENT * record.duration)
    is_over = threading.Event()

    def serve() -> None:
        while not is_over.wait(PERIOD):
            view.update()

    server = threading.Thread(target=serve)
    server.start()
    try:
        photograph(view)
    finally:
        is_over.set()
        server.join()
        view.page.close()


if __name__ == "__main__":
    main()
