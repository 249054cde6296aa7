"""Paths of a planar arm among plates whose solutions are known, against coal."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from planar_arm import planar_validity, plate, small_arm, smallest_distance, wall_with_gap

from arm_control.collision import AllowedPairs, Validity
from arm_control.exceptions import InputError
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Box, Obstacle, Pose
from arm_control.planning import RrtConnect, SearchOutcome, SearchParameters, shorten
from arm_control.planning.plans import path_length
from arm_control.planning.rrt import connect
from arm_control.planning.rrt.goals import plan_to_pose
from arm_control.planning.rrt.joint_space import SearchSpace
from arm_control.planning.rrt.rounds import search
from arm_control.planning.rrt.shortcuts import improve
from arm_control.planning.rrt.trees import NOBODY, ROOM, SearchTree, cut, nearest_node

THROUGH, OUTSIDE = np.array([0.0, 0.0]), np.array([1.6, 0.0])
"""The stretched arm through the gap, and beside the wall: the lower link must be drawn back in between."""


@pytest.fixture(scope="module")
def validity() -> Validity:
    return planar_validity()


def test_the_arm_draws_back_through_a_gap(validity: Validity):
    validity.place(wall_with_gap())
    plan = RrtConnect(validity).plan(THROUGH, OUTSIDE)
    assert plan.outcome is SearchOutcome.FOUND
    assert plan.reason == ""
    assert plan.effort.rounds > 0
    assert np.allclose(plan.path[[0, -1]], [THROUGH, OUTSIDE])
    assert not plan.times.any()
    assert validity.free_motions(plan.path[:-1], plan.path[1:]).all()
    assert smallest_distance(validity, plan, wall_with_gap()) > 0.0
    assert np.abs(plan.path[:, 1]).max() > 0.5  # the elbow bends


def test_equal_seeds_give_equal_paths(validity: Validity):
    validity.place(wall_with_gap())
    first, second = (RrtConnect(validity, SearchParameters(seed=3)).plan(THROUGH, OUTSIDE) for _ in range(2))
    other = RrtConnect(validity, SearchParameters(seed=4)).plan(THROUGH, OUTSIDE)
    assert np.array_equal(first.path, second.path)
    assert first.effort.motions == second.effort.motions
    assert not np.array_equal(first.path, other.path)


def test_the_compiled_search_is_that_of_the_text(validity: Validity, monkeypatch: pytest.MonkeyPatch):
    validity.place(wall_with_gap())
    planner = RrtConnect(validity, SearchParameters(samples=2, connections=2))
    compiled = planner.plan(THROUGH, OUTSIDE)
    monkeypatch.setattr(connect, "_search", lambda: lambda record: partial(search, record))
    interpreted = RrtConnect(validity, SearchParameters(samples=2, connections=2)).plan(THROUGH, OUTSIDE)
    assert compiled.effort.motions == interpreted.effort.motions
    assert np.array_equal(compiled.path, interpreted.path)


def test_memory_grows_with_the_trees(validity: Validity, monkeypatch: pytest.MonkeyPatch):
    validity.place(wall_with_gap())
    path = RrtConnect(validity).plan(THROUGH, OUTSIDE).path
    monkeypatch.setattr(connect, "CAPACITY", ROOM + 4)
    monkeypatch.setattr(connect, "FEWEST_SAMPLES", 1)
    planner = RrtConnect(validity)
    assert np.array_equal(planner.plan(THROUGH, OUTSIDE).path, path)
    assert np.array_equal(planner.plan(THROUGH, OUTSIDE).path, path)


def test_there_may_be_more_goals_than_nodes_in_the_first_memory(validity: Validity, monkeypatch: pytest.MonkeyPatch):
    validity.place(wall_with_gap())
    monkeypatch.setattr(connect, "CAPACITY", ROOM + 4)
    goals = np.concatenate([np.tile([0.9, 0.0], (9, 1)), [OUTSIDE]])  # in the wall, and free
    plan = RrtConnect(validity).plan(THROUGH, goals)
    assert np.array_equal(plan.path, RrtConnect(validity).plan(THROUGH, goals).path)
    assert np.array_equal(plan.path[-1], OUTSIDE)


def test_the_nearest_of_several_goals_that_are_free_is_enough(validity: Validity):
    validity.place(wall_with_gap())
    goals = [[0.6, 0.0], [0.1, 0.0], [-1.6, 0.0]]  # the first is in contact, the second is at hand
    plan = RrtConnect(validity).plan(THROUGH, goals)
    assert np.array_equal(plan.path, [THROUGH, [0.1, 0.0]])
    assert np.array_equal(shorten(validity, plan).path, plan.path)
    assert plan.effort.rounds == 0


def test_shorter_paths_stay_free(validity: Validity):
    validity.place(wall_with_gap())
    planner = RrtConnect(validity)
    plan = planner.plan(THROUGH, OUTSIDE)
    lengths = [plan.length]
    for better in improve(planner, plan, searches=4):
        assert smallest_distance(validity, better, wall_with_gap()) > 0.0
        assert np.array_equal(better.path[[0, -1]], [THROUGH, OUTSIDE])
        lengths.append(better.length)
    assert len(lengths) > 1
    assert (np.diff(lengths) < 0.0).all()
    assert lengths[-1] < 1.3 * shortest_way(validity)


def shortest_way(validity: Validity) -> float:
    """Length of the shortest way on a grid of 0.05 rad, steps to the 16 nearest neighbours: Dijkstra, no planner."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    axes = np.arange(-1.0, 1.8, 0.05), np.arange(-3.0, 3.0, 0.05)
    shape = tuple(len(axis) for axis in axes)
    cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    is_free, index = validity.free_states(cells), np.arange(len(cells)).reshape(shape)
    a, b = [], []
    for i, j in ((1, 0), (0, 1), (1, 1), (1, -1), (1, 2), (2, 1), (1, -2), (2, -1)):
        here = index[: shape[0] - i, max(0, -j) : shape[1] - max(0, j)].ravel()
        a.append(here)
        b.append(here + i * shape[1] + j)
    begin, end = np.concatenate(a), np.concatenate(b)
    both = is_free[begin] & is_free[end]
    lengths = np.linalg.norm(cells[begin] - cells[end], axis=1)[both]
    graph = csr_matrix((lengths, (begin[both], end[both])), (len(cells),) * 2)
    first, last = (int(np.linalg.norm(cells - q, axis=1).argmin()) for q in (THROUGH, OUTSIDE))
    return float(dijkstra(graph, directed=False, indices=first)[last])


def test_an_arm_that_is_caged_finds_no_path_within_its_limit(validity: Validity):
    validity.place([plate(1.25, 0.15, 2.0, 0.1), plate(1.25, -0.15, 2.0, 0.1)])
    plan = RrtConnect(validity, SearchParameters(rounds=20)).plan(THROUGH, OUTSIDE)
    assert plan.outcome is SearchOutcome.LIMIT
    assert plan.path.shape == (0, 2)
    assert not plan.is_found
    assert plan.reason == "no path was found in 20 rounds of samples"
    assert plan.effort.rounds == 20
    assert shorten(validity, plan) is plan
    assert list(improve(RrtConnect(validity), plan)) == []


def test_a_joint_that_slides_stays_within_its_limits():
    arm = small_arm()
    sliding = Validity(arm, allowed=AllowedPairs("small", (("base", "lower"), ("lower", "upper"), ("upper", "tool"))))
    sliding.place([Obstacle(Box((0.1, 0.1, 1.0)), Pose(np.eye(3), np.array([0.9, 0.0, 0.5])))])
    start, goal = np.array([-0.6, 0.0, 0.3]), np.array([0.6, 0.0, 0.3])
    plan = shorten(sliding, RrtConnect(sliding).plan(start, goal))
    assert plan.is_found
    assert len(plan.path) > 2
    assert (plan.path >= arm.q_min).all()
    assert (plan.path <= arm.q_max).all()
    furthest = 0.5 + 0.3 + 0.1  # of the middle of the ball at the end from the axes that turn
    assert SearchSpace.of(sliding).weights == pytest.approx([1.0, 1.0, 1.0 / furthest], rel=0.01)


def test_contact_at_the_ends_is_named(validity: Validity):
    validity.place([plate(1.5, 0.0, 0.2, 0.1), plate(-1.5, 0.0, 0.2, 0.1)])
    planner = RrtConnect(validity)
    plan = planner.plan(THROUGH, OUTSIDE)
    assert plan.outcome is SearchOutcome.START_IN_CONTACT
    assert plan.reason == "the start is in contact: 'lower' is 80 mm deep in obstacle 0"
    assert plan.contacts[0].distance == pytest.approx(-0.08, abs=1e-9)  # half of the plate and the radius
    plan = planner.plan(OUTSIDE, [THROUGH, [3.0, 0.4]])
    assert plan.outcome is SearchOutcome.GOAL_IN_CONTACT
    assert plan.reason.startswith("the first of 2 goals, none of which is free, is in contact: 'lower' is 80 mm deep")


def test_a_margin_is_named(validity: Validity):
    careful = planar_validity(margin=0.05)
    careful.place([plate(1.5, 0.1, 0.2, 0.1)])
    plan = RrtConnect(careful).plan(THROUGH, OUTSIDE)
    assert plan.reason == "the start is in contact: 'lower' is 20 mm from obstacle 0, nearer than the margin"


def test_a_pose_is_a_goal(validity: Validity):
    validity.place(wall_with_gap())
    inverse = InverseKinematics(validity.shape.model)
    planner = RrtConnect(validity)
    X = validity.shape.model.pose(np.array([1.2, 0.8]))
    plan = plan_to_pose(planner, inverse, THROUGH, X)
    assert plan.is_found
    assert np.allclose(validity.shape.model.pose(plan.path[-1]).p, X.p, atol=1e-5)
    far = plan_to_pose(planner, inverse, THROUGH, Pose(np.eye(3), np.array([2.5, 0.0, 0.0])))
    assert far.outcome is SearchOutcome.UNREACHABLE
    assert far.reason.startswith("the goal cannot be reached: ")


@pytest.mark.parametrize(
    ("start", "goal", "sentence"),
    [
        ([0.0], [0.0, 0.0], r"start has shape \(1,\); needed are 2 joint positions"),
        ([0.0, np.nan], [0.0, 0.0], "start has an entry that is not finite"),
        ([0.0, 0.0], [0.0, 3.5], "goal is beyond the limits: 'elbow' at 3.5, allowed from -3 to 3"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(validity: Validity, start, goal, sentence):
    with pytest.raises(InputError, match=sentence):
        RrtConnect(validity).plan(start, goal)


def test_bad_parameters_are_refused_with_a_sentence():
    with pytest.raises(InputError, match="rounds is 0; 1 or more is needed"):
        SearchParameters(rounds=0)
    with pytest.raises(InputError, match="needed: 0 < least_step <= step"):
        SearchParameters(step=0.01)


def test_a_tree_grows_beyond_its_first_memory_and_keeps_its_nodes():
    rng = np.random.default_rng(0)
    q, t, parents = rng.normal(size=(1500, 3)), rng.normal(size=1500), rng.integers(0, 2, 1500)
    tree = SearchTree.with_roots(q[:2], t[:2])
    assert tree.add(parents[2:], q=q[2:], t=t[2:]).tolist() == list(range(2, 1500))
    np.testing.assert_array_equal(tree.q, q)
    np.testing.assert_array_equal(tree.t, t)
    assert tree.branch(7).tolist() == [parents[7], 7]
    assert tree["parent"][:3].tolist() == [NOBODY, NOBODY, parents[2]]
    assert tree.edges.shape == (1498, 2, 3)
    np.testing.assert_array_equal(tree.edges[5], q[[parents[7], 7]])


def test_nodes_of_procedures_are_near_and_cut_as_those_of_all_distances(validity: Validity):
    """The object cuts as the procedure does; nobody that was cut off is the nearest."""
    planner = RrtConnect(validity)._memory
    rng, weights, parents = np.random.default_rng(0), np.array([1.0, 0.5]), np.zeros(300, int)
    memory, tree, other = planner._search._replace(weights=weights), planner._search.first, planner._trees[0]
    parents[1:] = rng.integers(0, np.arange(1, 300))
    other.set_roots(rng.normal(size=(300, 2)), np.zeros(300))
    tree.parent[1:300] = parents[1:]
    places = other.q.copy()
    for q in rng.normal(size=(20, 2)):
        assert nearest_node(memory, tree, q) == np.linalg.norm((places - q) * weights, axis=1).argmin()
    copy = SearchTree.with_roots(places[:1], np.zeros(1))
    copy.add(parents[1:], q=places[1:])
    cut(tree, 2)
    copy.cut(2)
    for node in range(300):
        above = [node]
        while above[-1] > 0:
            above.append(int(parents[above[-1]]))
        assert (tree.penalty[node] == np.inf) == (2 in above) == (not copy.is_alive[node])
    near = nearest_node(memory, tree, np.array(tree.q[:, 2]))
    assert tree.penalty[near] == 0.0


def test_the_length_of_a_path_is_that_of_its_motions():
    assert path_length(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]])) == 6.0
