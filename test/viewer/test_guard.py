"""Who gets in: raw requests to a real server, each with one thing wrong; and what a page may say."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
import socket
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import msgspec.msgpack
import pytest
import viser
import websockets.asyncio.server as socket_server
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from arm_control.exceptions import ArmControlError
from arm_control.viewer.guard import MAX_MESSAGE_SIZE, Guard, cookie_name, new_token
from arm_control.viewer.server import address, close_server, open_server

Raw = Callable[..., tuple[int, dict[str, str], bytes]]


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard()


@pytest.fixture(scope="module")
def server(guard: Guard) -> Iterator[Any]:
    server = open_server(guard)
    yield server
    close_server(server)


@pytest.fixture
def port(server: Any) -> int:
    return server.get_port()


@pytest.fixture
def raw(port: int) -> Raw:
    """Send a request as it stands, and return status, headers and body."""

    def send(path: str = "/", host: str | None = None, *headers: str) -> tuple[int, dict[str, str], bytes]:
        lines = [f"GET {path} HTTP/1.1", f"Host: {host or f'127.0.0.1:{port}'}", "Connection: close", *headers]
        with socket.create_connection(("127.0.0.1", port), 10.0) as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            answer = b""
            while part := connection.recv(65536):
                answer += part
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *rest = head.decode().split("\r\n")
        return int(first.split()[1]), {k.lower(): v for k, _, v in (line.partition(": ") for line in rest)}, body

    return send


def cookie(guard: Guard, port: int, token: str = "") -> str:
    return f"{cookie_name(port)}={token or guard.token}"


# -- the page ---------------------------------------------------------------------------------------


def test_the_address_leads_to_the_page_and_is_forgotten(raw: Raw, guard: Guard, server: Any, port: int):
    path = address(server, guard).removeprefix(f"http://127.0.0.1:{port}")
    status, headers, body = raw(path)
    assert (status, headers["location"], body) == (303, "/", b"")
    given, *rest = headers["set-cookie"].split("; ")
    assert given == cookie(guard, port)
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} == set(rest)
    for _ in range(2):  # and again, as a reload does
        status, headers, body = raw("/", None, f"Cookie: {given}")
        assert status == 200
        assert b"<!doctype html>" in body[:100]


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_the_tab_has_the_title_of_the_page(raw: Raw, guard: Guard, port: int, encoding: str, monkeypatch):
    monkeypatch.setattr(guard, "title", "a<b \\1")
    _, headers, body = raw("/", None, f"Cookie: {cookie(guard, port)}", f"Accept-Encoding: {encoding}")
    assert int(headers["content-length"]) == len(body)
    text = gzip.decompress(body) if encoding == "gzip" else body
    assert re.findall(b"<title>(.*?)</title>", text) == [rb"a&lt;b /1"]


def test_the_page_may_have_nothing_from_elsewhere_and_no_frame_around_it(raw: Raw, guard: Guard, port: int):
    for answer in (raw("/", None, f"Cookie: {cookie(guard, port)}"), raw("/"), raw(f"/?token={guard.token}")):
        policy = answer[1]["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert set(re.findall(r"\w+://[^ ;]+", policy)) == {f"ws://127.0.0.1:{port}", f"ws://localhost:{port}"}
        assert (answer[1]["x-frame-options"], answer[1]["referrer-policy"]) == ("DENY", "no-referrer")


NO_TOKEN, NO_HOST, FOREIGN = b"no token: open the printed address\n", b"unknown host\n", b"foreign origin\n"
GOOD = "/?token={token}"
REFUSED: list[tuple[bytes, str, str | None, list[str]]] = [  # answer; path, host and headers
    *((NO_TOKEN, path, None, []) for path in ("/", "/index.html", "/nothing", "/?token=", "/?token=wrong", "/?x=1")),
    *((NO_TOKEN, path, None, []) for path in ("/?token=%ff", "/?token=\u00e9", f"{GOOD}&token={{token}}")),
    *(
        (NO_TOKEN, "/", None, [f"Cookie: {{name}}={wrong}"])
        for wrong in ("nonsense", "\u00e9", "a" * 5000, "", "{token}x")
    ),
    (NO_TOKEN, "/", None, ["Cookie: {other}={token}"]),
    *((NO_HOST, GOOD, host, []) for host in ("evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.2:{port}")),
    (NO_HOST, GOOD, "[::1]:{port}", []),
    (NO_HOST, GOOD, None, ["Host: evil.example:{port}"]),  # of two, neither counts
    *(
        (FOREIGN, path, None, [f"Origin: {origin}", *cookies])
        for origin in ("http://evil.example", "null", "https://127.0.0.1:{port}", "http://localhost:{port}")
        for path, cookies in ((GOOD, []), ("/", ["Cookie: {name}={token}"]))
    ),
]


@pytest.mark.parametrize(("answer", "path", "host", "headers"), REFUSED, ids=range(len(REFUSED)))
def test_nothing_is_served_without_the_token_or_to_another_host_or_origin(
    answer: bytes, path: str, host: str | None, headers: list[str], raw: Raw, guard: Guard, port: int
):
    names = {"port": port, "token": guard.token, "name": cookie_name(port), "other": cookie_name(port + 1)}
    asked = [text.format(**names) for text in (path, host or "127.0.0.1:{port}", *headers)]
    status, answered, body = raw(*asked)
    assert (status, body) == (403, answer)
    assert "set-cookie" not in answered


def test_the_host_is_this_machine_by_either_name_and_the_origin_may_be_its_own(raw: Raw, guard: Guard, port: int):
    assert raw(f"/?token={guard.token}", f"localhost:{port}")[0] == 303
    assert raw(f"/?token={guard.token}", None, f"Origin: http://127.0.0.1:{port}")[0] == 303


def test_tokens_are_long_and_never_the_same():
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(len(base64.urlsafe_b64decode(token + "==")) for token in tokens) == 32
    guard = Guard()
    assert guard.token not in repr(guard), "it would be in a log"


# -- the web socket -----------------------------------------------------------------------------------


def refused(port: int, **options: Any) -> int:
    """Status with which a web socket is refused; 0 when it is not."""
    try:
        with connect(f"ws://127.0.0.1:{port}/{options.pop('path', '')}", subprotocols=[protocol()], **options):
            return 0
    except InvalidStatus as error:
        return error.response.status_code


def protocol() -> Any:
    return f"viser-v{viser.__version__}"


def test_a_web_socket_needs_token_and_origin(guard: Guard, port: int):
    own, known = f"http://127.0.0.1:{port}", {"Cookie": cookie(guard, port)}
    assert refused(port, origin=own, additional_headers=known) == 0
    assert refused(port, origin=own) == 403
    assert refused(port, origin=own, additional_headers={"Cookie": cookie(guard, port, "wrong")}) == 403
    assert refused(port, additional_headers=known) == 403, "a browser always tells where a page is from"
    assert refused(port, origin="http://evil.example", additional_headers=known) == 403
    assert refused(port, origin=f"http://localhost:{port}", additional_headers=known) == 403
    assert refused(port, origin=own, path=f"?token={guard.token}") == 403, "not in an address, which logs keep"


def test_a_web_socket_of_another_host_is_refused(guard: Guard, port: int, raw: Raw):
    """DNS rebinding: the name of a foreign page means this machine now, and its origin is its host."""
    upgrade = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
    foreign = (f"Origin: http://evil.example:{port}", f"Cookie: {cookie(guard, port)}", *upgrade)
    assert raw("/", f"evil.example:{port}", *foreign)[0] == 403


def test_a_server_that_does_not_use_the_guard_is_closed_again(monkeypatch: pytest.MonkeyPatch):
    opened: list[Any] = []

    class Other:
        def __init__(self, **_: Any) -> None:
            opened.append(self)

        def stop(self) -> None:
            opened.remove(self)

    monkeypatch.setattr(viser, "ViserServer", Other)
    with pytest.raises(ArmControlError, match="opens its port in another way"):
        open_server(Guard())
    assert not opened


@pytest.mark.parametrize(
    ("known_here", "sentence"), [("UPDATE", "its messages do not include Renamed"), ("CONTROLS", "it has no Renamed")]
)
def test_a_version_with_other_names_is_not_served(known_here: str, sentence: str, monkeypatch: pytest.MonkeyPatch):
    """Its pages would do nothing, or say what the guard does not know."""
    closed: list[Any] = []
    monkeypatch.setattr(f"arm_control.viewer.server.{known_here}", "Renamed")
    monkeypatch.setattr("arm_control.viewer.server.close_server", closed.append)
    with pytest.raises(ArmControlError, match=f"{viser.__version__} is not served.*{sentence};.*pip install"):
        open_server(Guard())
    close_server(*closed)


def test_the_door_is_as_it_was_when_the_server_is_open(server: Any):
    assert socket_server.serve.__module__.startswith("websockets.")


def test_only_this_machine_is_listened_to(port: int):
    with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
        socket.create_connection((own_address(), port), 1.0)


def own_address() -> str:
    """Another address of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no other address")
        found = probe.getsockname()[0]
    if found.startswith("127."):
        pytest.skip("this machine has no other address")
    return found


# -- what a page may say --------------------------------------------------------------------------------

CAMERA = {"type": "ViewerCameraMessage"}
START = {"type": "TransformControlsDragStartMessage", "name": "/target"}
DRAG = {"type": "TransformControlsUpdateMessage", "name": "/target", "position": [0, 0.5, 1.0], "wxyz": [1.0, 0, 0, 0]}
SET = {"type": "GuiUpdateMessage", "uuid": "gain", "updates": {"value": 1.0}}
CHOOSE = {"type": "GuiUpdateMessage", "uuid": "joint", "updates": {"value": "elbow"}}
FORGED = {"type": "GuiUpdateMessage", "uuid": "joint", "updates": {"value": 1.0, "update_cb": []}}
SHARE = {"type": "ShareUrlRequest"}


@pytest.mark.parametrize(("control", "passed"), [(False, [CAMERA, CHOOSE]), (True, [CAMERA, START, DRAG, SET, CHOOSE])])
def test_a_page_says_what_it_may(control: bool, passed: list[Any]):
    guard = Guard(control, harmless={"joint"}, value_of={"gain": 2.0, "joint": "wrist"}.get)
    nonsense = [{"type": "Unknown"}, {}, [], None, "GuiUpdateMessage"]
    everything = [CAMERA, START, DRAG, SET, CHOOSE, FORGED, SHARE, *nonsense]
    assert [message for message in everything if guard.lets_pass(message)] == passed


NUMBERS: list[Any] = [None, "1", [], [1.0], True, float("nan"), float("inf"), {}]
"""What a slider's value is never."""


@pytest.mark.parametrize("value", NUMBERS)
def test_a_value_that_does_not_fit_its_control_is_dropped(value: Any):
    """It would be cast to something, and the next comparison with it would end the node."""
    known = {"gain": 2.0, "target": (0.0, 0.0, 0.0), "button": False, "joint": "wrist"}
    guard = Guard(True, value_of=known.get)

    def passes(name: str, value: Any) -> bool:
        return guard.lets_pass({"type": "GuiUpdateMessage", "uuid": name, "updates": {"value": value}})

    fitting = {"gain": 1, "target": [1, 2.5, 3.0], "button": True, "joint": "elbow"}
    assert all(passes(name, good) for name, good in fitting.items())
    assert not passes("gain", value)
    assert not passes("target", [0.0, value, 0.0])
    assert not passes("target", [1.0, 2.0])
    assert not passes("target", "123")
    assert not passes("joint", 1.0)
    assert not passes("nobody", 1.0)
    assert not passes([], 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", NUMBERS)
def test_a_place_that_is_none_is_dropped(value: Any):
    guard = Guard(True)
    assert guard.lets_pass(DRAG)
    for name in ("position", "wxyz"):
        assert not guard.lets_pass({**DRAG, name: value})
        assert not guard.lets_pass({**DRAG, name: [*DRAG[name][:-1], value]})  # type: ignore[index]
        assert not guard.lets_pass({k: v for k, v in DRAG.items() if k != name})


def test_what_is_dropped_does_not_reach_viser(guard: Guard, server: Any, port: int, monkeypatch: pytest.MonkeyPatch):
    """A page that may look asks for a tunnel to the outside, forges, and talks nonsense; then it turns its camera."""
    from viser._messages import Message

    heard: list[str] = []
    real = Message.deserialize.__func__

    def deserialize(cls: Any, raw: bytes) -> Any:
        heard.append(msgspec.msgpack.decode(raw)["type"])
        return real(cls, raw)

    monkeypatch.setattr(Message, "deserialize", classmethod(deserialize))
    own, known = f"http://127.0.0.1:{port}", {"Cookie": cookie(guard, port)}
    with connect(f"ws://127.0.0.1:{port}", origin=own, additional_headers=known, subprotocols=[protocol()]) as page:
        for message in (SHARE, START, DRAG, SET, FORGED):
            page.send(msgspec.msgpack.encode(message))
        page.send(b"\xc1 nonsense")
        page.send(b"\x91" * 10_000)  # a list in a list in a list
        page.send(json.dumps(CAMERA))
        page.send(msgspec.msgpack.encode({**CAMERA, "wxyz": 3}))  # viser ends a connection over this one
        with pytest.raises(ConnectionClosed):
            [page.recv(10.0) for _ in range(10_000)]
    assert heard == ["ViewerCameraMessage"]


def test_a_page_that_talks_too_much_is_cut_off(guard: Guard, server: Any, port: int):
    own, known = f"http://127.0.0.1:{port}", {"Cookie": cookie(guard, port)}
    with connect(f"ws://127.0.0.1:{port}", origin=own, additional_headers=known, subprotocols=[protocol()]) as page:
        page.send(bytes(MAX_MESSAGE_SIZE + 1))
        with pytest.raises(ConnectionClosed, match="too big"):
            [page.recv(10.0) for _ in range(10_000)]


def test_a_program_with_the_address_gets_the_page(guard: Guard, server: Any):
    """The standard library, with cookies, as a browser does it."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(address(server, guard), timeout=10.0) as answer:
        assert (answer.status, answer.url) == (200, address(server, guard).partition("?")[0])


def test_a_page_that_comes_or_goes_while_a_message_is_sent_ends_nothing(server: Any):
    buffer = server._websock_server._broadcast_buffer
    waiters = buffer.message_event._waiters

    class Leaving:
        def done(self) -> bool:
            return False

        def set_result(self, _: bool) -> None:
            waiters.append(self)
            raise asyncio.InvalidStateError("another thread was first")

    buffer.message_event.clear()
    waiters.append(Leaving())
    try:
        buffer.message_event.set()
    finally:
        for waiter in [waiter for waiter in waiters if isinstance(waiter, Leaving)]:
            waiters.remove(waiter)
