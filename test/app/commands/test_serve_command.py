"""``arm_control serve``: the driver in C of the examples gets torque."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from arm_control.app import cli
from arm_control.app.commands.serve_command import PORT

EXAMPLE = Path(__file__).parents[3] / "examples" / "udp_driver.c"
has_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture
def port() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The driver of the examples."""
    path = tmp_path / "udp_driver"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", path, EXAMPLE], check=True)
    return path


def parameter_file(folder: Path, text: str) -> str:
    """A file with a controller for which no gap is too long: the machine may be busy."""
    path = folder / "parameters.yaml"
    path.write_text(f"/**/osc:\n  ros__parameters:\n    max_missed: 1000000000\n{text}")
    return str(path)


@has_compiler
def test_the_driver_of_the_examples_is_answered(program: Path, port: str, capfd: pytest.CaptureFixture[str]):
    with subprocess.Popen([program, port, "1000000"], stdout=subprocess.PIPE, text=True) as driver:
        assert cli.main(["serve", "ur5", "--port", port, "--states", "20"]) == 0
        driver.terminate()
        output, _ = driver.communicate()
    assert output.startswith("state ")
    assert "N m" in output
    said = capfd.readouterr().out
    assert f"listening on 127.0.0.1 port {port}" in said
    assert "states come from 127.0.0.1:" in said
    assert "torque with gravity\n" in said


@has_compiler
def test_a_driver_that_starts_again_enables_the_gate(
    program: Path, port: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    again = f"{program} {port} 20 && exec {program} --enable {port} 1000000"
    options = ["--port", port, "--states", "60", "--params-file", parameter_file(tmp_path, "")]
    with subprocess.Popen(["sh", "-c", again], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        assert cli.main(["serve", "ur5", *options]) == 0
        driver.terminate()
        output, errors = driver.communicate()
    answers = output.splitlines()
    are_braking = ["braking" in answer for answer in answers]
    assert not any(are_braking[:20])
    assert any(are_braking)
    assert not are_braking[-1]
    assert errors.startswith("braking: `arm_control serve` has printed why; enabling it\nenabled\n")
    said = capfd.readouterr()
    assert "braking: states come from another sender: 127.0.0.1:" in said.out
    assert "datagram refused: another sender: 127.0.0.1:" in said.err


@has_compiler
@pytest.mark.parametrize("source", ["option", "file"])
def test_a_driver_that_adds_gravity_gets_none(source: str, program: Path, port: str, tmp_path: Path, capfd):
    text = "/**/gate:\n  ros__parameters:\n    driver_adds_gravity: true\n" if source == "file" else ""
    options = [*(["--driver-adds-gravity"] if source == "option" else ()), "--params-file"]
    with subprocess.Popen([program, port, "1000000"], stdout=subprocess.PIPE, text=True) as driver:
        words = ["serve", "ur5", "--port", port, "--states", "5", *options, parameter_file(tmp_path, text)]
        assert cli.main(words) == 0
        driver.terminate()
        output, _ = driver.communicate()
    torques = [float(word) for line in output.splitlines() for word in line.split(":")[1].split()[:6]]
    assert max(map(abs, torques)) < 1e-3
    assert "torque without gravity, which the driver adds\n" in capfd.readouterr().out


def test_the_default_port_is_none_on_which_nodes_of_ros_find_each_other():
    assert 1024 <= PORT < 7400
    assert f": {PORT});" in EXAMPLE.read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("ur5", "--port", "70000"), "127.0.0.1 port 70000: "),
        (("ur5", "--states", "-3"), "--states -3: "),
        (("ur5", "--real-time-priority", "100"), "real_time_priority = 100"),
        ((), "name a robot or, with --scenario, a scenario"),
        (("ur5", "--scenario", "ur5_osc"), "name a robot or, with --scenario, a scenario"),
        (("--scenario", "ur4_free_fall"), "ur4_free_fall"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_sentence(words: tuple[str, ...], why: str, capsys):
    assert cli.main(["serve", *words]) == 2
    assert capsys.readouterr().err.startswith(f"arm_control: {why}")


def test_a_wrong_type_of_driver_adds_gravity_is_refused(tmp_path: Path, capsys):
    path = parameter_file(tmp_path, '/**/gate:\n  ros__parameters:\n    driver_adds_gravity: "false"\n')
    assert cli.main(["serve", "ur5", "--params-file", path]) == 2
    assert capsys.readouterr().err.startswith("arm_control: driver_adds_gravity = 'false': true or false is needed")
