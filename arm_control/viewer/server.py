"""The server of the page: viser's, with a guard for requests and messages.

viser has no hook to refuse a request. It opens its port with ``websockets.asyncio.server.serve``; during that call this
function is replaced by one that adds the guard to each request and to each message. A version of viser that opens its
port in another way, or whose messages have other names, is closed again and not served.

viser wakes the senders of its messages with ``asyncio.Event.set`` from any thread, which fails where one of them begins
or ends to wait in the same moment. The message is in its buffer by then; :class:`_SafeEvent` wakes them all the same.

Private parts of viser are used in this module only.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import html
import http
import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from arm_control.exceptions import ArmControlError, MissingExtra
from arm_control.viewer.guard import CONTROL_MESSAGES, MAX_MESSAGE_SIZE, UPDATE, VIEW_MESSAGES, Guard, page_headers

try:
    import msgspec.msgpack
    import viser
    import websockets.asyncio.server as socket_server
    from viser.infra._async_message_buffer import AsyncMessageBuffer
    from websockets.datastructures import Headers
    from websockets.http11 import Request, Response
except ImportError as error:
    raise MissingExtra("viser", "viewer") from error

HOST = "127.0.0.1"
CONTROLS = "_gui_input_handle_from_uuid"
"""Private attribute of viser with its controls, by their names."""


def open_server(guard: Guard, port: int = 0, label: str = "") -> Any:
    """Return viser's server, on this machine only, with a guard.

    Parameters
    ----------
    port : int
        Port, or the next free one; 0: any.

    Raises
    ------
    ArmControlError
        When there is no free port, or the server does not use the guard.
    """
    _make_wakes_safe()
    with _guarded(guard) as guarded_ports, contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=HOST, port=port, label=label or None, verbose=False)
    if mismatch := _mismatch(server) if guarded_ports else "it opens its port in another way":
        close_server(server)
        raise ArmControlError(
            f"viser {viser.__version__} is not served, the guard does not support it: {mismatch};"
            " pip install 'arm_control[viewer]' installs a version that it supports"
        )
    guard.value_of = partial(_value_of, server)
    return server


class _SafeEvent(asyncio.Event):
    """Event that any thread may set while tasks begin and end to wait for it."""

    def set(self) -> None:
        """Wake all that wait: a copy of their list does not change, and another thread may wake them first."""
        self._value = True
        for waiter in tuple(self._waiters):
            with contextlib.suppress(asyncio.InvalidStateError):
                waiter.set_result(True)


def _make_wakes_safe() -> None:
    """Give all further buffers of viser's messages a safe event."""
    create = AsyncMessageBuffer.__init__
    if hasattr(create, "__wrapped__"):
        return

    @functools.wraps(create)
    def create_safe(self: AsyncMessageBuffer, *arguments: Any, **options: Any) -> None:
        create(self, *arguments, **options)
        self.message_event = _SafeEvent()

    AsyncMessageBuffer.__init__ = create_safe  # type: ignore[method-assign]


def _mismatch(server: Any) -> str:
    """Return how viser differs from what the guard expects; empty when it does not."""
    missing = {*VIEW_MESSAGES, *CONTROL_MESSAGES, UPDATE} - set(dir(getattr(viser, "_messages", None)))
    if missing:
        return f"its messages do not include {', '.join(sorted(missing))}"
    return "" if hasattr(server.gui, CONTROLS) else f"it has no {CONTROLS}"


def name_of(control: Any) -> str:
    """Return the name of a control (a handle of viser) in the page's messages."""
    return str(control._impl.uuid)


def _value_of(server: Any, name: str) -> Any:
    """Return the value of a control by its name; None when there is none."""
    control = getattr(server.gui, CONTROLS).get(name)
    return None if control is None else control.value


def close_server(server: Any) -> None:
    """Stop the server, without output on the terminal."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def address(server: Any, guard: Guard) -> str:
    """Return the address of the page, with the token that gives access to it."""
    return f"http://{HOST}:{server.get_port()}/?token={guard.token}"


@contextlib.contextmanager
def _guarded(guard: Guard) -> Iterator[list[str]]:
    """Add the guard to every port that is opened in this context; yields a list with an entry for each port."""
    serve = socket_server.serve
    opened: list[str] = []

    def guarded_serve(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        opened.append("port")
        options = {**options, "max_size": MAX_MESSAGE_SIZE, "create_connection": _connection_class(guard)}
        return serve(*arguments, process_request=_request_handler(guard, process_request), **options)

    socket_server.serve = guarded_serve
    try:
        yield opened
    finally:
        socket_server.serve = serve


def _request_handler(guard: Guard, answer: Any) -> Callable[[Any, Request], Response | None]:
    """Return the function that answers a request: with a refusal, with the cookie, or as ``answer`` does."""

    def process(connection: Any, request: Request) -> Response | None:
        port = connection.local_address[1]
        headers = request.headers.get_all
        if refusal := guard.refusal(request.path, headers, port):
            return _response(http.HTTPStatus.FORBIDDEN, port, {}, f"{refusal}\n")
        if guard.is_login(request.path, headers):
            return _response(http.HTTPStatus.SEE_OTHER, port, guard.login(port), "")
        response = answer(connection, request) if answer is not None else None
        if response is not None:
            response.headers.update(page_headers(port))
            _set_title(response, guard.title)
        return response

    return process


def _set_title(response: Response, title: str) -> None:
    """Give the page a title of its own; viser has no place for it."""
    is_packed = response.headers.get("Content-Encoding") == "gzip"
    if not response.headers.get("Content-Type", "").startswith("text/html") or response.body is None:
        return
    text = gzip.decompress(response.body) if is_packed else response.body
    text = re.sub(b"<title>[^<]*", f"<title>{html.escape(title)}".encode().replace(b"\\", b"/"), bytes(text), count=1)
    response.body = gzip.compress(text, 1) if is_packed else text
    del response.headers["Content-Length"]
    response.headers["Content-Length"] = str(len(response.body))


def _response(status: http.HTTPStatus, port: int, headers: dict[str, str], text: str) -> Response:
    body = text.encode()
    own = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
    return Response(status.value, status.phrase, Headers({**own, **page_headers(port), **headers}), body)


def _connection_class(guard: Guard) -> type[socket_server.ServerConnection]:
    """Return a class of connections that drop messages which the guard refuses."""

    class GuardedConnection(socket_server.ServerConnection):
        async def recv(self, decode: bool | None = None) -> Any:
            while True:
                raw = await super().recv(decode)
                if isinstance(raw, bytes) and guard.lets_pass(_decoded(raw)):
                    return raw

    return GuardedConnection


def _decoded(raw: bytes) -> Any:
    try:
        return msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
