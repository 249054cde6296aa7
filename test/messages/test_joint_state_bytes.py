"""Joint states as bytes: the numbers at known offsets are those of the message object."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from arm_control.bags import plain
from arm_control.exceptions import InputError
from arm_control.messages import (
    JointStateBytes,
    JointStateFields,
    JointStateWriter,
    brake_reason,
    braked_frame,
    effort_array_head,
)
from arm_control.messages.fields import LONGEST_REASON
from arm_control.messages.joint_state_bytes import LARGEST

TYPE = "sensor_msgs/msg/JointState"
STORE = get_typestore(Stores.ROS2_KILTED)
TEXTS = ("", "a", "abc", "wrist_1_joint", "Gelenk für Öl", "関節", "x" * 300)


def random_message(rng: np.random.Generator, n: int, frame: str = "base"):
    """A message of ``n`` joints, some of whose fields are empty."""
    names = [f"{rng.choice(TEXTS)}{i}" for i in range(n)]
    stamp_ns = int(rng.integers(-(2**31), 2**31)) * 10**9 + int(rng.integers(10**9))
    values = {field: rng.normal(size=n) for field in ("position", "velocity", "effort") if rng.random() < 0.7}
    message = plain.joint_state(names, stamp_ns, **values)
    message.header.frame_id = frame
    return message


def serialized(message, is_little: bool = True) -> bytes:
    """The bytes of a message."""
    return bytes(STORE.serialize_cdr(message, TYPE, little_endian=is_little))


def assert_same(fields: JointStateFields, message) -> None:
    """Fields are those of a message, to the last bit."""
    stamp = message.header.stamp
    assert fields.header.stamp == (stamp.sec, stamp.nanosec)
    assert fields.header.frame_id == message.header.frame_id
    assert fields.name == list(message.name)
    for name in ("position", "velocity", "effort"):
        array = getattr(fields, name)
        assert array.dtype == np.float64
        assert array.dtype.isnative
        assert array.flags.aligned
        assert array.tobytes() == np.array(getattr(message, name), dtype=float).tobytes()


@pytest.mark.parametrize("is_little", [True, False])
def test_bytes_and_object_say_the_same_for_random_messages(is_little: bool):
    rng, reader = np.random.default_rng(0), JointStateBytes()
    for _ in range(300):
        message = random_message(rng, int(rng.integers(0, 9)), str(rng.choice(TEXTS)))
        assert_same(reader.read(serialized(message, is_little)), message)
        for _ in range(2):  # the same layout again: read at known offsets
            for name in ("position", "velocity", "effort"):
                getattr(message, name)[:] = rng.choice([np.nan, np.inf, -0.0, 1.5], size=len(getattr(message, name)))
            message.header.stamp.sec = int(rng.integers(2**31))
            assert_same(reader.read(serialized(message, is_little)), message)


def reading_of(reader: JointStateBytes, data: bytes) -> tuple[object, ...] | None:
    """What a reader makes of bytes, comparable; None where they are refused."""
    try:
        header, name, *arrays = reader.read(data)
    except InputError:
        return None
    return header, name, *(array.tobytes() for array in arrays)


@pytest.mark.parametrize("is_little", [True, False])
def test_a_known_layout_never_changes_what_other_bytes_mean(is_little: bool):
    rng = np.random.default_rng(1)
    message = plain.joint_state(["ab", "cdef"], 5, position=np.ones(2), velocity=np.zeros(2))
    data = serialized(message, is_little)
    n_refused = n_other_layouts = 0
    for at in range(len(data)):
        for bits in (1, 128, int(rng.integers(1, 256))):
            changed = bytearray(data)
            changed[at] ^= bits
            reader = JointStateBytes()
            names = reader.read(data).name
            reading = reading_of(reader, bytes(changed))
            assert reading == reading_of(JointStateBytes(), bytes(changed))
            n_refused += reading is None
            n_other_layouts += reading is not None and reading[1] is not names
    assert n_refused > 20
    assert n_other_layouts > 20


def test_truncated_bytes_are_refused_wherever_they_end():
    data = serialized(random_message(np.random.default_rng(2), 6))
    reader = JointStateBytes()
    reader.read(data)
    for end in range(len(data) - 12):
        with pytest.raises(InputError, match=r"^not a JointState: "):
            reader.read(data[:end])
    assert reader.read(data).name


def test_noise_is_refused_or_read_and_lengths_beyond_the_end_cost_nothing():
    rng, reader = np.random.default_rng(3), JointStateBytes()
    data = serialized(random_message(rng, 6))
    for _ in range(2000):
        noise = bytearray(data)
        for at in rng.integers(len(data), size=rng.integers(1, 9)):
            noise[at] = rng.choice([0, 1, 127, 128, 255])
        reading_of(reader, bytes(noise))
        reading_of(reader, bytes([0, 1]) + rng.bytes(int(rng.integers(200))))
    for count_of in (12, 24, 28):  # the frame's bytes, the names, the bytes of the first
        huge = data[:count_of] + struct.pack("<I", 2**32 - 1) + data[count_of + 4 :]
        assert reading_of(reader, huge) is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a JointState: encoding missing, allowed 0000 and 0001"),
        (b"\0\7\0\0", "not a JointState: encoding 0007, allowed 0000 and 0001"),
        (bytes(LARGEST + 1), f"not read: {LARGEST + 1} bytes, allowed {LARGEST}"),
        (b"\0\1\0\0\0\0", "not a JointState: it ends after 6 bytes"),
    ],
)
def test_why_bytes_are_refused(data: bytes, why: str):
    with pytest.raises(InputError) as refusal:
        JointStateBytes().read(data)
    assert str(refusal.value) == why


@pytest.mark.parametrize("fields", [("position",), ("effort",), ("position", "velocity"), ("velocity", "effort")])
def test_what_is_written_is_read_here_and_by_others(fields: tuple[str, ...]):
    rng = np.random.default_rng(4)
    for frame in (*TEXTS, "", "again"):
        names = [f"{frame}{i}" for i in range(int(rng.integers(1, 8)))]
        writer = JointStateWriter(names, fields)
        for stamp_ns in (-1, 0, 12_345_678_901):
            values = {field: rng.normal(size=len(names)) for field in fields}
            data = writer.message(stamp_ns, *values.values(), frame_id=frame)
            expected = plain.joint_state(names, stamp_ns, **values)
            expected.header.frame_id = frame
            assert_same(JointStateBytes().read(data), expected)
            assert serialized(STORE.deserialize_cdr(data, TYPE)) == serialized(expected)


@pytest.mark.parametrize("values", [np.zeros(2, dtype=np.float32), np.zeros(3), np.zeros(1)])
def test_only_a_float64_for_each_joint_is_written(values: np.ndarray):
    with pytest.raises(InputError, match="float64, one for each joint, are needed"):
        JointStateWriter(["a", "b"]).message(0, values)


def test_only_neighbouring_fields_are_written():
    with pytest.raises(InputError, match="fields position, effort: neighbours among"):
        JointStateWriter(["a"], ("position", "effort"))


def test_the_array_of_torque_is_that_of_its_type():
    tau = np.arange(6.0)
    message = STORE.deserialize_cdr(effort_array_head(6) + tau.tobytes(), "std_msgs/msg/Float64MultiArray")
    np.testing.assert_array_equal(message.data, tau)
    assert (message.layout.dim, message.layout.data_offset) == ([], 0)


def test_a_long_reason_is_cut_to_what_is_read():
    data = JointStateWriter(["a"]).message(0, np.zeros(1), frame_id=braked_frame("why " * LARGEST))
    reason = brake_reason(JointStateBytes().read(data))
    assert reason.startswith("why why ")
    assert len(reason) < LONGEST_REASON
