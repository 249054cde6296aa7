"""A server that speaks CoppeliaSim's ZMQ remote API, version 2, for tests without CoppeliaSim.

Requests and replies are CBOR over REQ and REP. A function that returns nothing replies with an empty map, as an
empty Lua table does. ``sim.step`` replies ``_*wait*_``, and again as long as the step is not done, to which the client
answers ``_*executed*_``. Each client, by its uuid, has a level of stepping; while one of them has to say when to
step, the whole program waits for it, scripts too; one that says nothing for its timeout is forgotten, and then
the simulation runs by itself.

``python stand_in.py [FAULTS]`` prints the port; the faults are JSON: ``version``, ``mass_factor``, ``fixed`` and so on.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

import zmq
from coppeliasim_zmqremoteapi_client import RemoteAPIClient, cbor
from lua_sim import CONSTANTS, C, World

REAL = os.environ.get("ARM_CONTROL_COPPELIASIM", "")
"""``host:port`` of a CoppeliaSim that runs, to be tested in the stand-in's place."""


@dataclass
class Client:
    """What the server knows of a client."""

    timeout: float
    idle_since: float
    level: int = 0
    desired: int = 0
    stepping_from: int | None = None


class StandIn:
    """The server; :meth:`serve` runs until :meth:`stop`."""

    def __init__(self, world: World, port: int = 0) -> None:
        self.world, self.clients, self.step, self.running = world, {}, 0, True
        self.asked: list[str] = []
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.REP)
        self.socket.setsockopt(zmq.LINGER, 0)
        address = f"tcp://127.0.0.1:{port or '*'}"
        self.socket.bind(address)
        self.port = int(self.socket.getsockopt(zmq.LAST_ENDPOINT).decode().rsplit(":")[-1])
        left_out = world.faults.get("without", [])
        self.functions = {name: f for name, f in world.api().items() if name not in left_out}

    def __enter__(self) -> StandIn:
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.running = False
        self.thread.join()
        self.socket.close()
        self.context.term()

    def serve(self) -> None:
        """One turn after the other, as CoppeliaSim's main loop."""
        while self.running:
            if self.world.state != C.simulation_advancing_running:
                self.queue(5)
                continue
            self.world.callback("sysCall_actuation")
            while self.running and self.must_wait():
                self.queue(5)
            self.queue(0 if any(client.level for client in self.clients.values()) else 1)
            if self.world.state == C.simulation_advancing_running:
                self.step += 1
                self.world.advance()

    def must_wait(self) -> bool:
        """Whether a stepping client has not said yet that the next step may be done."""
        is_on = self.world.state == C.simulation_advancing_running
        return is_on and any(client.level and client.desired <= self.step for client in self.clients.values())

    def queue(self, milliseconds: int) -> None:
        """Forget who is silent, and answer one request, if one comes in time."""
        now = time.monotonic()
        for uuid, client in list(self.clients.items()):
            if now - client.idle_since > client.timeout:
                del self.clients[uuid]
        if self.socket.poll(milliseconds):
            request = cbor.loads(self.socket.recv())
            self.asked.append(request["func"])
            self.socket.send(cbor.dumps(self.reply(request)))

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request."""
        uuid, function = request["uuid"], request["func"]
        if function == "_*end*_":
            self.clients.pop(uuid, None)
            return {}
        if uuid not in self.clients:
            self.clients[uuid] = Client(request.get("timeout", 600), time.monotonic())
        client = self.clients[uuid]
        client.idle_since = time.monotonic()
        try:
            return self.result(client, function, request["args"])
        except Exception as error:
            return {"err": f"{error}_=NL=_stack traceback:_=NL=__=TB=_[C]: in ?"}

    def result(self, client: Client, function: str, arguments: list[Any]) -> dict[str, Any]:
        if function in ("sim.step", "_*executed*_"):
            return self.stepped(client, begins=function == "sim.step")
        if function == "zmqRemoteApi.require":
            return {"ret": {}}
        if function == "zmqRemoteApi.info":
            own = {key: {"func": {}} for key in (*self.functions, "step", "setStepping")}
            return {"ret": [own | {name: {"const": value} for name, value in self.world.constants().items()}]}
        if function == "sim.setStepping":
            return {"ret": [self.set_stepping(client, *arguments)]}
        if function == "sim.stopSimulation":
            self.release()
        if function.removeprefix("sim.") not in self.functions:
            return {"err": f"No such function: {function}"}
        value = self.functions[function.removeprefix("sim.")](*arguments)
        if function == "sim.stopSimulation":
            self.step = 0
        if value is None and function != "sim.callScriptFunction":
            return {"ret": {}}
        return {"ret": list(value) if isinstance(value, tuple) else [value]}

    def stepped(self, client: Client, begins: bool) -> dict[str, Any]:
        is_on = self.world.state == C.simulation_advancing_running
        if begins:
            client.stepping_from = self.step if is_on else None
            client.desired = self.step + 1 if is_on and client.level else client.desired
            return {"func": "_*wait*_", "args": []}
        if client.stepping_from == self.step and is_on:
            return {"func": "_*wait*_", "args": []}
        return {"ret": {}}

    def set_stepping(self, client: Client, enable: bool) -> int:
        before = client.level
        if enable and not before:
            client.desired = self.step
        client.level = before + 1 if enable else max(0, before - 1)
        return before

    def release(self) -> None:
        for client in self.clients.values():
            client.level, client.desired = 0, self.step + 10


def stopped_api(host: str, port: int) -> Any:
    """CoppeliaSim's API for another client, when no simulation runs any more."""
    client = RemoteAPIClient(host, port)
    client.timeout = 1
    sim = client.require("sim")
    sim.stopSimulation()
    while sim.getSimulationState() != sim.simulation_stopped:
        pass
    return sim


def empty_the_scene(host: str, port: int) -> None:
    """Let a CoppeliaSim that runs begin with its default scene."""
    stopped_api(host, port).loadScene("system/dfltscn.ttt")


def world_with(faults: dict[str, Any]) -> World:
    """A world with faults, whose constants are given by name."""
    given = dict(faults)
    given["fixed"] = {CONSTANTS[name]: value for name, value in faults.get("fixed", {}).items()}
    for name in ("stubborn", "joint_mode", "missing_engine"):
        if name in faults:
            given[name] = CONSTANTS[faults[name]]
    return World(**given)


if __name__ == "__main__":
    options = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    server = StandIn(world_with({k: v for k, v in options.items() if k != "port"}), options.get("port", 0))
    print(server.port, flush=True)
    server.serve()
