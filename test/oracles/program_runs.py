"""Programs run on floats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arm_control.compiler import Program, python_function, split
from arm_control.maths import Array


def run(program: Program, inputs: Mapping[str, Any]) -> dict[str, Array]:
    """Every output by name, in its shape."""
    values = np.concatenate([np.ravel(inputs[name]) for name in program.inputs])
    return split(np.array(python_function(program)(values.tolist())), program.outputs)
