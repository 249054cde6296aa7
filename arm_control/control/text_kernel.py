"""A law for one case, compiled; where nothing can be compiled, its text runs on floats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arm_control.compiler.kernels import Kernel, split
from arm_control.compiler.program import Program
from arm_control.compiler.tape import Tape
from arm_control.exceptions import ModelError
from arm_control.maths.poses import Array
from arm_control.model import RobotModel
from arm_control.model.engine import AGREEMENT

Text = Callable[[Mapping[str, Array]], Mapping[str, Any]]


def text_kernel(model: RobotModel, name: str, text: Text, samples: Mapping[str, Array]) -> Kernel:
    """Return a kernel of a text: from inputs by name, arrays of scalars, to outputs by name, arrays of any shape.

    ``name`` says all it is made from besides the robot; ``samples`` are inputs to compare both ways on.
    """
    sizes = {key: len(values) for key, values in samples.items()}
    expected = {key: np.asarray(values, dtype=float) for key, values in text(samples).items()}

    def write() -> Program:
        tape = Tape()
        return tape.program(text({key: tape.inputs(key, size) for key, size in sizes.items()}))

    def check(kernel: Kernel) -> None:
        for key, values in samples.items():
            kernel.inputs[key][:] = values
        kernel.call()
        for key, values in expected.items():
            error = np.max(np.abs(kernel.outputs[key] - values), initial=0.0)
            if not error <= AGREEMENT * max(1.0, np.max(np.abs(values), initial=0.0)):
                raise ModelError(f"'{key}' is {error:.1e} off the law as it stands")

    def bind(inputs: Array, outputs: Array) -> Callable[[], bool]:
        given = split(inputs, {key: (size,) for key, size in sizes.items()})

        def call() -> bool:
            outputs[:] = np.concatenate([np.ravel(values) for values in text(given).values()])
            return False

        return call

    kernel = model.compile(name, write, check)
    return Kernel(sizes, {key: x.shape for key, x in expected.items()}, bind) if kernel is None else kernel
