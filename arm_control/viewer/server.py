"""The server of the page: viser's, with the guard at its door.

viser has no place where a request can be refused. It opens its door with ``websockets.asyncio.server.serve``, so while
it does that, this function is one that adds the guard: to each request, and to each message that arrives. If a
version of viser opened its door in another way, or its messages had other names, it would be closed again and nothing
be served. What of viser's inside is used is used here, and nowhere else.
"""

from __future__ import annotations

import contextlib
import http
import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from arm_control.exceptions import ArmControlError, MissingExtra
from arm_control.viewer.guard import CONTROLLING, LOOKING, MOST, SETTING, Guard, page_headers

try:
    import msgspec.msgpack
    import viser
    import websockets.asyncio.server as doors
    from websockets.datastructures import Headers
    from websockets.http11 import Request, Response
except ImportError as error:
    raise MissingExtra("viser", "viewer") from error

HOST = "127.0.0.1"
CONTROLS = "_gui_input_handle_from_uuid"
"""Where viser keeps its controls, by their names."""


def open_server(guard: Guard, port: int = 0, label: str = "") -> Any:
    """Return viser's server, on this machine only, guarded.

    Parameters
    ----------
    guard : Guard
        Who may come in.
    port : int
        Where to listen, or the next free port after it; 0: any.
    label : str
        Title of the page's panel.

    Raises
    ------
    ArmControlError
        When there is no free port, or the server does not use the guard.
    """
    with _guarded(guard) as doors_opened, contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=HOST, port=port, label=label or None, verbose=False)
    if unknown := "it opens its door in another way" if not doors_opened else _unknown(server):
        close_server(server)
        raise ArmControlError(
            f"viser {viser.__version__} is not served, the guard does not fit it: {unknown};"
            " pip install 'arm_control[viewer]' brings a version that fits"
        )
    guard.value_of = partial(_value_of, server)
    return server


def _unknown(server: Any) -> str:
    """What of viser's inside is not as the guard knows it; empty when all is."""
    missing = {*LOOKING, *CONTROLLING, SETTING} - set(dir(getattr(viser, "_messages", None)))
    if missing:
        return f"its pages say no {', '.join(sorted(missing))}"
    return "" if hasattr(server.gui, CONTROLS) else f"it has no {CONTROLS}"


def name_of(control: Any) -> str:
    """Name by which a page speaks of a control (viser's handle of it)."""
    return str(control._impl.uuid)


def _value_of(server: Any, name: str) -> Any:
    """Value of a control by its name; None where there is none."""
    control = getattr(server.gui, CONTROLS).get(name)
    return None if control is None else control.value


def close_server(server: Any) -> None:
    """End it, without a word on the terminal."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def address(server: Any, guard: Guard) -> str:
    """Where to open the page; whoever has this has the page."""
    return f"http://{HOST}:{server.get_port()}/?token={guard.token}"


@contextlib.contextmanager
def _guarded(guard: Guard) -> Iterator[list[str]]:
    """Let every door that is opened meanwhile have this guard; yields a list with an entry for each."""
    serve, opened = doors.serve, []

    def guarded_serve(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        opened.append("door")
        checked = _checked(guard, process_request)
        options = {**options, "max_size": MOST, "create_connection": _connection(guard)}
        return serve(*arguments, process_request=checked, **options)

    doors.serve = guarded_serve
    try:
        yield opened
    finally:
        doors.serve = serve


def _checked(guard: Guard, answer: Any) -> Callable[[Any, Request], Response | None]:
    """What a request gets: a refusal, the cookie, or what it asked for."""

    def process(connection: Any, request: Request) -> Response | None:
        port, headers = connection.local_address[1], request.headers.get_all
        if refusal := guard.refusal(request.path, headers, port):
            return _response(http.HTTPStatus.FORBIDDEN, port, {}, f"{refusal}\n")
        if guard.is_login(request.path, headers):
            return _response(http.HTTPStatus.SEE_OTHER, port, guard.login(port), "")
        response = answer(connection, request) if answer is not None else None
        if response is not None:
            response.headers.update(page_headers(port))
        return response

    return process


def _response(status: http.HTTPStatus, port: int, headers: dict[str, str], text: str) -> Response:
    body = text.encode()
    own = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
    return Response(status.value, status.phrase, Headers({**own, **page_headers(port), **headers}), body)


def _connection(guard: Guard) -> type[doors.ServerConnection]:
    """Connections that hear only what the guard lets pass."""

    class GuardedConnection(doors.ServerConnection):
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
