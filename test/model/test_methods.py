"""Built-in functions in the place of a model's methods: the answers and messages of the methods."""

from __future__ import annotations

import copy
import ctypes
import gc
import inspect
import pickle
import re
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, MethodType

import numpy as np
import pytest

from arm_control.compiler import builtin_calls
from arm_control.core import Cache
from arm_control.maths import Array
from arm_control.model import Arm, RobotModel, Tool, methods

METHODS = [method for method in vars(methods).values() if isinstance(method, methods.Method)]
TOOL = Tool(mass=1.5, centre=(0.0, 0.1, 0.2))
ARGUMENTS = {
    "evaluate": 2, "pose": 1, "jacobian": 1, "mass_matrix": 1, "gravity": 1, "bias": 2, "inverse_dynamics": 3,
    "forward_dynamics": 3, "torque_derivatives": 3, "acceleration_derivatives": 3, "kinetic_energy": 2,
    "potential_energy": 1, "centre_of_mass": 1,
}  # fmt: skip
"""Methods, and how many arrays each takes."""


@pytest.fixture(scope="module", params=["one joint", "oblique axes"])
def arm(request: pytest.FixtureRequest, small_arm: Callable[[str], Arm]) -> Arm:
    return small_arm(request.param)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="module")
def model(arm: Arm, kept: Cache) -> RobotModel:
    model = RobotModel(arm, "llvm", kept)
    model.prepare(progress=False)
    return model


@pytest.fixture(scope="module")
def in_python(arm: Arm, kept: Cache) -> RobotModel:
    """A model without built-in functions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtin_calls, "unsupported", lambda: "for a test")
        model = RobotModel(arm, "llvm", kept)
        model.prepare(progress=False)
        for method in METHODS:
            if method.name != "point_jacobian":
                model._calls.function(method)
    model._calls.ready = lambda method: None
    return model


def test_every_public_method_with_a_kernel_is_listed():
    public = {method.name for method in METHODS if hasattr(RobotModel, method.name)}
    assert public == set(ARGUMENTS)
    assert len({method.name for method in METHODS}) == len(METHODS)


def test_builtin_functions_take_the_place_of_methods(model: RobotModel, in_python: RobotModel):
    for name in ARGUMENTS:
        function, method = getattr(model, name), getattr(RobotModel, name)
        assert type(function) is BuiltinFunctionType
        assert type(getattr(in_python, name)) is MethodType
        assert function.__name__ == name
        assert function.__doc__ == inspect.getdoc(method)
        parameters = list(inspect.signature(method).parameters.values())[1:]
        found = inspect.signature(function).parameters.values()
        assert [(x.name, x.default) for x in found] == [(x.name, x.default) for x in parameters]


def arrays_in(result: object) -> list[Array]:
    if isinstance(result, tuple):
        return [x for part in result for x in arrays_in(part)]
    return [result] if isinstance(result, np.ndarray) else [np.array(result)]


def outcome(call: Callable[..., object], arguments: tuple[object, ...], named: dict[str, object]) -> object:
    """Result or error of a call, as something that compares."""
    try:
        result = call(*arguments, **named)
    except Exception as error:
        return type(error), re.sub("at 0x[0-9a-f]+", "", str(error))
    own = [(x.shape, x.dtype, x.flags.owndata, x.flags.carray, x.tobytes()) for x in arrays_in(result)]
    return type(result), own


class Subclass(np.ndarray):
    """No plain array."""


class Raises:
    """Neither a number nor an array."""

    def __len__(self) -> int:
        raise RuntimeError("no length")


class LikeAnArray:
    """An object that can become an array, or says why not."""

    def __init__(self, x: Array, then: Callable[[Array], Array]) -> None:
        self._x, self._then = x, then

    def __array__(self, dtype: object = None, copy: object = None) -> Array:
        return self._then(self._x)


def refuse(x: Array) -> Array:
    """Instead of becoming an array."""
    raise BufferError(f"{len(x)} numbers stay here")


def overwrite(x: Array) -> Array:
    """The array it was, which holds other numbers afterwards."""
    before = x.copy()
    x[:] = 0.5
    return before


def crooked(x: Array) -> Array:
    """An array that is not aligned."""
    y = np.zeros(8 * x.size + 1, dtype=np.uint8)[1:].view(float)
    y[:] = x
    return y


def read_only(x: Array) -> Array:
    """An array that must not be written to."""
    x.flags.writeable = False
    return x


VARIANTS: dict[str, Callable[[Array], object]] = {
    "array": np.array, "list": np.ndarray.tolist, "tuple": tuple, "float32": lambda x: x.astype(np.float32),
    "int": lambda x: x.astype(int), "big endian": lambda x: x.astype(">f8"),
    "subclass": lambda x: x.view(Subclass), "every second": lambda x: np.repeat(x, 2)[::2],
    "backwards": lambda x: x[::-1],
    "short": lambda x: x[:-1], "long": lambda x: np.append(x, 0.0), "flat": lambda x: np.array(1.0),
    "nan": lambda x: np.where(x == x.max(), np.nan, x), "infinite": lambda x: x / 0.0 if x.all() else x,
    "nan in a list": lambda x: [np.nan, *x.tolist()[1:]], "none": lambda x: None, "number": lambda x: 1.0,
    "word": lambda x: "q" * len(x), "set": lambda x: set(x.tolist()), "raises": lambda x: Raises(),
    "type": lambda x: np.ndarray, "empty": lambda x: np.zeros(0), "iterator": iter,
    "read-only": read_only, "not aligned": crooked, "broadcast": lambda x: np.broadcast_to(x[0], x.shape),
    "masked": np.ma.masked_array, "partly masked": lambda x: np.ma.masked_array(x, x == x.max()),
    "C array": lambda x: (ctypes.c_double * len(x))(*x), "nested": lambda x: [[a] for a in x],
    "ragged": lambda x: [x.tolist(), [1.0]], "dictionary": lambda x: dict(enumerate(x)),
    "big integers": lambda x: [10**400] * len(x), "scalar": lambda x: x[0], "range": lambda x: range(len(x)),
    "like an array": lambda x: LikeAnArray(x, np.array), "no array after all": lambda x: LikeAnArray(x, refuse),
    "other numbers afterwards": lambda x: LikeAnArray(x, overwrite), "a row of it": lambda x: np.outer(x, x)[:, 0],
    "huge": lambda x: x * 1e300, "tiny": lambda x: x * 5e-324, "many": lambda x: np.zeros(100_000),
}  # fmt: skip


def same(model: RobotModel, in_python: RobotModel, name: str, rng: np.random.Generator) -> None:
    """Call a method with arguments of any kind, and compare; arrays may be shared by several arguments."""
    n_arguments = max(0, ARGUMENTS[name] + int(rng.choice([0, 0, 0, 0, 0, 0, 1, -1, 2])))
    xs = [rng.uniform(-3.0, 3.0, model.nv if rng.random() < 0.9 else 6) for _ in range(max(1, n_arguments))]
    kinds = ["array" if rng.random() < 0.5 else str(rng.choice(list(VARIANTS))) for _ in range(n_arguments)]
    places = [k if rng.random() < 0.9 else 0 for k in range(n_arguments)]
    word = str(rng.choice(["v", "q", "tau", "F_E", "", "no such name"])) if rng.random() < 0.05 else None
    outcomes = []
    with np.errstate(all="ignore"):
        for robot in (model, in_python):
            own = [x.copy() for x in xs]
            arguments = tuple(VARIANTS[kind](own[place]) for kind, place in zip(kinds, places, strict=True))
            named = {} if word is None else {word: own[0]}
            outcomes.append((outcome(getattr(robot, name), arguments, named), [x.tobytes() for x in own]))
    assert outcomes[0] == outcomes[1], (name, kinds, places, word, xs)


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.filterwarnings("ignore:Casting complex", "ignore:the matrix subclass")
def test_all_arguments_give_the_answer_of_the_method(model: RobotModel, in_python: RobotModel, name: str):
    rng = np.random.default_rng(1)
    for robot in (model, in_python):
        robot.attach(TOOL)
    for _ in range(30):
        same(model, in_python, name, rng)
    for robot in (model, in_python):
        robot.attach(None)
    for _ in range(10):
        same(model, in_python, name, rng)


class Doubled(RobotModel):
    """Twice the inertia."""

    def mass_matrix(self, q: object) -> Array:
        return 2.0 * super().mass_matrix(q)


def test_a_subclass_keeps_its_methods(arm: Arm, model: RobotModel):
    doubled, q = Doubled(arm, "llvm", Cache(None)), np.full(model.nv, 0.3)
    for _ in range(2):
        np.testing.assert_array_equal(doubled.mass_matrix(q), 2.0 * model.mass_matrix(q))
        np.testing.assert_array_equal(doubled.gravity(q), model.gravity(q))
    assert type(doubled.mass_matrix) is MethodType
    assert type(doubled.gravity) is BuiltinFunctionType


@pytest.mark.parametrize("make", [copy.copy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_has_kernels_of_its_own(arm: Arm, make: Callable[[RobotModel], RobotModel]):
    model, q = RobotModel(arm, "llvm", Cache(None)), np.full(arm.tree.n, 0.3)
    model.attach(TOOL)
    model.note = "kept"
    loaded = model.gravity(q)
    other = make(model)
    np.testing.assert_array_equal(other.gravity(q), loaded)
    assert other.note == "kept"
    other.attach(None)
    bare = other.gravity(q)
    assert np.abs(bare - loaded).max() > 0.1
    np.testing.assert_array_equal(model.gravity(q), loaded)
    assert not other.has_tool
    assert model.has_tool


def test_a_model_is_freed(arm: Arm):
    """It does not keep itself alive by its functions, and a function keeps what it needs."""
    model, q = RobotModel(arm, "llvm", Cache(None)), np.full(arm.tree.n, 0.3)
    expected = model.mass_matrix(q)
    gravity, alive = model.mass_matrix, weakref.ref(model)
    del model
    assert alive() is None
    gc.collect()
    np.testing.assert_array_equal(gravity(q), expected)
    np.testing.assert_array_equal(gravity(q.tolist()), expected)
