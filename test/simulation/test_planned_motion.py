"""Scenarios with a plan: planned before the run, executed without contact; contacts are seen where there are some."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from arm_control.exceptions import ParameterError
from arm_control.maths import Box, Mover, Obstacle, Pose, Span, Sphere
from arm_control.model import RobotModel
from arm_control.planning import NoMotion
from arm_control.simulation import (
    PlantProperties,
    Scenario,
    Simulation,
    World,
    make_simulator,
    planned,
    planned_motion_of,
    scenario_in,
)

TABLE = {"shape": "box", "size": [1.0, 1.0, 0.1], "position": [0.0, 0.0, -0.2]}
HOME = np.array([0.0, -0.6, 1.2, -2.17, -1.5708, 0.0])


def test_an_obstacle_that_flies_through_a_link_is_felt_and_counted(ur5: RobotModel):
    elbow = ur5.pose(HOME, "forearm_link").p
    ball = Obstacle(Sphere(0.05), Pose(np.eye(3), elbow + [0.0, 0.0, 0.4]), (0.0, 0.0, -2.0, 0.0, 0.0, 0.0))
    movers = [Mover(ball, Span(0.05, 0.45))]
    touching = {}
    for contacts in ("arm", "hand"):
        simulator = make_simulator(ur5, HOME, PlantProperties(contacts=contacts), movers=movers)
        for _ in range(600):
            simulator.step(ur5.gravity(simulator.q))
        touching[contacts] = simulator.touching_steps
        assert (np.abs(simulator.v).max() > 0.05) == (contacts == "arm")
    assert touching["arm"] > 10
    assert touching["hand"] == 0
    simulator.reset()
    assert simulator.touching_steps == 0


def test_a_watched_motion_avoids_what_was_not_told():
    scenario = Scenario.load("panda_moving_plan")
    *others, _ = scenario.world.told
    ball = Obstacle(Sphere(0.08), Pose(np.eye(3), np.array([0.9, 0.6, 0.45])), (0.0, -0.3, 0.0, 0.0, 0.0, 0.0))
    told = (*others, Mover(ball, Span()))
    turned = Obstacle(Sphere(0.08), told[-1].at(0.7).X_WO, (-0.3, 0.0, 0.1, 0.0, 0.0, 0.0))
    movers = (*others, Mover(ball, Span(0.0, 0.7)), Mover(turned, Span(0.7)))
    world = World(movers, told=told)
    watched = Simulation(replace(scenario, world=world, plan=scenario.plan | {"watch": True}))
    trace = watched.run(5.0)
    assert trace.touching == 0
    assert np.allclose(trace.q[-1], scenario.plan["goal"], atol=1e-3)
    assert "planned anew 1 times" in watched.planned.history


def test_the_motion_of_a_scenario_for_a_node(ur5: RobotModel):
    points = planned_motion_of(scenario_in("ur5_plan"), ur5).points
    assert points.times[0] == 0.0
    assert np.allclose(points.qs[0], Scenario.load("ur5_plan").nodes["simulator"]["initial_position"])
    assert planned_motion_of(scenario_in("ur5_obstacle"), ur5) is None
    assert planned_motion_of(scenario_in(""), ur5) is None
    nodes = Scenario.load("ur5_plan").with_options().nodes
    assert nodes["targets"]["world"] == nodes["simulator"]["world"] == Scenario.load("ur5_plan").source


def test_a_change_of_an_obstacle_is_not_told():
    entry = {"shape": "sphere", "size": 0.1, "position": [1.0, 0.0, 0.0], "velocity": [0.0, 1.0, 0.0]}
    changed = entry | {"change": {"at": 0.5, "velocity": [2.0, 0.0, 0.0]}}
    world = World.from_mapping({"obstacles": [changed]}, "here")
    (plain,) = World.from_mapping({"obstacles": [entry]}, "here").told
    assert repr(world.told) == repr((plain,))
    assert [o.X_WO.p.tolist() for o in world.obstacles(0.4)] == [[1.0, 0.4, 0.0]]
    assert np.allclose([o.X_WO.p for o in world.obstacles(1.0)], [[2.0, 0.5, 0.0]])
    with pytest.raises(ParameterError, match=r"change at 3.0: a time from 0.0 until 2.0 is needed"):
        World.from_mapping({"obstacles": [changed | {"until": 2.0, "change": {"at": 3, "velocity": []}}]}, "here")


LWR = "lwr_circle_dynamic"


@pytest.mark.parametrize(
    ("name", "plan", "sentence"),
    [
        ("ur5_plan", {"margin": 0.01}, "ur5_plan: plan: one of goal, pose, scene is needed"),
        ("ur5_plan", {"goal": [0.0] * 6, "speeed": 1.0}, "ur5_plan: plan: unknown"),
        ("ur5_plan", {"scene": LWR}, "lwr_circle_dynamic is for another arm"),
        (LWR, {"scene": "planar4_disc", "variant": "none"}, "no variant 'none' of planar4_disc"),
        (LWR, {"scene": LWR, "goal": [0.0] * 7}, "one of goal, pose, scene is needed"),
        (LWR, {"scene": LWR, "watch": True}, "a motion along a task path is not changed"),
        (LWR, {"scene": LWR, "improvements": -1}, "improvements"),
        (LWR, {"goal": [0.0] * 7, "variant": "through"}, "variant: of a scene only"),
    ],
)
def test_what_is_wrong_with_a_plan_is_a_sentence(name: str, plan: dict[str, Any], sentence: str):
    with pytest.raises(ParameterError, match=sentence):
        Simulation(replace(Scenario.load(name), plan=plan))


def test_a_plan_needs_a_controller_that_follows_it_and_a_start_without_contact():
    scenario = Scenario.load("ur5_plan")
    osc = replace(scenario, nodes={"simulator": scenario.nodes["simulator"], "osc": {}})
    with pytest.raises(ParameterError, match="needs the controller joint"):
        Simulation(osc)
    block = Obstacle(Box((0.6, 0.6, 0.6)), Pose(np.eye(3), np.array([0.3, -0.3, 0.3])))
    with pytest.raises(NoMotion, match="the start is in contact"):
        Simulation(replace(scenario, world=World((), told=(Mover(block, Span()),))))


def test_a_scenario_has_the_obstacles_of_its_scene(tmp_path: Path):
    world = scenario_in("lwr_circle_dynamic").world
    assert repr(world.told) == repr(world.movers) == repr(Scenario.load("lwr_circle_dynamic").world.told)
    ball = {t: [o.X_WO.p.tolist() for o in world.obstacles(t)][-1] for t in (1.0, 5.5, 9.0)}
    assert np.allclose(list(ball.values()), [[0.35, -0.17, 0.62], [0.35, -0.535, 0.62], [0.35, -0.9, 0.62]])
    beside = tmp_path / "beside.yaml"
    beside.write_text(yaml.safe_dump({"plan": {"scene": "lwr_circle_dynamic"}, "floor": -1.0, "obstacles": [TABLE]}))
    both = scenario_in(str(beside)).world
    assert (len(both.movers), both.floor) == (len(world.movers) + 1, -1.0)


def test_the_motion_along_a_task_path_is_improved_in_as_many_rounds_as_asked():
    """As many rounds as the entry says, the same motion each time; without any, the first one found."""
    scenario = Scenario.load("lwr_circle_dynamic")
    few, again = (
        Simulation(replace(scenario, plan=scenario.plan | {"improvements": 2})).planned.points for _ in range(2)
    )
    none = Simulation(scenario).planned.points
    assert few.times[-1] < 0.9 * none.times[-1]
    np.testing.assert_array_equal(few.qs, again.qs)
    assert few.as_ is None  # they jump
    assert none.as_ is not None


def test_joint_and_planner_take_the_place_of_the_controller():
    scenario = Scenario.load("ur5_obstacle")
    chosen = planned(scenario, "with").with_options(awaits_controller=True, paced=True)
    assert list(chosen.nodes) == ["simulator", "dynamics", "joint", "planner", "targets"]
    arm = scenario.variant("with").arm()
    assert arm
    assert chosen.nodes["planner"] == {**arm, "lock_step": True}
    assert chosen.nodes["joint"] == {**arm, "lock_step": True, "publish_effort_array": False}
    assert (chosen.controller, chosen.awaited()) == ("joint", {"targets": 0, "obstacles": 1})
    real = planned(scenario, "real").with_options()
    assert real.nodes["joint"]["disturbance_observer"] is True


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("ur5_ilqr", "ur5_ilqr has the controller ilqr, which follows no plans; allowed: osc, joint"),
        ("ur5_joint", "the targets of ur5_joint are a way of their own, which cannot be planned for"),
        ("ur4_damped", "ur4_damped has no controller, which follows no plans; allowed: osc, joint"),
    ],
)
def test_what_cannot_be_planned_for_is_a_sentence(name: str, sentence: str):
    with pytest.raises(ParameterError, match=f"^{sentence}$"):
        planned(Scenario.load(name))
