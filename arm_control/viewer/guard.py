"""Access to the page: checks of every request and of every message of a page.

A foreign page in the same browser can send requests to this machine, and a foreign host name may resolve to 127.0.0.1
between two requests (DNS rebinding). So a request needs all of these:

    (1)  Host: 127.0.0.1 or localhost, with the port of the page,
    (2)  Origin: the same host; required for a web socket, where every browser sends it,
    (3)  the token: in the address of the first request, then in a cookie.

No script can read the cookie, and only requests of this page carry it; the address that stays in the browser has no
token. A message is dropped unless its type is harmless, or the page may control; and unless its numbers are finite,
their count is right, and a value has the type of its control's present value.
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
VIEW_MESSAGES = ("ViewerCameraMessage",)
"""Messages of every page."""
DRAG = "TransformControlsUpdateMessage"
"""The pose of a dragged object."""
CONTROL_MESSAGES = (DRAG, "TransformControlsDragStartMessage", "TransformControlsDragEndMessage")
"""Further messages of a page with control."""
UPDATE = "GuiUpdateMessage"
"""The value of a slider or the press of a button; without control only of controls that change the view."""
POSITION, QUATERNION = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
"""Examples of the values in a drag."""
MAX_MESSAGE_SIZE = 1 << 16
"""Bytes of a message; a page needs some hundred."""


def new_token() -> str:
    """Return a random token of 256 bits."""
    return secrets.token_urlsafe(32)


@dataclass
class Guard:
    """Checks requests and messages of browsers.

    Attributes
    ----------
    harmless : set of str
        Names of controls that only change the view.
    value_of : callable
        Returns the present value of a control by its name; None when there is no such control.
    title : str
        Title of the page, in the browser's tab.
    """

    control: bool = False
    title: str = "arm_control"
    token: str = field(default_factory=new_token, repr=False)
    harmless: set[str] = field(default_factory=set)
    value_of: Callable[[str], Any] = lambda _: None

    def refusal(self, path: str, headers: Callable[[str], Sequence[str]], port: int) -> str:
        """Return why a request is refused; empty when it is not.

        Parameters
        ----------
        path : str
            Path of the request, with its query.
        headers : callable
            Returns all values of a header, by its name.
        """
        hosts, origins = list(headers("Host")), list(headers("Origin"))
        if len(hosts) != 1 or hosts[0] not in [f"{name}:{port}" for name in HOSTS]:  # (1)
            return "unknown host"
        if origins != [f"http://{hosts[0]}"] and (origins or is_web_socket(headers)):  # (2)
            return "foreign origin"
        if not (self.is_token(cookie_of(headers, port)) or self.is_login(path, headers)):  # (3)
            return "no token: open the printed address"
        return ""

    def is_login(self, path: str, headers: Callable[[str], Sequence[str]]) -> bool:
        """Return whether a request, not of a web socket, has the token in its address."""
        tokens = parse_qs(urlsplit(path).query).get("token", [""])
        return not is_web_socket(headers) and len(tokens) == 1 and self.is_token(tokens[0])

    def is_token(self, token: str) -> bool:
        """Return whether this is the token, in a time that does not depend on it."""
        return secrets.compare_digest(token.encode(errors="replace"), self.token.encode())

    def login(self, port: int) -> dict[str, str]:
        """Return headers that put the token into a cookie and redirect to the address without it."""
        cookie = f"{cookie_name(port)}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        return {"Location": "/", "Set-Cookie": cookie}

    def lets_pass(self, message: Any) -> bool:
        """Return whether a message of a page is accepted; it must be a mapping with its ``type``."""
        if not isinstance(message, Mapping):
            return False
        message_type = message.get("type")
        if message_type == UPDATE:
            updates, name = message.get("updates"), message.get("uuid")
            if not (isinstance(updates, Mapping) and list(updates) == ["value"] and isinstance(name, str)):
                return False
            return (self.control or name in self.harmless) and has_type_of(self.value_of(name), updates["value"])
        if message_type == DRAG:
            has_pose = has_type_of(POSITION, message.get("position")) and has_type_of(QUATERNION, message.get("wxyz"))
            return has_pose and self.control
        return message_type in VIEW_MESSAGES or (self.control and message_type in CONTROL_MESSAGES)


def has_type_of(example: Any, value: Any) -> bool:
    """Return whether a value has the type of an example: a text, a switch, a finite number, or as many of them.

    Parameters
    ----------
    example : str, bool, int, float or tuple of these
        The example; other types are never equal.

    Examples
    --------
    >>> has_type_of(0.5, 1), has_type_of((0.0, 0.0), [1, 2.5]), has_type_of((0.0, 0.0), [1]), has_type_of(0.5, "nan")
    (True, True, False, False)
    """
    if isinstance(example, tuple):
        has_length = isinstance(value, list | tuple) and len(value) == len(example)
        return has_length and all(map(has_type_of, example, value))
    if isinstance(example, bool | str):
        return isinstance(value, type(example))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(example, int | float) and is_number and math.isfinite(value)


def is_web_socket(headers: Callable[[str], Sequence[str]]) -> bool:
    """Return whether a request is the upgrade to a web socket."""
    return bool(headers("Upgrade"))


def cookie_name(port: int) -> str:
    """Return the name of the cookie, with the port: browsers share cookies between ports."""
    return f"arm_control_viewer_{port}"


def cookie_of(headers: Callable[[str], Sequence[str]], port: int) -> str:
    """Return the token in the cookie; empty when there is none."""
    try:
        cookies = SimpleCookie("; ".join(headers("Cookie")))
    except CookieError:
        return ""
    cookie = cookies.get(cookie_name(port))
    return cookie.value if cookie is not None else ""


def page_headers(port: int) -> dict[str, str]:
    """Return headers of every response: no frame around the page, no referrer, and no content from other hosts."""
    sockets = " ".join(f"ws://{name}:{port}" for name in HOSTS)
    own = "'self' data: blob: 'unsafe-inline' 'unsafe-eval'"
    return {
        "Content-Security-Policy": f"default-src {own}; connect-src {own} {sockets}; frame-ancestors 'none'",
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
