"""Who may see the page, and what it may say: every request and every message of a page is checked here.

A page of somebody else in the same browser can send requests to this machine, and a name of somebody else may turn
into 127.0.0.1 between two requests (DNS rebinding). So a request needs, all at once,

    (1)  Host: 127.0.0.1 or localhost, with our port,
    (2)  Origin: that same host; a browser that opens a web socket always tells it, so there it must be,
    (3)  the token: in the address of the first request, from then on in a cookie.

The cookie is told to nobody's script and goes out with requests of our own page only; the address that stays in the
browser has no token in it. A message is dropped unless its kind is known to be harmless, or the page may control; and
unless its numbers are finite, as many as there should be, and a value is like the one that its control has now.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

HOSTS = ("127.0.0.1", "localhost")
LOOKING = ("ViewerCameraMessage",)
"""What every page may say."""
DRAGGING = "TransformControlsUpdateMessage"
"""Where something is dragged to."""
CONTROLLING = (DRAGGING, "TransformControlsDragStartMessage", "TransformControlsDragEndMessage")
"""What a page may say beside it when it may control."""
SETTING = "GuiUpdateMessage"
"""A value of a slider or a press of a button; in a page that may only look, of those that change the view."""
POINT, TURN = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
MOST = 1 << 16
"""Bytes of a message: a page needs some hundred."""


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(32)


@dataclass
class Guard:
    """Checks what comes from browsers.

    Attributes
    ----------
    control : bool
        Whether pages may do more than look.
    token : str
        What a browser must know.
    harmless : set of str
        Names of controls that only change the view.
    value_of : callable
        Value that a control has now, by its name; None where there is no such control.
    """

    control: bool = False
    token: str = field(default_factory=new_token, repr=False)
    harmless: set[str] = field(default_factory=set)
    value_of: Callable[[str], Any] = lambda _: None

    def refusal(self, path: str, headers: Callable[[str], Sequence[str]], port: int) -> str:
        """Say why a request is refused; empty when it is not.

        Parameters
        ----------
        path : str
            What is asked for, with what follows the question mark.
        headers : callable
            All values of a header, by its name.
        port : int
            Where we listen.
        """
        hosts, origins = list(headers("Host")), list(headers("Origin"))
        if len(hosts) != 1 or hosts[0] not in [f"{name}:{port}" for name in HOSTS]:  # (1)
            return "unknown host"
        if origins != [f"http://{hosts[0]}"] and (origins or is_web_socket(headers)):  # (2)
            return "foreign origin"
        if not (self.knows(cookie_of(headers, port)) or self.is_login(path, headers)):  # (3)
            return "no token: open the address that was printed"
        return ""

    def is_login(self, path: str, headers: Callable[[str], Sequence[str]]) -> bool:
        """Whether a request, not of a web socket, brings the token in its address."""
        given = parse_qs(urlsplit(path).query).get("token", [""])
        return not is_web_socket(headers) and len(given) == 1 and self.knows(given[0])

    def knows(self, token: str) -> bool:
        """Whether this is the token; it takes the same time whatever it is."""
        return secrets.compare_digest(token.encode(errors="replace"), self.token.encode())

    def login(self, port: int) -> dict[str, str]:
        """Headers that put the token into a cookie and lead to an address without it."""
        cookie = f"{cookie_name(port)}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        return {"Location": "/", "Set-Cookie": cookie}

    def lets_pass(self, message: Any) -> bool:
        """Whether a page may say this; a message is a mapping with its ``type``."""
        if not isinstance(message, Mapping):
            return False
        kind = message.get("type")
        if kind == SETTING:
            updates, name = message.get("updates"), message.get("uuid")
            if not (isinstance(updates, Mapping) and list(updates) == ["value"] and isinstance(name, str)):
                return False
            return (self.control or name in self.harmless) and is_like(self.value_of(name), updates["value"])
        if kind == DRAGGING and not (is_like(POINT, message.get("position")) and is_like(TURN, message.get("wxyz"))):
            return False
        return kind in LOOKING or (self.control and kind in CONTROLLING)


def is_like(known: Any, given: Any) -> bool:
    """Whether a value can take the place of a known one: a text, a switch, a finite number, or as many of them.

    Examples
    --------
    >>> is_like(0.5, 1), is_like((0.0, 0.0), [1, 2.5]), is_like((0.0, 0.0), [1]), is_like(0.5, "nan")
    (True, True, False, False)
    """
    if isinstance(known, tuple):
        return isinstance(given, list | tuple) and len(given) == len(known) and all(map(is_like, known, given))
    if isinstance(known, bool | str):
        return isinstance(given, type(known))
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return isinstance(known, int | float) and is_number and math.isfinite(given)


def is_web_socket(headers: Callable[[str], Sequence[str]]) -> bool:
    """Whether a request wants to become a web socket."""
    return bool(headers("Upgrade"))


def cookie_name(port: int) -> str:
    """Name of our cookie: a browser does not tell ports apart, so the name does."""
    return f"arm_control_viewer_{port}"


def cookie_of(headers: Callable[[str], Sequence[str]], port: int) -> str:
    """Token in the cookie; empty where there is none."""
    try:
        cookies = SimpleCookie("; ".join(headers("Cookie")))
    except CookieError:
        return ""
    found = cookies.get(cookie_name(port))
    return found.value if found is not None else ""


def page_headers(port: int) -> dict[str, str]:
    """Headers of every answer: no frame around the page, no address passed on, and nothing from elsewhere in it."""
    sockets = " ".join(f"ws://{name}:{port}" for name in HOSTS)
    own = "'self' data: blob: 'unsafe-inline' 'unsafe-eval'"
    return {
        "Content-Security-Policy": f"default-src {own}; connect-src {own} {sockets}; frame-ancestors 'none'",
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
