"""Changes of a text that no test can notice, each with the reason: they count as neither killed nor survived.

An entry of which no change survives is an error of ``benchmark/mutation.py``: a test notices it after all, or it cannot
be made any more.
"""

from __future__ import annotations

FIRST_STATE = "the first state that is believed sets it, and nothing reads it before"
FIRST_OWNER = "taking the ownership sets it, and nothing reads it before"

EQUIVALENT: dict[str, str] = {
    "messages/joint_states.py JointStateReader.__init__: self._heard_ns = 0 *": FIRST_OWNER,
    "messages/joint_states.py JointStateReader.__init__: self._older = 0 *": FIRST_STATE,
    "messages/joint_states.py JointStateReader.__init__: self._index = np.zeros(0, dtype=int) *": (
        "the first message has other names than none, and sets it"
    ),
    "messages/joint_states.py JointStateReader.read:  not None and stamp_ns < last.stamp_ns"
    " ->  not None and stamp_ns <= last.stamp_ns": "an equal stamp has been answered some lines before",
    "messages/joint_states.py JointStateReader._learn_order: self._names = list(names) -> pass": (
        "the order is learnt again from each message: slower, and the same"
    ),
    "messages/joint_states.py JointStateReader._has_moved: OSECONDS if stamps else 0.0"
    " -> OSECONDS if stamps else -1.0": "0 and less both say that a new run begins",
    "messages/joint_states.py JointStateReader._has_moved: elf._bounds.fault(q, v, 0.0)"
    " -> elf._bounds.fault(q, v, -1.0)": "0 and less both say that a new run begins",
    "control/state_bounds.py StateBounds.__init__: self._e = [0.0] * model.nv *": FIRST_STATE,
    "control/state_bounds.py StateBounds.__init__: self._unchanged = 0.0 *": FIRST_STATE,
    "control/state_bounds.py StateBounds.fault: e[i] = e_0 * decay + (change - half * (w + w"
    " -> e[i] = e_0 * decay - (change - half * (w + w": "every e changes its sign, and only its size counts",
    "messages/publisher_lock.py PublisherLock.__init__: self._heard_at = 0.0 *": FIRST_OWNER,
}
"""Reason by the key of a mutant, as the script prints it without the line; ``*`` at its end: all that begin so."""
