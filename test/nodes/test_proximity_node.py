"""The node ``proximity`` as a process: what it publishes of states, markers and questions."""

from __future__ import annotations

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rig import HOME, LATCHED, Rig
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray, String
from visualization_msgs.msg import MarkerArray

from arm_control import Pose, RobotModel, urdf_path
from arm_control.maths import Obstacle, Sphere
from arm_control.nodes import ros
from arm_control.simulation import ObstacleUpdate

Q = np.array(HOME)


def test_contacts_are_published_and_questions_answered(rig: Rig, ur5: RobotModel):
    contacts = rig.hear(Bool, "in_collision")
    arrays = rig.hear(Float64MultiArray, "proximity/distances")
    lines = rig.hear(MarkerArray, "proximity/lines")
    answers = rig.hear(DiagnosticStatus, "proximity/answer")
    rig.node.create_publisher(String, "robot_description", LATCHED).publish(String(data=urdf_path("ur5").read_text()))
    rig.start("proximity", rate=0.0, frame_prefix="left/")
    states, questions = (rig.publisher(JointState, topic) for topic in ("joint_states", "proximity/query"))
    obstacles = rig.publisher(MarkerArray, "obstacles")

    def tell(seconds: float) -> None:
        stamp_ns, n_arrays = round(seconds * 1e9), len(arrays)
        states.publish(ros.joint_state(ur5.joint_names, stamp_ns, position=Q, velocity=np.zeros(6)))
        rig.spin(lambda: len(arrays) > n_arrays, what=f"distances at {seconds} s")

    def ask(q: np.ndarray) -> DiagnosticStatus:
        n_answers = len(answers)
        questions.publish(ros.joint_state(ur5.joint_names[: len(q)], 7, position=q))
        rig.spin(lambda: len(answers) > n_answers, what="an answer")
        return answers[-1]

    tell(1.0)
    assert [message.data for message in contacts] == [False]
    ball = Obstacle(Sphere(0.05), Pose(np.eye(3), ur5.pose(Q).p))
    obstacles.publish(ros.markers([ObstacleUpdate(4, ball)], "left/base_link", 0))
    rig.spin(lambda: tell(1.0 + 0.01 * len(arrays)) or contacts[-1].data, what="a contact")
    (rows,) = arrays[-1].layout.dim
    assert "/4" in rows.label.partition(", ")[0]
    assert arrays[-1].data[0] < 0.0
    assert rig.spin(lambda: lines and lines[-1].markers[0].points, what="lines")
    assert {marker.header.frame_id for marker in lines[-1].markers} == {"left/base_link"}

    assert ask(Q).level == DiagnosticStatus.ERROR
    away = ask(Q + [np.pi, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert away.level == DiagnosticStatus.OK
    assert {entry.key: entry.value for entry in away.values}["stamp"] == "0.000000007"
    wrong = ask(Q[:5])
    assert (wrong.level, "no position for joint wrist_3_joint" in wrong.message) == (DiagnosticStatus.WARN, True)
    assert rig.processes["proximity"].poll() is None
