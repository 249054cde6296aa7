"""Earlier results, filled anew by ``into=``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel

STATE = np.array([0.1, -1.4, 1.9, -2.0, -1.5, 0.3])
V, A, F_E = np.linspace(-1.0, 1.0, 6), np.linspace(2.0, -1.0, 6), np.arange(6.0)
CALLS: dict[str, tuple[Any, ...]] = {
    "evaluate": (STATE, V), "pose": (STATE,), "jacobian": (STATE,), "mass_matrix": (STATE,), "gravity": (STATE,),
    "bias": (STATE, V), "inverse_dynamics": (STATE, V, A, F_E), "forward_dynamics": (STATE, V, A),
    "torque_derivatives": (STATE, V, A), "acceleration_derivatives": (STATE, V, A), "centre_of_mass": (STATE,),
}  # fmt: skip
SLOW_CALLS: dict[str, tuple[Any, ...]] = {
    "pose": (STATE, "upper_arm_link"), "jacobian": (STATE, "upper_arm_link"), "mass_matrix": (STATE.tolist(),),
}  # fmt: skip


def arrays(result: Any) -> list[Array]:
    """All arrays in a result."""
    return [result] if isinstance(result, np.ndarray) else [x for part in result for x in arrays(part)]


def emptied(result: Any) -> Any:
    """A result of the same form, without its numbers."""
    if isinstance(result, np.ndarray):
        return np.full(result.shape, np.nan)
    return type(result)(*(emptied(part) for part in result))


def bits(result: Any) -> list[bytes]:
    return [x.tobytes() for x in arrays(result)]


@pytest.mark.parametrize(("name", "arguments"), [*CALLS.items(), *SLOW_CALLS.items()])
def test_an_earlier_result_is_filled_and_returned(ur5: RobotModel, name: str, arguments: tuple[Any, ...]):
    method = getattr(ur5, name)
    wanted = method(*arguments)
    into = emptied(wanted)
    kept = arrays(into)
    assert getattr(ur5, name)(*arguments, into=into) is into
    assert bits(into) == bits(wanted)
    assert all(x is y for x, y in zip(arrays(into), kept, strict=True)), "the arrays stay"
    assert bits(getattr(ur5, name)(*arguments, into=None)) == bits(wanted)
    if isinstance(wanted, np.ndarray):  # memory that is not contiguous is filled, too, more slowly
        part = np.full((*wanted.shape, 2), np.nan)[..., 0]
        assert getattr(ur5, name)(*arguments, into=part) is part
        assert bits(np.ascontiguousarray(part)) == bits(wanted)


def test_arguments_may_be_part_of_what_is_filled(ur5: RobotModel):
    t = ur5.evaluate(STATE, V)
    again = ur5.evaluate(t.q, t.v, into=t)
    assert again is t
    assert bits(t) == bits(ur5.evaluate(STATE, V))
    g = STATE.copy()
    assert ur5.gravity(g, into=g) is g
    assert bits(g) == bits(t.g)


READ_ONLY = np.zeros((6, 6))
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("into", "message"),
    [
        (np.zeros((6, 5)), r"into has shape \(6, 5\); needed is \(6, 6\)"),
        (np.zeros((6, 6), np.float32), "into has type float32; needed is float64"),
        (READ_ONLY, "into is read-only"),
        ([[0.0] * 6] * 6, "into is of type list; needed is ndarray"),
        (Pose.identity(), "into is of type Pose; needed is ndarray"),
    ],
)
def test_what_cannot_be_filled_is_refused_in_one_sentence(ur5: RobotModel, into: object, message: str):
    with pytest.raises(InputError, match=f"^{message}$"):
        ur5.mass_matrix(STATE, into=into)
    assert not READ_ONLY.any()


def test_nothing_is_written_where_one_array_does_not_fit(ur5: RobotModel):
    into = emptied(ur5.evaluate(STATE, V))._replace(M=np.zeros((5, 5)))
    with pytest.raises(InputError, match=r"into.M has shape \(5, 5\)"):
        ur5.evaluate(STATE, V, into=into)
    with pytest.raises(InputError, match=r"into.X_WE is of type tuple; needed is Pose"):
        ur5.evaluate(STATE, V, into=into._replace(X_WE=tuple(into.X_WE)))
    with pytest.raises(InputError, match="q is not finite"):
        ur5.mass_matrix(np.full(6, np.nan), into=READ_ONLY)
    assert all(np.isnan(x).all() for x in arrays(into._replace(M=np.array(np.nan))))


def test_a_method_that_returns_a_number_fills_nothing(ur5: RobotModel):
    with pytest.raises(TypeError, match="into"):
        ur5.kinetic_energy(STATE, V, into=np.zeros(()))
