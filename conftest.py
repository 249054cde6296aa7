"""What holds for every test: a cache of its own, and nothing imported that is not there."""

import atexit
import os
import shutil
import tempfile
from importlib.util import find_spec

import pytest

collect_ignore = [] if find_spec("launch_ros") else ["arm_control/app/launch_description.py"]  # launch is not on PyPI

if "ARM_CONTROL_CACHE" not in os.environ:  # a cache that all processes of this run share, and no other run
    os.environ["ARM_CONTROL_CACHE"] = tempfile.mkdtemp(prefix="arm_control_test_")
    atexit.register(shutil.rmtree, os.environ["ARM_CONTROL_CACHE"], ignore_errors=True)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let one worker run the tests with processes of ROS, one after the other, and the others all the rest."""
    if "domain" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.xdist_group("nodes"))
