"""Calling kernels: batches of states, and arguments that must be refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from arm_control.core import Cache
from arm_control.exceptions import InputError
from arm_control.model import BACKENDS, Arm, RobotModel, Tool, reference
from arm_control.model.calls import BatchFunction
from arm_control.model.methods import KERNELS
from arm_control.model.quantities import INPUTS

QUANTITIES = ("R_WE", "p_WE", "J", "M", "h", "a", "kinetic_energy")
TOOL = Tool(mass=1.5, centre=(0.0, 0.1, 0.2))


@pytest.fixture(scope="module")
def arm(small_arm: Callable[[str], Arm]) -> Arm:
    return small_arm("mimic")


@pytest.fixture(scope="module")
def model(arm: Arm) -> RobotModel:
    return RobotModel(arm, "llvm", Cache(None))


@pytest.fixture(scope="module")
def batches(arm: Arm) -> Callable[[str], tuple[RobotModel, BatchFunction]]:
    """A model with a back end and a batch function of it, made once."""

    @cache
    def make(backend: str) -> tuple[RobotModel, BatchFunction]:
        model = RobotModel(arm, backend, Cache(None))
        return model, model.batch(*QUANTITIES)

    return make


@pytest.fixture(scope="module")
def shared_model(small_arm: Callable[[str], Arm]) -> Callable[[str, str], RobotModel]:
    """A model of a robot made by hand, with a back end, made once."""
    return cache(lambda name, backend: RobotModel(small_arm(name), backend, Cache(None)))


def draw(model: RobotModel, n: int, size: float = 3.0) -> list[np.ndarray]:
    return list(np.random.default_rng(n).uniform(-size, size, (3, n, model.nq)))


def single(arm: Arm, q: np.ndarray, v: np.ndarray, tau: np.ndarray, *quantities: str) -> dict[str, np.ndarray]:
    return reference(arm.tree, quantities or QUANTITIES, {"q": q, "v": v, "tau": tau})


SIZES = {"llvm": [0, 1, 9, 2053], "python": [0, 9]}


@pytest.mark.parametrize(("backend", "n"), [(backend, n) for backend in BACKENDS for n in SIZES[backend]])
def test_a_batch_is_many_single_calls(
    batches: Callable[[str], tuple[RobotModel, BatchFunction]], arm: Arm, backend: str, n: int
):
    model, batch = batches(backend)
    assert batch.inputs == ("q", "v", "tau")
    states = draw(model, n)
    results = batch(*states)
    assert list(results) == list(QUANTITIES)
    shapes = {"R_WE": (3, 3), "p_WE": (3,), "J": (6, model.nv), "M": (model.nv,) * 2, "kinetic_energy": ()}
    assert {name: results[name].shape for name in shapes} == {name: (n, *shape) for name, shape in shapes.items()}
    for i in {*range(min(n, 20)), *range(max(0, n - 9), n), *range(n)[2045:2050]}:
        for name, values in single(arm, *(x[i] for x in states)).items():
            size = 1.0 + np.abs(values).max()
            np.testing.assert_allclose(results[name][i], values, rtol=0, atol=1e-10 * size)


def test_every_quantity_but_a_point_of_a_link_is_there(model: RobotModel):
    names, rng = [name for name in INPUTS if name != "J_point"], np.random.default_rng(0)
    batch = model.batch(*names)
    values = [rng.uniform(-1, 1, (3, 6 if x == "F_E" else model.nv)) for x in batch.inputs]
    results, inputs = batch(*values), {x: rows[2] for x, rows in zip(batch.inputs, values, strict=True)}
    for name in names:
        own = {x: inputs[x] for x in INPUTS[name] if x != "tool"}
        np.testing.assert_allclose(results[name][2], reference(model.tree, [name], own)[name], rtol=0, atol=1e-9)


@pytest.mark.parametrize("names", [("J_point",), ("M", "mass"), ()])
def test_an_unknown_quantity_is_refused(model: RobotModel, names: tuple[str, ...]):
    with pytest.raises(InputError, match=f"unknown quantity {'none' if not names else names[-1]}; there are R_WE, "):
        model.batch(*names)


@pytest.mark.parametrize("n", [13])
def test_memory_that_is_given_is_used(model: RobotModel, n: int):
    batch = model.batch("M", "g")
    q, *_ = draw(model, n)
    out = np.full((n, batch.n_results), np.nan)
    results = batch(q, out=out)
    assert all(np.shares_memory(rows, out) for rows in results.values())
    np.testing.assert_array_equal(results["M"].reshape(n, -1), out[:, : model.nv**2])
    fresh = batch(q)
    assert not np.shares_memory(fresh["M"], out)
    np.testing.assert_array_equal(fresh["g"], results["g"])
    batch(-q, out=out)
    assert np.abs(fresh["g"] - results["g"]).max() > 0.1


def test_memory_that_does_not_fit_is_refused(model: RobotModel):
    batch = model.batch("g")
    q, n = draw(model, 9)[0], model.nv
    read_only = np.zeros((9, n))
    read_only.flags.writeable = False
    unaligned = np.zeros(9 * n * 8 + 1, dtype=np.uint8)[1:].view(float).reshape(9, n)
    for out in (
        np.zeros((8, n)), np.zeros((9, n + 1)), np.zeros((9, n), np.float32), np.zeros((9, n), int),
        np.zeros((n, 9)).T, np.zeros((9, 2 * n))[:, ::2], np.zeros((9, n), ">f8"), read_only, unaligned,
    ):  # fmt: skip
        with pytest.raises(InputError, match=rf"out has shape .*, allowed \(9, {n}\), writeable contiguous floats"):
            batch(q, out=out)
    assert not read_only.any()


def test_wrong_shapes_are_refused(model: RobotModel):
    batch, n = model.batch("h"), model.nv
    q, v, _ = draw(model, 4)
    for wrong in (v[:3], v[:, :-1], v[0], np.zeros((4, n, 1)), np.zeros((0, n))):
        with pytest.raises(InputError, match=rf"v has shape .*, allowed \(4, {n}\)"):
            batch(q, wrong)
    with pytest.raises(InputError, match=rf"q has shape \({n},\), allowed \({n}, {n}\)"):
        batch(q[0], v[0])


@pytest.mark.parametrize(("bad", "state"), [(np.nan, 0), (-np.inf, 12)])
def test_a_state_that_is_not_finite_is_named(model: RobotModel, bad: float, state: int):
    batch = model.batch("h")
    q, v, _ = draw(model, 13)
    v[state, 1] = bad
    with pytest.raises(InputError, match=f"v is not finite in state {state}$"):
        batch(q, v)


def test_any_array_like_is_taken(model: RobotModel):
    batch = model.batch("g")
    q = np.round(draw(model, 9)[0])
    expected = batch(q)["g"]
    strided = np.zeros((18, 2 * model.nq))
    strided[::2, ::2] = q
    for same in (q.tolist(), q.astype(int), np.asfortranarray(q), strided[::2, ::2], q.astype(">f8")):
        np.testing.assert_array_equal(batch(same)["g"], expected)


def test_a_batch_keeps_the_tool_of_its_beginning(arm: Arm):
    model = RobotModel(arm, "llvm", Cache(None))
    q = draw(model, 11)[0]
    bare = model.batch("g", "M")
    model.attach(TOOL)
    loaded = model.batch("g", "M")
    model.attach(None)
    for batch, tool in ((bare, None), (loaded, TOOL)):
        model.attach(tool)
        g = [model.gravity(x) for x in q]
        model.attach(None)
        np.testing.assert_allclose(batch(q)["g"], g, rtol=0, atol=1e-11)
    assert np.abs(bare(q)["g"] - loaded(q)["g"]).max() > 1.0


# -- single calls --------------------------------------------------------------------------------------

CALLS: dict[str, tuple[str, ...]] = {
    "mass_matrix": ("q",), "gravity": ("q",), "bias": ("q", "v"), "evaluate": ("q", "v"), "pose": ("q",),
    "jacobian": ("q",), "coriolis_matrix": ("q", "v"), "inverse_dynamics": ("q", "v", "a", "F_E"),
    "forward_dynamics": ("q", "v", "tau"), "torque_derivatives": ("q", "v", "a"),
    "acceleration_derivatives": ("q", "v", "tau"), "kinetic_energy": ("q", "v"), "potential_energy": ("q",),
    "centre_of_mass": ("q",),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_method_refuses_what_is_no_state_and_works_on(
    shared_model: Callable[[str, str], RobotModel], name: str, backend: str
):
    model = shared_model("slides", backend)
    method, arguments = getattr(model, name), CALLS[name]
    good = [np.linspace(0.1, 0.5, 6 if x == "F_E" else 2) for x in arguments]
    before = np.concatenate([np.ravel(x) for x in _flat(method(*good))])
    for i, what in enumerate(arguments):
        for bad in (np.nan, -np.inf):
            wrong = [x.copy() for x in good]
            wrong[i][1] = bad
            with pytest.raises(InputError, match=rf"{what} is not finite: {{'\w+': {bad}}}"):
                method(*wrong)
        for shape in [(3,), (2, 1), (), (0,)]:
            with pytest.raises(InputError, match=rf"{what} has shape .*, allowed \([26],\)"):
                method(*[np.zeros(shape) if k == i else x for k, x in enumerate(good)])
    np.testing.assert_array_equal(np.concatenate([np.ravel(x) for x in _flat(method(*good))]), before)


@pytest.mark.parametrize("name", ["bias", "inverse_dynamics", "forward_dynamics", "torque_derivatives",
                                  "acceleration_derivatives", "kinetic_energy"])  # fmt: skip
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_result_that_is_too_large_for_a_float_is_refused(
    shared_model: Callable[[str, str], RobotModel], name: str, backend: str
):
    model = shared_model("branches", backend)
    method, (*rest,) = getattr(model, name), CALLS[name][2:]
    q, others = np.full(5, 0.3), [np.zeros(6 if x == "F_E" else 5) for x in rest]
    for _ in range(2):  # a built-in function may have taken its place
        with np.errstate(all="ignore"), pytest.raises(InputError, match=rf"^{name}: .* up to q 0\.3, v 1e\+200"):
            method(q, np.full(5, 1e200), *others)
        assert all(np.isfinite(x).all() for x in _flat(method(q, np.full(5, 1e100), *others)))
        method = getattr(model, name)


def _flat(result: object) -> list[object]:
    return [y for x in result for y in _flat(x)] if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_are_copies(shared_model: Callable[[str, str], RobotModel], backend: str):
    model = shared_model("branches", backend)
    q, v = np.full(5, 0.3), np.full(5, 0.5)
    first, M, J = model.evaluate(q, v), model.mass_matrix(q), model.jacobian(q, "e")
    kept = [np.array(x) for x in (*_flat(first), M, J)]
    q[:], v[:] = -1.0, 2.0
    model.evaluate(q, v), model.mass_matrix(q), model.jacobian(q, "e")
    for now, before in zip((*_flat(first), M, J), kept, strict=True):
        np.testing.assert_array_equal(now, before)


def test_a_point_of_a_link_is_checked(ur5: RobotModel):
    for frame in (None, "forearm_link"):
        with pytest.raises(InputError, match=r"point is not finite: {'y': nan}"):
            ur5.jacobian(np.zeros(6), frame, (0, np.nan, 0))
        with pytest.raises(InputError, match=r"point has shape \(2,\), allowed \(3,\)"):
            ur5.jacobian(np.zeros(6), frame, (0, 0))


def test_kernels_are_prepared_by_name(small_arm: Callable[[str], Arm], tmp_path: Path):
    kept = Cache(tmp_path / "cache")
    model = RobotModel(small_arm("slides"), "llvm", kept)
    model.prepare("mass_matrix", "bias", progress=False)
    assert {entry.title for entry in kept.entries()} == {"small: M (one)", "small: h (one)"}
    with pytest.raises(InputError, match=f"unknown kernel M; there are {', '.join(KERNELS)}"):
        model.prepare("M", progress=False)


# -- threads -------------------------------------------------------------------------------------------


def test_threads_share_a_batch():
    """While one thread computes, another one that wants to waits."""

    class Doubles:
        """A kernel that doubles numbers; when it is about to do so first, another thread asks for others."""

        width, other = 2, None

        def bind(self, arrays: dict[str, np.ndarray]) -> Callable[[int], None]:
            def double(n: int) -> None:
                if self.other is None:
                    self.other = Thread(target=batch, args=([[-1.0]] * 9,))
                    self.other.start()
                    self.other.join(0.1)
                arrays["results"][:n] = 2.0 * arrays["q"][:n]

            return double

    kernel: Any = Doubles()
    batch = BatchFunction(kernel, {"q": 1}, {"y": (1,)}, np.zeros(22))
    np.testing.assert_array_equal(batch([[1.0]] * 9)["y"], np.full((9, 1), 2.0))
    kernel.other.join()
