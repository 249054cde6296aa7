"""A service that has not yet discovered its client carries a request out and drops the response."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from rig import Rig
from std_srvs.srv import SetBool

from arm_control.constraints import BoxConstraint, read_constraints
from arm_control.nodes import CommandLineNode
from arm_control.nodes.support import page_requests
from arm_control.nodes.support.page_requests import FACTOR, ServiceClients
from arm_control.nodes.tools import command_line_node


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, rig: Rig) -> None:
    for module in (command_line_node, page_requests):
        monkeypatch.setattr(module, "REPEAT_TIME", 0.2)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(rig.domain))


def drop_first_response(service: Any) -> None:
    """Let a service carry the first request out without a response."""
    send = service.send_response

    def drop(*_: object) -> None:
        service.send_response = send

    service.send_response = drop


def test_the_command_line_requests_again(rig: Rig):
    requests = []

    def on_request(request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        requests.append(request.data)
        response.success, response.message = True, "passing commands"
        return response

    drop_first_response(rig.node.create_service(SetBool, "gate/enable", on_request))
    with CommandLineNode("asking") as client, ThreadPoolExecutor() as pool:
        called = pool.submit(client.call, SetBool, "gate/enable", SetBool.Request(data=True), 60.0)
        rig.spin(called.done, what="a response")
        assert called.result().message == "passing commands"
    assert len(requests) >= 2
    assert set(requests) == {True}


def test_the_page_requests_a_parameter_again(rig: Rig):
    requests = []
    simulator = Node("simulator", context=rig.context, start_parameter_services=False)
    rig.executor.add_node(simulator)

    def on_request(request: SetParameters.Request, response: SetParameters.Response) -> SetParameters.Response:
        requests.append([(parameter.name, parameter.value.double_value) for parameter in request.parameters])
        response.results = [SetParametersResult(successful=True)]
        return response

    service = simulator.create_service(SetParameters, "simulator/set_parameters", on_request)
    drop_first_response(service)
    clients = ServiceClients(rig.node, lambda *_: None)
    rig.spin(lambda: clients.discover() or clients.simulator, what="the simulator")

    def is_set() -> bool:
        if not clients.is_changing(FACTOR) and clients.factor != 0.5:
            clients.set_factor(0.5)
        clients.update()
        return clients.factor == 0.5

    rig.spin(is_set, what="a response")
    assert len(requests) >= 2
    assert all(request == [(FACTOR, 0.5)] for request in requests)
    assert not clients.is_changing(FACTOR)
    rig.executor.remove_node(simulator)
    simulator.destroy_node()


def test_the_constraints_of_nodes_with_a_gate_are_known_while_they_run(rig: Rig):
    nodes = []
    for name, file in (("osc", "cell"), ("gate", None), ("left", "other")):
        nodes.append(Node(name, context=rig.context))
        if file is not None:
            nodes[-1].declare_parameter("constraints", file)
        rig.executor.add_node(nodes[-1])
    clients = ServiceClients(rig.node, lambda *_: None)
    rig.spin(lambda: clients.discover() or len(clients.constraints) == 2, what="the parameters")
    assert clients.constraints == {"osc": "cell", "gate": ""}
    nodes[0].set_parameters([Parameter("constraints", value="another")])
    rig.spin(lambda: clients.discover() or clients.constraints["osc"] == "another", what="the change")
    for node in nodes:
        rig.executor.remove_node(node)
        node.destroy_node()
    rig.spin(lambda: clients.discover() or not clients.constraints, what="nobody")


@pytest.mark.parametrize("repeat_time", [60.0, 0.0])
def test_a_box_moves_in_all_nodes_that_have_it_and_who_refuses_it_keeps_his(
    rig: Rig, repeat_time: float, monkeypatch: pytest.MonkeyPatch
):
    """Requests that are repeated before the response comes are refused once."""
    monkeypatch.setattr(page_requests, "REPEAT_TIME", repeat_time)
    cell = "constraints: [{name: cell, kind: box, centre: [0, 0, 0], size: [1, 1, 1]}]"
    nodes = {name: Node(name, context=rig.context) for name in ("osc", "gate", "simulator")}
    for name, node in nodes.items():
        node.declare_parameter("constraints", cell if name != "simulator" else "ur5_cell")
        rig.executor.add_node(node)
    nodes["gate"].add_on_set_parameters_callback(
        lambda changed: SetParametersResult(successful="0.2" not in changed[0].value, reason="too far")
    )
    said: list[tuple[str, bool]] = []
    clients = ServiceClients(rig.node, lambda *words: said.append(words))
    rig.spin(lambda: clients.discover() or len(clients.constraints) == 3, what="the parameters")

    def moved(x: float) -> list[float]:
        clients.move_box("osc", "cell", np.array([x, 0.0, 0.5]))
        rig.spin(lambda: clients.update() or not clients.is_changing("constraints"), what="the responses")
        boxes = [read_constraints(nodes[name].get_parameter("constraints").value) for name in ("osc", "gate")]
        assert all(isinstance(asked.constraints[0], BoxConstraint) for asked in boxes)
        return [asked.constraints[0].centre[0] for asked in boxes]  # type: ignore[attr-defined]

    assert moved(0.1) == [0.1, 0.1]
    assert not said
    assert moved(0.2) == [0.2, 0.1]
    assert said == [("constraints refused: too far", True)]
    assert nodes["simulator"].get_parameter("constraints").value == "ur5_cell"
    for node in nodes.values():
        rig.executor.remove_node(node)
        node.destroy_node()
