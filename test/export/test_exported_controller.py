"""Exported controllers: the C that is written is compiled, run, and compared with the same calls in Python."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest
from exported_library import SANITIZERS, Walk, run

from arm_control.export import ExportedController, PythonController, exported_controller, write_folder
from arm_control.export.c_folder import SHIFT
from arm_control.faults import CC, CPU, CController, compile_c, library_of
from arm_control.maths import Array, Pose
from arm_control.motion import Reference
from arm_control.simulation import Scenario

ARM_CC = shutil.which("aarch64-linux-gnu-gcc") or ""
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static") or ""
NEEDS_CC = pytest.mark.skipif(CC is None, reason="there is no C compiler")
LIBM = {"sin", "cos", "sincos", "atan2", "fma", "rint"}
STAND_INS = Path(__file__).parent / "stand_ins"
HOLDING, PASSING, BRAKING = range(3)
RATE_LIMIT = 22
"""Place of the rate limit among the numbers of the parameters: behind 22 gains of three joints."""
NO_CAUSE, NO_COMMAND, NO_STATE, IMPOSSIBLE_STATE, ASKED, NO_TIME, BROKEN_CONSTRAINT, NOT_READY = range(8)


def scenario_of(robot: str, parameters: dict[str, object] | None = None) -> Scenario:
    return Scenario(robot, "", robot, {"osc": parameters or {}})


@pytest.fixture(scope="module")
def controller() -> ExportedController:
    """An arm whose law has both kernels."""
    return exported_controller(scenario_of("planar3", {"max_missed": 4}))


@pytest.fixture(scope="module")
def folder(controller: ExportedController, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export")
    write_folder(path, controller, [CPU, "x86-64", "aarch64"])
    return path


def symbols(path: Path, *options: str) -> set[str]:
    done = run("nm", *options, path)
    return {line.split()[-1] for line in done.stdout.splitlines() if line}


# -- what is written


@NEEDS_CC
@pytest.mark.processes
def test_the_check_finds_the_torque_of_python_and_notices_another_one(folder: Path, tmp_path: Path):
    for cpu, options in ((CPU, SANITIZERS), ("x86-64", ())):
        check = compile_c(folder, f"check_{cpu}", *options, "check.c", "planar3_osc.c", f"planar3_osc_{cpu}.o")
        done = run(check)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith("120 ticks")
    for name in ("check.c", "check.h", "planar3_osc.c", "planar3_osc.h", f"planar3_osc_{CPU}.o"):
        shutil.copy(folder / name, tmp_path)
    source = tmp_path / "planar3_osc.c"
    source.write_text(source.read_text().replace(".kp_linear = ", ".kp_linear = 1.0001 * "))
    assert run(compile_c(tmp_path, "check", "check.c", source, f"planar3_osc_{CPU}.o")).returncode == 1


@pytest.mark.skipif(not (ARM_CC and QEMU), reason="there is no aarch64-linux-gnu-gcc, or no qemu-aarch64")
def test_the_check_finds_it_on_another_processor(folder: Path):
    done = run(ARM_CC, "-static", "check.c", "planar3_osc.c", "planar3_osc_aarch64.o", "-lm", "-o", "arm", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert run(QEMU, folder / "arm").returncode == 0


@pytest.mark.skipif(shutil.which("nm") is None, reason="there is no nm")
@pytest.mark.parametrize("cpu", [CPU, "x86-64", "aarch64"])
def test_an_object_file_needs_libm_only_and_writes_no_globals(folder: Path, cpu: str):
    path = folder / f"planar3_osc_{cpu}.o"
    assert symbols(path, "-u") <= LIBM
    assert symbols(path, "-g", "--defined-only") == {
        f"planar3_osc_step_{name}" for name in ("regular", "all", "limits", "joint_rows")
    }
    assert path.read_bytes()[18] == (183 if cpu == "aarch64" else 62), "it is for its processor"
    kinds = run("nm", path).stdout
    assert not [line for line in kinds.splitlines() if line.split()[-2] in "bBdDcC"]


@NEEDS_CC
@pytest.mark.parametrize("option", ["-ffast-math", "-ffinite-math-only"])
def test_arithmetic_without_nan_is_refused(folder: Path, option: str):
    done = run(CC, option, "-fsyntax-only", "planar3_osc.c", cwd=folder)
    assert done.returncode != 0
    assert "states that are not numbers must be found" in done.stderr


@NEEDS_CC
def test_two_controllers_are_in_one_program(folder: Path):
    other = folder / "other"
    write_folder(other, exported_controller(scenario_of("planar2"), "left_arm"), [CPU])
    (folder / "both.c").write_text(
        '#include "planar3_osc.h"\n#include "other/left_arm.h"\n'
        "int main(void) { planar3_osc_controller a; left_arm_controller b;"
        " return planar3_osc_init(&a, 0) || left_arm_init(&b, 0); }\n"
    )
    parts = ["both.c", "planar3_osc.c", f"planar3_osc_{CPU}.o", other / "left_arm.c", other / f"left_arm_{CPU}.o"]
    compile_c(folder, "both", *parts)


@NEEDS_CC
@pytest.mark.processes
def test_the_example_moves_the_arm_as_python_does(folder: Path, controller: ExportedController):
    mujoco = pytest.importorskip("mujoco")
    from arm_control.simulation import MujocoSimulator, save_mujoco_model

    home = Path(mujoco.__file__).parent
    (library,) = home.glob("libmujoco.so*")
    save_mujoco_model(folder / "arm.mjb", controller.model, controller.period)
    sources = ["main.c", "planar3_osc.c", f"planar3_osc_{CPU}.o", f"-isystem{home / 'include'}", library]
    example = compile_c(folder, "example", *sources, f"-Wl,-rpath,{home}")
    done = run(example, "arm.mjb", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""

    python = PythonController(controller)
    simulator = MujocoSimulator(controller.model, controller.start, timestep=controller.period)
    X = controller.model.pose(simulator.q)
    for _ in range(2000):
        python.tick(simulator.q, simulator.v, controller.period)
        simulator.step(python.tau)
        python.reference = Reference(Pose(X.R, X.p + SHIFT))
    q = np.array(done.stdout.split("\n")[0].split()[2:], dtype=float)
    assert np.abs(q - controller.start).max() > 0.01
    assert np.abs(q - simulator.q).max() < 1e-9


NEEDS_CXX = pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
INTERFACES = pytest.mark.parametrize(
    "options", [(), pytest.param(("-DOLD_INTERFACES",), marks=pytest.mark.campaign)], ids=["new", "old"]
)


def compile_plugin(folder: Path, program: str, options: tuple[str, ...]) -> Path:
    """Compile the plugin with stand-ins for ROS and a program that runs it; return that."""
    compile_c(folder, "rules.o", "-c", "planar3_osc.c")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", *options, f"-I{STAND_INS}", "-I."]
    parts = [STAND_INS / f"{program}.cpp", "rules.o", f"planar3_osc_{CPU}.o", "-lm", "-o", program]
    done = run("c++", *flags, *parts, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / program


@NEEDS_CXX
@INTERFACES
@pytest.mark.processes
def test_the_plugin_lives_and_ends_as_it_should(folder: Path, options: tuple[str, ...]):
    done = run(compile_plugin(folder, "run_lifecycle", (*options, "-g", "-fsanitize=address,undefined")))
    assert "wrong" not in done.stdout
    assert (done.returncode, done.stderr) == (0, "")
    for sentence in (
        "update_rate is 500 Hz; gains and limits were made for 1000 Hz",
        "target_pose is dropped: the controller is not active",
        "target_pose is dropped: the gate brakes, call ~/enable first",
    ):
        assert f"warning: {sentence}" in done.stdout


@NEEDS_CXX
@INTERFACES
@pytest.mark.processes
def test_the_plugin_runs_with_stand_ins_for_ros(folder: Path, controller: ExportedController, options: tuple[str, ...]):
    program = compile_plugin(folder, "run_controller", options)
    lines = run(program).stdout.splitlines()
    assert lines[0].split() == [f"{name}/effort" for name in controller.model.joint_names]
    assert lines[1].split() == [
        f"{name}/{x}" for name in controller.model.joint_names for x in ("position", "velocity")
    ]
    texts = [line for line in lines if line.startswith(("warning", "error"))]
    assert texts == [
        "warning: target_pose is in 'elsewhere', needed is 'base_link'",
        "warning: target_pose is refused: it is no pose",
        "error: the gate brakes: no state for too long; call ~/enable",
    ]
    torques = {line.partition(":")[0]: line.split()[1:] for line in lines[2:] if line not in texts}
    assert torques["passing"] == plugin_torque(controller)
    assert torques["waiting"] == torques["refused"]


def plugin_torque(controller: ExportedController) -> list[str]:
    """Torque of Python after the calls that lead to ``passing``."""
    python = PythonController(controller)
    for _ in range(11):
        python.tick(controller.start, np.zeros(3), 1e-3)
    python.reference = Reference.at([0.1, 0.2, 0.0], [0.0, 0.0, 0.6, 0.8])
    for _ in range(10):
        python.tick(controller.start, np.zeros(3), 1e-3)
    return [f"{torque:.17g}" for torque in python.tau]


@NEEDS_CC
def test_the_program_of_the_page_compiles(tmp_path: Path):
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
    (tmp_path / "page.c").write_text(page.split("```c\n")[1].split("```")[0])
    write_folder(tmp_path, exported_controller(scenario_of("planar2"), "my_arm_osc"), [CPU])
    compile_c(tmp_path, "page.o", "-O2", "-c", "page.c")


# -- the rules, tick by tick


@pytest.fixture(scope="module")
def library(folder: Path) -> ctypes.CDLL:
    if CC is None:
        pytest.skip("there is no C compiler")
    return library_of(folder, "planar3_osc")


@pytest.fixture
def c(library: ctypes.CDLL, controller: ExportedController) -> CController:
    return CController(library, "planar3_osc", controller.model.nv)


def default_numbers(library: ctypes.CDLL) -> Array:
    """The parameters that were exported, as numbers; see RATE_LIMIT for one of them."""
    return np.ctypeslib.as_array((ctypes.c_double * 67).in_dll(library, "planar3_osc_defaults")).copy()


@pytest.fixture
def sent(c: CController, controller: ExportedController) -> CController:
    """A controller that has sent its arm somewhere for ten ticks."""
    X = controller.model.pose(controller.start)
    c.set_reference(Reference(Pose(X.R, X.p + 0.05)))
    for _ in range(10):
        _, status = c.tick(controller.start, np.zeros(3), 1e-3)
    assert (status.mode, status.cause) == (PASSING, NO_CAUSE)
    return c


@pytest.mark.parametrize(
    ("q", "v", "dt", "cause"),
    [
        (1e9, 0.0, 1e-3, IMPOSSIBLE_STATE),
        (0.5, 0.0, 1e-3, IMPOSSIBLE_STATE),
        (0.0, 8.0, 1e-3, IMPOSSIBLE_STATE),
        (np.nan, 0.0, 1e-3, NO_STATE),
        (0.0, 0.0, 1e-2, NO_STATE),
        (0.0, 0.0, 0.0, NO_TIME),
        (0.0, 0.0, np.nan, NO_TIME),
    ],
)
def test_the_first_cause_of_a_brake_is_kept(
    sent: CController, controller: ExportedController, q: float, v: float, dt: float, cause: int
):
    """Decisions and torque are compared with those of Python, on random states, in ``test_tick_rules``."""
    of_one = np.eye(3)[1]
    for _ in range(10):
        sent.tick(controller.start + q * of_one, v * of_one, dt)
    sent.call("brake")
    assert sent.state() == (BRAKING, cause)


def test_a_brake_ends_when_it_is_enabled(sent: CController, controller: ExportedController):
    goal = Reference(controller.model.pose(controller.start))
    sent.call("brake")
    assert sent.state() == (BRAKING, ASKED)
    assert sent.set_reference(goal) == b"the gate brakes: enable it first, then set a reference"
    status = sent.tick(controller.start, np.zeros(3), 1e-3)[1]
    assert (status.mode, status.cause) == (BRAKING, ASKED)
    sent.call("enable")
    assert sent.state() == (HOLDING, NO_CAUSE)
    for _ in range(100):
        status = sent.tick(controller.start, np.zeros(3), 1e-3)[1]
        assert (status.mode, status.cause) == (HOLDING, NO_CAUSE)  # the reference is void
    assert sent.set_reference(goal) is None
    assert sent.tick(controller.start, np.zeros(3), 1e-3)[1].mode == PASSING
    sent.call("enable")  # which ends a brake only
    assert sent.tick(controller.start, np.zeros(3), 1e-3)[1].mode == PASSING


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        (Reference(Pose(np.eye(3), np.array([np.nan, 0.0, 0.0]))), b"a number of the reference is not finite"),
        (Reference(Pose(-np.eye(3), np.zeros(3))), b"R of the reference is no rotation matrix"),
        (Reference(Pose(1.01 * np.eye(3), np.zeros(3))), b"R of the reference is no rotation matrix"),
    ],
    ids=["nan", "mirror", "scale"],
)
def test_a_wrong_reference_is_refused_and_the_one_before_remains(
    sent: CController, controller: ExportedController, reference: Reference, sentence: bytes
):
    assert sent.set_reference(reference) == sentence
    assert sent.tick(controller.start, np.zeros(3), 1e-3)[1].mode == PASSING


TASK, JOINT = b"out of bounds", b"than that of the arm"
WRONG = {
    (3, np.nan): b"kv_angular is out of bounds",
    **dict.fromkeys([(0, np.nan), (0, 0.0), (0, 1e300), (6, np.inf), (8, 1.1), (11, -1.0), (14, 0.0)], TASK),
    **dict.fromkeys([(2, 1e3), (2, 1e-3), (2, -30.0)], b"kv_linear or kv_angular is out of bounds"),
    **dict.fromkeys([(4, 50.0), (5, 50.0), (6, 0.01)], b"is too small to stop from the speed limit"),
    (16, np.nan): b"posture is not finite",
    **dict.fromkeys([(19, -3.0), (19, np.nan)], b"pulled is neither 0 nor 1"),
    **dict.fromkeys([(RATE_LIMIT, 0.5), (RATE_LIMIT, np.inf)], b"rate_limit is out of bounds"),
    **dict.fromkeys([(23, np.nan), (23, 0.5)], b"limit_damping is out of bounds"),
    **dict.fromkeys([(24, np.inf), (24, 0.01), (24, 30.0)], b"limit_stiffness is not within"),
    **dict.fromkeys([(27, -1.0), (27, np.nan)], b"velocity_gain is below zero"),
    **dict.fromkeys([(30, 0.0), (30, 1e3), (33, 1e9), (35, np.inf), (34, -1.0)], JOINT),
    **dict.fromkeys([(38, np.inf), (41, np.nan)], b"a soft limit is not finite"),
    (43, np.nan): b"the tool is not finite",
    **dict.fromkeys([(42, 5.0), (46, -1.0), (54, -0.1)], b"the tool has no rotation matrix, or a mass below zero"),
    **dict.fromkeys([(64, 0.0), (64, 201.0), (64, np.nan)], b"brake_damping is out of bounds"),
}
"""Sentences for numbers at places of the parameters: 22 gains, 20 limits, 22 of the tool, and that of the brake."""


SWITCHES = {  # the last ones are whole
    **dict.fromkeys([(0, 0), (0, 2_000_000_000)], b"max_missed is not within 1 and 1000"),
    **dict.fromkeys([(1, 77), (2, -1)], b"joint_limits or driver_adds_gravity is neither 0 nor 1"),
}


@pytest.mark.parametrize(
    ("change", "sentence", "is_whole"),
    [(*row, is_whole) for is_whole, table in enumerate((WRONG, SWITCHES)) for row in table.items()],
    ids=str,
)
def test_a_wrong_number_is_refused(
    c: CController,
    library: ctypes.CDLL,
    change: tuple[int, float],
    sentence: bytes,
    is_whole: int,
    controller: ExportedController,
):
    numbers, (place, value) = default_numbers(library), change
    (numbers[65:].view(np.int32) if is_whole else numbers)[place] = value
    fault = c.call("init", numbers.ctypes.data_as(ctypes.c_void_p))
    assert fault is not None
    assert sentence in fault
    _, status = c.tick(controller.start, np.zeros(3), 1e-3)
    assert (status.mode, status.cause, status.has_torque) == (BRAKING, NOT_READY, 0)


# -- the first torque


def test_it_begins_with_the_torque_of_the_motors(c: CController, controller: ExportedController):
    g, step = controller.model.gravity(controller.start), controller.gate.rate_limit * 1e-3
    measured = g + np.array([-20.0, 5.0, 0.25])
    assert c.call("begin_with", measured.ctypes.data_as(ctypes.c_void_p)) is None
    for _ in range(50):
        c.tick(np.full(3, np.nan), np.zeros(3), 1e-3)
    c.call("enable")
    last = measured
    for k in range(30):
        tau, status = c.tick(controller.start, np.zeros(3), 1e-3)
        assert np.abs(tau - last).max() <= step * (1.0 + 1e-9), k
        last = tau
    assert status.mode == HOLDING
    assert np.abs(tau - g).max() < 1e-9


def test_a_torque_to_begin_with_comes_in_time(c: CController, controller: ExportedController):
    nothing = np.full(3, np.nan)
    assert c.call("begin_with", nothing.ctypes.data_as(ctypes.c_void_p)) == b"a torque to begin with is not finite"
    c.tick(controller.start, np.zeros(3), 1e-3)
    fault = c.call("begin_with", np.zeros(3).ctypes.data_as(ctypes.c_void_p))
    assert fault is not None
    assert fault.startswith(b"it is too late")


# -- drivers that add gravity


def test_a_driver_that_adds_gravity_gets_the_rest(library: ctypes.CDLL, controller: ExportedController):
    numbers, model = default_numbers(library), controller.model
    whole, rest = CController(library, "planar3_osc", 3), CController(library, "planar3_osc", 3)
    numbers[65:].view(np.int32)[2] = 1
    assert rest.call("init", numbers.ctypes.data_as(ctypes.c_void_p)) is None
    walk = Walk(np.random.default_rng(5), 3)
    for k in range(60):
        states = walk.after(1e-3)
        q = states[0]
        if 30 <= k < 40:
            states = np.full(3, np.nan), np.zeros(3)
        if k == 10:
            for c in (whole, rest):
                c.set_reference(Reference(model.pose(q)))
        tau, status = whole.tick(*states, 1e-3)
        other, same = rest.tick(*states, 1e-3)
        assert status.mode == same.mode
        if not 30 <= k < 40:
            assert np.abs(other - (tau - model.gravity(q))).max() < 1e-9, k
    assert status.mode == BRAKING
