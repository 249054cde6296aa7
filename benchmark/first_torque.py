"""Print, as JSON, how long this process takes from a URDF file to the first torque of operational space control [s].

python benchmark/first_torque.py URDF TIP
"""

from __future__ import annotations

import json
import sys
import time


def main(urdf: str, tip: str) -> None:
    """Import what is needed, then time the rest by itself: CPU time of the process, and time."""
    import numpy as np

    from arm_control import CompiledOsc, OscParameters, Reference, RobotModel

    begin_cpu, begin = time.process_time(), time.perf_counter()
    model = RobotModel.from_urdf(urdf, tip=tip)
    q = np.full(model.nq, 0.3)
    osc = CompiledOsc(model, OscParameters(posture=tuple(q)))
    osc.tick(q, np.zeros(model.nv), Reference(model.pose(q)))
    cpu, passed = time.process_time() - begin_cpu, time.perf_counter() - begin
    print(json.dumps({"cpu_s": cpu, "s": passed, "process_cpu_s": time.process_time()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
