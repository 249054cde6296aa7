"""The page without a browser: what it shows, and what a client over the real web socket can make it command."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec.msgpack
import numpy as np
import pytest
import viser
from websockets.sync.client import connect

from arm_control import RobotModel, urdf_path
from arm_control.core import Spec
from arm_control.exceptions import InputError
from arm_control.maths import Mover, Obstacle, Pose, Span, Sphere, rotation_from_vector
from arm_control.planning import PlanRecord
from arm_control.viewer import FIELD_OF_VIEW, ArmPage, Line, Page, PageCommand, arm_parts, camera_of
from arm_control.viewer.drawings import Drawing, ShownObstacle
from arm_control.viewer.guard import cookie_name
from arm_control.viewer.panel import COMMAND_TYPES, VIEW_COMMANDS, PageCommandQueue, slider_ends, slider_range
from arm_control.viewer.plots import History
from arm_control.viewer.server import name_of

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
HERE = Pose(np.eye(3), np.array([0.4, 0.1, 0.3]))
BALL = ShownObstacle(((Sphere(0.1), Pose(np.eye(3), np.zeros(3))),), HERE, (1.0, 0.0, 0.0, 1.0), "ball")


BOX = Drawing("lines", HERE, np.eye(3)[:2], (1.0, 0.0, 0.0, 1.0), is_movable=True)


@pytest.fixture(params=[True, False], ids=["control", "read-only"])
def either(request: pytest.FixtureRequest, ur5: RobotModel) -> Iterator[Page]:
    with filled(request.param, ur5) as page:
        yield page


@pytest.fixture
def page(ur5: RobotModel) -> Iterator[Page]:
    with filled(True, ur5) as page:
        yield page


@contextmanager
def filled(control: bool, model: RobotModel) -> Iterator[Page]:
    """A page with an arm, a target, an obstacle, a box that can be moved and a gain."""
    page = Page(control)
    try:
        page.set_arm(model, arm_parts(model)[0])
        X = page.scene.set_joints(HOME)
        page.scene.set_target(X)
        page.panel.show_target(X)
        page.scene.set_obstacles({("viewer", 1): BALL})
        page.scene.set_drawings({"cell": BOX})
        page.panel.set_gains("osc", {"kp_linear": (200.0, Spec("stiffness", lower=0.0))})
        yield page
    finally:
        page.close()


@contextmanager
def client(page: Page) -> Iterator[Callable[..., None]]:
    """Somebody with the token who says what no page would; yields what sends a message."""
    port = page.server.get_port()
    headers = {"Cookie": f"{cookie_name(port)}={page.guard.token}"}
    protocol: Any = f"viser-v{viser.__version__}"
    origin: Any = f"http://localhost:{port}"
    with connect(
        f"ws://localhost:{port}",
        origin=origin,
        additional_headers=headers,
        subprotocols=[protocol],
        max_size=None,
        max_queue=None,
    ) as socket:
        camera = {"wxyz": (1.0, 0.0, 0.0, 0.0), "position": (1.0, 1.0, 1.0), "fov": 0.7, "near": 0.1, "far": 100.0,
                  "image_height": 100, "image_width": 100, "look_at": (0.0, 0.0, 0.0),
                  "up_direction": (0.0, 0.0, 1.0)}  # fmt: skip

        def send(kind: str, **fields: Any) -> None:
            socket.send(msgspec.msgpack.encode({"type": kind, **fields}))

        send("ViewerCameraMessage", **camera)
        until(lambda: page.is_open)
        yield send


def until(done: Callable[[], Any]) -> Any:
    """Wait for the server's threads; fail after a long time."""
    end = time.monotonic() + 120.0
    while not (result := done()):
        assert time.monotonic() < end, "waited 120 s"
        time.sleep(0.005)
    return result


def uuid(handle: Any) -> str:
    return handle._impl.uuid


def set_value(send: Callable[..., None], handle: Any, value: Any) -> None:
    send("GuiUpdateMessage", uuid=uuid(handle), updates={"value": value})


def move(send: Callable[..., None], name: str, *positions: tuple[float, ...]) -> None:
    """Drag a gizmo by its name."""

    send("TransformControlsDragStartMessage", name=name)
    for position in positions:
        send("TransformControlsUpdateMessage", name=name, wxyz=(1.0, 0.0, 0.0, 0.0), position=position)
    send("TransformControlsDragEndMessage", name=name)


def collected(page: Page, n: int) -> list[PageCommand]:
    """The first wishes that come, at least n."""
    found: list[PageCommand] = []
    until(lambda: found.extend(page.commands.take()) or len(found) >= n)
    return found


# -- what may be wished ---------------------------------------------------------------------------------


def everything(page: Page, send: Callable[..., None]) -> None:
    """Try all that a page can do; a joint's slider comes last, as it always passes."""
    names = [name for name in page.server.scene._handle_from_node_name if name.startswith("/obstacles/")]
    move(send, "/target", (0.1, 0.2, 0.3))
    move(send, min(names, key=len), (0.4, 0.5, 0.6))
    move(send, "/drawn/0", (0.4, 0.5, 0.6))
    for handle in list(page.server.gui._gui_input_handle_from_uuid.values()):
        if handle not in page.panel.joints.values():
            old = handle.value
            set_value(send, handle, tuple(x + 0.01 for x in old) if isinstance(old, tuple) else old)
            if isinstance(old, float):
                set_value(send, handle, old * 0.5)
            if isinstance(old, str):
                for option in handle.options:
                    set_value(send, handle, option)
    set_value(send, page.panel.joints["elbow_joint"], 0.7)


def test_a_page_that_only_looks_wishes_for_nothing_but_its_picture(either: Page):
    with client(either) as send:
        everything(either, send)
        found: list[PageCommand] = []
        until(lambda: found.extend(either.commands.take()) or PageCommand("joint", "elbow_joint", 0.7) in found)
    kinds = {command.type for command in found}
    if either.guard.control:
        assert kinds == set(COMMAND_TYPES)
    else:
        assert kinds == {"joint"}


def test_the_box_itself_refuses_what_a_page_that_only_looks_may_not():
    for control in (True, False):
        box = PageCommandQueue(control)
        for kind in COMMAND_TYPES:
            box.put(kind)
        assert [command.type for command in box.take()] == list(COMMAND_TYPES if control else VIEW_COMMANDS)
    with pytest.raises(ValueError, match="no command 'torque'"):
        PageCommandQueue(True).put("torque")


def test_a_drag_is_a_wish_in_the_order_of_its_places(page: Page):
    with client(page) as send:
        move(send, "/target", (0.1, 0.0, 0.0), (0.2, 0.0, 0.0), (np.nan, 0.0, 0.0), (0.25, 0.0), (0.3, 0.0, 0.0))
        found = collected(page, 4)
    assert [(command.type, command.name) for command in found] == [("target", "target")] * 4
    np.testing.assert_allclose([command.value.p[0] for command in found], [0.1, 0.2, 0.3, 0.3])


def test_what_is_dragged_is_moved_by_nobody_else(page: Page, monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr("arm_control.viewer.space.time.monotonic", lambda: now[0])
    with client(page) as send:
        send("TransformControlsDragStartMessage", name="/target")
        send("TransformControlsUpdateMessage", name="/target", wxyz=(1.0, 0.0, 0.0, 0.0), position=(0.1, 0.2, 0.3),
             )  # fmt: skip
        collected(page, 1)
        page.scene.set_target(HERE)
        np.testing.assert_allclose(page.scene._target.position, (0.1, 0.2, 0.3))
        send("TransformControlsDragEndMessage", name="/target")
        collected(page, 1)
        until(lambda: page.scene._hold_ends["target"] < np.inf)
        page.scene.set_target(HERE)
        np.testing.assert_allclose(page.scene._target.position, (0.1, 0.2, 0.3))
        now[0] += 1.0
        page.scene.set_target(HERE)
    np.testing.assert_allclose(page.scene._target.position, HERE.p)


def test_what_no_page_would_say_changes_nothing_on_the_page(page: Page):
    """Nor ends who shows it: afterwards everything can be shown as before."""
    with client(page) as send:
        set_value(send, page.panel._target, (0.5, 0.1))
        set_value(send, page.panel._target, "12")
        set_value(send, page.panel.gains["kp_linear"], "nan")
        set_value(send, page.panel.gains["kp_linear"], np.inf)
        set_value(send, page.panel._simulator_controls[0], ["pause"])
        send("TransformControlsUpdateMessage", name="/target", wxyz=(1.0, 0.0, 0.0), position=(0.1, 0.2, 0.3))
        send("TransformControlsUpdateMessage", name="/target", wxyz=(1.0, 0.0, 0.0, 0.0), position="abc")
        set_value(send, page.panel.joints["elbow_joint"], 0.7)
        assert collected(page, 1) == [PageCommand("joint", "elbow_joint", 0.7)]
    page.panel.show_target(HERE)
    page.scene.set_target(HERE)
    page.panel.show_gain("kp_linear", 250.0)
    np.testing.assert_allclose(page.scene._target.position, HERE.p)
    np.testing.assert_allclose(page.panel._target.value, HERE.p)


def test_a_target_that_is_typed_keeps_its_orientation(page: Page):
    turned = Pose(rotation_from_vector([0.1, 0.2, 0.3]), HERE.p)
    page.panel.show_target(turned)
    with client(page) as send:
        set_value(send, page.panel._target, (0.5, 0.1, 0.3))
        (command,) = collected(page, 1)
        page.panel.show_target(turned)
    np.testing.assert_allclose(command.value.p, [0.5, 0.1, 0.3])
    np.testing.assert_allclose(command.value.R, turned.R)
    assert page.panel._target.value == (0.5, 0.1, 0.3), "what was typed stays until others have heard of it"


def test_a_list_of_targets_is_stopped_at_the_one_that_is_shown(page: Page):
    page.panel.show_target(HERE)
    with client(page) as send:
        set_value(send, page.panel._stop, True)
        (command,) = collected(page, 1)
    assert (command.type, command.name) == ("target", "target")
    np.testing.assert_array_equal(command.value.p, HERE.p)
    np.testing.assert_array_equal(command.value.R, HERE.R)


# -- what is shown --------------------------------------------------------------------------------------


def test_every_part_of_the_arm_is_where_its_link_is(page: Page, ur5: RobotModel):
    X_WE = page.scene.set_joints(HOME + 0.1)
    np.testing.assert_allclose(X_WE.p, ur5.pose(HOME + 0.1).p)
    assert len(page.scene._links) >= 6
    for link, handle in page.scene._links.items():
        np.testing.assert_allclose(handle.position, ur5.pose(HOME + 0.1, link).p, atol=1e-5)
        w, x, y, z = handle.wxyz
        R = ur5.pose(HOME + 0.1, link).R
        np.testing.assert_allclose([1 - 2 * (y * y + z * z), 2 * (x * y + w * z)], R[:2, 0], atol=1e-4)


def test_another_robot_takes_the_place_of_the_arm(page: Page):
    planar = RobotModel.from_urdf(urdf_path("planar3"))
    page.set_arm(planar, arm_parts(planar)[0])
    assert list(page.panel.joints) == list(planar.joint_names)
    assert not [name for name in page.server.scene._handle_from_node_name if "forearm" in name]


def test_drawings_of_every_kind_come_move_and_go(page: Page):
    line = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    kinds = {"arrow": line[:2], "lines": line[:2], "points": line, "mesh": line, "text": line[:0]}
    page.scene.set_drawings({k: Drawing(k, HERE, p, (1.0, 0.0, 0.0, 0.5), text="hello") for k, p in kinds.items()})
    handles = {key: handle for key, (_, handle) in page.scene._drawings.items()}
    there = Pose(np.eye(3), np.ones(3))
    page.scene.set_drawings({k: Drawing(k, there, p, (1.0, 0.0, 0.0, 0.5), text="hello") for k, p in kinds.items()})
    assert handles == {key: handle for key, (_, handle) in page.scene._drawings.items()}, "what moves is not made anew"
    np.testing.assert_allclose([handle.position for handle in handles.values()], 1.0)
    page.scene.set_drawings({})
    assert not [name for name in page.server.scene._handle_from_node_name if name.startswith("/drawn/")]


def test_a_drawing_that_may_be_moved_is_dragged_and_stays_where_it_was_put(page: Page):
    with client(page) as send:
        move(send, "/drawn/0", (0.1, 0.2, 0.3))
        found = collected(page, 2)
    assert {(command.type, command.name) for command in found} == {("constraint", "cell")}
    np.testing.assert_allclose([command.value.p for command in found], [(0.1, 0.2, 0.3)] * 2)
    page.scene._hold_ends["cell"] = np.inf
    acting = {"cell": replace(BOX, rgba=(0.0, 1.0, 0.0, 1.0))}
    page.scene.set_drawings(acting)
    np.testing.assert_allclose(page.scene._drawings["cell"][1].position, (0.1, 0.2, 0.3))
    page.scene._hold_ends.clear()
    page.scene.set_drawings(acting)
    np.testing.assert_allclose(page.scene._drawings["cell"][1].position, HERE.p)
    page.scene.set_drawings({})
    assert not [name for name in page.server.scene._handle_from_node_name if name.startswith("/drawn/")]


def test_drawings_that_change_all_the_time_leave_nothing_behind(page: Page):
    """viser keeps what it sends, for pages to come: lines that come and go for hours must not pile up."""
    kept = page.server._websock_server._broadcast_buffer.message_from_id

    def show(i: int) -> int:
        lines = {k: Drawing("lines", HERE, np.full((2, 3), float(i + k)), (1.0, 0.0, 0.0, 1.0)) for k in range(i % 4)}
        arrow = {"force": Drawing("arrow", HERE, np.eye(3)[:2] * (i + 1.0), (1.0, 0.0, 0.0, 1.0))}
        page.scene.set_drawings({**lines, **(arrow if i % 3 else {})})
        return len(kept)

    sizes = [show(i) for i in range(120)]
    assert max(sizes[60:]) == max(sizes[12:60])


def test_the_trace_goes_on_where_the_arm_moves_and_is_forgotten(page: Page):
    names = page.server.scene._handle_from_node_name
    for x in (0.0, 0.001, 0.01, 0.02):
        page.scene.add_to_trace(np.array([x, 0.0, 0.0]))
    np.testing.assert_allclose(names["/trace"].points[:, :, 0], [[0.0, 0.01], [0.01, 0.02]], atol=1e-6)
    page.scene.clear_trace()
    assert "/trace" not in names
    page.scene.set_path(np.eye(3))
    assert names["/path"].points.shape == (2, 2, 3)
    page.scene.set_path(np.zeros((0, 3)))
    assert "/path" not in names


def test_words_of_others_are_shown_as_words(page: Page):
    page.panel.set_status({"osc": Line("<script>alert(1)</script>", figure="<script>")})
    page.panel.notify("<b>bad</b>", True)
    shown = page.panel._status.content + page.panel._note.content
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;" in shown


@pytest.mark.parametrize(
    ("is_bad", "line", "seconds", "stays"),
    [
        (False, Line("BRAKED", 2, "99 Hz"), 4.9, True),
        (False, Line("BRAKED", 2, "99 Hz"), 5.1, False),
        (False, Line("passing commands", 2), 1.9, True),
        (False, Line("passing commands", 2), 2.1, False),
        (False, Line("BRAKED", 1), 2.1, False),
        (True, Line("passing commands"), 4.9, True),
        (True, Line("passing commands"), 5.1, False),
    ],
)
def test_a_note_goes_with_time_and_a_good_one_with_the_status(
    page: Page, monkeypatch: pytest.MonkeyPatch, is_bad: bool, line: Line, seconds: float, stays: bool
):
    now = [100.0]
    monkeypatch.setattr("arm_control.viewer.panel.time.monotonic", lambda: now[0])
    page.panel.set_status({"osc": Line("BRAKED", 2, "100 Hz")})
    page.panel.notify("a note", is_bad)
    page.panel.set_status({"osc": Line("BRAKED", 2, "100 Hz")})
    assert "a note" in page.panel._note.content
    now[0] += seconds
    page.panel.set_status({"osc": line})
    assert ("a note" in page.panel._note.content) is stays


@pytest.mark.parametrize("there", [(True, False, False), (False, True, False), (False, False, True)])
def test_only_what_has_an_effect_is_there(either: Page, there: tuple[bool, bool, bool]):
    panel, scene = either.panel, either.scene

    def shown() -> tuple[bool, ...]:
        buttons = (*panel._simulator_controls, panel._enable, panel._stop) if either.guard.control else ()
        return tuple(handle.visible for handle in (*buttons, panel._target))

    assert not any(shown())
    either.offer(*there)
    simulator, gate, target = there
    assert shown() == ((simulator, simulator, gate, target, target) if either.guard.control else (target,))
    assert scene._target.visible is target
    either.offer(False, False, False)
    assert not any((*shown(), scene._target.visible))


def test_a_joint_that_is_a_length_says_so(page: Page):
    page.panel.set_joints(["lift", "turn"], np.array([0.01234, -np.pi]), np.array([0.5, np.inf]), {"lift"})
    sliders = page.panel.joints
    assert {name: slider.label for name, slider in sliders.items()} == {"lift": "lift [m]", "turn": "turn"}
    assert (sliders["lift"].min, sliders["lift"].max) == (0.013, 0.5)
    assert (sliders["turn"].min, sliders["turn"].max) == (-3.141, 6.283)
    assert slider_ends(0.0001, 0.0002) == (0.0001, 0.0002)


def test_neurons_are_there_when_there_are_some(page: Page):
    neurons = page.neurons
    neurons.draw()
    assert neurons.picture is None
    assert not neurons.position.handle.visible
    counts = np.zeros((6, 50))
    counts[0, 10], counts[5, 49] = 1.0, 2.0
    neurons.add_spikes(counts)
    neurons.add_state(1.0, np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]))
    neurons.draw()
    assert [float(row[-1]) for row in neurons.position.handle.data] == [1.0, 0.1, 0.3, 0.5, 0.2, 0.4, 0.6]
    picture = neurons.picture.image
    assert picture.shape == (18, 400, 3)
    fired = np.argwhere((picture < 255).any(axis=2))
    assert sorted(map(tuple, fired.tolist())) == [(0, 360), (1, 360), (15, 399), (16, 399)]
    assert not np.array_equal(picture[0, 360], picture[15, 399]), "each axis has its colour"
    neurons.add_spikes(np.ones((6, 1)))
    neurons.draw()
    assert (neurons.picture.image[0, 359] < 255).any(), "time goes on"
    assert (neurons.picture.image[:, 399] < 255).any(axis=1).sum() == 12
    neurons.add_spikes(np.ones((500, 1000)))
    neurons.draw()
    assert neurons.picture.image.shape == (360, 400, 3), "no message makes it larger than the page"


# -- the camera -------------------------------------------------------------------------------------------

ROBOTS = ("panda", "planar1", "ur5")


def share_of_the_picture(model: RobotModel, aspect: float) -> tuple[float, float]:
    """How far from the middle a pinhole camera sees the outermost point: 1 is at the border."""
    q, parts = np.clip(np.zeros(model.nq), model.q_min, model.q_max), arm_parts(model)[0]
    poses = [(model.pose(q, part.link), part.mesh.corners) for part in parts]
    points = np.vstack([corners @ X.R.T + X.p for X, corners in poses])
    camera, look_at = camera_of(model, parts)
    ahead = (look_at - camera) / np.linalg.norm(look_at - camera)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    r = points - camera
    depth = r @ ahead
    assert (depth > 0.0).all()
    x, y = r @ right / depth, r @ np.cross(right, ahead) / depth
    border = np.tan(FIELD_OF_VIEW / 2)
    return float(np.abs(x).max() / border / aspect), float(np.abs(y).max() / border)


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_camera_sees_the_whole_arm_beside_the_panels(robot: str):
    shares = share_of_the_picture(RobotModel.from_urdf(urdf_path(robot)), 612 / 800)
    assert max(shares) < 0.95
    assert max(shares) > 0.4, "and not from too far away"


# -- gains and curves -------------------------------------------------------------------------------------


def test_a_gain_that_others_set_beyond_the_slider_is_shown(page: Page):
    page.panel.show_gain("kp_linear", 5000.0)
    slider = page.panel.gains["kp_linear"]
    assert (slider.value, slider.max) == (5000.0, 5000.0)
    page.panel.show_gain("unknown", 1.0)


@pytest.mark.parametrize(
    ("value", "spec", "expected"),
    [
        (1.0, Spec("", lower=0.1, upper=10.0), (0.1, 10.0)),
        (200.0, Spec("", lower=0.0), (0.0, 800.0)),
        (0.0, Spec("", lower=0.0), (0.0, 1.0)),
        (0.0005, Spec("", lower=0.0), (0.0, 0.002)),
        (-2.0, None, (-8.0, 0.0)),
        (20.0, Spec("", upper=10.0), (0.0, 20.0)),
    ],
)
def test_a_slider_goes_between_the_bounds_of_its_parameter(value: float, spec: Spec | None, expected: Any):
    low, high = slider_range(value, spec)
    assert low <= value <= high
    assert low < high
    assert (low, high) == expected or spec is None


def test_a_history_keeps_what_is_new_and_begins_anew_with_time():
    history = History(seconds=1.0, step=0.1)
    for i in range(200):
        history.add(0.02 * i, {"a": float(i)})
    times, a, b = history.curves(["a", "b"])
    assert 9 <= times.size <= 11
    assert times[-1] - times[0] <= 1.0
    np.testing.assert_allclose(np.diff(times), 0.1, atol=0.021)
    np.testing.assert_allclose(a, times / 0.02)
    assert not b.any()
    history.add(times[-1] + 0.1, {"b": 5.0})
    _, a, b = history.curves(["a", "b"])
    assert (a[-1], set(b)) == (a[-2], {5.0}), "a curve has no gap: it would lose its scale"
    history.add(0.0, {"a": 7.0})
    assert history.curves(["a"])[1].tolist() == [7.0]


def test_plots_show_error_in_mm_and_degrees_and_the_torque_of_the_chosen_joint(page: Page):
    plots = page.plots
    plots.joint.value = "elbow_joint"
    tau = {"elbow_joint": 3.0, "wrist_1_joint": 4.0}
    plots.add(1.0, {"position_error": 0.002, "orientation_error": np.pi, "condition_number": np.inf}, {"task": tau})
    plots.draw()
    assert [float(row[-1]) for row in plots._error.handle.data] == [1.0, 2.0, 180.0]
    assert [float(row[-1]) for row in plots._torque.handle.data] == [1.0, 3.0]
    shown = [plot.handle.visible for plot in (plots._error, plots._torque, plots._condition, plots._distance)]
    assert shown == [True, True, False, False], "a plot without a number is not there"


# -- plans -----------------------------------------------------------------------------------------


def test_a_plan_is_shown_at_the_time_of_the_slider(either: Page, ur5: RobotModel):
    view, draw = either.plan, either.server.scene
    names = lambda: {name for name in draw._handle_from_node_name if name.startswith("/plan")}  # noqa: E731
    view.update()
    assert not names()
    flying = Mover(Obstacle(Sphere(0.1), HERE, (0.0, 0.0, 0.1, 0.0, 0.0, 0.0)), Span(0.0, 1.5))
    qs = np.array([HOME, HOME + 0.5])
    record = PlanRecord("ur5", np.array([0.0, 2.0]), qs, (flying,), "tool0", np.stack([qs, qs + 0.1]))
    view.show(record)
    assert {"/plan/line", "/plan/tree", "/plan/obstacle_0/shape"} <= names()
    slider, play, arm, tree = controls = (view._time, view._play, view._has_arm, view._has_tree)
    assert {name_of(control) for control in controls} <= either.guard.harmless
    view.update(1.0)
    assert slider.value == pytest.approx(1.0), "the time of a motion that is executed"
    ball = draw._handle_from_node_name["/plan/obstacle_0"]
    np.testing.assert_allclose(ball.position, HERE.p + [0.0, 0.0, 0.1], atol=1e-6)
    np.testing.assert_allclose(
        draw._handle_from_node_name["/plan/wrist_1_link"].position,
        ur5.pose(HOME + 0.25, "wrist_1_link").p,
        atol=2e-3,
    )
    play.value, slider.value, arm.value, tree.value = False, 1.9, False, False
    view.update(1.0)
    assert slider.value == 1.9, "somebody has stopped it"
    assert not ball.visible, "its span is over"
    assert not draw._handle_from_node_name["/plan/wrist_1_link"].visible
    assert not draw._handle_from_node_name["/plan/tree"].visible
    view.show(PlanRecord("ur5", np.zeros(1), HOME[None]))
    view.update()
    assert "/plan/obstacle_0" not in names()
    either.set_arm(ur5, arm_parts(ur5)[0])
    assert not names(), "another arm has no plan"


def test_a_plan_by_itself_is_of_the_robot_that_it_names(ur5: RobotModel):
    record = PlanRecord("ur5", np.array([0.0, 1.0]), np.array([HOME, HOME + 0.1]))
    view = ArmPage(ur5, urdf_path("ur5"), 0, record)
    try:
        view.update()
        np.testing.assert_array_equal(view.q, HOME)
    finally:
        view.page.close()
    with pytest.raises(InputError, match="a plan of 2 joints; 'ur5' has 6"):
        ArmPage(ur5, urdf_path("ur5"), 0, PlanRecord("planar2", np.zeros(1), np.zeros((1, 2))))


def test_enable_can_be_pressed_only_where_a_gate_may_be_braked(page: Page):
    enable = page.panel._enable
    assert not enable.disabled
    for braked in (False, True):
        page.panel.set_braked(braked)
        assert enable.disabled is not braked


def test_plots_are_there_when_there_is_something_to_plot(page: Page):
    plots = page.plots
    assert not page._side_panel.visible
    page.plot(1.0, {"position_error": 0.1}, {})
    assert (page._side_panel.visible, plots._folder.visible) == (True, False)
    page.plot(2.0, {}, {"task": {"elbow_joint": 1.0}})
    assert plots._folder.visible


def test_obstacles_come_move_change_and_go(page: Page):
    scene, key = page.scene, ("viewer", 1)
    first = scene._obstacles[key][1]
    scene.set_obstacles({key: BALL._replace(X=Pose(np.eye(3), np.ones(3)))})
    assert scene._obstacles[key][1] is first
    np.testing.assert_allclose(first.position, 1.0)
    scene.set_obstacles({key: BALL._replace(appearance="another")})
    assert scene._obstacles[key][1] is not first
    scene.set_obstacles({})
    assert not [name for name in page.server.scene._handle_from_node_name if name.startswith("/obstacles/")]
