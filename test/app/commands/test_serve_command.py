"""``arm_control serve``: the driver in C of the examples gets torque."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from arm_control.app import cli

EXAMPLE = Path(__file__).parents[3] / "examples" / "udp_driver.c"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_driver_of_the_examples_is_answered(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program = tmp_path / "udp_driver"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, EXAMPLE], check=True)
    with subprocess.Popen([program, port, "1000000"], stdout=subprocess.PIPE, text=True) as driver:
        assert cli.main(["serve", "ur5", "--port", port, "--states", "20"]) == 0
        driver.terminate()
        output, _ = driver.communicate()
    assert output.startswith("state ")
    assert "N m" in output
    assert f"listening on 127.0.0.1 port {port}" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("ur5", "--port", "70000"), "127.0.0.1 port 70000: "),
        (("ur5", "--real-time-priority", "100"), "real_time_priority = 100"),
        ((), "name a robot or, with --scenario, a scenario"),
        (("ur5", "--scenario", "ur5_osc"), "name a robot or, with --scenario, a scenario"),
        (("--scenario", "ur4_free_fall"), "ur4_free_fall"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_sentence(words: tuple[str, ...], why: str, capsys):
    assert cli.main(["serve", *words]) == 2
    assert capsys.readouterr().err.startswith(f"arm_control: {why}")
