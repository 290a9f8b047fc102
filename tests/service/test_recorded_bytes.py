"""Every message of the public services with every field set, byte for byte as each version wrote it: a field
that changes its number or type is noticed here. A version's file never changes; BLESS=1 writes the file of the
newest version, which is a new one once messages have gained fields."""

import os
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor

from harness import admin_pb2, compile_pb2, execute_pb2

VERSIONS = sorted(Path(__file__).parent.glob("recorded_v*.txt"))
NEWEST = VERSIONS[-1]

SAMPLES = {
    FieldDescriptor.TYPE_BOOL: True,
    FieldDescriptor.TYPE_BYTES: b"\x00bytes\xff",
    FieldDescriptor.TYPE_DOUBLE: 1.5,
    FieldDescriptor.TYPE_FIXED64: 0x3F800000,
    FieldDescriptor.TYPE_INT32: -7,
    FieldDescriptor.TYPE_INT64: -1234567890123,
    FieldDescriptor.TYPE_SINT64: -3,
    FieldDescriptor.TYPE_STRING: "text",
    FieldDescriptor.TYPE_UINT32: 300,
    FieldDescriptor.TYPE_UINT64: 1 << 40,
}


def value_of(field, depth):
    if field.type == FieldDescriptor.TYPE_ENUM:
        return field.enum_type.values[-1].number
    return SAMPLES[field.type]


def fill(message, choice, depth=0):
    """Sets every field; of each oneof the alternative number `choice`."""
    for field in message.DESCRIPTOR.fields:
        oneof = field.containing_oneof
        if oneof is not None and oneof.fields[choice % len(oneof.fields)] is not field:
            continue
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            if depth == 6:
                continue
            repeated = field.label == FieldDescriptor.LABEL_REPEATED
            inner = getattr(message, field.name)
            inner = inner.add() if repeated else inner
            inner.SetInParent()
            fill(inner, choice, depth + 1)
        elif field.label == FieldDescriptor.LABEL_REPEATED:
            getattr(message, field.name).extend([value_of(field, depth)] * 2)
        else:
            setattr(message, field.name, value_of(field, depth))


def samples():
    for module in (compile_pb2, execute_pb2, admin_pb2):
        for name, descriptor in module.DESCRIPTOR.message_types_by_name.items():
            choices = max([len(oneof.fields) for oneof in descriptor.oneofs] or [1])
            for choice in range(choices):
                message = getattr(module, name)()
                fill(message, choice)
                yield f"{descriptor.full_name}/{choice}", message


def recorded(version):
    return dict(line.split(" ", 1) for line in version.read_text().splitlines())


def every_recording():
    for version in VERSIONS:
        for name, data in recorded(version).items():
            yield pytest.param(name, bytes.fromhex(data), id=f"{version.stem} {name}")


def test_the_newest_version_is_what_is_written_now():
    now = {name: message.SerializeToString(deterministic=True).hex() for name, message in samples()}
    if os.environ.get("BLESS"):
        NEWEST.write_text("".join(f"{name} {data}\n" for name, data in now.items()))
    before = recorded(NEWEST)
    changed = [name for name in before if now.get(name) != before[name]]
    assert not changed, f"these no longer write what {NEWEST.stem} holds: {changed}"
    assert now.keys() == before.keys(), "new messages are recorded by BLESS=1"


def keep_fields_of(message, pattern):
    """Clears in `message` what `pattern` does not set. An enum that has gained values since has the last of its time."""
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_ENUM and field.label != FieldDescriptor.LABEL_REPEATED:
            before = getattr(pattern, field.name)
            if field.enum_type.values[0].number < before < value:
                setattr(message, field.name, before)
                continue
        if field.label == FieldDescriptor.LABEL_REPEATED:
            given = getattr(pattern, field.name)
            if not given:
                message.ClearField(field.name)
            elif field.type == FieldDescriptor.TYPE_MESSAGE:
                for inner, inner_pattern in zip(value, given, strict=True):
                    keep_fields_of(inner, inner_pattern)
        elif field.has_presence and not pattern.HasField(field.name):
            message.ClearField(field.name)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            keep_fields_of(value, getattr(pattern, field.name))
        elif not getattr(pattern, field.name):
            message.ClearField(field.name)


@pytest.mark.parametrize("name, data", list(every_recording()))
def test_every_version_is_read(name, data):
    sample = dict(samples())[name]
    message = type(sample).FromString(data)
    assert message.SerializeToString(deterministic=True) == data
    keep_fields_of(sample, message)
    assert message == sample
