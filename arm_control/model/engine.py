"""Makes a model's kernels, by the best back end there is.

    llvm        the program of a tape as machine code for this processor; object files are cached
    python      the same program as a Python function
    pinocchio   Pinocchio's algorithms

The first one that works is taken. A new kernel is compared with the float run of the recursions before it
may answer or is kept. A back end that cannot make one, or makes a wrong one, is left for the next, with a
warning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from arm_control.compiler.column_law import ColumnLaw, Columns, TextColumns
from arm_control.compiler.kernels import SHARED, BackEnd, Batch, Kernel
from arm_control.compiler.program import Program
from arm_control.compiler.scan_law import Scan, ScanLaw, TextScan
from arm_control.core.cache import Cache
from arm_control.exceptions import ModelError
from arm_control.maths.poses import Array, Pose
from arm_control.model.quantities import reference, tool_numbers
from arm_control.model.spatial_vectors import Inertia
from arm_control.model.tree import Tree

T = TypeVar("T")
LOG = logging.getLogger("arm_control.model")
BACKENDS = ("llvm", "python", "pinocchio")
AGREEMENT = 1e-9
"""Largest difference of a new kernel from the float run, relative to the largest entry."""
N_SAMPLES = 9
"""Random states of that comparison: a block of any width and one more."""

TERMS = ("R_WE", "p_WE", "V_WE", "J", "Jdot_v", "M", "g", "h")
POSE = ("R_WE", "p_WE")
KINEMATICS = ("R_WE", "p_WE", "J")
ENERGY = ("kinetic_energy", "potential_energy", "centre_of_mass")
TORQUE_DERIVATIVES = ("tau_derived", "tau_q", "tau_v", "tau_a")
ACCELERATION_DERIVATIVES = ("a_solved", "a_q", "a_v", "a_tau")
KERNELS = {
    "terms": TERMS,
    "pose": POSE,
    "kinematics": KINEMATICS,
    "frames": ("frames",),
    "mass_matrix": ("M",),
    "gravity": ("g",),
    "bias": ("h",),
    "inverse_dynamics": ("tau",),
    "forward_dynamics": ("a",),
    "energy": ENERGY,
    "torque_derivatives": TORQUE_DERIVATIVES,
    "acceleration_derivatives": ACCELERATION_DERIVATIVES,
}
"""The kernels of the model's methods; Jacobians of links other than the tip have one each besides."""


class Engine:
    """Makes kernels of one robot; who uses them keeps them.

    Parameters
    ----------
    tree : Tree
    urdf_text : str
        What the tree was made from.
    title : str
        The robot's name.
    identity : str
        All that the tree was made from.
    cache : Cache
    backend : str
        ``auto``, or one of BACKENDS: that one and no other.

    Attributes
    ----------
    backend : str
        The one in use.
    reasons : list of str
        Why the ones before it are not.
    """

    def __init__(
        self, tree: Tree, urdf_text: str, title: str, identity: str, cache: Cache, backend: str = "auto"
    ) -> None:
        if backend not in ("auto", *BACKENDS):
            raise ModelError(f"backend is '{backend}', allowed: auto, {', '.join(BACKENDS)}")
        self._tree, self._urdf_text = tree, urdf_text
        self._title, self._identity, self._cache = title, identity, cache
        self._candidates = list(BACKENDS) if backend == "auto" else [backend]
        self._batches: dict[tuple[tuple[str, ...], bool], Batch] = {}
        self.reasons: list[str] = []
        self._maker: BackEnd = self._next()

    @property
    def backend(self) -> str:
        """The back end in use."""
        return self._candidates[0]

    def kernel(self, quantities: tuple[str, ...], frame: str | None = None) -> Kernel:
        """Make the kernel of these quantities."""
        return self._make(lambda maker: maker.kernel(quantities, frame, self._check(quantities, frame)))

    def law(self, name: str, write: Callable[[], Program], check: Callable[[Kernel], None]) -> Kernel | None:
        """Return a kernel of somebody else's program; None where only its own text can run."""
        try:
            return self._maker.law(name, write, check)
        except NotImplementedError:
            return None
        except Exception as error:
            LOG.warning("%s: %s is not compiled: %s: %s", self._title, name, type(error).__name__, error)
            return None

    def columns(self, law: ColumnLaw, samples: Mapping[str, Array]) -> Columns:
        """Return somebody else's law for many columns; where it cannot be compiled its text runs."""
        try:
            return self._maker.columns(law, lambda columns: check_columns(law, columns, samples))
        except NotImplementedError:
            return TextColumns(law)
        except Exception as error:
            LOG.warning("%s: %s is not compiled: %s: %s", self._title, law.name, type(error).__name__, error)
            return TextColumns(law)

    def scan(self, law: ScanLaw, samples: Mapping[str, Array]) -> Scan:
        """Return somebody else's law for rows; where it cannot be compiled its text runs."""
        try:
            return self._maker.scan(law, lambda scan: check_scan(law, scan, samples))
        except NotImplementedError:
            return TextScan(law)
        except Exception as error:
            LOG.warning("%s: %s is not compiled: %s: %s", self._title, law.name, type(error).__name__, error)
            return TextScan(law)

    def batch(self, quantities: tuple[str, ...], has_tool: bool) -> Batch:
        """Return what computes these quantities for many states."""
        key = (quantities, has_tool)
        if key not in self._batches:
            check = self._check_batch(quantities)
            self._batches[key] = self._make(lambda maker: maker.batch(quantities, has_tool, check))
        return self._batches[key]

    def _make(self, make: Callable[[BackEnd], T]) -> T:
        while True:
            try:
                return make(self._maker)
            except Exception as error:
                self._give_up(error)
                self._maker = self._next()

    def _next(self) -> BackEnd:
        while True:
            try:
                return self._back_end(self.backend)
            except Exception as error:
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        reason = f"back end {self.backend}: {type(error).__name__}: {error}"
        if len(self._candidates) == 1:
            raise ModelError(f"no kernel for {self._title}; {'; '.join([*self.reasons, reason])}") from error
        LOG.warning("%s: %s; the next one is taken", self._title, reason)
        self.reasons.append(reason)
        self._candidates.pop(0)

    def _back_end(self, name: str) -> BackEnd:
        if name == "llvm":
            from arm_control.model.backends.llvm_backend import LlvmBackEnd

            return LlvmBackEnd(self._tree, self._identity, self._title, self._cache)
        if name == "python":
            from arm_control.model.backends.python_backend import PythonBackEnd

            return PythonBackEnd(self._tree)
        from arm_control.model.backends.pinocchio_backend import PinocchioBackEnd

        return PinocchioBackEnd(self._tree, self._urdf_text)

    def _check(self, quantities: Sequence[str], frame: str | None) -> Callable[[Kernel], None]:
        """Return what refuses a kernel that does not compute what the recursions say."""

        def check(kernel: Kernel) -> None:
            for name, values in self._samples({name: len(view) for name, view in kernel.inputs.items()}).items():
                kernel.inputs[name][:] = values[0]
            if kernel.call():
                raise ModelError("a kernel finds its input not finite")
            _compare(kernel.outputs, reference(self._tree, quantities, kernel.inputs, frame))

        return check

    def _check_batch(self, quantities: Sequence[str]) -> Callable[[Batch], None]:
        """Likewise for many states: the first of a block and the last of an incomplete one."""

        def check(batch: Batch) -> None:
            samples = self._samples(batch.inputs)
            arrays = [values[0] if name in SHARED else values for name, values in samples.items()]
            results = batch(arrays, np.full((N_SAMPLES, batch.n_results), np.nan), False)
            for i in (0, N_SAMPLES - 1):
                inputs = {name: values[i] for name, values in samples.items()}
                _compare({name: rows[i] for name, rows in results.items()}, reference(self._tree, quantities, inputs))

        return check

    def _samples(self, sizes: Mapping[str, int]) -> dict[str, Array]:
        """Random states, with a tool."""
        rng = np.random.default_rng(0)
        samples = {name: rng.uniform(-1.0, 1.0, (N_SAMPLES, size)) for name, size in sizes.items()}
        load = Inertia(0.5, np.array([0.01, -0.02, 0.03]), 0.01 * np.eye(3))
        tool = tool_numbers(self._tree, Pose(np.eye(3), np.array([0.1, 0.2, -0.3])), load)
        return {name: np.tile(tool, (N_SAMPLES, 1)) if name == "tool" else x for name, x in samples.items()}


def check_columns(law: ColumnLaw, columns: Columns, samples: Mapping[str, Array]) -> None:
    """Refuse what does not compute, of sample inputs, what the law's text says."""
    shapes = {name: shape[0] for name, shape in law.write().outputs.items()}
    n = next(array.shape[1] for name, array in samples.items() if name not in law.shared)
    found, expected = (
        {name: np.zeros(size if name in law.totals else (size, n)) for name, size in shapes.items()} for _ in range(2)
    )
    columns.bind({**samples, **found})()
    law.run({**samples, **expected})
    keep = samples[law.where][0] > 0.0 if law.where else np.full(n, True)
    _compare(*({name: x if x.ndim == 1 else x[:, keep] for name, x in part.items()} for part in (found, expected)))


def check_scan(law: ScanLaw, scan: Scan, samples: Mapping[str, Array]) -> None:
    """Refuse what does not compute, of sample inputs, what the law's text says: of two rows, if there are more."""
    n = 2 if law.carried else scan.width
    whole, numbers = law.shared + law.carried, np.arange(n) % 2
    found, expected = (
        {name: np.zeros((n, size)) for name, size in scan.outputs.items()}
        | {name: x.copy() if name in whole else x[numbers] for name, x in samples.items()}
        for _ in range(2)
    )
    done = scan.bind(found, n)()
    if done != law.run(expected, n):
        raise ModelError(f"the scan ends after {done:.0f} rows, and not where the float run does")
    _compare(*({k: x for k, x in part.items() if k in scan.outputs} for part in (found, expected)))


def _compare(outputs: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    for name, values in expected.items():
        error = float(np.max(np.abs(outputs[name] - values), initial=0.0))
        if not error <= AGREEMENT * max(1.0, float(np.max(np.abs(values), initial=0.0))):
            raise ModelError(f"'{name}' is {error:.1e} off the float run")
