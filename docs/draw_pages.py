"""Draw docs/pictures/viewer.png and report.png: the page of the demo, and a report. Needs Chromium and playwright."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import picture_sources
from PIL import Image
from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).parent / "pictures"
PROGRAM = (sys.executable, str(Path(__file__).parents[1] / "scripts" / "arm_control"))
WITHOUT_GRAPHICS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
SIZE, REPORT_WIDTH, SECOND_COLUMN = {"width": 1400, "height": 850}, 1060, "path"
SECONDS = 12.6
"""Simulated time of the demo that is shown, on the way to a target [s]."""


@contextmanager
def opened(address: str, size: dict[str, int]) -> Iterator[Any]:
    """A page in a browser without a window."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(WITHOUT_GRAPHICS))
        page = browser.new_page(viewport=size)
        page.goto(address, timeout=120_000)
        yield page
        browser.close()


def draw_viewer(file: Path) -> None:
    """Photograph the page of the demo, slowed down so that a slow browser draws what the arm does."""
    demo = subprocess.Popen([*PROGRAM, "demo"], stdout=subprocess.PIPE, text=True)
    try:
        assert demo.stdout is not None
        address = next(found[0] for line in demo.stdout if (found := re.search(r"http://\S+", line)))
        with opened(address, SIZE) as page:
            page.get_by_text("go on", exact=True).wait_for(timeout=120_000)
            page.locator(".mantine-Notification-closeButton").first.click()
            slower = page.locator("input.mantine-NumberInput-input:visible").first
            slower.fill("0.3")
            slower.press("Enter")
            shown = page.get_by_text(re.compile(r"\d+\.\d+ s, "))
            while float(shown.inner_text(timeout=120_000).split()[0]) < SECONDS:
                time.sleep(0.2)
            page.screenshot(path=file)
    finally:
        demo.send_signal(signal.SIGINT)
        demo.communicate()


def draw_report(file: Path) -> None:
    """Photograph the report on a simulated scenario, in two columns."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([*PROGRAM, "simulate", "ur5_obstacle", "--variant", "with", "--bag", folder], check=True)
        (bag,) = folder.iterdir()
        subprocess.run([*PROGRAM, "report", bag, "-o", folder / "page"], check=True)
        with opened((folder / "page" / "index.html").as_uri(), {"width": REPORT_WIDTH, "height": 900}) as page:
            page.screenshot(path=file, full_page=True)
            height = round(page.locator(f"#{SECOND_COLUMN}").bounding_box()["y"])
    image = Image.open(file)
    columns = Image.new("RGB", (2 * image.width, height), "white")
    for k in range(2):
        columns.paste(image.crop((0, k * height, image.width, (k + 1) * height)), (k * image.width, 0))
    columns.resize((1300, 1300 * height // columns.width)).save(file)


def main(*names: str) -> None:
    """Draw both, or those that are named."""
    for name in names or ("viewer.png", "report.png"):
        {"viewer.png": draw_viewer, "report.png": draw_report}[name](PICTURES / name)
        picture = Image.open(PICTURES / name).convert("RGB")
        picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(PICTURES / name, optimize=True)
        picture_sources.record([name])


if __name__ == "__main__":
    main(*sys.argv[1:])
