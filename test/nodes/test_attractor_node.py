"""The node ``attractor``: what it shows of its neurons, and what the page takes of that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from rig import HOME, Rig
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from arm_control import Pose, RobotModel, urdf_path
from arm_control.exceptions import InputError
from arm_control.nodes import ros
from arm_control.nodes.viewer import matrix_of

MS = 1_000_000


def test_the_node_follows_its_neurons_and_shows_them(rig: Rig, ur5: RobotModel):
    spikes: list[Float64MultiArray] = []
    shown: list[Float64MultiArray] = []
    rig.hear(Float64MultiArray, "attractor/spikes", spikes)
    rig.hear(Float64MultiArray, "attractor/neural_state", shown)
    parameters = {"attractor.radius": 0.25, "lock_step": True, "publish_effort_array": False}
    rig.start("attractor", robot_description=Path(urdf_path("ur5")).read_text(), **parameters)
    states, targets = rig.state_publisher(), rig.publisher(PoseStamped, "target_pose")
    X = ur5.pose(np.array(HOME))
    goal = Pose(X.R, X.p + [0.1, 0.0, -0.2])
    targets.publish(ros.pose_stamped(goal, ur5.base, 30 * MS))
    for k in range(200):
        q, v = np.array(HOME), np.zeros(6)
        rig.answer(states, ros.joint_state(ur5.joint_names, k * MS, position=q, velocity=v))
    rig.spin(lambda: len(shown) >= 9 and spikes, what="what is shown")
    positions = [matrix_of(message, 100) for message in shown]
    np.testing.assert_allclose(positions[0], X.p[:, None] * np.ones(3), atol=0.005)
    np.testing.assert_allclose(positions[-1][:, 2], goal.p, atol=1e-9)
    np.testing.assert_allclose(positions[-1][:, 0], positions[-1][:, 1], atol=0.005)
    left = (positions[-1][:, 0] - X.p) / (goal.p - X.p + 1e-12)
    assert 0.1 < left[0] < 0.4, "on the way"
    assert [dim.label.partition(";")[0] for dim in shown[-1].layout.dim] == [
        "rows: x, y, z",
        "cols: decoded, reference, goal",
    ]
    counts = matrix_of(spikes[0], 10_000)
    assert counts.shape[0] == 48
    assert counts.shape[1] >= 50
    assert 0.0 < counts.mean() < 1.0, "rates of neurons"


@pytest.mark.parametrize(
    ("sizes", "data"),
    [((2, 3), [1.0] * 5), ((6,), [1.0] * 6), ((2, 3), [1.0] * 5 + [np.nan]), ((0, 0), []), ((30, 1), [1.0] * 30)],
)
def test_a_message_that_is_no_matrix_is_refused(sizes: tuple[int, ...], data: list[float]):
    layout = MultiArrayLayout(dim=[MultiArrayDimension(size=size) for size in sizes])
    with pytest.raises(InputError, match=r"allowed: a matrix|not finite"):
        matrix_of(Float64MultiArray(layout=layout, data=data), 20)
