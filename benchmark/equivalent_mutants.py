"""Changes of a text that no test can notice, each with the reason: they count as neither killed nor survived.

A change that a test does notice after all, or that cannot be made any more, is an error of ``benchmark/mutation.py``.
"""

from __future__ import annotations

EQUIVALENT: dict[str, str] = {}
"""Reason by the key of a mutant, as the script prints it."""
