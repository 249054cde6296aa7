"""A browser without a window, for tests of the page; where there is none, they are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from arm_control.maths import Array

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SOFTWARE = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
SIZE = {"width": 1100, "height": 440}
PATIENCE = 240_000
"""Time for a browser that draws in software, on a busy machine [ms]."""


@contextmanager
def opened(address: str, size: dict[str, int] | None = None, scale: float = 0.25) -> Iterator[Any]:
    """The viewer's page, open and connected; ``page.requests`` has the address of everything it asked for."""
    with blank(size, scale) as page:
        page.goto(address)
        page.get_by_text("Joints [rad]", exact=True).wait_for()
        yield page


@contextmanager
def blank(size: dict[str, int] | None = None, scale: float = 0.25) -> Iterator[Any]:
    """A page of a new browser; ``page.errors`` has what went wrong in it.

    A quarter of a pixel for each pixel (``scale``) is less to draw.
    """
    sync_api = pytest.importorskip("playwright.sync_api")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on this machine")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, headless=True, args=list(SOFTWARE))
        page = browser.new_page(viewport=size or SIZE, device_scale_factor=scale)
        page.set_default_timeout(PATIENCE)
        page.requests, page.errors = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("websocket", lambda socket: page.requests.append(socket.url))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        yield page
        browser.close()


def middle(page: Any, what: Any) -> Array:
    """Where the middle of something on the page is [px], once it has stayed there for a while: controls that come
    later push others down."""
    before, box = None, what.bounding_box()
    while box != before:
        page.wait_for_timeout(300)
        before, box = box, what.bounding_box()
    return np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])


def projection(page: Any, camera: Array, look_at: Array, field_of_view: float) -> Callable[[Array], Array]:
    """Return where on the page [px] a point in space is seen."""
    box = page.evaluate(
        "() => { const r = [...document.querySelectorAll('canvas')].map(c => c.getBoundingClientRect())"
        ".sort((a, b) => b.width * b.height - a.width * a.height)[0]; return [r.x, r.y, r.width, r.height]; }"
    )
    x, y, width, height = box
    ahead = (look_at - camera) / np.linalg.norm(look_at - camera)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up, focal = np.cross(right, ahead), height / 2 / np.tan(field_of_view / 2)

    def project(point: Array) -> Array:
        r = np.asarray(point) - camera
        return np.array([x + width / 2, y + height / 2]) + focal * np.array([r @ right, -(r @ up)]) / (r @ ahead)

    return project


def drag(page: Any, start: Array, end: Array, steps: int = 5) -> None:
    """Press the mouse at a place [px], move it and let it go."""
    page.mouse.move(*start)
    page.mouse.move(*(start + [1.0, 0.0]))  # what is below is known only when the mouse has moved there
    page.wait_for_timeout(500)
    page.mouse.down()
    for point in np.linspace(start, end, steps):
        page.mouse.move(*point)
        page.wait_for_timeout(50)
    page.mouse.up()
