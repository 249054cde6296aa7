"""The parameter file of a run: names of nodes in any namespace, and what ROS would pass over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from arm_control.exceptions import InputError, ParameterError
from arm_control.simulation import check_parameter_file


def write(folder: Path, content: Any) -> Path:
    (folder / "p.yaml").write_text(yaml.safe_dump(content))
    return folder / "p.yaml"


@pytest.mark.parametrize("key", ["osc", "/left/osc", "/**/osc", "/*"])
def test_a_parameter_file_may_name_a_node_in_any_namespace(key: str, tmp_path: Path):
    path = write(tmp_path, {key: {"ros__parameters": {"kp_linear": 1.0}}})
    check_parameter_file(path, {"osc": {}, "simulator": {}})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"ocs": {"ros__parameters": {}}}, "'ocs' is not a node of the scenario; allowed: /.., osc, simulator"),
        ({"/left/joint": {"ros__parameters": {}}}, "'/left/joint' is not a node of the scenario"),
        ({"osc": {"ros_parameters": {}}}, "osc: unknown ros_parameters; allowed: ros__parameters"),
        ({"osc": 5}, r"p\.yaml: osc: a mapping is needed, not int"),
        ({"osc": {"ros__parameters": "kp 1"}}, r"osc: ros__parameters: a mapping .*\('kp 1': is a colon missing"),
    ],
)
def test_a_parameter_file_that_ros_would_pass_over_is_refused(content: Any, message: str, tmp_path: Path):
    with pytest.raises(ParameterError, match=message):
        check_parameter_file(write(tmp_path, content), {"osc": {}, "simulator": {}})


@pytest.mark.parametrize("key", ["simulator", "/**"])
def test_a_xacro_file_is_named_only_where_it_is_trusted(key: str, tmp_path: Path):
    path = write(tmp_path, {key: {"ros__parameters": {"robot": "arm.urdf.xacro side:=left"}}})
    with pytest.raises(InputError, match=r"p\.yaml: arm\.urdf\.xacro: a xacro file is a program.*--trust"):
        check_parameter_file(path, {"simulator": {}})
    check_parameter_file(path, {"simulator": {}}, trust=True)
