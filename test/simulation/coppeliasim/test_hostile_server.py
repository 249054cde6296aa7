"""A server in CoppeliaSim's place that means harm: the client is neither held, nor ended, nor made to call anything."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import zmq
from coppeliasim_zmqremoteapi_client import cbor
from stand_in import REAL, StandIn

from arm_control.exceptions import ModelError, SimulatorLost
from arm_control.simulation.coppeliasim import coppeliasim_client
from arm_control.simulation.coppeliasim.coppeliasim_client import Connection

pytestmark = pytest.mark.skipif(bool(REAL), reason="a running CoppeliaSim means no harm")
WAIT = cbor.dumps({"func": "_*wait*_", "args": []})
REPEAT = cbor.dumps({"func": "_*repeat*_", "args": []})


@pytest.fixture
def answer() -> Iterator[Callable[[bytes], int]]:
    """Start a server that gives one response to all requests; returns its port."""
    stop, threads = threading.Event(), []

    def serve(socket: zmq.Socket[bytes], response: bytes) -> None:
        while not stop.is_set():
            if socket.poll(20):
                socket.recv()
                socket.send(response)
        socket.close(linger=0)

    def start(response: bytes) -> int:
        socket = context.socket(zmq.REP)
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        threads.append(threading.Thread(target=serve, args=(socket, response)))
        threads[-1].start()
        return port

    with zmq.Context() as context:
        yield start
        stop.set()
        for thread in threads:
            thread.join()


@pytest.fixture(autouse=True)
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coppeliasim_client, "REQUEST_TIMEOUT", 0.3)
    monkeypatch.setattr(coppeliasim_client, "CALL_TIMEOUT", 0.3)


@pytest.mark.parametrize("response", [WAIT, REPEAT])
def test_a_call_has_an_end(answer: Callable[[bytes], int], response: bytes):
    with pytest.raises(SimulatorLost, match=r"zmqRemoteApi\.require does not end within 0\.3 s"):
        Connection("127.0.0.1", answer(response))


def test_no_function_of_the_program_is_called(answer: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch):
    called: list[Any] = []
    monkeypatch.setattr(sys.modules["__main__"], "harm", called.append, raising=False)
    with pytest.raises(ModelError, match="asks for a call of 'harm' here"):
        Connection("127.0.0.1", answer(cbor.dumps({"func": "harm", "args": [1]})))
    assert called == []


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (b"\x81" * 200_000, "CBOR: maximum container nesting depth"),
        (b"\x9b" + b"\xff" * 8, "CBOR: premature end of stream"),
        (b"\x5b" + b"\xff" * 8, "CBOR: premature end of stream"),
        (b"\xd8\x23\x61(", "CBOR: "),
        (b"", "CBOR: premature end of stream"),
        (cbor.dumps([1, 2]), "a map is needed"),
        (cbor.dumps({}), "KeyError"),
        (cbor.dumps({"ret": [{"x": 1}]}), "cannot be used"),
        (cbor.dumps({"err": "no\x1b[2J"}), "no"),
    ],
)
def test_a_response_that_is_none_is_an_error(answer: Callable[[bytes], int], response: bytes, reason: str):
    with pytest.raises(ModelError, match=reason):
        Connection("127.0.0.1", answer(response))


def test_a_response_without_an_end_is_not_waited_for(answer: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(coppeliasim_client, "MOST_BYTES", 1000)
    with pytest.raises(SimulatorLost, match="no answer within"):
        Connection("127.0.0.1", answer(cbor.dumps("x" * 2000)))


POSE = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
STATES = {
    "texts": ["t", "q", "v", "tau", [], False, 17, [], []],
    "few values": [0.005],
    "a pose of two numbers": [0.005, *[[0.0] * 6] * 3, [[0.0, 1.0]], False, 17, [], []],
    "a large number": [2**64 - 1, *[[2**64 - 1] * 6] * 3, [], False, 17, [], []],
    "a force of words": [0.005, *[[0.0] * 6] * 3, [POSE], False, 17, ["f"] * 6, []],
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_a_state_that_is_none_is_an_error(
    ur5, connected, stand_in: Callable[..., StandIn], monkeypatch: pytest.MonkeyPatch, state: Any
):
    server = stand_in()
    simulator = connected(ur5, np.zeros(6), server)
    functions = dict(server.functions)

    def call(name: str, script: int, function: str, *arguments: Any) -> Any:
        result = functions["callScriptFunction"](name, script, function, *arguments)
        return [True, *state] if function == "arm_read" else result

    monkeypatch.setitem(server.functions, "callScriptFunction", call)
    q = simulator.q.copy()
    with pytest.raises((ModelError, SimulatorLost)):
        simulator.step(np.zeros(6))
    np.testing.assert_array_equal(simulator.q, q)
