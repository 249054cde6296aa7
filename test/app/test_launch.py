"""The launch files, and what the package says of itself in setup.py and package.xml."""

from __future__ import annotations

import ast
import contextlib
import ctypes
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

import arm_control
from arm_control.controllers import CONTROLLERS
from arm_control.core import PARENT
from arm_control.exceptions import ArmControlError, NodeDied, ParameterError
from arm_control.nodes import NODES as EXECUTABLES
from arm_control.simulation import NODES, Scenario, scenario_names

REPO = Path(__file__).parents[2]
GENERIC = REPO / "launch" / "scenario.launch.py"
VIEW = REPO / "launch" / "view_robot.launch.py"
PLANNER = REPO / "launch" / "planner.launch.py"
LAUNCH_FILES = sorted({*(REPO / "launch").glob("*.launch.py")} - {GENERIC, VIEW, PLANNER})
PACKAGE = ElementTree.parse(REPO / "package.xml").getroot()
SETUP = (REPO / "setup.py").read_text()
PIP_EXTRAS = {
    "rosbags": "bags",
    "mujoco": "mujoco",
    "llvmlite": "llvmlite",
    "coal": "coal",
    "coppeliasim_zmqremoteapi_client": "coppeliasim",
    "zmq": "coppeliasim",
    "cbor2": "coppeliasim",
    "viser": "viewer",
    "nengo": "nengo",
    "ompl": "ompl",
    "msgspec": "viewer",
    "websockets": "viewer",
    "cloudpickle": "cloudpickle",
    **dict.fromkeys(("dask", "distributed", "fsspec", "pyarrow", "scipy"), "sweep"),
}
"""Requirement in setup.py by import, where there is no ROS or system package to depend on."""
ROSDEP_KEYS = {
    "numpy": "python3-numpy",
    "yaml": "python3-yaml",
    "matplotlib": "python3-matplotlib",
    "mpl_toolkits": "python3-matplotlib",
    "PIL": "python3-pil",
    "rich": "python3-rich",
    "urdf_parser_py": "urdfdom_py",
    "sympy": "python3-sympy",
}
"""Key in package.xml by import, where they differ."""


def text_of(tag: str) -> str:
    return PACKAGE.findtext(tag) or ""


def assigned(name: str) -> Any:
    """The literal that setup.py assigns to a name."""
    for node in ast.parse(SETUP).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return ast.literal_eval(node.value)
    raise AssertionError(f"setup.py assigns no {name}")


def imports_of(path: Path) -> set[str]:
    """Top level packages that a file imports, wherever in the file."""
    names = re.findall(r"^ *(?:import (\w+)|from (\w+)[\w.]* import )", path.read_text(), re.MULTILINE)
    return {one or other for one, other in names}


# -- the files ------------------------------------------------------------------------------------


def test_a_launch_file_has_the_name_of_a_scenario_and_one_starts_any():
    assert {path.name.removesuffix(".launch.py") for path in LAUNCH_FILES} <= set(scenario_names())
    files = {path for path in (REPO / "launch").iterdir() if path.is_file()}
    assert files == {*LAUNCH_FILES, GENERIC, VIEW, PLANNER}


@pytest.mark.parametrize("path", [*LAUNCH_FILES, GENERIC], ids=lambda path: path.name)
def test_a_launch_file_starts_the_scenario_of_its_name_and_nothing_else(path: Path):
    tree = ast.parse(path.read_text())
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    assert function.name == "generate_launch_description"
    calls = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    name = "" if path == GENERIC else repr(path.name.removesuffix(".launch.py"))
    assert calls == [f"scenario_launch_description({name})"]


# -- setup.py and package.xml ---------------------------------------------------------------------


def test_the_executables_are_the_nodes_that_scenarios_may_name():
    files = [path for folder in ("nodes", "controllers") for path in (REPO / "arm_control" / folder).glob("[a-z]*.py")]
    found = {path.stem for path in files}
    assert "NODES = sorted({path.stem for folder" in SETUP
    assert {"osc", "gate", "simulator"} < found == {*NODES} == {*EXECUTABLES}


def test_an_executable_of_ros_runs_the_node_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "targets").symlink_to(REPO / "scripts" / "node")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "targets"), "--ros-args", "-p", "nonsense:=1"])
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with pytest.raises(SystemExit, match="2"):
            runpy.run_path(str(tmp_path / "targets"), run_name="__main__")
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert "arm_control: node targets: unknown nonsense" in capsys.readouterr().err


def test_an_executable_of_a_launch_that_is_gone_ends_before_it_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "targets").symlink_to(REPO / "scripts" / "node")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "targets")])
    monkeypatch.setenv(PARENT, str(2**30))
    monkeypatch.setattr(runpy, "run_module", lambda *_, **__: pytest.fail("it loads"))
    handler = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit, match="1"):
            runpy.run_path(str(tmp_path / "targets"), run_name="__main__")
    finally:
        signal.signal(signal.SIGINT, handler)
        ctypes.CDLL(None).prctl(1, 0)


def test_only_the_command_goes_on_the_path():
    assert re.findall(r"^ +scripts=.*", SETUP, re.MULTILINE) == [
        '    scripts=[f"scripts/{NAME}", script_with_a_dash()],'
    ]
    assert "console_scripts" not in SETUP
    assert not (REPO / "setup.cfg").exists(), "a folder for scripts would take arm_control off the PATH of a workspace"


@pytest.mark.processes
def test_ctrl_c_ends_the_command_without_a_traceback():
    """While it is loaded, while its node is made, or while it waits; earlier, Python itself prints one."""
    command = [sys.executable, REPO / "scripts" / "arm_control", "record", "-o", "/dev/null/never"]
    for seconds in (0.5, 2.0):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
        assert "Traceback" not in errors or "Failed to import the site module" in errors


def test_package_xml_and_setup_py_and_the_package_agree():
    assert PACKAGE.tag == "package"
    assert PACKAGE.get("format") == "3"
    assert text_of("name") == assigned("NAME") == arm_control.__name__
    assert "    version=VERSION,\n" in SETUP, "of arm_control/__init__.py"
    version = arm_control.__version__
    assert text_of("version") == version.partition("rc")[0], "ROS knows no candidates"
    assert f"\nversion: {version}\n" in (REPO / "CITATION.cff").read_text()
    assert f"\n## [{version}]" in (REPO / "CHANGELOG.md").read_text()
    assert PACKAGE.findtext("export/build_type") == "ament_python"
    assert (REPO / "resource" / text_of("name")).is_file()


def test_the_licence_is_the_same_everywhere_and_there():
    licence = PACKAGE.find("license")
    assert licence is not None
    (declared,) = re.findall(r'license="([^"]+)"', SETUP)
    assert licence.text == declared
    file = REPO / licence.get("file", "")
    assert file.is_file(), f"package.xml names the licence file {file.name}, which does not exist"


def test_rosdep_knows_every_dependency_of_package_xml():
    lines = (REPO / "test" / "data" / "rosdep_keys.txt").read_text().splitlines()
    known = {key for line in lines if not line.startswith("#") for key in line.split()}
    named = [element.text for tag in ("depend", "exec_depend", "test_depend") for element in PACKAGE.iterfind(tag)]
    assert len(named) > 20
    assert set(named) <= known


def test_package_xml_depends_on_everything_that_is_imported():
    dependencies = {element.text for tag in ("depend", "exec_depend") for element in PACKAGE.iterfind(tag)}
    imported = {name for path in (REPO / "arm_control").rglob("*.py") for name in imports_of(path)}
    third_party = imported - sys.stdlib_module_names - {"arm_control", "__future__", ""}
    missing = {name for name in third_party - set(PIP_EXTRAS) if ROSDEP_KEYS.get(name, name) not in dependencies}
    assert not missing, f"package.xml has no exec_depend for {sorted(missing)}"
    for name in PIP_EXTRAS.values():
        assert f'"{name}": [' in SETUP or f'"{name}>=' in SETUP


# -- under the real launch ------------------------------------------------------------------------

PACKAGES = ("robot_state_publisher", "rviz2", "joint_state_publisher", "joint_state_publisher_gui")
"""Packages of others that are started."""
USER_FILE = "osc:\n  ros__parameters:\n    kp_linear: 150.0\n"


class Launched:
    """What a launch file would start: every Node is executed but for its process.

    Attributes
    ----------
    nodes : dict of str to Node
        By full name.
    """

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, **arguments: str) -> None:
        from launch import LaunchContext
        from launch.actions import ExecuteProcess
        from launch.launch_description_sources import get_launch_description_from_python_launch_file

        monkeypatch.setattr(ExecuteProcess, "execute", lambda self, context: None)
        self.context = LaunchContext()
        self.context.launch_configurations.update(arguments)
        self.description = get_launch_description_from_python_launch_file(str(path))
        self.nodes: dict[str, Any] = {}
        self._visit(self.description.entities)

    def _visit(self, entities: Any) -> None:
        from launch_ros.actions import Node

        for entity in entities or ():
            if isinstance(entity, Node):
                entity.execute(self.context)
                self.nodes[entity.node_name] = entity
            else:
                self._visit(entity.visit(self.context))

    def remappings(self, name: str) -> set[str]:
        """The remappings of a node's topics."""
        words = self.words(name)
        renamed = {words[i + 1] for i, word in enumerate(words) if word == "-r"}
        return {one for one in renamed if one and not one.startswith("__")}

    def words(self, name: str) -> list[str]:
        """The command line of a node."""
        return ["".join(getattr(part, "text", "") for part in word) for word in self.nodes[name].cmd]

    def files(self, name: str) -> list[Path]:
        """The parameter files that a node gets, in order."""
        words = self.words(name)
        return [Path(words[i + 1]) for i, word in enumerate(words) if word == "--params-file"]

    def parameters(self, name: str) -> dict[str, Any]:
        """The parameters that launch itself writes for a node."""
        content = yaml.full_load(self.files(name)[0].read_text())  # launch_ros writes lists as Python's tuples
        assert list(content) == [name]
        values = content[name]["ros__parameters"]
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def file_option(words: list[str]) -> list[str]:
    """RViz's option with its file."""
    at = words.index("-d")
    return words[at : at + 2]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory):
    """Make a :class:`Launched` of a launch file with launch arguments."""
    pytest.importorskip("launch_ros", reason="launch_ros is part of a ROS 2 installation, and not on PyPI")
    index = tmp_path_factory.mktemp("prefix")
    (index / "share/ament_index/resource_index/packages").mkdir(parents=True)
    for package in ("arm_control", *PACKAGES):
        (index / "share/ament_index/resource_index/packages" / package).touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(index))
    monkeypatch.setattr("arm_control.app.launch_description.published_already", lambda _: "")

    def make(path: Path = REPO / "launch" / "ur5_osc.launch.py", **arguments: str) -> Launched:
        return Launched(path, monkeypatch, **arguments)

    return make


def started_with(node: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """What a launch file gives a node: a controller listens to the gate behind it, which is the simulator's."""
    behind = {"gates_behind": ["simulator"]} if node in CONTROLLERS else {}
    return {**behind, **parameters, "use_sim_time": False}


@pytest.mark.parametrize("name", scenario_names())
def test_the_generic_file_starts_any_scenario(name: str, launched):
    started = launched(GENERIC, scenario=name)
    wanted = Scenario.load(name).with_options(awaits_controller=True, paced=True).nodes
    assert list(started.nodes) == [f"/{node}" for node in wanted]
    for node, parameters in wanted.items():
        assert started.nodes[f"/{node}"].node_package == "arm_control"
        assert started.nodes[f"/{node}"].node_executable == node
        assert started.parameters(f"/{node}") == started_with(node, parameters)


def test_the_generic_file_starts_a_variant(launched, tmp_path: Path):
    file = tmp_path / "two.yaml"
    file.write_text("robot: ur5\nnodes: {osc: {}}\nvariants: {a: {}, b: {osc: {kp_linear: 50.0}}}\n")
    for variant, expected in (("", {}), ("a", {}), ("b", {"kp_linear": 50.0})):
        started = launched(GENERIC, scenario=str(file), variant=variant)
        assert started.parameters("/osc") == expected | {"use_sim_time": False}
    with pytest.raises(ParameterError, match="no variant 'c' of two"):
        launched(GENERIC, scenario=str(file), variant="c")


def test_every_launch_argument_is_described(launched):
    arguments = {a.name: a for a in launched().description.get_launch_arguments()}
    own = {"robot", "simulator", "params_file", "namespace", "use_sim_time", "targets", "variant", "friction"}
    own |= {"real_time_factor", "paced", "rviz", "viewer", "control", "planner"}
    own |= {"gate", "friction", "command_topic", "effort_topic", "frame_prefix", "trust", "proximity"}
    assert set(arguments) == own
    assert {a.name for a in launched(GENERIC, scenario="ur5_osc").description.get_launch_arguments()} == own | {
        "scenario"
    }
    assert all(len(argument.description) > 20 for argument in arguments.values())
    assert tuple(arguments["simulator"].choices) == ("mujoco", "coppeliasim", "none")


@pytest.mark.parametrize(
    ("arguments", "nodes"),
    [
        ({"simulator": "none", "robot": "nobody_asks", "targets": "False"}, "dynamics osc gate"),
        ({"simulator": "none", "targets": "false", "gate": "false"}, "dynamics osc"),
        ({"targets": "False"}, "simulator dynamics osc"),
        ({"simulator": "coppeliasim"}, "coppeliasim_bridge dynamics osc targets"),
        ({"gate": "true", "paced": "true"}, "simulator dynamics osc targets gate"),
        ({"viewer": "true"}, "simulator dynamics osc targets visuals viewer"),
    ],
)
def test_options_choose_the_nodes(arguments: dict[str, str], nodes: str, launched):
    assert list(launched(**arguments).nodes) == [f"/{node}" for node in nodes.split()]


@pytest.mark.parametrize(
    ("arguments", "node", "name", "value"),
    [
        ({"real_time_factor": "0.25"}, "simulator", "real_time_factor", 0.25),
        ({}, "simulator", "real_time_factor", None),
        ({"simulator": "coppeliasim"}, "osc", "rate", 200.0),
        ({"viewer": "true"}, "viewer", "control", False),
        ({"viewer": "true", "control": "true"}, "viewer", "control", True),
        ({"use_sim_time": "true"}, "osc", "use_sim_time", True),
        ({"simulator": "none", "targets": "false", "gate": "false"}, "osc", "publish_effort_array", True),
        ({"gate": "true"}, "gate", "publish_effort_array", False),
    ],
)
def test_options_reach_the_nodes(arguments: dict[str, str], node: str, name: str, value: object, launched):
    assert launched(**arguments).parameters(f"/{node}").get(name) == value


def test_paced_is_lock_step_for_all_but_not_with_a_robot(launched):
    started = launched()
    assert all(started.parameters(name)["lock_step"] is True for name in started.nodes)
    assert started.parameters("/simulator")["paced"] is True
    in_real_time = launched(paced="false")
    assert not any("lock_step" in in_real_time.parameters(name) for name in in_real_time.nodes)
    with_robot = launched(paced="true", simulator="none", targets="false")
    assert not any("lock_step" in with_robot.parameters(name) for name in with_robot.nodes)


def test_rviz_comes_with_what_it_needs(launched):
    plain, started = launched(), launched(rviz="true")
    extra = ["/robot_state_publisher", "/visuals", "/rviz2"]
    assert list(started.nodes) == [*plain.nodes, *extra]
    assert '<robot name="ur5"' in started.parameters("/robot_state_publisher")["robot_description"]
    assert all(started.parameters(name)["use_sim_time"] is True for name in ("/robot_state_publisher", "/rviz2"))
    assert file_option(started.words("/rviz2")) == ["-d", str(REPO / "rviz" / "arm.rviz")]
    driven = launched(rviz="true", simulator="none", targets="false")
    driven_nodes = ["/dynamics", "/osc", "/gate", "/visuals", "/rviz2"]
    assert list(driven.nodes) == driven_nodes, "a driver brings robot_state_publisher"
    assert driven.parameters("/rviz2")["use_sim_time"] is False


@pytest.mark.parametrize("robot", ["", "ur5"])
def test_a_robot_is_shown_with_sliders(robot: str, launched):
    started = launched(VIEW, **({"robot": robot} if robot else {}))
    assert list(started.nodes) == ["/robot_state_publisher", "/joint_state_publisher_gui", "/visuals", "/rviz2"]
    description = started.parameters("/robot_state_publisher")["robot_description"]
    assert f'<robot name="{robot or "ur4"}"' in description
    assert list(launched(VIEW, jsp_gui="false").nodes)[1] == "/joint_state_publisher"
    assert file_option(started.words("/rviz2")) == ["-d", str(REPO / "rviz" / "arm.rviz")]
    mine = launched(VIEW, rviz_config="mine.rviz")
    assert file_option(mine.words("/rviz2")) == ["-d", "mine.rviz"]


def test_a_parameter_file_comes_last(launched, tmp_path: Path):
    file = tmp_path / "user.yaml"
    file.write_text(USER_FILE)
    started = launched(params_file=str(file))
    for name in started.nodes:
        assert [path == file for path in started.files(name)] == [False, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"robot": "nonsense"}, "leave them out (--no-targets, in a launch targets:=false)"),
        ({"robot": "nonsense", "targets": "False"}, "no robot 'nonsense'; there are: "),
        ({"params_file": "/nowhere.yaml"}, "/nowhere.yaml"),
        ({"real_time_factor": "slow"}, "real_time_factor:=slow: a number is needed"),
    ],
)
def test_a_bad_argument_is_refused_before_anything_starts(arguments: dict[str, str], message: str, launched):
    with pytest.raises(ArmControlError, match=re.escape(message)):
        launched(**arguments)


def test_a_parameter_file_for_a_node_that_is_not_there_is_refused(launched, tmp_path: Path):
    file = tmp_path / "user.yaml"
    file.write_text(USER_FILE.replace("osc", "ocs"))
    with pytest.raises(ParameterError, match="'ocs' is not a node of the scenario"):
        launched(params_file=str(file))


def test_gravity_that_only_an_absent_gate_would_take_off_is_refused(launched, tmp_path: Path):
    driven = {"simulator": "none", "targets": "false", "params_file": str(tmp_path / "p.yaml")}
    for key, is_refused in (("/**/gate", True), ("/**", False)):
        content = {key: {"ros__parameters": {"driver_adds_gravity": True}}}
        (tmp_path / "p.yaml").write_text(yaml.safe_dump(content))
        launched(**driven)
        refusal = pytest.raises(ParameterError, match="is of the gate, which does not run: write it under /")
        with refusal if is_refused else contextlib.nullcontext():
            launched(**driven, gate="false")


@pytest.mark.parametrize("name", ["simulator", "targets", "use_sim_time"])
def test_a_choice_that_is_none_is_refused(name: str, launched):
    with pytest.raises(RuntimeError, match=f'"{name}" .*[Vv]alid'):
        launched(**{name: "perhaps"})


def test_a_node_that_ends_ends_the_launch_with_its_name(launched):
    from launch.events.process import ProcessExited

    started = launched()
    details = {"name": "osc-3", "cmd": [], "cwd": None, "env": None, "pid": 1}
    event = ProcessExited(action=started.nodes["/osc"], returncode=2, **details)
    on_exit = sys.modules["arm_control.app.launch_description"].end_launch
    with pytest.raises(NodeDied, match="/osc ended with exit status 2"):
        on_exit(event, started.context)
    started.context._set_is_shutdown(True)
    assert on_exit(event, started.context) is None


# -- with a robot ---------------------------------------------------------------------------------


def test_with_a_robot_the_gate_alone_reaches_the_driver(launched):
    started = launched(simulator="none", targets="false", effort_topic="efforts", command_topic="/driver/commands")
    assert started.remappings("/osc") == {"joint_commands:=effort_in"}
    to_driver = {"joint_commands:=/driver/commands", "effort_controller/commands:=efforts"}
    assert started.remappings("/gate") == to_driver
    assert started.parameters("/osc")["publish_effort_array"] is False
    assert started.parameters("/gate")["publish_effort_array"] is True


def test_with_a_robot_only_the_end_of_the_last_node_ends_the_launch(launched):
    def ending(started: Launched) -> list[str]:
        ends = {name: node._ExecuteLocal__on_exit.__name__ for name, node in started.nodes.items()}
        return [name for name, function in ends.items() if function == "end_launch"]

    assert ending(launched()) == ["/simulator", "/dynamics", "/osc", "/targets"]
    assert ending(launched(simulator="none")) == ["/gate"], "it brakes when the controller has ended"
    assert ending(launched(simulator="none", gate="false")) == ["/osc"]


# -- before the start, and at the end -------------------------------------------------------------


def test_simulated_time_waits_for_the_targets_of_the_controller(launched):
    simulator = launched().parameters("/simulator")
    assert (simulator["start_paused"], simulator["awaited_targets"]) == (False, 1)
    moving = launched(GENERIC, scenario="ur5_moving_obstacle").parameters("/simulator")
    assert (moving["awaited_targets"], moving["awaited_obstacles"]) == (1, 1)
    assert launched(targets="false").parameters("/simulator")["awaited_targets"] == 0, "the controller alone"


@pytest.mark.parametrize("missing", [("rviz2",), ("robot_state_publisher", "rviz2"), ("arm_control",)])
def test_packages_are_looked_up_before_anything_starts(missing: tuple[str, ...], launched):
    index = Path(os.environ["AMENT_PREFIX_PATH"]) / "share/ament_index/resource_index/packages"
    for package in missing:
        (index / package).unlink()
    with pytest.raises(ArmControlError, match=f"nothing was started: not installed: {', '.join(missing)} "):
        launched(rviz="true")


@pytest.mark.parametrize(
    ("arguments", "topics"),
    [
        ({}, "joint_states joint_commands effort_controller/commands effort_in"),
        ({"simulator": "none", "command_topic": "/a"}, "/a effort_controller/commands effort_in"),
    ],
)
@pytest.mark.parametrize("namespace", ["", "left"])
def test_a_second_launch_of_an_arm_is_refused(
    arguments: dict[str, str], topics: str, namespace: str, launched, monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []

    def find(names: list[str]) -> str:
        asked.extend(names)
        return f"{names[0]} is published already by /osc"

    monkeypatch.setattr("arm_control.app.launch_description.published_already", find)
    with pytest.raises(ArmControlError, match="is published already by /osc: end it, or choose another ROS_DOMAIN_ID"):
        launched(namespace=namespace, **arguments)
    place = f"/{namespace}/" if namespace else "/"
    assert asked == [topic if topic.startswith("/") else place + topic for topic in topics.split()]


def test_every_node_ends_with_the_launch(launched):
    started = launched(rviz="true", viewer="true")
    for name, node in started.nodes.items():
        if node.node_package == "arm_control":
            assert node.env is None
            (pair,) = node.additional_env
            assert ["".join(part.text for part in item) for item in pair] == ["ARM_CONTROL_PARENT", str(os.getpid())]
        elif shutil.which("setpriv"):
            assert "".join(part.text for part in node.process_description.prefix) == "setpriv --pdeathsig INT", name


def test_a_namespace_is_the_prefix_of_the_frames(launched):
    started = launched(namespace="/left", rviz="true")
    own = [name for name, node in started.nodes.items() if node.node_package == "arm_control"]
    for name in (*own, "/left/robot_state_publisher"):
        assert started.parameters(name)["frame_prefix"] == "left/"
    _, file = file_option(started.words("/left/rviz2"))
    shown = yaml.safe_load(Path(file).read_text())["Visualization Manager"]["Displays"]
    assert [display["TF Prefix"] for display in shown if display["Name"] == "Robot"] == ["left"]
    chosen = launched(namespace="left", frame_prefix="a_")
    assert chosen.parameters("/left/osc")["frame_prefix"] == "a_"
    assert "frame_prefix" not in launched().parameters("/osc")
