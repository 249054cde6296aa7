"""What the command line says to somebody who wrote something else than it takes: one sentence, before it starts."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from arm_control import RobotModel
from arm_control.app import cli
from arm_control.app.commands.shared import check_namespace
from arm_control.core import Cache, SavedParameter, urdf_path
from arm_control.exceptions import InputError
from arm_control.planning import PlanRecord
from arm_control.simulation import Scenario

GOLDEN = Path(__file__).parents[1] / "golden"

PARAMETERS = "osc:\n  ros__parameters:\n    kp_linear 100.0\n"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file, a folder of bags, and a parameter file without a colon."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("text")
    (tmp_path / "robot.txt").write_text("<robot/>")
    (tmp_path / "bags" / "first").mkdir(parents=True)
    (tmp_path / "bags" / "first" / "metadata.yaml").touch()
    (tmp_path / "nothing").mkdir()
    (tmp_path / "dir.npz").mkdir()
    (tmp_path / "p.yaml").write_text(PARAMETERS)
    return tmp_path


def status(*arguments: str) -> int:
    """Exit status of the command line; argparse leaves on its own way."""
    try:
        return cli.main(arguments)
    except SystemExit as left:
        return int(left.code or 0)


IK = ("ik", "--robot", "ur5", "--position")
RUN = ("run", "planar2_reach", "--headless", "--duration", "1")
REFUSED = {
    ("run",): "name a scenario (`arm_control scenarios` lists them), or an arm with --robot FILE",
    (*RUN, "--report", "file"): "file is a file, and a folder is needed",
    (*RUN, "--report", "file/x"): "file/x: cannot be written: Not a directory",
    (*RUN, "--report", "/proc/x"): "/proc/x: cannot be written: ",
    ("faults", "--page", "file/x/page.md"): "file/x: cannot be written: Not a directory",
    (*RUN, "--bag", "file/x"): "file is a file, and a folder is needed",
    ("simulate", "planar2_reach", "--bag", "file"): "file is a file, and a folder is needed",
    ("simulate", "planar2_reach", "--bag", "file/x"): "file/x: cannot be written: Not a directory",
    (*RUN, "--record", "nodir/x.npz"): "nodir/x.npz: there is no folder nodir",
    (*RUN, "--record", "x.txt"): "x.txt: the name of a record ends in .npz",
    (*RUN, "--record", "dir.npz"): "dir.npz exists and cannot be overwritten",
    (
        *RUN,
        "--params-file",
        "p.yaml",
    ): "p.yaml: osc: ros__parameters: a mapping is needed, not str ('kp_linear 100.0': is",
    (*RUN, "--params-file", "none.yaml"): "there is no file none.yaml",
    ("run", "planar2_reach", "--control"): "--control is for the page: add --viewer",
    (*RUN, "--namespace", "a b"): "'a b' is not a namespace; allowed: words",
    ("record", "--namespace", "1a"): "'1a' is not a namespace; allowed: words",
    ("simulate", "planar2_reach", "--report", "file"): "file is a file, and a folder is needed",
    ("replay", "nothing"): "nothing holds no bag (no metadata.yaml)",
    ("report", "bags"): "bags holds no bag (no metadata.yaml); below it there are: bags/first",
    ("check", "my_arm.urd"): "there is no file my_arm.urd that ends in .urdf or .xacro",
    ("check", "robots/mine"): "there is no file robots/mine that ends in .urdf or .xacro",
    (*RUN, "--robot", "robot.txt", "--no-targets"): "there is no file robot.txt that ends in .urdf or .xacro",
    ("view",): "name the robot, with --robot FILE: ",
    ("check", "ur5", "--robot", "panda"): "panda and ur5: one robot only, with --robot FILE: ",
    ("pose", "--robot", "ur5", "0", "1"): "pose has 2 positions: 6 finite ones are needed, of shoulder_pan_joint, ",
    ("pose", "ur5", "a"): "pose a: numbers are needed [rad or m]",
    ("pose", "ur5", *"12345", "nan"): "pose has 6 positions: 6 finite ones are needed, of ",
    (*IK, "nan", "0", "0"): "--position nan 0.0 0.0: the numbers must be finite",
    (*IK, "0", "0", "0", "--quat", "0", "0", "0", "0"): "quaternion [0.0, 0.0, 0.0, 0.0] is not a rotation",
    (*IK, "0", "0", "0", "--start", "1"): "6 joint names with 1 start values",
    (*IK, "0", "0", "0", "--rows", "x nix"): "rows: unknown nix; allowed: x y z rx ry rz",
    ("simulate", "a.urdf", "--robot", "b.urdf"): "b.urdf and a.urdf: one robot only, with --robot FILE",
    ("run", "a.urdf"): "there is no file a.urdf",
    ("check", "ur55"): "no robot 'ur55'; did you mean 'ur5'? there are: ",
    ("simulate", "my/planar2_reach"): "there is no file my/planar2_reach that ends in .yaml",
    ("simulate", "planar2_raech"): "no 'planar2_raech' in config/scenarios; did you mean 'planar2_reach'? there are: ",
    ("simulate", "ur4_damped", "--bag", "b"): "ur4_damped has no controller: nothing is commanded, so there is no bag",
    ("run", "ur4_damped"): "ur4_damped has no controller: `arm_control simulate ur4_damped` simulates it; for a",
    ("simulate", "planar2_reach", "--set", "osc.kp_linear"): "'osc.kp_linear': NAME=VALUE is needed",
    ("simulate", "planar2_reach", "--set", "osc.kp_linaer=1.0"): "planar2_reach: osc: unknown kp_linaer; allowed: ",
    ("simulate", "xyzzy"): "no 'xyzzy' in config/scenarios; there are: ",
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.items())
def test_it_is_one_sentence(arguments: tuple[str, ...], message: str, in_a_folder: Path, capsys, monkeypatch):
    before = sorted(in_a_folder.rglob("*"))
    monkeypatch.setattr("arm_control.simulation.offline.Simulation.run", lambda *_: pytest.fail("it started"))
    assert status(*arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"arm_control: {message}")
    assert sorted(in_a_folder.rglob("*")) == before, "nothing is left behind"


@pytest.mark.parametrize(
    ("more", "is_paced"),
    [
        ((), False),
        (("--viewer",), True),
        (("--viewer", "--no-paced"), False),
        (("--paced",), True),
        (("--viewer", "--simulator", "none"), False),
    ],
)
def test_with_the_page_simulated_time_waits_for_a_late_controller(more: tuple[str, ...], is_paced: bool, monkeypatch):
    seen = []
    monkeypatch.setattr("arm_control.app.run.run_scenario", lambda options: seen.append(options) or 0)
    assert status("run", "planar2_reach", *more) == 0
    assert [options.paced for options in seen] == [is_paced]


REFUSED_PARAMETERS = {
    "kp_linear: abc": "kp_linear = 'abc': a float is needed, not a str",
    "kp_linear: -5.0": "kp_linear = -5.0 is out of bounds: ",
    "kp_linear: .nan": "kp_linear = nan is out of bounds: ",
    "kp_linaer: 3.0": "unknown kp_linaer; allowed: ",
    "kp_linear:": "kp_linear has no value",
    "posture: [0, -1.5]": "posture has float and int in one list, which ROS does not read: write 0.0 for 0",
    "posture: [1.0, x]": "posture has float and str in one list, which ROS does not read",
    "": "ros__parameters is empty, which ROS does not read: remove the entry",
}


@pytest.mark.parametrize(("line", "message"), REFUSED_PARAMETERS.items())
def test_parameters_of_nodes_are_looked_at_before_one_starts(line: str, message: str, capsys, monkeypatch):
    monkeypatch.setattr("arm_control.app.run.ScenarioProcesses", lambda *_: pytest.fail("it started"))
    Path("own.yaml").write_text(f"{'/**/osc' if 'kp' in line else 'osc'}:\n  ros__parameters:\n    {line}\n")
    assert status("run", "planar2_reach", "--headless", "--duration", "1", "--params-file", "own.yaml") == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("arm_control: own.yaml: ")
    assert message in sentence


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "x", "--duration", "abc"), "--duration: 'abc' is not a positive number"),
        (("simulate", "x", "--duration", "nan"), "--duration: 'nan' is not a positive number"),
        (("replay", "x", "--rate", "0"), "--rate: '0' is not a positive number"),
        (("replay", "x", "--start", "abc"), "--start: 'abc' is negative, or not a number"),
        (("replay", "x", "--start", "-1"), "--start: '-1' is negative, or not a number"),
    ],
)
def test_a_number_is_asked_for_in_plain_words(arguments: tuple[str, ...], message: str, capsys):
    assert status(*arguments) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(message)


@pytest.mark.parametrize(
    "namespace", ["", "/", "a", "/a", "a/", "/a/b_2", "_a", "a b", "1a", "a/1", "a//b", "aä", "a-b", "a.b", "a\n", "~"]
)
def test_a_namespace_is_what_ros_takes_for_one(namespace: str):
    from rclpy.exceptions import InvalidNamespaceException
    from rclpy.validate_namespace import validate_namespace

    inner = namespace.removeprefix("/").removesuffix("/")
    try:
        validate_namespace(f"/{inner}")
    except InvalidNamespaceException:
        with pytest.raises(InputError, match="is not a namespace"):
            check_namespace(namespace)
    else:
        check_namespace(namespace)


@pytest.mark.parametrize(
    ("domain", "entry"),
    [*((domain, "check_environment") for domain in ("abc", "233", "-1", "1.5", "²", "٣")), ("300", "CommandLineNode")],
)
def test_a_domain_that_is_none_is_refused(domain: str, entry: str, monkeypatch, capsys):
    from arm_control.nodes.support import node_process
    from arm_control.nodes.tools import command_line_node

    monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    with pytest.raises(SystemExit, match="2"):
        node_process.check_environment() if entry == "check_environment" else command_line_node.CommandLineNode("test")
    assert capsys.readouterr().err == f"arm_control: ROS_DOMAIN_ID is '{domain}'; allowed: 0 to 232\n"


def test_a_log_that_cannot_be_written_is_one_sentence(monkeypatch, capsys, tmp_path):
    from arm_control.nodes.support import node_process

    (tmp_path / "file").touch()
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "file" / "log"))
    with pytest.raises(SystemExit, match="2"):
        node_process.check_environment()
    message = capsys.readouterr().err
    assert message.startswith(f"arm_control: ROS keeps its log in {tmp_path}/file/log: Not a directory: set ROS_")


@pytest.mark.parametrize(
    ("strategy", "keystore", "middleware", "message"),
    [
        ("", "keys", "rmw_fastrtps_cpp", "set ROS_SECURITY_STRATEGY=Enforce too"),
        ("Permissive", "keys", "rmw_fastrtps_cpp", "set ROS_SECURITY_STRATEGY=Enforce too"),
        ("Enforce", "", "rmw_fastrtps_cpp", "set ROS_SECURITY_KEYSTORE to the folder with the keys, too"),
        ("Enforce", "none", "rmw_fastrtps_cpp", "none is no keystore: it has no folder 'enclaves'"),
        ("Enforce", "keys", "rmw_zenoh_cpp", "rmw_zenoh_cpp has no security: choose another RMW_IMPLEMENTATION"),
        ("Enforce", "keys", "rmw_fastrtps_cpp", ""),
        ("enforce", "keys", "rmw_cyclonedds_cpp", ""),
    ],
)
def test_security_that_would_not_be_there_is_refused(
    strategy: str, keystore: str, middleware: str, message: str, monkeypatch, capsys, tmp_path
):
    from arm_control.nodes.support import node_process

    (tmp_path / "keys" / "enclaves").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    monkeypatch.setenv("ROS_SECURITY_STRATEGY", strategy)
    monkeypatch.setenv("ROS_SECURITY_KEYSTORE", keystore)
    monkeypatch.setattr(node_process.rclpy, "get_rmw_implementation_identifier", lambda: middleware)
    with pytest.raises(SystemExit, match="2") if message else nullcontext():
        node_process.check_environment()
    assert capsys.readouterr().err.removesuffix("\n").endswith(message)


def test_a_full_disk_is_one_sentence(monkeypatch, capsys):
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "report/planar2\x1b.png")

    monkeypatch.setattr("arm_control.simulation.offline.Simulation.run", fail)
    assert status("simulate", "planar2_reach") == 2
    assert capsys.readouterr().err == "arm_control: report/planar2\\x1b.png: No space left on device\n"


SCENARIOS = {
    "own": {"robot": "mine.urdf.xacro side:=left", "nodes": {"osc": {}, "simulator": {}}},
    "of a node": {"robot": "planar2", "nodes": {"osc": {}, "viewer": {"robot": "mine.urdf.xacro"}}},
    "of a variant": {
        "robot": "planar2",
        "nodes": {"osc": {}, "viewer": {}},
        "variants": {"a": {"viewer": {"robot": "mine.urdf.xacro"}}},
    },
}
REFUSED = "mine.urdf.xacro: a xacro file is a program, and expanding it may run any code as you: read it first, then"


@pytest.fixture
def expanded(in_a_folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were expanded, all to a planar arm, in a folder with one and with files that name it."""
    files: list[Path] = []
    monkeypatch.setattr(
        "arm_control.model.urdf.load.expand_xacro",
        lambda path, *_: files.append(path) or urdf_path("planar2").read_text(),
    )
    Path("mine.urdf.xacro").write_text("<robot/>")
    Path("own.yaml").write_text(yaml.safe_dump(SCENARIOS["own"]))
    Path("scene.yaml").write_text("{robot: mine.urdf.xacro, start: [0, 0], goal: [1, 1]}")
    PlanRecord("mine.urdf.xacro", np.zeros(1), np.zeros((1, 2))).save(Path("plan.npz"))
    return files


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_names_no_xacro_file_unless_it_is_trusted(scenario: str, expanded: list[Path]):
    Path("other.yaml").write_text(yaml.safe_dump(SCENARIOS[scenario]))
    with pytest.raises(InputError, match=f"other.yaml: {REFUSED} allow it with --trust, in a launch trust:=true$"):
        Scenario.load("other.yaml")
    assert Scenario.load("other.yaml", trust=True).robot == SCENARIOS[scenario]["robot"]


@pytest.mark.parametrize(
    "words",
    [
        ("run", "own.yaml", "--headless", "--duration", "1"),
        ("simulate", "own.yaml", "--duration", "0.01"),
        ("export", "--scenario", "own.yaml", "--out", "c"),
        ("serve", "--scenario", "own.yaml", "--states", "1"),
        ("replay", str(GOLDEN / "ur5_osc"), "--offline", "--scenario", "own.yaml"),
        ("view", "--plan", "plan.npz"),
    ],
    ids=lambda words: words[0],
)
def test_a_xacro_file_that_a_file_names_is_expanded_only_when_it_is_trusted(
    words: tuple[str, ...], expanded: list[Path], capsys, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("arm_control.app.run._monitor", lambda *_: pytest.fail("it starts"))
    monkeypatch.setattr("arm_control.app.commands.serve_command.answer_states", lambda *_: None)
    monkeypatch.setattr("arm_control.app.commands.view_command._show", lambda *_: None)
    monkeypatch.setattr("arm_control.export.c_folder.write_folder", lambda *_: [])
    assert status(*words) == 2
    assert f": {REFUSED} allow it with --trust" in capsys.readouterr().err
    assert not expanded
    with pytest.raises(pytest.fail.Exception, match="it starts") if words[0] == "run" else nullcontext():
        status(*words, "--trust")
    assert REFUSED not in capsys.readouterr().err
    assert expanded or words[0] == "replay", "the bag has a description"


def test_a_middleware_without_security_is_said_in_one_sentence(monkeypatch, capsys):
    from rclpy.impl.implementation_singleton import rclpy_implementation

    from arm_control.nodes import security_explained

    error = rclpy_implementation.RCLError("error creating node: no security libraries\nCompile it, at /project/a.cpp:1")
    monkeypatch.delenv("ROS_SECURITY_ENABLE", raising=False)
    with pytest.raises(rclpy_implementation.RCLError), security_explained():
        raise error
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    with pytest.raises(SystemExit, match="2"), security_explained():
        raise error
    said = "not started, since ROS_SECURITY_ENABLE is set and there is no security: no security libraries"
    assert capsys.readouterr().err == f"arm_control: {said}\n"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "ROS domain 0, discovery range SUBNET: every machine on the network may talk to the arm; "),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "system_default"}, "ROS domain 0, discovery range SYSTEM_DEFAULT: every "),
        (
            {"ROS_DOMAIN_ID": "7", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"},
            "ROS domain 7, discovery range LOCALHOST: processes on this machine may talk to the arm",
        ),
        ({"ROS_LOCALHOST_ONLY": "1"}, "ROS domain 0, discovery range LOCALHOST: processes on this machine may "),
        ({"ROS_LOCALHOST_ONLY": "0"}, "ROS domain 0, discovery range SUBNET: every machine "),
        (
            {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_STATIC_PEERS": "10.0.0.2"},
            "ROS domain 0, discovery range LOCALHOST: processes on this machine, and on 10.0.0.2, may talk to the arm",
        ),
        (
            {"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_KEYSTORE": "/keys"},
            "ROS domain 0, discovery range SUBNET: whoever has a key of /keys may talk to the arm",
        ),
    ],
)
def test_it_is_said_who_may_talk_to_the_arm(settings: dict[str, str], message: str, monkeypatch):
    from arm_control.nodes import describe_reach

    for name in [name for name in os.environ if name.startswith("ROS_")]:
        monkeypatch.delenv(name)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert describe_reach().startswith(message)


@pytest.mark.parametrize("kind", [None, ImportError, RuntimeError], ids=str)
def test_ctrl_c_while_the_options_are_read_is_no_error(kind: type[Exception] | None, monkeypatch):
    """Python raises the last one where a class is being made."""

    def interrupted(_: object) -> None:
        if kind is None:
            raise KeyboardInterrupt
        raise kind from KeyboardInterrupt()

    monkeypatch.setattr(cli, "parser_for", interrupted)
    assert cli.main(["watch"]) == 130


def test_a_line_of_the_cache_fits_a_terminal(in_a_folder: Path, monkeypatch, capsys):
    monkeypatch.setenv("ARM_CONTROL_CACHE", str(in_a_folder / "cache"))
    digest = "b1fb" * 16
    titles = {
        f"ur5: distance, box {digest} (8 columns, [{{'a': 3}}, ('reach',), {{}}, 'maybe'])": "distance, box ur5",
        f"ur5: capsules and axes {digest} [('base', np.float64(0.0))]": "capsules and axes ur5",
        f"{'long' * 30}: {'M, ' * 30}(one)": f"{'M, ' * 12}{'long' * 4}",
    }
    for title in titles:
        Cache(in_a_folder / "cache").store(title, bytes(20_000), title=title)
    assert cli.main(["cache", "list"]) == 0
    _, head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["what", "robot", "size", "used", "key"]
    assert all(len(line) <= 80 for line in lines)
    keys = {entry.path.name[:8] for entry in Cache(in_a_folder / "cache").entries()}
    assert {line.split()[-1] for line in lines} == keys
    assert {" ".join(line[:53].split()) for line in lines} == {" ".join(text.split()) for text in titles.values()}
    assert all(line[53:].split()[:2] in (["20", "kB"], ["21", "kB"]) for line in lines)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_help_of_every_command_has_examples_that_can_be_typed(name: str, capsys):
    module = import_module(f"arm_control.app.commands.{name}_command")
    assert status(name, "--help") == 0
    text = capsys.readouterr().out
    for example in module.EXAMPLES:
        assert f"\n  arm_control {example}\n" in text
        words = [word for word in example.split() if ":=" not in word or name in cli.OF_ROS]
        assert vars(cli.parser_for(words).parse_args(words))["command"]


DOCS = Path(__file__).parents[2] / "docs"
PATIENCE = 240.0
"""Longest wait for a shell [s]."""
COMPLETIONS = {
    "wat": {"watch"},
    "run ur5_o": {"ur5_osc", "ur5_obstacle"},
    "run --sim": {"--simulator"},
    "run --simulator m": {"mujoco"},
    "view pan": {"panda"},
    "compare pan": {"panda"},
    "formula pan": {"panda"},
    "formula --si": {"--simplify"},
    "run --robot pan": {"panda"},
    "check my_arm.u": set(),
    "cache cl": {"clear"},
}


FILES = {"check my\\ a": ["check", "my arm.urdf"], "run --report new": ["run", "--report", "new pictures/"]}


@pytest.mark.processes
def test_the_tab_key_completes_words_and_names_of_files(in_a_folder: Path, capsys):
    """Also in a shell behind a terminal, which gets Tab and Enter keys, and writes the words that it makes of them."""
    (in_a_folder / "my arm.urdf").touch()
    (in_a_folder / "new pictures").mkdir()
    assert status("completion", "bash") == 0
    script = [capsys.readouterr().out]
    (in_a_folder / "rc").write_text(script[0] + "arm_control() { printf '%s\\n' \"$@\" > words; exit; }\n")
    for typed in COMPLETIONS:
        words = ["arm_control", *typed.split()]
        variables = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}"
        script.append(f"COMPREPLY=(); {variables}; _arm_control; echo ${{COMPREPLY[@]}}")
    done = subprocess.run(["bash", "-c", "\n".join(script)], capture_output=True, text=True, check=True)
    assert [set(line.split()) for line in done.stdout.splitlines()] == [*COMPLETIONS.values()]
    for typed, expected in FILES.items():
        keys, terminal = pty.openpty()
        ends = {"stdin": terminal, "stdout": terminal, "stderr": terminal}
        with subprocess.Popen(["bash", "--rcfile", "rc", "-i"], **ends, start_new_session=True) as shell:
            os.write(keys, f"arm_control {typed}\t\n".encode())
            try:
                shell.wait(PATIENCE)
            finally:
                shell.kill()
                os.close(keys)
                os.close(terminal)
        assert (in_a_folder / "words").read_text().splitlines() == expected


def test_joint_positions_of_a_pose_and_the_pose_of_joint_positions(capsys):
    where = ("--position", "0.4", "0.1", "0.4", "--rpy", "180", "0", "30")
    assert status("ik", "--robot", "ur5", *where, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert status("pose", "--robot", "ur5", "--json", *(f"{q:.12f}" for q in found["joints"].values())) == 0
    reached = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(reached["position"], [0.4, 0.1, 0.4], rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.abs(reached["quat_xyzw"]), [np.cos(np.pi / 12), np.sin(np.pi / 12), 0, 0], atol=1e-6)
    assert reached["joints"] == pytest.approx(found["joints"])
    assert status("ik", "--robot", "ur5", *where, "--all") == 0
    assert "shoulder left, elbow up" in capsys.readouterr().out


def test_a_redundant_arm_takes_the_posture_that_is_nearest(capsys):
    posture = (0.0, 0.8, -0.8, -0.8, -0.8, 0.0)
    where = ("--position", "0.5", "-0.2", "0.5", "--tip", "ee_link", "--json", "--start", *["0"] * 6)
    distances = []
    for options in ((), ("--posture", *map(str, posture))):
        assert status("ik", "ur5_lab", *where, *options) == 0
        q = [*json.loads(capsys.readouterr().out)["joints"].values()]
        distances.append(float(np.linalg.norm(np.subtract(q, posture))))
    assert distances[0] > 1.5
    np.testing.assert_allclose(distances[1], 1.3397, rtol=0, atol=1e-4)


def test_a_position_alone_is_found_and_what_is_out_of_reach_is_said(capsys):
    """Two joints of a plane serve x and y; the masses of an arm do not matter."""
    assert status("ik", "planar2", "--position", "0.3", "0.3", "0") == 0
    out = capsys.readouterr().out
    assert "ee_link in base_link, rows 'x y' along the axes of world: " in out
    assert "rows that do not count" not in out
    assert status("ik", "planar2", "--position", "0.3", "0.3", "0.2") == 0
    assert "with the rows that do not count 200 mm from the position" in capsys.readouterr().out
    assert status("ik", "ur5", "--position", "0.4", "0.1", "0.4") == 0
    assert capsys.readouterr().out.rstrip().endswith(" mm left; the orientation was free")
    assert status("ik", "planar2", "--position", "0", "3", "0") == 1
    why, head, *rows, left = capsys.readouterr().out.splitlines()
    assert why.startswith("not found: out of reach: ")
    assert head == "the nearest posture found:"
    assert [float(row.split()[1]) for row in rows] == pytest.approx([np.pi / 2, 0.0], abs=1e-3), "stretched towards it"
    assert left.endswith(": 2420 mm left")
    assert status("ik", "ur5", "--position", "2", "0", "0.1") == 1
    assert "tool0 in base_link, position missed, " in capsys.readouterr().out
    assert status("ik", "planar2", "--position", "0.3", "0.3", "0", "--all") == 0
    assert "1: 1" not in capsys.readouterr().out, "postures that have no names but numbers"


def test_attractors_in_neurons_are_compared_and_drawn(tmp_path: Path, capsys):
    picture = tmp_path / "a.png"
    line = ("attractor", "--alpha", "1000", "--neurons", "200", "--seconds", "0.5", "--out", str(picture))
    assert status(*line) == 0
    assert Image.open(picture).format == "PNG"
    printed = capsys.readouterr().out
    assert status(*line, "--json") == 0
    errors = json.loads(capsys.readouterr().out)["error"]["alpha = 1000 1/s"]
    assert errors["continuous"] > 1.3 * errors["discrete"] > 0.0
    row = [f"{errors[name]:.3g}" for name in ("continuous", "discrete")]
    assert [line.split()[-2:] for line in printed.splitlines() if line.startswith("alpha")] == [row]


def test_formulas_are_printed_in_three_forms(capsys):
    """M of two rods as in docs/model.md; each form is computed with in test_symbolic.py."""
    assert status("formula", "planar2", "M", "--simplify") == 0
    source, scope = capsys.readouterr().out, dict[str, Any]()
    assert source.partition("\n\n\n")[2] in (DOCS / "model.md").read_text()
    exec(source, scope)
    model = RobotModel.from_urdf(urdf_path("planar2"))
    np.testing.assert_allclose(scope["M"]([0.3, 0.7]), model.mass_matrix([0.3, 0.7]), rtol=1e-12)
    assert status("formula", "planar2", "T", "--python") == 0
    exec(capsys.readouterr().out, scope)
    np.testing.assert_allclose(scope["T"]([0.3, 0.7]), model.pose([0.3, 0.7]).matrix(), rtol=0, atol=1e-12)
    assert status("formula", "planar2", "J", "--tip", "link0", "--c") == 0
    assert "void J(const double q[1], double out[6][1])" in capsys.readouterr().out
    assert status("formula", "planar2", "g", "--latex") == 0
    assert capsys.readouterr().out == "&\\left[\\begin{matrix}0\\\\0\\end{matrix}\\right]\n"
    assert status("formula", "ur5", "M", "--simplify") == 2
    assert "--simplify is for at most 4 joints, and this arm has 6" in capsys.readouterr().err


def test_an_arm_by_itself_is_simulated_and_motions_of_the_package_are_listed(expanded: list[Path], capsys):
    """A xacro file that the user names needs no trust."""
    assert status("simulate", "--robot", "mine.urdf.xacro", "--duration", "0.01") in (0, 1)
    assert {*expanded} == {Path("mine.urdf.xacro")}
    capsys.readouterr()
    assert status("primitive", "list") == 0
    assert "discrete, pose, 1.88 s, 25 functions; the digit 3" in capsys.readouterr().out


def test_tune_refuses_to_overwrite_and_says_what_went_wrong(tmp_path: Path, monkeypatch, capsys):
    saved = [SavedParameter("b", 1e-05, "small")]
    fake = SimpleNamespace(live_parameters=lambda node, namespace: saved)
    monkeypatch.setitem(sys.modules, "arm_control.nodes.tools.command_line_node", fake)
    for name, message in (("file", "file exists already"), ("no/gains.yaml", "cannot be written: No such file")):
        assert cli.main(["tune", "save", str(tmp_path / name)]) == 2
        assert message in capsys.readouterr().err
