"""The connection to CoppeliaSim by its ZMQ remote API, with a timeout for every request.

The original client waits forever for a server that is gone. Here a request without a response within
:data:`REQUEST_TIMEOUT` raises :class:`SimulatorLost`, and the socket can be closed at once. A client that leaves must
say so: otherwise the server keeps its simulation waiting until the client's timeout.

The original client also does as the server says: it waits as long as it is told to, and calls functions of the program
by their names. Here a call has an end, functions are never called, and responses are plain values.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from arm_control.exceptions import InputError, MissingExtra, ModelError, SimulationDiverged, SimulatorLost

try:
    import cbor2
    import zmq
    from coppeliasim_zmqremoteapi_client import RemoteAPIClient
except ImportError:  # an error of the first connection: nodes are imported together
    RemoteAPIClient = None

REQUEST_TIMEOUT = 1.0
"""Longest time of a request [s]."""
CALL_TIMEOUT = 5.0
"""Longest time of a call, which may be several requests: until a step is done, the server asks to wait [s]."""
LONG_TIMEOUT = 20.0
"""Longest time to load a scene [s]."""
MOST_BYTES = 2**24
"""Largest response; the connection to a server that sends more is closed."""
WAIT, REPEAT, DONE = "_*wait*_", "_*repeat*_", "_*executed*_"
"""What a server asks for, and the answer."""
CLIENT_TIMEOUT = 1
"""Time after which the server drops a silent client [s]; until then it keeps the simulation waiting."""


class Connection:
    """One client of a running CoppeliaSim.

    Attributes
    ----------
    sim : object
        CoppeliaSim's API, as in its manual.

    Raises
    ------
    SimulatorLost
        When there is no response.
    MissingExtra
        When the client is not installed.
    """

    def __init__(self, host: str, port: int) -> None:
        if RemoteAPIClient is None:
            raise MissingExtra("coppeliasim-zmqremoteapi-client", "coppeliasim")
        self._address = f"{host}:{port}"
        self.is_silent = False
        self._client = RemoteAPIClient(host, port)
        self._client.timeout = CLIENT_TIMEOUT
        self._client.call = self._call  # also what the functions of its objects call
        self._bound_responses()
        for option, value in ((zmq.LINGER, 0), (zmq.REQ_RELAXED, 1), (zmq.REQ_CORRELATE, 1)):
            self._client.socket.setsockopt(option, value)
        self._set_timeout(REQUEST_TIMEOUT)
        try:
            with self.errors():
                self.sim: Any = self._client.require("sim")
        except BaseException:
            self._client.socket.close()
            raise

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Convert exceptions of ``sim`` in this block to errors of this package.

        Raises
        ------
        SimulatorLost
            When there is no response in time.
        ModelError
            When the response is an error, or nothing that can be used.
        """
        try:
            yield
        except (SimulatorLost, SimulationDiverged, ModelError, MissingExtra):
            raise
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            reason = f"the response cannot be used: {type(error).__name__}: {error}"
            raise ModelError(f"CoppeliaSim at {self._address}: {reason}") from None
        except zmq.ZMQError as error:
            self.is_silent = True
            timeout = self._client.socket.getsockopt(zmq.RCVTIMEO) / 1e3
            reason = f"no answer within {timeout:g} s" if isinstance(error, zmq.Again) else str(error)
            raise SimulatorLost(f"CoppeliaSim at {self._address}: {reason}") from None
        except Exception as error:
            if type(error) is not Exception:  # the client raises plain ones for arguments that it cannot send
                raise
            raise ModelError(f"CoppeliaSim at {self._address}: {_first_line(str(error))}") from None

    @contextmanager
    def long_timeout(self) -> Iterator[None]:
        """Allow requests in this block :data:`LONG_TIMEOUT`."""
        self._set_timeout(LONG_TIMEOUT)
        try:
            yield
        finally:
            self._set_timeout(REQUEST_TIMEOUT)

    def call(self, script: int, function: str, *arguments: Any) -> Any:
        """Call a function of the bridge's script in CoppeliaSim.

        A SimulatorLost or ModelError where there is no response, or the response is an error.
        """
        with self.errors():
            response = self.sim.callScriptFunction("arm_call", script, function, *arguments)
        is_ok, *results = response if isinstance(response, (list, tuple)) else (response,)
        if not is_ok:
            raise ModelError(f"CoppeliaSim at {self._address}: {function}: {_first_line(results[0])}")
        return results[0] if len(results) == 1 else results

    def close(self) -> None:
        """Announce the end of this client, if the server responds, and close the socket."""
        try:
            if not self.is_silent:
                with suppress(SimulatorLost, ModelError), self.errors():  # the server is gone, too
                    self._client._send({"func": "_*end*_", "args": []})
                    self._client.socket.recv()
        finally:
            self._client.socket.close()

    def _call(self, function: str, arguments: Sequence[Any]) -> Any:
        """Call a function of the server, as the client would, but with an end."""
        end = time.monotonic() + max(CALL_TIMEOUT, self._timeout)
        name, given = function, arguments
        while time.monotonic() < end:
            self._client._send({"func": name, "args": given})
            try:
                response = cbor2.loads(self._client.socket.recv())
            except cbor2.CBORDecodeError as error:
                raise InputError(f"CBOR: {error}") from None
            if not isinstance(response, dict):
                raise InputError("a map is needed")
            asked = response.get("func")
            if asked is None:
                return self._result(response)
            if asked not in (WAIT, REPEAT):
                raise InputError(f"it asks for a call of {asked!r} here, which is not allowed")
            name, given = (DONE, []) if asked == WAIT else (function, arguments)
        self.is_silent = True
        raise SimulatorLost(f"CoppeliaSim at {self._address}: {function} does not end within {CALL_TIMEOUT:g} s")

    def _result(self, response: dict[str, Any]) -> Any:
        """The result in a response: nothing, a value, or a tuple of several."""
        if "err" in response:
            raise ModelError(f"CoppeliaSim at {self._address}: {_first_line(str(response['err']))}")
        results = response["ret"]
        if not isinstance(results, list):  # an empty table comes as an empty map
            return None
        return results[0] if len(results) == 1 else tuple(results) or None

    def _bound_responses(self) -> None:
        """Connect anew with a bound on responses, which holds for later connections only."""
        socket = self._client.socket
        socket.disconnect(socket.getsockopt(zmq.LAST_ENDPOINT))
        socket.setsockopt(zmq.MAXMSGSIZE, MOST_BYTES)
        socket.connect(f"tcp://{self._address}")

    def _set_timeout(self, seconds: float) -> None:
        self._timeout = seconds
        for option in (zmq.RCVTIMEO, zmq.SNDTIMEO):
            self._client.socket.setsockopt(option, round(1e3 * seconds))


def _first_line(text: str) -> str:
    """Return the message of a server's error, without the place in its scripts."""
    return text.replace("_=TB=_", " ").split("_=NL=_")[0].strip()
