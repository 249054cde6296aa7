"""Crocoddyl's side of ``ilqr.py``, run in an environment of its own: it answers a line of JSON with a line of JSON.

{"solver": "FDDP" or "BoxFDDP", "iterations": n} -> {"seconds", "iterations", "cost"}; the first line is the problem.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import crocoddyl
import numpy as np
import pinocchio


def problem(p: dict[str, Any], model: Any) -> Any:
    """The reach of ``ilqr.py``: the same costs, the same steps."""
    frame, n = model.getFrameId(p["frame"]), model.nv
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)

    def model_of(w_p: float, w_x: float, scale: list[float], w_u: float, dt: float, limit: list[float]) -> Any:
        costs = crocoddyl.CostModelSum(state, n)
        at = crocoddyl.ResidualModelFrameTranslation(state, frame, np.array(p["target"]), n)
        costs.addCost("position", crocoddyl.CostModelResidual(state, at), w_p)
        weights = crocoddyl.ActivationModelWeightedQuad(np.array(scale))
        still = crocoddyl.ResidualModelState(state, np.array(p["x0"]), n)
        costs.addCost("state", crocoddyl.CostModelResidual(state, weights, still), w_x)
        if w_u:
            costs.addCost("control", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, n)), w_u)
        free = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        made = crocoddyl.IntegratedActionModelEuler(free, dt)
        if limit:
            made.u_lb, made.u_ub = -np.array(limit), np.array(limit)
        return made

    limit = p["limit"]
    running = model_of(p["w_p"], p["w_x"], p["scale"], p["w_u"], p["dt"], limit)
    last = model_of(p["w_p_last"], p["w_x_last"], p["scale"], 0.0, 0.0, [])
    made = crocoddyl.ShootingProblem(np.array(p["x0"]), [running] * p["n"], last)
    made.nthreads = 1
    return made


def main() -> None:
    """Answer until there is nothing to answer."""
    p = json.loads(sys.stdin.readline())
    model = pinocchio.buildModelFromUrdf(p["urdf"])
    shooting = {limit: problem({**p, "limit": p["limits"] if limit else []}, model) for limit in (False, True)}
    versions = f"crocoddyl {crocoddyl.__version__}, pinocchio {pinocchio.__version__}"
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        made = shooting[asked["solver"] == "BoxFDDP"]
        solver = getattr(crocoddyl, f"Solver{asked['solver']}")(made)
        solver.th_stop = asked["tolerance"]
        us = [np.array(p["u0"])] * p["n"]
        xs = made.rollout(us)
        begin = time.perf_counter()
        solver.solve(xs, us, asked["iterations"], True, 1e-9)
        seconds = time.perf_counter() - begin
        print(
            json.dumps(
                {"seconds": seconds, "iterations": min(solver.iter + 1, asked["iterations"]), "cost": solver.cost}
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
