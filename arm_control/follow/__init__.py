"""Chunks of a learned policy, followed with limits that are proved."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.follow.chunk_follower import PASS, REFUSE, SLEW, ChunkFollower, ChunkParameters, ChunkReport
    from arm_control.follow.scripted_policy import Script, chunks_along, scripted_chunks
    from arm_control.follow.stiffness_tank import BOUNDS, StiffnessParameters, StiffnessTank
else:
    __getattr__, __dir__, __all__ = face(__name__)
