"""YAML of somebody else's: what is too large, too deep or not text is refused in one sentence, before it is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from arm_control.core import read_yaml
from arm_control.core.files import DEEPEST, MOST_BYTES, load_yaml
from arm_control.exceptions import ParameterError

LAUGHS = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 10)
)
WRONG = {
    "not text": (b"a: \xff\xfe", "not text in UTF-8: invalid start byte at byte 3"),
    "laughs": (LAUGHS.encode(), "more than 1000000 values, aliases included"),
    "nested": (b"a: " + b"[" * 5000, f"nested deeper than {DEEPEST} levels"),
    "in itself": (b"a: &a [*a]", r"the alias \*a stands for nothing before it"),
    "large": (b"#" * (MOST_BYTES + 1), "larger than 10000000 bytes"),
    "no date": (b"a: 2001-99-99", "month must be in"),
    "a section twice": (
        b"'/**':\n  ros__parameters: {tip: hand}\n'/**':\n  ros__parameters: {armature: [0.1]}\n",
        r"line 3, column 1: /\*\* stands here twice: put",
    ),
    "a value twice": (b"a: {b: 1, c: 2, b: 1}", "line 1, column 17: b stands here twice: put"),
    "no YAML": (b"a: 1\nb: [1\n", r"line 3, column 1: (did not find|expected)[^\n]*$"),
}


def test_numbers_are_read_as_ros_reads_them(tmp_path: Path):
    path = tmp_path / "file.yaml"
    path.write_text("a: [1e2, -2.5e-3, .5E1, 1.0e+3]\nb: [1e, e2, 1e2m, 0x1e2]\n")
    assert load_yaml(path) == {"a": [100.0, -0.0025, 5.0, 1000.0], "b": ["1e", "e2", "1e2m", 0x1E2]}


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path):
    with pytest.raises(ParameterError, match=r"^there is no file .*/none\.yaml$"):
        load_yaml(tmp_path / "none.yaml")


@pytest.mark.parametrize(("content", "reason"), WRONG.values(), ids=WRONG)
def test_it_is_refused_with_a_sentence(content: bytes, reason: str, tmp_path: Path):
    path = tmp_path / "file.yaml"
    path.write_bytes(content)
    with pytest.raises(ParameterError, match=rf"file\.yaml.*{reason}") as caught:
        read_yaml(path)
    assert caught.type is ParameterError


def test_aliases_that_stand_for_little_are_allowed(tmp_path: Path):
    path = tmp_path / "file.yaml"
    path.write_text("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: &y 2}\nd: *y\n")
    assert read_yaml(path) == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}, "d": 2}
