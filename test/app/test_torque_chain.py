"""The way of torque through the nodes of a scenario."""

from __future__ import annotations

import pytest

from arm_control.app.torque_chain import remappings_of, with_gates_behind

ROBOT = ("driver/commands", "driver/efforts")
TO_ROBOT = [("joint_commands", "driver/commands"), ("effort_controller/commands", "driver/efforts")]


@pytest.mark.parametrize("controller", ["osc", "joint", "ilqr"])
def test_the_last_node_alone_reaches_the_driver(controller: str):
    to_gate = [("joint_commands", "effort_in")]
    assert remappings_of([controller, "dynamics"], ROBOT) == {controller: TO_ROBOT, "dynamics": []}
    assert remappings_of(["gate", controller], ROBOT) == {controller: to_gate, "gate": TO_ROBOT}
    assert remappings_of(["gate", controller]) == {controller: to_gate, "gate": []}


def test_avoidance_stands_between_controller_and_gate():
    chain = remappings_of(["osc", "gate", "obstacle_avoidance"], ROBOT)
    assert chain["osc"] == [("joint_commands", "effort_in")]
    assert chain["obstacle_avoidance"] == []
    assert chain["gate"] == [("effort_in", "effort_out"), *TO_ROBOT]
    without_gate = remappings_of(["osc", "obstacle_avoidance"])
    assert without_gate["obstacle_avoidance"] == [("effort_out", "joint_commands")]


def test_a_planner_alone_hears_the_goals():
    own = [("target_pose", "joint/target_pose"), ("target_joint", "joint/target_joint")]
    assert remappings_of(["planner", "joint"]) == {"planner": [], "joint": own}
    assert remappings_of(["joint", "planner"], ROBOT)["joint"] == [*TO_ROBOT, *own]


def test_without_a_controller_nothing_is_renamed():
    assert remappings_of(["dynamics", "simulator"], ROBOT) == {"dynamics": [], "simulator": []}


def test_a_controller_listens_to_the_gates_behind_it():
    nodes = {"simulator": {"robot": "ur5"}, "gate": {}, "osc": {"kp": 1.0}, "obstacle_avoidance": {}}
    heard = with_gates_behind(nodes)
    assert heard == {**nodes, "osc": {"kp": 1.0, "gates_behind": ["gate", "simulator"]}}
    assert with_gates_behind({"coppeliasim_bridge": {}, "joint": {}})["joint"] == {
        "gates_behind": ["coppeliasim_bridge"]
    }
    own = {"gate": {}, "joint": {"gates_behind": ["my_gate"]}}
    assert with_gates_behind(own) == own
    assert with_gates_behind({"ilqr": {}}) == {"ilqr": {}}
