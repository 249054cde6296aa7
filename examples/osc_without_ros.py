"""Operational space control in a loop of one's own: model, law, gate and simulator, no ROS.

python examples/osc_without_ros.py
"""

import numpy as np

from arm_control import OperationalSpaceController, OscParameters, Pose, Reference, RobotModel, urdf_path
from arm_control.gate import EffortGate, GateParameters
from arm_control.simulation import MujocoSimulator

HOME = (0.0, -1.4, 1.9, -2.07, -1.57, 0.0)


def main() -> float:
    """Move the tool by 0.3 m and return how far from its target it ends [m]."""
    model = RobotModel.from_urdf(urdf_path("ur5"))
    osc = OperationalSpaceController(model, OscParameters(posture=HOME))
    gate = EffortGate(model, GateParameters())
    simulator = MujocoSimulator(model, HOME)

    start = model.pose(HOME)
    reference = Reference(Pose(start.R, start.p + np.array([-0.1, 0.2, 0.2])))
    for _ in range(2000):
        terms = model.evaluate(simulator.q, simulator.v)
        gate.offer(model.joint_names, osc.tick(terms, reference).tau.tolist())
        simulator.step(gate.tick(terms, simulator.timestep).tau)

    error = float(np.linalg.norm(model.pose(simulator.q).p - reference.X_WT.p))
    print(f"after 2 s the tool is {1e3 * error:.6f} mm from its target")
    return error


if __name__ == "__main__":
    main()
