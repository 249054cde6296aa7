"""QoS of every topic: each publisher and subscription takes one of these profiles.

joint_states, joint_commands, figures, terms      STATE; publishers in lock step LOSSLESS
joint_states, of the native loop in real time     LATEST
joint_commands, at a simulated arm                COMMANDS
target_pose, pose_trajectory, joint_trajectory    EVENTS and LATCHED_EVENTS, two subscriptions
obstacles                                         EVENTS
robot_description, counts of goals and obstacles  LATCHED
target_pose of the page, motions of the planner   TARGETS
what the page and RViz's markers only display     LATEST
"""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

RELIABLE, LATCHING = ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL

STATE = QoSProfile(depth=1, reliability=RELIABLE)
"""Only the newest message counts."""
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""The same for displays: no publisher waits for this subscriber, and nothing is sent again."""
LOSSLESS = QoSProfile(depth=20_000, reliability=RELIABLE)
"""No message may be missing: a lost one is sent again after up to 3 s, and so many others wait for it."""
COMMANDS = QoSProfile(depth=10, reliability=RELIABLE)
"""A few commands may wait, so that each is counted; the newest one acts."""
EVENTS = QoSProfile(depth=1000, reliability=RELIABLE)
"""Every message counts."""
LATCHED = QoSProfile(depth=1, reliability=RELIABLE, durability=LATCHING)
"""The newest message, also for subscribers that come later."""
LATCHED_EVENTS = QoSProfile(depth=1000, reliability=RELIABLE, durability=LATCHING)
"""Every message, also for subscribers that come later."""
TARGETS = QoSProfile(depth=1, reliability=RELIABLE, durability=LATCHING, lifespan=Duration(seconds=1.0))
"""For latched subscriptions, too; but a node that starts later must not follow an old target."""
REPEAT_TIME = 2.0
"""A request to a service without a response is sent again after so long [s]: a service that has not yet discovered its
client carries the request out and drops the response."""
