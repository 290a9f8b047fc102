"""Saved artifacts: what comes back, and every damage and forgery that is refused."""

import hashlib
import json
import struct

import numpy as np
import pytest
from fake_service import double
from intent_proto.compile.v1 import compile_pb2

import intent
from intent import container


@pytest.fixture
def saved(build, service, tmp_path):
    """(artifact, its file)."""
    service.kernel = double
    artifact = build(constexprs={"taps": 4})
    artifact.save(tmp_path / "a.intent")
    return artifact, tmp_path / "a.intent"


def forge(path, change):
    """Applies change(sections) to the sections of a file, with a digest that fits."""
    sections = container._decode(path.read_bytes())
    change(sections)
    path.write_bytes(container._encode(sections))


def sealed(body):
    return body + hashlib.sha256(body).digest()


def test_what_was_made_comes_back_without_a_service(saved, service, monkeypatch):
    artifact, path = saved
    monkeypatch.setenv("INTENT_COMPILER", "unix:/nowhere")
    requests = len(service.compiles)
    loaded = intent.load(path)
    assert (loaded.id, loaded.target, loaded.timings) == (artifact.id, artifact.target, artifact.timings)
    assert loaded.object_code == b"\x7fELF" and loaded.payload_names == ["object"]
    assert [(p.name, p.dtype, p.shape, p.access) for p in loaded.parameters] == [
        ("x", "f32", ("N",), "In"),
        ("scale", "f32", (), ""),
        ("out", "f32", ("N",), "Out"),
        ("state", "f32", ("N",), "InOut"),
    ]
    assert "kernel" in repr(loaded) and "kernel" in loaded._repr_html_()
    assert len(service.compiles) == requests


def test_a_call_has_the_service_compile_the_stored_request(saved, service):
    _, path = saved
    loaded = intent.load(path, compiler=service.address)
    service.forgotten = 1
    assert loaded.run(np.ones(2, np.float32), 1.0, np.zeros(2, np.float32)).tolist() == [2, 2]
    first, again = service.compiles
    assert again.module == first.module and again.bindings == first.bindings
    assert again.target == "t", "the resolved target: 'native' may be another here"


def test_another_compiler_makes_another_artifact(saved, service):
    _, path = saved
    service.version = 2
    arguments = (np.ones(2, np.float32), 1.0, np.zeros(2, np.float32))
    service.forgotten = 1
    with pytest.raises(intent.ServiceError, match="another version") as caught:
        intent.load(path, compiler=service.address).run(*arguments)
    assert caught.value.status == "FAILED_PRECONDITION"
    service.forgotten = 1
    loaded = intent.load(path, compiler=service.address, exact=False)
    assert loaded.run(*arguments).tolist() == [2, 2]


def test_errors_of_a_loaded_artifact_name_the_authors_place(saved, service):
    from intent_proto.execute.v1 import execute_pb2

    artifact, path = saved
    kind = execute_pb2.RunError.KIND_OUT_OF_BOUNDS
    service.error = execute_pb2.RunError(kind=kind, ordinal=0, parameter=3, axis=0, value=9, limit=3)
    messages = []
    for each in (artifact, intent.load(path, compiler=service.address)):
        with pytest.raises(intent.RunError) as caught:
            each.run(np.ones(3, np.float32), 1.0, np.zeros(3, np.float32))
        first = str(caught.value).partition("\n")[0]  # the source itself is not in the file
        messages.append((first, caught.value.parameter, caught.value.line))
    assert messages[0] == messages[1] and messages[0][1] == "state" and messages[0][2]


def test_a_save_that_fails_leaves_the_old_file(saved, monkeypatch):
    artifact, path = saved
    before = path.read_bytes()
    monkeypatch.setattr(container, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match="at most 100"):
        artifact.save(path)
    assert path.read_bytes() == before and [p.name for p in path.parent.glob("*.intent*")] == ["a.intent"]


def test_every_flipped_byte_and_every_cut_is_found(saved):
    _, path = saved
    whole = path.read_bytes()
    step = max(1, len(whole) // 150)
    for position in range(0, len(whole), step):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x41]) + whole[position + 1 :])
        with pytest.raises(intent.LoadError):
            intent.load(path)
        path.write_bytes(whole[:position])
        with pytest.raises(intent.LoadError):
            intent.load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(intent.LoadError):
        intent.load(path)


@pytest.mark.parametrize(
    "body, words",
    [
        (struct.pack("<II", 2, 0), "version 2"),
        (struct.pack("<II", 1, 2**32 - 1), "sections"),
        (
            struct.pack("<II", 1, 1) + struct.pack("<H", 3) + b"abc" + struct.pack("<Q", 2**64 - 1),
            "cut short",
        ),
        (struct.pack("<II", 1, 1) + struct.pack("<H", 60000), "cut short"),
        (struct.pack("<II", 1, 1) + struct.pack("<H", 1) + b"\xff" + struct.pack("<Q", 0), "proper name"),
        (struct.pack("<II", 1, 2) + 2 * (struct.pack("<H", 1) + b"a" + struct.pack("<Q", 0)), "proper name"),
        (struct.pack("<II", 1, 0) + b"rest", "goes on"),
        (struct.pack("<II", 1, 0), "no section"),
    ],
)
def test_forged_frames(tmp_path, body, words):
    path = tmp_path / "a.intent"
    path.write_bytes(sealed(container.MAGIC + body))
    with pytest.raises(intent.LoadError, match=words):
        intent.load(path)


def change_facts(change):
    def apply(sections):
        facts = json.loads(sections["facts"])
        change(facts)
        sections["facts"] = json.dumps(facts).encode()

    return apply


def change_message(name, kind, change):
    def apply(sections):
        message = kind.FromString(sections[name])
        change(message)
        sections[name] = message.SerializeToString()

    return apply


def put(key, value):
    return change_facts(lambda facts: facts.update({key: value}))


def put_parameter(key, value):
    return change_facts(lambda facts: facts["parameters"][0].update({key: value}))


FORGERIES = {
    "no artifact": lambda s: s.pop("artifact"),
    "another section": lambda s: s.update({"extra": b""}),
    "facts of another kind": lambda s: s.update(facts=b"[]"),
    "facts that are no JSON": lambda s: s.update(facts=b"\xff{"),
    "deep facts": lambda s: s.update(facts=b"[" * 100_000),
    "an unknown kind": put("kind", "code"),
    "a name that is a number": put("kernel", 3),
    "no file": change_facts(lambda f: f.pop("file")),
    "a negative ordinal": put("ordinals", [-1]),
    "an ordinal of another type": put("ordinals", ["0"]),
    "a parameter too few": change_facts(lambda f: f["parameters"].pop()),
    "another dtype": put_parameter("dtype", "f64"),
    "an unknown dtype": put_parameter("dtype", "f99"),
    "another access": put_parameter("access", "Out"),
    "another rank": put_parameter("shape", ["N", "M"]),
    "an extent that is negative": put_parameter("shape", [-1]),
    "a scalar for a view": put_parameter("kind", "scalar"),
    "a name that is none": put_parameter("name", "a b"),
    "a request that is none": lambda s: s.update(request=b"\xff\xff"),
    "a manifest that is none": change_message(
        "artifact", compile_pb2.Artifact, lambda m: setattr(m, "manifest", b"\xff\xff")
    ),
    "a source map that is none": change_message(
        "request", compile_pb2.CompileRequest, lambda m: setattr(m, "source_map", b"\xff\xff")
    ),
    "another target": change_message(
        "request", compile_pb2.CompileRequest, lambda m: setattr(m, "target", "native")
    ),
    "an id that is none": change_message("artifact", compile_pb2.Artifact, lambda m: setattr(m, "id", b"1")),
    "a payload of another size": lambda s: s.update({"payload:object": b"12345"}),
    "a payload of another name": lambda s: s.update({"payload:kir": s.pop("payload:object")}),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES.keys())
def test_forgeries_with_a_digest_that_fits(saved, change):
    _, path = saved
    forge(path, change)
    with pytest.raises(intent.LoadError):
        intent.load(path)


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        intent.load(tmp_path / "none")
    with pytest.raises(intent.LoadError, match="not a regular file"):
        intent.load("/dev/null")
