"""The connection to CoppeliaSim: its ZMQ remote API, with a silence that is an error instead of a hang.

The client waits for ever when the server is gone. Here a request that is not answered within :data:`PATIENCE`
raises :class:`SimulatorLost`, the socket may then be closed at once, and whoever leaves says so, as the server
otherwise keeps a stepping client's simulation waiting until that client's time is over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from arm_control.exceptions import MissingExtra, ModelError, SimulatorLost

try:
    import zmq
    from coppeliasim_zmqremoteapi_client import RemoteAPIClient
except ImportError:  # said when somebody wants a connection: nodes are imported together
    RemoteAPIClient = None

PATIENCE = 1.0
"""Time that a request may take [s]."""
LONG_PATIENCE = 20.0
"""Time that loading a scene may take [s]."""
CLIENT_TIMEOUT = 1
"""Time after which the server forgets a client that says nothing [s]; until then it keeps the simulation waiting."""


class Connection:
    """One client of a running CoppeliaSim.

    Parameters
    ----------
    host, port : str, int
        Where its ZMQ remote API server listens.

    Attributes
    ----------
    sim : object
        CoppeliaSim's API, as its manual has it.
    is_silent : bool
        Whether it has left a request without an answer.

    Raises
    ------
    SimulatorLost
        When nobody answers there.
    MissingExtra
        When the client is not installed.
    """

    def __init__(self, host: str, port: int) -> None:
        if RemoteAPIClient is None:
            raise MissingExtra("coppeliasim-zmqremoteapi-client", "coppeliasim")
        self._where, self.is_silent = f"{host}:{port}", False
        self._client = RemoteAPIClient(host, port)
        self._client.timeout = CLIENT_TIMEOUT
        for option, value in ((zmq.LINGER, 0), (zmq.REQ_RELAXED, 1), (zmq.REQ_CORRELATE, 1)):
            self._client.socket.setsockopt(option, value)
        self._wait_at_most(PATIENCE)
        try:
            with self.errors():
                self.sim: Any = self._client.require("sim")
        except BaseException:
            self._client.socket.close()
            raise

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what calls of ``sim`` raise in this block into errors of this package.

        Raises
        ------
        SimulatorLost
            When the server did not answer in time.
        ModelError
            When it answered with an error.
        """
        try:
            yield
        except zmq.ZMQError as error:
            self.is_silent = True
            waited = self._client.socket.getsockopt(zmq.RCVTIMEO) / 1e3
            said = f"no answer within {waited:g} s" if isinstance(error, zmq.Again) else str(error)
            raise SimulatorLost(f"CoppeliaSim at {self._where}: {said}") from None
        except Exception as error:
            if type(error) is not Exception:  # the client raises plain ones with what the server said
                raise
            raise ModelError(f"CoppeliaSim at {self._where}: {_first_line(str(error))}") from None

    @contextmanager
    def patience(self) -> Iterator[None]:
        """Wait longer for what is asked in this block."""
        self._wait_at_most(LONG_PATIENCE)
        try:
            yield
        finally:
            self._wait_at_most(PATIENCE)

    def call(self, script: int, function: str, *arguments: Any) -> Any:
        """Call a function of our script in CoppeliaSim, which tells its errors as it tells results."""
        with self.errors():
            told = self.sim.callScriptFunction("arm_call", script, function, *arguments)
        done, *results = told if isinstance(told, (list, tuple)) else (told,)
        if not done:
            raise ModelError(f"CoppeliaSim at {self._where}: {function}: {_first_line(results[0])}")
        return results[0] if len(results) == 1 else results

    def close(self) -> None:
        """Say that this client leaves, if anybody listens, and close the socket."""
        try:
            if not self.is_silent:
                self._client._send({"func": "_*end*_", "args": []})
                self._client._recv()
        except zmq.ZMQError:
            pass  # the server is gone: it has nobody to forget
        finally:
            self._client.socket.close()

    def _wait_at_most(self, seconds: float) -> None:
        for option in (zmq.RCVTIMEO, zmq.SNDTIMEO):
            self._client.socket.setsockopt(option, round(1e3 * seconds))


def _first_line(text: str) -> str:
    """What a server's error says, without where in its scripts it happened."""
    return text.replace("_=TB=_", " ").split("_=NL=_")[0].strip()
