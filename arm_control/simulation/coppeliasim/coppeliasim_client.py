"""The connection to CoppeliaSim by its ZMQ remote API, with a timeout for every request.

The original client waits forever for a server that is gone. Here a request without a response within
:data:`REQUEST_TIMEOUT` raises :class:`SimulatorLost`, and the socket can be closed at once. A client that leaves must
say so: otherwise the server keeps its simulation waiting until the client's timeout.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from arm_control.exceptions import MissingExtra, ModelError, SimulatorLost

try:
    import zmq
    from coppeliasim_zmqremoteapi_client import RemoteAPIClient
except ImportError:  # an error of the first connection: nodes are imported together
    RemoteAPIClient = None

REQUEST_TIMEOUT = 1.0
"""Longest time of a request [s]."""
LONG_TIMEOUT = 20.0
"""Longest time to load a scene [s]."""
CLIENT_TIMEOUT = 1
"""Time after which the server drops a silent client [s]; until then it keeps the simulation waiting."""


class Connection:
    """One client of a running CoppeliaSim.

    Parameters
    ----------
    host : str
        Host of its ZMQ remote API server.
    port : int
        Port of the server.

    Attributes
    ----------
    sim : object
        CoppeliaSim's API, as in its manual.
    is_silent : bool
        Whether a request had no response.

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
            When the response is an error.
        """
        try:
            yield
        except zmq.ZMQError as error:
            self.is_silent = True
            timeout = self._client.socket.getsockopt(zmq.RCVTIMEO) / 1e3
            reason = f"no answer within {timeout:g} s" if isinstance(error, zmq.Again) else str(error)
            raise SimulatorLost(f"CoppeliaSim at {self._address}: {reason}") from None
        except Exception as error:
            if type(error) is not Exception:  # the client raises plain ones with the server's message
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

        Parameters
        ----------
        script : int
            Handle of the script.
        function : str
            Name of the function.
        *arguments
            Its arguments.

        Returns
        -------
        object
            The result, or the list of results.

        Raises
        ------
        SimulatorLost, ModelError
            When there is no response, or the response is an error.
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
                self._client._send({"func": "_*end*_", "args": []})
                self._client._recv()
        except zmq.ZMQError:
            pass  # the server is gone, too
        finally:
            self._client.socket.close()

    def _set_timeout(self, seconds: float) -> None:
        for option in (zmq.RCVTIMEO, zmq.SNDTIMEO):
            self._client.socket.setsockopt(option, round(1e3 * seconds))


def _first_line(text: str) -> str:
    """Return the message of a server's error, without the place in its scripts."""
    return text.replace("_=TB=_", " ").split("_=NL=_")[0].strip()
