"""Poses of frames and rotation matrices.

Names follow a monogram: ``X_AB`` is the pose of frame B in frame A, ``R_AB`` its rotation matrix (the axes of B,
written in A), ``p_AB`` its position, and ``X_AC = X_AB X_BC``. The letters are W for the world, B for the base or a
body, E for the end effector, T for a target or tool, O for an obstacle. Quaternions appear at the boundary only, in
the order x, y, z, w, and are normalised on entry.

Source: J. Sola, J. Deray, D. Atchuthan, "A micro Lie theory for state estimation in robotics", 2018.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths.scalars import Array, Scalar, atan2, maximum, select, sqrt

TINY = 1e-300
"""Smallest divisor: keeps a quotient finite where its numerator vanishes, too."""


class Pose(NamedTuple):
    """The pose ``X_AB`` of frame B in frame A, over any scalar: an element of SE(3).

    A named tuple, because it is made in every tick: a frozen dataclass takes three times as long.

    Attributes
    ----------
    R : array, shape (3, 3)
        Rotation matrix ``R_AB``.
    p : array, shape (3,)
        Position ``p_AB`` of the origin of B in A [m].

    Examples
    --------
    >>> X = Pose(np.eye(3), np.array([1.0, 0.0, 0.0]))
    >>> (X @ X).p
    array([2., 0., 0.])
    >>> (X.inverse() @ X).p
    array([0., 0., 0.])
    >>> X
    Pose.at([1, 0, 0], [0, 0, 0, 1])
    """

    R: Array
    p: Array

    def __repr__(self) -> str:
        if self.R.dtype == object or np.shape(self.R) != (3, 3) or np.shape(self.p) != (3,):
            return f"Pose(R={self.R!r}, p={self.p!r})"
        position, quaternion = (
            ", ".join(f"{x + 0.0:.6g}" for x in np.round(numbers, 9))
            for numbers in (self.p, quaternion_from_rotation(self.R))
        )
        return f"Pose.at([{position}], [{quaternion}])"

    @classmethod
    def at(cls, position: npt.ArrayLike, quat_xyzw: npt.ArrayLike = (0.0, 0.0, 0.0, 1.0)) -> Pose:
        """Return the pose at a position, with an orientation.

        Parameters
        ----------
        position : array_like, shape (3,)
            Position [m].
        quat_xyzw : array_like, shape (4,)
            Quaternion, scalar last; it is normalised. By default the axes are parallel.

        Raises
        ------
        InputError
            When a shape is wrong or a number is not finite.
        """
        return cls(rotation_from_quaternion(quat_xyzw), _position(position))

    @classmethod
    def from_matrix(cls, X: npt.ArrayLike) -> Pose:
        """Return the pose of a homogeneous matrix, shape (4, 4) [m], the inverse of :meth:`matrix`.

        Raises
        ------
        InputError
            When it has another shape, or is no rotation and translation.

        Examples
        --------
        >>> Pose.from_matrix(np.eye(4))
        Pose.at([0, 0, 0], [0, 0, 0, 1])
        """
        matrix = _floats(X, "pose")
        if matrix.shape != (4, 4):
            raise InputError(f"pose has shape {matrix.shape}; allowed: (4, 4), or Pose.at(position, quaternion)")
        R = matrix[:3, :3]
        is_rotation = np.allclose(R @ R.T, np.eye(3), rtol=0.0, atol=1e-6) and np.linalg.det(R) > 0.0
        if not (is_rotation and np.allclose(matrix[3], [0.0, 0.0, 0.0, 1.0], rtol=0.0, atol=1e-9)):
            raise InputError(f"pose {matrix.tolist()} is not a rotation and a translation above 0 0 0 1")
        return cls(R.copy(), _position(matrix[:3, 3]))

    @classmethod
    def identity(cls) -> Pose:
        """``X_AA``: the pose of a frame in itself."""
        return cls(np.eye(3), np.zeros(3))

    def __matmul__(self, other: Pose) -> Pose:
        """``X_AC = X_AB X_BC``."""
        return Pose(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> Pose:
        """``X_BA``."""
        return Pose(self.R.T, -(self.R.T @ self.p))

    def matrix(self) -> Array:
        """The homogeneous matrix of the pose, shape (4, 4)."""
        return np.block([[self.R, self.p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


def _position(values: npt.ArrayLike) -> Array:
    p = _floats(values, "position")
    if p.shape != (3,) or not np.isfinite(p).all():
        raise InputError(f"position {p.tolist()}: allowed are three finite numbers [m]")
    return p.copy()


def _floats(values: npt.ArrayLike, what: str) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what} {values!r} is not an array of numbers") from None


def rotation_from_quaternion(quat_xyzw: npt.ArrayLike) -> Array:
    """Rotation matrix of a quaternion.

    Parameters
    ----------
    quat_xyzw : array_like, shape (4,)
        Quaternion, scalar last, of any length except zero; it is normalised.

    Returns
    -------
    ndarray, shape (3, 3)

    Raises
    ------
    InputError
        When an entry is not finite or the length is below 1e-6.

    Examples
    --------
    >>> rotation_from_quaternion([0, 0, 0, 2.0])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    quat = np.asarray(quat_xyzw, dtype=float)
    norm = float(np.linalg.norm(quat)) if quat.shape == (4,) else math.nan
    if not (math.isfinite(norm) and norm >= 1e-6):
        raise InputError(f"quaternion {quat.tolist()} is not a rotation; allowed: 4 finite numbers, not all 0")
    return _rotation(*(quat / norm).tolist())


def rotations_from_quaternions(quats_xyzw: Array) -> Array:
    """Rotation matrices, shape (k, 3, 3), of unit quaternions, shape (k, 4), scalar last."""
    return np.moveaxis(_rotation(*quats_xyzw.T), -1, 0)


def _rotation(x: Any, y: Any, z: Any, w: Any) -> Array:
    """Rotation matrix of a unit quaternion, shape (3, 3); of arrays (k,), shape (3, 3, k)."""
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_from_rotation(R: Array) -> Array:
    """Quaternion of a rotation matrix, with a scalar part that is not negative.

    Parameters
    ----------
    R : ndarray, shape (3, 3)
        Rotation matrix.

    Returns
    -------
    ndarray, shape (4,)
        Unit quaternion x, y, z, w. Of four equivalent divisions the one with the largest divisor, which is at
        least 1, is used: the result is accurate at every angle (S. W. Shepperd, 1978).
    """
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    four_squares = (1 + a - e - i, 1 - a + e - i, 1 - a - e + i, 1 + a + e + i)
    columns = (
        [four_squares[0], b + d, g + c, h - f],
        [b + d, four_squares[1], f + h, c - g],
        [g + c, f + h, four_squares[2], d - b],
        [h - f, c - g, d - b, four_squares[3]],
    )
    column, largest = columns[0], four_squares[0]
    for other, square in zip(columns[1:], four_squares[1:], strict=True):
        column = [select(square - largest, x, y) for x, y in zip(other, column, strict=True)]
        largest = maximum(square, largest)
    quat = np.array(column) / (2.0 * sqrt(largest))
    quat = quat / sqrt(quat @ quat)
    return quat * select(-quat[3], -1.0, 1.0)


def rotation_vector(R: Array) -> Array:
    """Axis times angle of a rotation matrix: ``log R``.

    Parameters
    ----------
    R : ndarray, shape (3, 3)
        Rotation matrix.

    Returns
    -------
    ndarray, shape (3,)
        Rotation vector [rad], length in [0, pi]. Accurate at every angle; at exactly pi one of the two
        equivalent vectors.

    Examples
    --------
    >>> rotation_vector(np.eye(3))
    array([0., 0., 0.])
    """
    quat = quaternion_from_rotation(R)
    sine = sqrt(quat[:3] @ quat[:3])
    return quat[:3] * select(sine, 2.0 * atan2(sine, quat[3]) / maximum(sine, TINY), 2.0)


def rotation_from_vector(vector: npt.ArrayLike) -> Array:
    """Rotation matrix of an axis times an angle: ``exp [r]``, the inverse of :func:`rotation_vector`.

    Parameters
    ----------
    vector : array_like, shape (3,)
        Rotation vector [rad], any length.

    Returns
    -------
    ndarray, shape (3, 3)
    """
    vector = np.asarray(vector, dtype=float)
    angle = float(np.linalg.norm(vector))
    half_sinc = 0.5 * float(np.sinc(0.5 * angle / np.pi))
    return rotation_from_quaternion([*(half_sinc * vector), math.cos(0.5 * angle)])


def rotation_from_rpy(rpy: npt.ArrayLike) -> Array:
    """Rotation ``R = Rz(yaw) Ry(pitch) Rx(roll)`` of roll, pitch, yaw, shape (3,) [rad], as in a URDF.

    Returns
    -------
    ndarray, shape (3, 3)
    """
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy).tolist(), np.cos(rpy).tolist()
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotation_with_z(axis: Array) -> Array:
    """A rotation matrix whose third column is the unit vector ``axis``; of zeros and ones where possible."""
    first = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    x = first - axis * (first @ axis)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def rpy_from_rotation(R: Array) -> Array:
    """Roll, pitch and yaw of a rotation matrix, the inverse of :func:`rotation_from_rpy`.

    Parameters
    ----------
    R : ndarray, shape (3, 3)
        Rotation matrix.

    Returns
    -------
    ndarray, shape (3,)
        Roll and yaw in [-pi, pi], pitch in [-pi/2, pi/2] [rad]. At a pitch of +-pi/2 only the sum or the
        difference of roll and yaw is defined; the result still gives R. Roll and pitch are computed in the frame
        turned by the yaw, so that rounding of the yaw there has no effect.

    Examples
    --------
    >>> rpy_from_rotation(rotation_from_rpy([0.1, -0.2, 0.3])).round(12)
    array([ 0.1, -0.2,  0.3])
    """
    (a, b, c), (d, e, f), (g, _, _) = R.tolist()
    yaw = math.atan2(d, a)
    sine, cosine = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-g, cosine * a + sine * d)
    return np.array([math.atan2(sine * c - cosine * f, cosine * e - sine * b), pitch, yaw])


def wrap_angle(angle: Array) -> Array:
    """Equivalent angles in [-pi, pi).

    Examples
    --------
    >>> wrap_angle(np.array([0.0, 2 * np.pi + 0.5])).round(12)
    array([0. , 0.5])
    """
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


def limit_magnitude(vector: Array, longest: Scalar) -> Array:
    """A vector, shortened to the length ``longest`` if it is longer (O. Khatib, 1986).

    Parameters
    ----------
    vector : ndarray, shape (n,)
        Any vector.
    longest : float
        Largest length of the result, in the vector's unit; not negative.

    Returns
    -------
    ndarray, shape (n,)

    Examples
    --------
    >>> limit_magnitude(np.array([3.0, 4.0]), 1.0)
    array([0.6, 0.8])
    """
    return vector * (longest / maximum(maximum(sqrt(vector @ vector), longest), TINY))
