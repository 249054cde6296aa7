"""Parameters check themselves: types, bounds, names."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
import yaml

from arm_control.control import OscParameters
from arm_control.core import Parameters, SavedParameter, group, parameter, parameter_text
from arm_control.exceptions import ParameterError
from arm_control.gate import GateParameters


@dataclass(frozen=True)
class Sample(Parameters):
    stiffness: float = parameter(100.0, "stiffness", unit="1/s^2", lower=0.0, upper=500.0)
    count: int = parameter(3, "how many", lower=1)
    on: bool = parameter(True, "whether it is on")
    mode: str = parameter("soft", "how it acts", choices=("soft", "hard"))
    gains: tuple[float, ...] = parameter((), "gains of the joints", unit="1/s", lower=-1.0, upper=2.0)
    names: tuple[str, ...] = parameter((), "names of the joints")


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("stiffness", 0.0, 0.0),
        ("stiffness", 7, 7.0),
        ("on", False, False),
        ("mode", "hard", "hard"),
        ("gains", [-1, 2.0], (-1.0, 2.0)),
        ("gains", [], ()),
        ("names", ["a", "b"], ("a", "b")),
    ],
)
def test_a_good_value_is_taken_in_the_type_of_the_field(name: str, given: Any, taken: Any):
    value = getattr(Sample(**{name: given}), name)
    assert value == taken
    assert type(value) is type(taken)
    if isinstance(taken, tuple):
        assert all(isinstance(item, type(wanted)) for item, wanted in zip(value, taken, strict=True))


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("stiffness", True, "stiffness = True: a float is needed, not a bool"),
        ("count", 2.0, "count = 2.0: a int is needed, not a float"),
        ("on", 1, "on = 1: a bool is needed, not a int"),
        ("mode", 1, "mode = 1: a str is needed"),
        ("gains", 1.0, "gains = 1.0: a list is needed"),
        ("gains", [1.0, True], "gains = True: a float is needed"),
        ("names", [1], "names = 1: a str is needed"),
    ],
)
def test_a_wrong_type_is_refused(name: str, given: Any, message: str):
    with pytest.raises(ParameterError, match=f"^{message}"):
        Sample(**{name: given})


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("stiffness", -1e-9, r"stiffness \[1/s\^2\], allowed >= 0.0 and <= 500.0$"),
        ("stiffness", np.nan, "stiffness = nan is out of bounds"),
        ("count", 0, "count = 0 is out of bounds: how many, allowed >= 1"),
        ("gains", [0.0, 2.1], r"gains = \(0.0, 2.1\) is out of bounds"),
        ("gains", [np.nan], r"gains = \(nan,\) is out of bounds"),
        ("mode", "medium", "mode = 'medium' is out of bounds: how it acts, allowed one of soft, hard"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_what_is_allowed(name: str, given: Any, message: str):
    with pytest.raises(ParameterError, match=message):
        Sample(**{name: given})


def test_unknown_keys_are_all_named():
    message = r"^here: unknown stifness, zeta; allowed: count, gains, mode, names, on"
    with pytest.raises(ParameterError, match=message):
        Sample.from_mapping({"zeta": 1, "stifness": 1.0, "count": 2}, where="here")
    with pytest.raises(ParameterError, match=r"^Sample: unknown x"):
        Sample.from_mapping({"x": 1})


def test_replace_checks_and_leaves_the_original():
    original = Sample()
    assert original.replace(count=5).count == 5
    assert original.count == 3
    with pytest.raises(ParameterError, match="count = 0 is out of bounds"):
        original.replace(count=0)


def test_a_check_across_fields_holds_for_a_replacement_too():
    with pytest.raises(ParameterError, match=r"acceleration_limit_linear = 5.0 is too small"):
        OscParameters().replace(speed_limit_linear=5.0)


@pytest.mark.parametrize("kind", [OscParameters, GateParameters])
def test_every_parameter_has_a_text_and_a_default_within_its_bounds(kind: type[Parameters]):
    values = kind()
    assert [field.name for field in fields(kind)] == list(kind.types())
    for name in kind.types():
        spec = kind.spec(name)
        assert len(spec.text) > 10, name
        assert spec.allows(getattr(values, name)), name


# -- the file ------------------------------------------------------------------------------------------

ODD = [
    SavedParameter("a", 0.1 + 0.2, "a length [m]"),
    SavedParameter("b", 1e-05, "small\nand in two lines"),
    SavedParameter("c", 1e300, ""),
    SavedParameter("d", 5, "a count"),
    SavedParameter("e", True, "yes or no"),
    SavedParameter("f", [1.0, 2e-9], "numbers"),
    SavedParameter("g", "it's: on", "a word"),
    SavedParameter("h", ["x y", "rz"], "words"),
]


def test_a_saved_file_is_read_back_with_the_same_types_to_the_last_bit():
    text = parameter_text("/cell/osc", ODD)
    back = yaml.safe_load(text)["/**/osc"]["ros__parameters"]
    assert back == {one.name: one.value for one in ODD}
    assert [type(value) for value in back.values()] == [type(one.value) for one in ODD]
    assert "    # a length [m]\n    a: 0.30000000000000004\n" in text
    assert "    # small and in two lines\n" in text


@dataclass(frozen=True)
class Limits(Parameters):
    rate: float = parameter(10.0, "a rate", unit="1/s", lower=1.0)


@dataclass(frozen=True)
class Gains(Parameters):
    kp: float = parameter(1.0, "a gain", live=True)


@dataclass(frozen=True)
class Whole(Parameters):
    first: str = parameter("a", "a word")
    limits: Limits = group(Limits)
    gains: Gains = group(Gains)


def test_groups_have_one_list_of_names_in_the_order_of_the_fields():
    assert list(Whole.types()) == ["first", "rate", "kp"]
    whole = Whole.from_mapping({"rate": 5, "first": "b"})
    assert (whole.first, whole.limits.rate, whole.gains.kp) == ("b", 5.0, 1.0)
    assert whole.values() == {"first": "b", "rate": 5.0, "kp": 1.0}
    assert whole.replace(kp=2.0) == Whole("b", Limits(5.0), Gains(2.0))
    assert (Whole.spec("kp").live, Whole.spec("rate").unit) == (True, "1/s")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"gains": 1.0}, "here: unknown gains; allowed: first, kp, rate"),
        ({"rate": 0.5}, "rate = 0.5 is out of bounds"),
        ({"kp": "high"}, "kp = 'high': a float is needed"),
    ],
)
def test_groups_check_themselves(values: dict[str, object], message: str):
    with pytest.raises(ParameterError, match=message):
        Whole.from_mapping(values, where="here")


def test_a_name_in_two_groups_is_an_error():
    @dataclass(frozen=True)
    class Twice(Parameters):
        limits: Limits = group(Limits)
        others: Limits = group(Limits)

    with pytest.raises(TypeError, match="Twice has rate twice"):
        Twice.types()


@dataclass(frozen=True)
class Prefixed(Parameters):
    left: Limits = group(Limits, "left.")
    right: Limits = group(Limits, "right.")
    gains: Gains = group(Gains)


def test_a_prefix_tells_groups_of_one_class_apart():
    assert list(Prefixed.types()) == ["left.rate", "right.rate", "kp"]
    both = Prefixed.from_mapping({"left.rate": 5.0, "kp": 3.0})
    assert (both.left.rate, both.right.rate, both.gains.kp) == (5.0, 10.0, 3.0)
    assert both.values() == {"left.rate": 5.0, "right.rate": 10.0, "kp": 3.0}
    assert both.replace(**{"right.rate": 7.0}).right.rate == 7.0
    assert Prefixed.spec("right.rate").unit == "1/s"
    message = r"unknown rate; allowed: kp, left\.rate, right\.rate; did you mean 'left\.rate'\?"
    with pytest.raises(ParameterError, match=message):
        Prefixed.from_mapping({"rate": 5.0})


@pytest.mark.parametrize(("name", "hint"), [("k", "'kp'"), ("right.rat", "'right.rate'"), ("zeta", "")])
def test_an_unknown_name_is_refused_with_those_that_are_alike(name: str, hint: str):
    hint = rf"; did you mean {re.escape(hint)}\?$" if hint else "right.rate$"
    with pytest.raises(ParameterError, match=rf"Prefixed: unknown {re.escape(name)}; allowed: kp, left.rate, .*{hint}"):
        Prefixed.from_mapping({name: 5.0}, where="Prefixed")
    with pytest.raises(ParameterError, match=rf"Gains: unknown {re.escape(name)}; allowed: kp"):
        Gains(**{name: 5.0})
