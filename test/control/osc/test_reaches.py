"""A reach with gains nobody tuned; ``make campaign`` runs ten of each of several arms, ``benchmark/`` more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from file_modules import module_of

BENCHMARK = Path(__file__).parents[3] / "benchmark"


@pytest.fixture(scope="module")
def campaign() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARK)
        yield module_of(BENCHMARK / "reach_campaign.py")


ARMS = "ur5", "panda", "xarm7", "kinova", "planar2", "planar3"


@pytest.mark.parametrize(
    ("name", "n"), [("planar3", 1), *(pytest.param(name, 10, marks=pytest.mark.campaign) for name in ARMS)]
)
def test_targets_are_reached_with_proposed_gains(name: str, n: int, campaign: ModuleType):
    file, _ = campaign.arms.ARMS[name]
    if file and not (campaign.arms.EXAMPLES / file).is_file():
        pytest.skip("the package example-robot-data is not installed")
    model = campaign.arms.load(name)
    for outcome in (campaign.reach(model, seed) for seed in range(n)):
        assert outcome.why == "", outcome
        assert outcome.peak <= 1.0
        assert outcome.moving < 0.05
