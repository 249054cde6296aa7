"""Parameters from outside: those for every node, and those of one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from arm_control.controllers import controller_file
from arm_control.core import file_parameters
from arm_control.exceptions import ParameterError
from arm_control.nodes import check_node_parameters, parameter_class
from arm_control.nodes.support import node_parameters

OF_ONE = {"kp_linear": 5.0}
"""Of ``osc``, not of ``gate``."""


def write(folder: Path, **sections: dict[str, object]) -> str:
    content = {key.replace("all", "/**"): {"ros__parameters": values} for key, values in sections.items()}
    (folder / "p.yaml").write_text(yaml.safe_dump(content))
    return str(folder / "p.yaml")


def own(values: dict[str, object], node: str) -> dict[str, object]:
    return node_parameters.own_parameters(values, parameter_class(node).types(), node)


def test_a_name_for_all_passes_nodes_without_it_and_one_that_nobody_has_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["gate", "--params-file", write(tmp_path, all=OF_ONE, osc=OF_ONE)])
    assert own({**OF_ONE, "rate_limit": 3.0, "use_sim_time": True}, "gate") == {"rate_limit": 3.0}
    assert own(OF_ONE, "osc") == OF_ONE
    with pytest.raises(ParameterError, match=r"node gate: unknown rate_limt; allowed: .*did you mean 'rate_limit'"):
        own({"rate_limt": 3.0, **OF_ONE}, "gate")


def test_a_name_under_a_node_must_be_its_own(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["gate", "--params-file", write(tmp_path, gate=OF_ONE)])
    with pytest.raises(ParameterError, match="node gate: unknown kp_linear"):
        own(OF_ONE, "gate")


def test_a_file_that_launch_ros_writes_with_a_tuple_in_it_is_passed_over(tmp_path: Path, monkeypatch):
    (tmp_path / "launch_params").write_text(yaml.dump({"/gate": {"ros__parameters": {"posture": (1.0, 2.0)}}}))
    argv = ["gate", "--params-file", str(tmp_path / "launch_params"), "--params-file", write(tmp_path, gate=OF_ONE)]
    monkeypatch.setattr("sys.argv", argv[:3])
    assert own(OF_ONE, "gate") == {}
    monkeypatch.setattr("sys.argv", argv)
    with pytest.raises(ParameterError, match="node gate: unknown kp_linear"):
        own(OF_ONE, "gate")


def test_a_run_checks_the_same_before_a_node_starts(tmp_path: Path):
    nodes = {"osc": {}, "gate": {"rate_limit": 3.0}}
    check_node_parameters(nodes, write(tmp_path, all={**OF_ONE, "driver_adds_gravity": True}))
    check_node_parameters(nodes, "")
    for sections, refused in (({"gate": OF_ONE}, "gate: unknown kp_linear"), ({"all": {"x": 1}}, "osc: unknown x")):
        with pytest.raises(ParameterError, match=refused):
            check_node_parameters(nodes, write(tmp_path, **sections))


def test_a_controller_without_ros_passes_over_what_another_controller_has(tmp_path: Path):
    file = write(tmp_path, all={**OF_ONE, "rate_limit": 500.0}, joint={"kp": 9.0})
    assert controller_file(file, "joint") == {"rate_limit": 500.0, "kp": 9.0}
    assert controller_file(file, "osc") == {"rate_limit": 500.0, **OF_ONE}
    assert controller_file("", "osc") == {}


def test_nested_names_are_joined_as_in_ros(tmp_path: Path):
    file = write(tmp_path, simulator={"plant": {"set": "urdf"}, "robot": "ur5"})
    assert file_parameters(file, "simulator") == {"plant.set": "urdf", "robot": "ur5"}
