"""Print, as JSON, how long this process takes from a URDF file to a result of every kernel [s].

python benchmark/first_result.py URDF TIP BACKEND
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module

MODULES = {
    "llvm": "arm_control.compiler.llvm_compiler",
    "python": "arm_control.model.engine",
}
"""What each back end needs."""


def main(urdf: str, tip: str, backend: str) -> None:
    """Import what the back end needs, then time the rest by itself."""
    begin = time.perf_counter()
    import numpy as np

    from arm_control import RobotModel

    import_module(MODULES[backend])
    imported = time.perf_counter()
    model = RobotModel.from_urdf(urdf, tip=tip, backend=backend)
    model.prepare(progress=False)
    model.evaluate(np.zeros(model.nq), np.zeros(model.nv))
    model.batch("R_WE", "p_WE", "J", "M")(np.zeros((8, model.nq)))
    print(json.dumps({"imports_s": imported - begin, "work_s": time.perf_counter() - imported}))


if __name__ == "__main__":
    main(*sys.argv[1:])
