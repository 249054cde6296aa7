"""``arm_control compare``: other libraries agree, one that does not is found, one that is not there is said."""

from __future__ import annotations

import json

import pytest

from arm_control import RobotModel, urdf_path
from arm_control.app import main
from arm_control.simulation import LIBRARIES, QUANTITIES, compare_dynamics, compared_dynamics
from arm_control.simulation.compared_dynamics import own_dynamics


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared_dynamics, "N_ROUNDS", 1)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_agrees_on_an_arm_with_rotors_whose_world_is_tilted(library: str):
    pytest.importorskip(library.lower())
    model = RobotModel.from_urdf(urdf_path("panda"), armature=[0.1 * (k + 1) for k in range(7)], gravity=(1.0, 2.0, -9))
    rows = compare_dynamics(model, {library: LIBRARIES[library](model)[1]}, 5, seed=3)
    assert [row.name for row in rows] == list(QUANTITIES)
    for row in rows:
        assert row.agrees
        assert row.differences[library] <= 1e-9 * row.largest
        assert set(row.durations) == {"arm_control", library}
        assert min(row.durations.values()) > 0.0
    assert rows[0].largest > 0.7  # with the rotors


def test_a_difference_is_found_in_its_quantity_alone(ur5: RobotModel):
    wrong = {**own_dynamics(ur5), "g": lambda q, v, tau: 1.0001 * ur5.gravity(q)}
    rows = compare_dynamics(ur5, {"wrong": wrong}, 5)
    assert [row.name for row in rows if not row.agrees] == ["g"]
    (row,) = (row for row in rows if row.name == "g")
    assert row.differences["wrong"] == pytest.approx(1e-4 * row.largest)


def test_what_is_not_installed_is_said_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for name in ("pin", "mujoco"):
        monkeypatch.setattr(compared_dynamics, name, None)
    assert main(["compare", "planar2", "--states", "2"]) == 0
    output = capsys.readouterr().out
    assert "Pinocchio is left out: Pinocchio is not installed: " in output
    assert "MuJoCo is left out: 'mujoco' is not installed: " in output
    assert "[mujoco]" in output
    assert output.split("time of a call [us]")[1].split("\n")[0].strip() == "arm_control"


def test_json_has_values_times_and_reasons(capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("mujoco")
    assert main(["compare", "planar2", "--states", "3", "--seed", "5", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["robot"], result["tip"], result["states"], result["seed"]) == ("planar2", "ee_link", 3, 5)
    assert list(result["quantities"]) == list(QUANTITIES)
    a = result["quantities"]["a"]
    (library,) = (name for name in a["difference"] if name.startswith("MuJoCo "))
    assert a["agrees"]
    assert a["difference"][library] < 1e-9 * a["largest"]
    assert a["microseconds"][library] > 0.0


@pytest.mark.parametrize("n", ["0", "many", "10000000"])
def test_a_number_of_states_is_a_whole_one(n: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["compare", "planar2", "--states", n])
    assert f"'{n}' is not a whole number from 1 to 1000000" in capsys.readouterr().err
