"""Complete machine code for the tests of the compiler; all others run drafts, which have the same bits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from arm_control.compiler.drafts import DRAFTS


@pytest.fixture(autouse=True, scope="module")
def complete() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DRAFTS, "off")
        yield
