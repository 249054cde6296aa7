"""Exported controllers: the C that is written is compiled, run, and compared with the same calls in Python."""

from __future__ import annotations

import ctypes
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
from exported_library import SANITIZERS, Walk, run

from arm_control.export import ExportedController, PythonController, exported_controller, write_folder
from arm_control.export.c_folder import SHIFT
from arm_control.faults import CC, CPU, UNWRITTEN, CController, compile_c, library_of
from arm_control.gate import FADING
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
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
EFFORT_LIMITS = slice(33, 36)
NO_CAUSE, NO_COMMAND, NO_STATE, IMPOSSIBLE_STATE, ASKED, NO_TIME, NOT_READY = range(7)


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
@pytest.mark.parametrize(("cpu", "options"), [(CPU, SANITIZERS), ("x86-64", ())], ids=[CPU, "x86-64"])
def test_the_check_finds_the_torque_of_python(folder: Path, cpu: str, options: tuple[str, ...]):
    sources = ["check.c", "planar3_osc.c", f"planar3_osc_{cpu}.o"]
    check = compile_c(folder, f"check_{cpu}", *options, *sources)
    done = run(check)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("120 ticks")


@pytest.mark.skipif(not (ARM_CC and QEMU), reason="there is no aarch64-linux-gnu-gcc, or no qemu-aarch64")
def test_the_check_finds_it_on_another_processor(folder: Path):
    done = run(ARM_CC, "-static", "check.c", "planar3_osc.c", "planar3_osc_aarch64.o", "-lm", "-o", "arm", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert run(QEMU, folder / "arm").returncode == 0


@NEEDS_CC
def test_the_check_notices_another_torque(folder: Path, tmp_path: Path):
    for name in ("check.c", "check.h", "planar3_osc.c", "planar3_osc.h", f"planar3_osc_{CPU}.o"):
        shutil.copy(folder / name, tmp_path)
    source = tmp_path / "planar3_osc.c"
    source.write_text(source.read_text().replace(".kp_linear = ", ".kp_linear = 1.0001 * "))
    assert run(compile_c(tmp_path, "check", "check.c", source, f"planar3_osc_{CPU}.o")).returncode == 1


@pytest.mark.skipif(shutil.which("nm") is None, reason="there is no nm")
@pytest.mark.parametrize("cpu", [CPU, "x86-64", "aarch64"])
def test_an_object_file_needs_libm_only_and_writes_no_globals(folder: Path, cpu: str):
    path = folder / f"planar3_osc_{cpu}.o"
    assert symbols(path, "-u") <= LIBM
    assert symbols(path, "-g", "--defined-only") == {
        f"planar3_osc_step_{name}" for name in ("regular", "all", "limits")
    }
    kinds = run("nm", path).stdout
    assert not [line for line in kinds.splitlines() if line.split()[-2] in "bBdDcC"]


def test_an_object_file_is_for_its_processor(folder: Path):
    machines = {cpu: (folder / f"planar3_osc_{cpu}.o").read_bytes()[18] for cpu in (CPU, "aarch64")}
    assert machines == {CPU: 62, "aarch64": 183}


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
    assert run(compile_c(folder, "both", *parts)).returncode == 0


@NEEDS_CC
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
def test_the_benchmark_measures_every_way():
    path = Path(__file__).parents[2] / "benchmark" / "exported_tick.py"
    times = runpy.run_path(str(path))["measure"]("planar1", [CPU], 1)
    assert list(times) == ["python", CPU]
    assert all(microseconds > 0.0 for microseconds in times.values())


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


def predicted(model: RobotModel, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
    """The state a millisecond later."""
    t = model.evaluate(q, v)
    v = v + np.linalg.solve(t.M, tau - t.h) * 1e-3
    return q + v * 1e-3, v


def test_without_states_the_last_torque_goes_on_then_it_brakes_on_a_prediction(
    sent: CController, controller: ExportedController
):
    nothing, rate, model = np.full(3, np.nan), controller.gate.rate_limit, controller.model
    q, v = controller.start, np.zeros(3)
    before, _ = sent.tick(q, v, 1e-3)
    for k in range(controller.gate.max_missed):
        q, v = predicted(model, q, v, before)
        tau, status = sent.tick(nothing, np.zeros(3), 1e-3)
        assert (tau == before).all(), k
        assert (status.mode, status.state_refused) == (PASSING, 1)
    for _ in range(900):
        last = tau
        q, v = predicted(model, q, v, last)
        tau, status = sent.tick(nothing, np.zeros(3), 1e-3)
        assert (status.mode, status.cause) == (BRAKING, NO_STATE)
        assert np.abs(tau - last).max() <= rate * 1e-3 * (1.0 + 1e-9)
    assert np.abs(before - model.gravity(controller.start)).max() > 1.0
    assert np.abs(q - controller.start).max() > 1e-5
    assert np.abs(tau - model.gravity(q)).max() < 1e-5
    for _ in range(200):  # the second is over: the torque goes on
        last, _ = sent.tick(nothing, np.zeros(3), 1e-3)
    tau, _ = sent.tick(nothing, np.zeros(3), 1e-3)
    assert (tau == last).all()


@pytest.mark.parametrize("change", [(1e9, 0.0), (-1e9, 0.0), (0.5, 0.0), (0.0, 1e9), (0.0, 8.0)], ids=str)
def test_an_impossible_state_brakes_at_once(
    sent: CController, controller: ExportedController, change: tuple[float, float]
):
    q, v = (np.where(np.arange(3) == 1, x, 0.0) for x in change)
    for _ in range(10):
        _, status = sent.tick(controller.start + q, v, 1e-3)
    assert (status.mode, status.cause) == (BRAKING, IMPOSSIBLE_STATE)


def test_a_weight_beyond_the_effort_limit_is_cut(c: CController, library: ctypes.CDLL, controller: ExportedController):
    numbers, largest = default_numbers(library), np.abs(controller.model.gravity(controller.start)) / 2.0
    numbers[EFFORT_LIMITS] = largest
    c.call("init", numbers.ctypes.data_as(ctypes.c_void_p))
    for q in (controller.start, controller.start, np.full(3, np.nan)):
        tau, _ = c.tick(q, np.zeros(3), 1e-3)
        assert np.abs(np.abs(tau) - largest).max() < 1e-12


@pytest.mark.parametrize(("q", "v"), [(1e5, 0.0), (-1e5, 0.0), (0.0, 1e3), (0.0, -1e3)])
def test_an_impossible_first_state_has_no_torque(c: CController, q: float, v: float):
    tau, status = c.tick(np.full(3, q), np.full(3, v), 1e-3)
    assert (status.mode, status.cause, status.state_refused) == (BRAKING, IMPOSSIBLE_STATE, 1)
    assert not status.has_torque
    assert (tau == UNWRITTEN).all()


def braked_at(c: CController, controller: ExportedController, q: Array) -> Array:
    """How far the torque of a braked arm is from its weight, at rest, after as long as the rate limit needs."""
    for _ in range(100):
        tau, status = c.tick(q, np.zeros(3), 1e-3)
    assert status.mode == BRAKING
    return tau - controller.model.gravity(q)


def test_an_arm_is_held_where_it_comes_to_rest(c: CController, controller: ExportedController):
    X, q = controller.model.pose(controller.start), controller.start
    for _ in range(3):
        c.tick(q, np.zeros(3), 1e-3)  # it waits, and is held here
    c.set_reference(Reference(Pose(X.R, X.p)))
    for _ in range(20):
        q = q + 1e-3
        c.tick(q, np.ones(3), 1e-3)
    c.call("brake")
    assert np.abs(braked_at(c, controller, q)).max() < 1e-9
    assert np.abs(braked_at(c, controller, q + 1e-3)).max() > 1e-3  # the spring

    for n_missing, is_held in ((19, True), (20, False)):
        for _ in range(n_missing):
            c.tick(np.full(3, np.nan), np.zeros(3), 1e-3)
        spring = np.abs(braked_at(c, controller, q + 1e-3)).max()
        assert (spring > 1e-3) == is_held, n_missing  # held anew where more than 20 ms have no state


def test_a_gap_between_states_brakes(sent: CController, controller: ExportedController):
    assert sent.tick(controller.start, np.zeros(3), 3.9e-3)[1].mode == PASSING
    status = sent.tick(controller.start, np.zeros(3), 4.1e-3)[1]
    assert (status.mode, status.cause) == (BRAKING, NO_STATE)


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan, -np.inf])
def test_a_time_that_is_none_changes_no_torque(sent: CController, controller: ExportedController, dt: float):
    before, _ = sent.tick(controller.start, np.zeros(3), 1e-3)
    tau, status = sent.tick(controller.start, np.zeros(3), dt)
    assert (tau == before).all()
    assert status.rate_limited


@pytest.mark.parametrize("dt", [1e-2, 1e300, np.inf])
def test_a_long_time_changes_the_torque_by_a_quarter_more(sent: CController, controller: ExportedController, dt: float):
    before, _ = sent.tick(controller.start, np.zeros(3), 1e-3)
    tau, _ = sent.tick(controller.start, np.zeros(3), dt)
    assert np.abs(tau - before).max() <= 1.25e-3 * controller.gate.rate_limit * (1.0 + 1e-9)


def test_an_enabled_arm_is_held_where_it_is_by_the_torque_that_holds_it(c: CController, controller: ExportedController):
    model, q, at_rest = controller.model, controller.start + 1e-3, np.zeros(3)
    for _ in range(3):
        c.tick(controller.start, at_rest, 1e-3)
    c.call("brake")
    for _ in range(200):
        held, _ = c.tick(q, at_rest, 1e-3)
    stiffness = 0.25 * controller.gate.brake_damping**2
    carried = model.evaluate(q, at_rest).M @ np.full(3, -1e-3 * stiffness)
    assert np.abs(held - model.gravity(q) - carried).max() < 1e-9
    c.call("enable")
    tau, status = c.tick(q, at_rest, 1e-3)
    assert status.mode == HOLDING
    assert np.abs(tau - held).max() < 1e-9
    for _ in range(200):
        tau, _ = c.tick(q - 2e-3, at_rest, 1e-3)
    spring = model.evaluate(q - 2e-3, at_rest).M @ np.full(3, 2e-3 * stiffness)
    assert np.abs(tau - model.gravity(q - 2e-3) - carried - spring).max() < 1e-9


def test_what_a_brake_has_carried_fades_from_the_first_motion_on(c: CController, controller: ExportedController):
    model, q, at_rest = controller.model, controller.start + 1e-4, np.zeros(3)
    fresh, reference = c.another(), Reference(model.pose(controller.start + 1e-4))
    fresh.set_reference(reference)
    for _ in range(3):
        c.tick(controller.start, at_rest, 1e-3)
    c.call("brake")
    for _ in range(100):
        held, _ = c.tick(q, at_rest, 1e-3)
    c.call("enable")
    for _ in range(50):
        assert np.abs(c.tick(q, at_rest, 1e-3)[0] - held).max() < 1e-9  # however long it takes
    c.set_reference(reference)
    for _ in range(3):
        law, _ = fresh.tick(q, at_rest, 1e-3)
    for k in range(400):
        tau, status = c.tick(q, at_rest, 1e-3)
        assert status.mode == PASSING
        fading = (held - model.gravity(q)) * (FADING / (FADING + 1e-3)) ** k
        assert np.abs(tau - law - fading).max() < 1e-9, k


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


def test_the_first_cause_is_kept(sent: CController, controller: ExportedController):
    sent.tick(controller.start + 0.5, np.zeros(3), 1e-3)
    sent.call("brake")
    assert sent.state() == (BRAKING, IMPOSSIBLE_STATE)


def test_a_state_may_be_asked_for_without_its_cause(sent: CController, library: ctypes.CDLL):
    assert sent.call("state", None) == PASSING
    assert library.planar3_osc_describe(-1) == library.planar3_osc_describe(7) == library.planar3_osc_describe(0) == b""
    assert all(library.planar3_osc_describe(cause) for cause in range(1, 7))


def test_the_torque_of_a_brake_changes_as_a_whole(sent: CController, controller: ExportedController):
    before, _ = sent.tick(controller.start, np.zeros(3), 1e-3)
    sent.call("brake")
    tau, status = sent.tick(controller.start, np.zeros(3), 1e-3)
    change, left = tau - before, controller.model.gravity(controller.start) - before
    assert status.rate_limited
    assert np.abs(change).max() == pytest.approx(1e-3 * controller.gate.rate_limit, rel=1e-9)
    assert np.abs(np.cross(change, left)).max() < 1e-9 * np.linalg.norm(left)


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


@pytest.mark.parametrize(("change", "sentence"), WRONG.items(), ids=str)
def test_a_wrong_number_is_refused(
    c: CController, library: ctypes.CDLL, change: tuple[int, float], sentence: bytes, controller: ExportedController
):
    numbers, (place, value) = default_numbers(library), change
    numbers[place] = value
    fault = c.call("init", numbers.ctypes.data_as(ctypes.c_void_p))
    assert fault is not None
    assert sentence in fault
    _, status = c.tick(controller.start, np.zeros(3), 1e-3)
    assert (status.mode, status.cause, status.has_torque) == (BRAKING, NOT_READY, 0)


SOFT_LIMITS = """
#include "planar4_osc.h"
static int is_refused(int joint, double lower, double upper)
{
    planar4_osc_controller controller;
    planar4_osc_parameters parameters = planar4_osc_defaults;
    parameters.limits.lower[joint] += lower;
    parameters.limits.upper[joint] += upper;
    return planar4_osc_init(&controller, &parameters) != 0;
}
int main(void)
{
    int are_refused = is_refused(0, -1e-3, 0.0) && is_refused(3, 0.0, 1e-3) && is_refused(1, 9.0, 0.0)
                      && is_refused(2, 0.0, -9.0);
    return !are_refused || is_refused(0, 0.0, 0.0) || is_refused(1, 0.1, -0.1);
}
"""


@NEEDS_CC
def test_soft_limits_that_are_wider_or_crossed_are_refused(tmp_path: Path):
    write_folder(tmp_path, exported_controller(scenario_of("planar4")), [CPU])
    (tmp_path / "soft.c").write_text(SOFT_LIMITS)
    assert run(compile_c(tmp_path, "soft", "soft.c", "planar4_osc.c", f"planar4_osc_{CPU}.o")).returncode == 0


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (0, 0, b"max_missed is not within 1 and 1000"),
        (0, 2_000_000_000, b"max_missed is not within 1 and 1000"),
        (1, 77, b"joint_limits or driver_adds_gravity is neither 0 nor 1"),
        (2, -1, b"joint_limits or driver_adds_gravity is neither 0 nor 1"),
    ],
)
def test_a_wrong_switch_is_refused(c: CController, library: ctypes.CDLL, place: int, value: int, sentence: bytes):
    numbers = default_numbers(library)
    numbers[65:].view(np.int32)[place] = value
    assert c.call("init", numbers.ctypes.data_as(ctypes.c_void_p)) == sentence


def test_smaller_limits_are_accepted(c: CController, library: ctypes.CDLL):
    numbers = default_numbers(library)
    numbers[30:36] *= 0.5
    numbers[36:42] *= 0.9
    assert c.call("init", numbers.ctypes.data_as(ctypes.c_void_p)) is None


# -- the first torque


def test_it_begins_with_the_weight(c: CController, controller: ExportedController):
    for _ in range(3):
        tau, status = c.tick(np.full(3, np.nan), np.zeros(3), 1e-3)
        assert not status.has_torque
        assert (tau == UNWRITTEN).all()
    tau, status = c.tick(controller.start, np.zeros(3), 1e-3)
    assert status.has_torque
    assert np.abs(tau - controller.model.gravity(controller.start)).max() < 1e-9


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


def test_a_torque_to_begin_with_is_within_the_effort_limits(c: CController, controller: ExportedController):
    measured = np.full(3, 1e6)
    assert c.call("begin_with", measured.ctypes.data_as(ctypes.c_void_p)) is None
    tau, _ = c.tick(controller.start, np.zeros(3), 1e-3)
    assert (tau <= controller.model.tau_max).all()


def test_a_torque_to_begin_with_comes_in_time(c: CController, controller: ExportedController):
    nothing = np.full(3, np.nan)
    assert c.call("begin_with", nothing.ctypes.data_as(ctypes.c_void_p)) == b"a torque to begin with is not finite"
    c.tick(controller.start, np.zeros(3), 1e-3)
    fault = c.call("begin_with", np.zeros(3).ctypes.data_as(ctypes.c_void_p))
    assert fault is not None
    assert fault.startswith(b"it is too late")


# -- time


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan, -np.inf])
def test_a_time_that_stands_still_brakes(sent: CController, controller: ExportedController, dt: float):
    for k in range(controller.gate.max_missed):
        before, status = sent.tick(controller.start, np.zeros(3), dt)
        assert status.mode == PASSING, k
    step = controller.gate.rate_limit * 1e-3
    for _ in range(100):
        tau, status = sent.tick(controller.start, np.zeros(3), dt)
        assert (status.mode, status.cause) == (BRAKING, NO_TIME)
        assert np.abs(tau - before).max() <= step * (1.0 + 1e-9)
        before = tau
    assert np.abs(tau - controller.model.gravity(controller.start)).max() < 1e-9


@pytest.mark.parametrize("max_missed", [4, 19, 20, 300])
def test_missing_states_are_counted(library: ctypes.CDLL, controller: ExportedController, max_missed: int):
    for n_missed, mode in ((max_missed - 1, PASSING), (max_missed, BRAKING)):
        c, numbers = CController(library, "planar3_osc", 3), default_numbers(library)
        numbers[65:].view(np.int32)[0] = max_missed
        assert c.call("init", numbers.ctypes.data_as(ctypes.c_void_p)) is None
        c.set_reference(Reference(controller.model.pose(controller.start)))
        for _ in range(10):
            c.tick(controller.start, np.zeros(3), 1e-3)
        for _ in range(n_missed):
            c.tick(np.full(3, np.nan), np.zeros(3), 1e-3)
        assert c.tick(controller.start, np.zeros(3), 1e-3)[1].mode == mode


def test_missing_states_and_a_gap_add_up(sent: CController, controller: ExportedController):
    sent.tick(np.full(3, np.nan), np.zeros(3), 2e-3)
    assert sent.tick(controller.start, np.zeros(3), 1.9e-3)[1].mode == PASSING
    sent.tick(np.full(3, np.nan), np.zeros(3), 2e-3)
    status = sent.tick(controller.start, np.zeros(3), 2.1e-3)[1]
    assert (status.mode, status.cause) == (BRAKING, NO_STATE)


def test_no_change_exceeds_the_rate_limit_of_its_tick(library: ctypes.CDLL, controller: ExportedController):
    rng, c, walk = np.random.default_rng(3), CController(library, "planar3_osc", 3), Walk(np.random.default_rng(4), 3)
    last, before, modes = np.zeros(3), 0.0, set[int]()
    for k in range(3000):
        q, v = walk.after(1e-3)
        if k % 20 == 0:
            c.call("enable")
        if k % 20 == 5:
            c.set_reference(Reference(Pose(np.eye(3), rng.uniform(-0.2, 0.2, 3))))
        if rng.random() < 0.3:
            q = np.full(3, np.nan)
        elif rng.random() < 0.1:
            q = q + 0.1 * rng.standard_normal(3)
        tau, status = c.tick(q, v, 1e-3)
        if before:
            assert np.abs(tau - last).max() <= 1e-3 * controller.gate.rate_limit * (1.0 + 1e-9), k
        last, before = tau, status.has_torque
        modes.add(status.mode)
    assert modes == {HOLDING, PASSING, BRAKING}


# -- drivers that add gravity


def test_a_driver_that_adds_gravity_gets_the_rest(library: ctypes.CDLL, controller: ExportedController):
    numbers, model = default_numbers(library), controller.model
    whole, rest = CController(library, "planar3_osc", 3), CController(library, "planar3_osc", 3)
    numbers[65:].view(np.int32)[2] = 1
    assert rest.call("init", numbers.ctypes.data_as(ctypes.c_void_p)) is None
    walk, q, v, tau = Walk(np.random.default_rng(5), 3), *np.zeros((3, 3))
    for k in range(60):
        states = walk.after(1e-3)
        q, v = predicted(model, q, v, tau) if 30 <= k < 40 else states
        if 30 <= k < 40:
            states = np.full(3, np.nan), np.zeros(3)
        if k == 10:
            for c in (whole, rest):
                c.set_reference(Reference(model.pose(q)))
        tau, status = whole.tick(*states, 1e-3)
        other, same = rest.tick(*states, 1e-3)
        assert status.mode == same.mode
        if k < 30 or status.mode == BRAKING:  # while the last torque goes on, so does the last weight
            assert np.abs(other - (tau - model.gravity(q))).max() < 1e-9, k
    assert status.mode == BRAKING
