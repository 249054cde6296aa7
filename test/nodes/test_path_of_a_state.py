"""The path of a joint state to torque: its functions are those of the architecture page, and few."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_modules import module_of

ROOT = Path(__file__).parents[2]


def test_the_page_lists_the_functions_between_a_joint_state_and_its_torque(
    domain: int, monkeypatch: pytest.MonkeyPatch
):
    """To write the page and its pictures anew: python docs/draw_architecture.py."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    script = module_of(ROOT / "docs" / "draw_architecture.py")
    hops = script.path_of_a_state()
    assert len(hops) <= 16
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert script.listing(hops) == page.split(script.BEGIN)[1].split(script.END)[0].strip()
