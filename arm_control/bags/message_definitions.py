"""Types of messages in bags: decoders by the definitions in a bag, and messages to fill without ROS.

``rosbags`` parses definitions and generates the decoders. Written here is the check that a bag's definitions of the
types that this package reads (:data:`READ_HERE`) have the fields of ROS: a damaged or hostile definition would give
messages with other fields.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any

import numpy as np
from rosbags.interfaces import Connection, ConnectionExtRosbag1, MessageDefinitionFormat, Nodetype
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from arm_control.exceptions import BagError, InputError
from arm_control.messages import JOINT_STATE, JointStateBytes, MessageBuilder

NEWEST = "kilted"
"""The ROS release of types without a definition."""
READ_HERE = (
    *("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration", "std_msgs/msg/Header", "std_msgs/msg/String"),
    *("std_msgs/msg/Float64", "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"),
    *(f"geometry_msgs/msg/{name}" for name in ("Point", "Vector3", "Quaternion", "Pose", "PoseStamped", "Transform")),
    *(f"trajectory_msgs/msg/{name}" for name in ("JointTrajectoryPoint", "MultiDOFJointTrajectory")),
    *("geometry_msgs/msg/Wrench", "geometry_msgs/msg/WrenchStamped"),
    *("geometry_msgs/msg/Twist", "geometry_msgs/msg/TwistStamped", "trajectory_msgs/msg/MultiDOFJointTrajectoryPoint"),
    *("visualization_msgs/msg/Marker", "visualization_msgs/msg/MarkerArray"),
)
"""Types whose fields are read: a bag must define them as ROS does."""
LATER_FIELDS = {"visualization_msgs/msg/Marker": ("texture", "uv_coordinates", "mesh_file", "texture_resource")}
"""Fields that older releases of ROS do not have."""
IDL_SEPARATOR = "=" * 80 + "\n"


class Decoder:
    """Decodes the messages of one type.

    Parameters
    ----------
    store : Typestore
        Definitions, that of the type among them.
    """

    def __init__(self, store: Typestore, type_name: str, is_ros1: bool) -> None:
        self._store = store
        self._type_name = type_name
        self._is_ros1 = is_ros1
        is_state = type_name == JOINT_STATE and not is_ros1
        self._joint_states = JointStateBytes() if is_state else None

    def content(self, raw: bytes) -> Any:
        """Return the message with the fields of its type; a BagError where the bytes are not a message of the type."""
        if self._joint_states is not None:
            with suppress(InputError):
                return self._joint_states.read(raw)
        try:
            if self._is_ros1:
                return self._store.deserialize_ros1(raw, self._type_name)
            return self._store.deserialize_cdr(raw, self._type_name)
        except Exception as error:  # generated code raises anything for damaged bytes
            raise BagError(f"not readable as {self._type_name}: {type(error).__name__}") from error

    def cdr(self, raw: bytes) -> bytes:
        """Return the bytes in the encoding of ROS 2; a BagError where the bytes are not a message of the type."""
        if not self._is_ros1:
            return raw
        try:
            return bytes(known_types(NEWEST).ros1_to_cdr(raw, self._type_name))
        except Exception as error:
            raise BagError(f"not readable as {self._type_name}: {type(error).__name__}") from error


def decoder_of(connection: Connection) -> Decoder:
    """Return the decoder of a connection's messages.

    A BagError where its type is unknown, here and in the bag, or defined otherwise than by ROS.
    """
    is_ros1 = isinstance(connection.ext, ConnectionExtRosbag1)
    definition = connection.msgdef
    store = known_types("ros1_noetic" if is_ros1 else NEWEST)
    if definition.format != MessageDefinitionFormat.NONE:
        is_idl = definition.format == MessageDefinitionFormat.IDL
        store = _own_types(definition.data, connection.msgtype, is_idl, is_ros1) or store
    known = known_types("ros1_noetic" if is_ros1 else NEWEST)
    for name in READ_HERE:
        if name in store.types and store is not known and _fields(store, name) != _fields(known, name):
            raise BagError(f"{connection.msgtype} is damaged, or another type of that name: see {name}")
    if connection.msgtype not in store.types:
        raise BagError(f"unknown type {connection.msgtype}")
    return Decoder(store, connection.msgtype, is_ros1)


def _fields(store: Typestore, type_name: str) -> list[Any]:
    """Names and types of the fields that all releases of ROS have."""
    return [field for field in store.fielddefs[type_name][1] if field[0] not in LATER_FIELDS.get(type_name, ())]


@cache
def known_types(name: str) -> Typestore:
    """Return the types of a release of ROS, by its name; those of :data:`NEWEST` for an unknown name."""
    stores = {store.value.removeprefix("ros2_"): store for store in Stores}
    return get_typestore(stores.get(name, Stores.ROS2_KILTED))


def local_types() -> Typestore:
    """Return the types of the release of ROS in this process's environment."""
    return known_types(os.environ.get("ROS_DISTRO") or NEWEST)


@cache
def _own_types(text: str, type_name: str, is_idl: bool, is_ros1: bool) -> Typestore | None:
    """Types of a definition in a bag; None where it cannot be parsed, and the type may be known without it."""
    try:
        known = known_types("ros1_noetic" if is_ros1 else NEWEST)
        if not is_ros1 and type_name in known.types and known.generate_msgdef(type_name, ros_version=2)[0] == text:
            return known
        store = get_typestore(Stores.EMPTY)
        if not is_idl:
            store.register(get_types_from_msg(text, type_name))
        for part in _idl_parts(text) if is_idl else ():
            store.register(get_types_from_idl(part))
        return store
    except Exception:  # the parser raises anything for a damaged text
        return None


def _idl_parts(text: str) -> list[str]:
    """Texts of the types in one IDL definition, as a recorder joins them."""
    if not text.startswith(f"{IDL_SEPARATOR}IDL: "):
        return [text]
    return [part.partition("\n")[2] for part in text.split(IDL_SEPARATOR)[1:]]


def new_message(type_name: str) -> Any:
    """Return a message of a type of :data:`NEWEST` in which every field is empty or zero.

    Examples
    --------
    >>> new_message("geometry_msgs/msg/Point").x
    0.0
    """
    return _empty_message(type_name)()


@cache
def _empty_message(type_name: str) -> Callable[[], Any]:
    """What makes an empty message of this type."""
    store = known_types(NEWEST)
    message = store.types[type_name]
    values = {name: _empty_value(description) for name, description in store.fielddefs[type_name][1]}
    return lambda: message(**{name: value() for name, value in values.items()})


def _empty_value(description: Any) -> Callable[[], Any]:
    """What makes the empty value of a field, by its description in the type store: its type, and that of elements."""
    form, detail = description
    if form == Nodetype.NAME:
        return _empty_message(detail)
    if form == Nodetype.BASE:
        value = "" if detail[0] == "string" else np.zeros((), dtype=detail[0]).item()
        return lambda: value
    (element, element_detail), size = detail
    length = size if form == Nodetype.ARRAY else 0
    if element == Nodetype.BASE and element_detail[0] != "string":
        return lambda: np.zeros(length, dtype=element_detail[0])
    empty = _empty_value(detail[0])
    return lambda: [empty() for _ in range(length)]


plain = MessageBuilder(new_message, partial(np.ascontiguousarray, dtype=np.float64))
"""Builds messages without ROS, for bags."""
