"""Every message of the public services with every field set, byte for byte as version 1.0 wrote it: a field
that changes its number or type is noticed here. BLESS=1 records messages anew."""

import os
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor

from harness import admin_pb2, compile_pb2, execute_pb2

RECORDED = Path(__file__).with_name("recorded_v1_0.txt")

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


def recorded():
    return dict(line.split(" ", 1) for line in RECORDED.read_text().splitlines())


def test_every_message_keeps_its_bytes():
    now = {name: message.SerializeToString(deterministic=True).hex() for name, message in samples()}
    if os.environ.get("BLESS"):
        RECORDED.write_text("".join(f"{name} {data}\n" for name, data in now.items()))
    before = recorded()
    changed = [name for name in before if now.get(name) != before[name]]
    assert not changed, f"these no longer write what version 1.0 wrote: {changed}"
    assert now.keys() == before.keys(), "new messages are recorded by BLESS=1"


@pytest.mark.parametrize("name, message", list(samples()), ids=lambda value: value if isinstance(value, str) else "")
def test_recorded_bytes_are_read(name, message):
    again = type(message).FromString(bytes.fromhex(recorded()[name]))
    assert again == message
