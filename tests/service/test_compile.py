"""Compile, CompileMany, Lookup and GetPayload: answers, and refusals with their statuses."""

import grpc
import pytest

from harness import BAD_TEXT, CLIENT, Where, compile_pb2, compile_request, encode, status_of

Code = grpc.StatusCode


def test_a_miss_then_a_hit_with_the_same_artifact(daemon, chain):
    first = daemon.compile(chain(1)).artifact
    second = daemon.compile(chain(1)).artifact
    assert first.cache.where == Where.WHERE_COMPILED
    assert second.cache.where == Where.WHERE_MEMORY
    assert (first.id, first.manifest) == (second.id, second.manifest)
    assert {time.stage for time in second.times} >= {"decode", "verify"}


def test_the_manifest_describes_the_call(daemon, chain):
    manifest = compile_pb2.Manifest.FromString(daemon.compile(chain(1)).artifact.manifest)
    assert manifest.target == daemon.capabilities().host_target
    assert [p.view.dtype for p in manifest.parameters] == ["f32", "f32"]
    assert [p.view.access for p in manifest.parameters] == [compile_pb2.ACCESS_IN, compile_pb2.ACCESS_OUT]
    assert [p.view.axes[0].symbol for p in manifest.parameters] == [0, 0]


def test_an_equivalent_module_shares_the_artifact(daemon, folder):
    text = """kernel (%x: view<in, f32, [s0]>, %y: view<out, f32, [s0]>) {
  %a = view_load %x [:] : tensor<f32, [s0]>
DEAD  %b = binary add %a, %a : tensor<f32, [s0]>
  view_store %y [:] = %b
  return
}
"""
    plain = encode(folder, text.replace("DEAD", ""))
    dead = encode(folder, text.replace("DEAD", "  %unused = binary mul %a, %a : tensor<f32, [s0]>\n"))
    assert plain != dead
    first = daemon.compile(plain).artifact
    second = daemon.compile(dead).artifact
    assert second.id == first.id
    assert second.cache.canonical
    assert daemon.statistics().compiles == 1
    assert not daemon.compile(dead).artifact.cache.canonical, "the alias answers the second time"


def test_every_part_of_a_request_enters_its_key(daemon, chain):
    requests = [
        compile_request(chain(2)),
        compile_request(chain(3)),
        compile_request(chain(2), target="interp"),
        compile_request(chain(2), target="x86-64-v2"),
        compile_request(chain(2), options=compile_pb2.CompileOptions(opt_level=0)),
        compile_request(chain(2), options=compile_pb2.CompileOptions(bounds=compile_pb2.BOUNDS_TRUST)),
        compile_request(chain(2), options=compile_pb2.CompileOptions(online_reduction=False)),
        compile_request(
            chain(2), options=compile_pb2.CompileOptions(numerics=compile_pb2.NUMERICS_RELAXED_NORMALIZATION)
        ),
        compile_request(chain(2), options=compile_pb2.CompileOptions(disabled_passes=["fuse"])),
        compile_request(chain(2), options=compile_pb2.CompileOptions(keep_source=True)),
    ]
    ids = {daemon.compile_service.Compile(request).artifact.id for request in requests}
    assert len(ids) == len(requests)


def test_defaults_written_out_are_the_same_request(daemon, chain):
    daemon.compile(chain(4))
    options = compile_pb2.CompileOptions(online_reduction=True, opt_level=2)
    assert daemon.compile(chain(4), options=options).artifact.cache.where == Where.WHERE_MEMORY


def test_mistakes_are_diagnostics_with_status_ok(daemon, folder):
    response = daemon.compile(encode(folder, BAD_TEXT))
    (diagnostic,) = response.diagnostics.diagnostics
    assert diagnostic.code == "E0305"
    assert diagnostic.ordinal == 1
    assert diagnostic.message


@pytest.mark.parametrize("module", [b"\xff\xff\xff", b"x" * 1000, b"\x08\x01"])
def test_bytes_that_are_no_module_are_diagnosed(daemon, module):
    codes = {d.code for d in daemon.compile(module).diagnostics.diagnostics}
    assert codes and all(code.startswith("E01") for code in codes)


def test_payloads_come_inline_or_in_chunks(daemon, chain):
    artifact = daemon.compile(chain(5), inline_payloads=["object"]).artifact
    payloads = {p.name: p for p in artifact.payloads}
    assert payloads["object"].data[:4] == b"\x7fELF"
    assert len(payloads["object"].data) == payloads["object"].size
    assert not payloads["kir"].data and payloads["kir"].size > 0
    request = compile_pb2.GetPayloadRequest(client=CLIENT, artifact_id=artifact.id, name="object", offset=3)
    chunks = list(daemon.compile_service.GetPayload(request))
    assert b"".join(c.data for c in chunks) == payloads["object"].data[3:]
    assert chunks[0].offset == 3 and chunks[0].total_size == payloads["object"].size


def test_payloads_that_are_not_there(daemon, chain):
    artifact = daemon.compile(chain(5)).artifact

    def get(**fields):
        request = compile_pb2.GetPayloadRequest(client=CLIENT, **fields)
        return status_of(lambda: list(daemon.compile_service.GetPayload(request)))[0]

    assert get(artifact_id=artifact.id, name="cubin") == Code.NOT_FOUND
    assert get(artifact_id=bytes(32), name="object") == Code.NOT_FOUND
    assert get(artifact_id=b"short", name="object") == Code.INVALID_ARGUMENT
    assert get(artifact_id=artifact.id, name="object", offset=1 << 40) == Code.OUT_OF_RANGE


def test_lookup_never_compiles(daemon, chain):
    request = compile_pb2.LookupRequest(client=CLIENT, request=compile_request(chain(6)))
    assert not daemon.compile_service.Lookup(request).HasField("artifact")
    artifact = daemon.compile(chain(6)).artifact
    assert daemon.compile_service.Lookup(request).artifact.id == artifact.id
    by_id = compile_pb2.LookupRequest(client=CLIENT, artifact_id=artifact.id)
    assert daemon.compile_service.Lookup(by_id).artifact.manifest == artifact.manifest
    assert daemon.statistics().compiles == 1


def test_compile_many_answers_every_item(daemon, chain, folder):
    items = [compile_pb2.CompileManyRequest(tag=i, request=compile_request(chain(i % 5))) for i in range(100)]
    items.append(compile_pb2.CompileManyRequest(tag=1000, request=compile_request(encode(folder, BAD_TEXT))))
    items.append(compile_pb2.CompileManyRequest(tag=1001))
    answers = {answer.tag: answer for answer in daemon.compile_service.CompileMany(iter(items))}
    assert answers.keys() == {item.tag for item in items}
    assert all(answers[i].response.artifact.id for i in range(100))
    assert len({answers[i].response.artifact.id for i in range(100)}) == 5
    assert answers[1000].response.diagnostics.diagnostics
    assert answers[1001].failure.code == Code.FAILED_PRECONDITION.value[0]
    assert daemon.statistics().compiles == 5


def test_a_bypass_neither_reads_nor_writes_the_cache(daemon, chain):
    policy = compile_pb2.CACHE_POLICY_BYPASS
    first = daemon.compile(chain(7), cache=policy).artifact
    daemon.compile(chain(7), cache=policy)
    counters = daemon.statistics()
    assert (counters.bypasses, counters.compiles, counters.misses) == (2, 2, 0)
    assert daemon.compile(chain(7)).artifact.cache.where == Where.WHERE_COMPILED
    request = compile_pb2.GetPayloadRequest(client=CLIENT, artifact_id=first.id, name="object")
    assert list(daemon.compile_service.GetPayload(request))


@pytest.mark.parametrize(
    "change, code",
    [
        (dict(client=compile_pb2.ClientInfo()), Code.FAILED_PRECONDITION),
        (dict(client=compile_pb2.ClientInfo(protocol_major=2)), Code.FAILED_PRECONDITION),
        (dict(client=compile_pb2.ClientInfo(protocol_major=1, protocol_minor=999)), Code.FAILED_PRECONDITION),
        (dict(client=compile_pb2.ClientInfo(protocol_major=1, producer="p" * 129)), Code.RESOURCE_EXHAUSTED),
        (dict(module=b""), Code.INVALID_ARGUMENT),
        (dict(module=bytes(16 * 2**20 + 1)), Code.RESOURCE_EXHAUSTED),
        (dict(source_map=bytes(16 * 2**20 + 1)), Code.RESOURCE_EXHAUSTED),
        (dict(target=""), Code.FAILED_PRECONDITION),
        (dict(target="x86-64-v9"), Code.FAILED_PRECONDITION),
        (dict(target="native\n-mattr=+evil"), Code.FAILED_PRECONDITION),
        (dict(target="v" * 513), Code.RESOURCE_EXHAUSTED),
        (dict(options=compile_pb2.CompileOptions(opt_level=3)), Code.INVALID_ARGUMENT),
        (dict(options=compile_pb2.CompileOptions(disabled_passes=["p"] * 65)), Code.RESOURCE_EXHAUSTED),
        (dict(options=compile_pb2.CompileOptions(disabled_passes=["p" * 129])), Code.RESOURCE_EXHAUSTED),
        (dict(bindings=[compile_pb2.Binding(parameter=0)]), Code.INVALID_ARGUMENT),
        (dict(bindings=[compile_pb2.Binding(parameter=0, int_value=1)] * 2), Code.INVALID_ARGUMENT),
        (
            dict(bindings=[compile_pb2.Binding(parameter=i, int_value=1) for i in range(1025)]),
            Code.RESOURCE_EXHAUSTED,
        ),
        (dict(inline_payloads=["object"] * 65), Code.RESOURCE_EXHAUSTED),
    ],
)
def test_envelopes_that_are_refused(daemon, chain, change, code):
    request = compile_request(chain(1))
    for name in change:
        request.ClearField(name)
    request.MergeFrom(compile_pb2.CompileRequest(**change))
    found, message, trailers = status_of(daemon.compile_service.Compile, request)
    assert found == code, message
    assert f"[request {trailers['request-id']}]" in message
    assert trailers["request-id"] in daemon.log()
    assert daemon.compile(chain(1)).artifact.id, "the daemon goes on"
    counters = daemon.statistics()
    assert (counters.errors, counters.worker_crashes) == (1, 0)


def test_a_limit_itself_is_not_exceeded(daemon):
    response = daemon.compile(b"\xff" * (16 * 2**20))
    assert response.diagnostics.diagnostics[0].code == "E0101"


def raw(daemon, message):
    call = daemon.channel.unary_unary("/intent.compile.v1.CompileService/Compile")
    return status_of(call, message)


def test_unknown_fields_and_enum_values_are_refused(daemon, chain):
    good = compile_request(chain(1))
    field = b"\xa0\x06\x01"  # field 100, varint 1
    assert raw(daemon, good.SerializeToString() + field)[0] == Code.INVALID_ARGUMENT
    nested = compile_pb2.CompileOptions.FromString(field)
    assert raw(daemon, compile_request(chain(1), options=nested).SerializeToString())[0] == Code.INVALID_ARGUMENT
    value = compile_pb2.CompileOptions.FromString(b"\x08\x63")  # numerics = 99
    assert raw(daemon, compile_request(chain(1), options=value).SerializeToString())[0] == Code.INVALID_ARGUMENT


def test_messages_beyond_the_envelope_are_refused(daemon, chain):
    code, _, _ = status_of(daemon.compile, bytes(64 * 2**20))
    assert code == Code.RESOURCE_EXHAUSTED
    assert daemon.compile(chain(1)).artifact.id


def test_helpers_that_recurse_are_diagnosed(daemon, folder):
    text = """kernel (%x: view<in, f32, []>, %y: view<out, f32, []>) {
  %a = view_load %x [] : f32
  %b = call f1 %a : f32
  view_store %y [] = %b
  return
}
fn f1 (%a: f32) -> f32 {
  %b = call f1 %a : f32
  return %b
}
"""
    codes = [d.code for d in daemon.compile(encode(folder, text)).diagnostics.diagnostics]
    assert "E0406" in codes


def test_nesting_ten_thousand_deep_is_diagnosed(daemon):
    from intent_proto.kir.v1 import kir_pb2

    function = kir_pb2.Function()
    function.types.add(kind=kir_pb2.TYPE_NONE)
    function.types.add(kind=kir_pb2.TYPE_SCALAR, dtype=kir_pb2.DTYPE_BOOL)
    function.value_types.append(1)
    condition = function.operations.add(kind=kir_pb2.OP_CONSTANT, result=0)
    condition.constant.dtype = kir_pb2.DTYPE_BOOL
    condition.constant.bits = b"\x01"
    function.blocks.add(operations=[0])
    for depth in range(10_000):
        outer = function.blocks[-1]
        inner = function.blocks.add()
        function.value_types.append(0)
        outer.operations.append(len(function.operations))
        function.operations.add(
            kind=kir_pb2.OP_IF, result=depth + 1, operands=[0], regions=[len(function.blocks) - 1]
        )
    module = kir_pb2.Module(format=1, functions=[function])
    codes = {d.code for d in daemon.compile(module.SerializeToString()).diagnostics.diagnostics}
    assert codes and codes <= {"E0901", "E0101", "E0103", "E0104"}, codes
    assert daemon.statistics().worker_crashes == 0


def test_health_and_reflection_answer(daemon):
    health = daemon.channel.unary_unary("/grpc.health.v1.Health/Check")
    assert health(b"") == b"\x08\x01"  # status: SERVING
    reflect = daemon.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
    (answer,) = reflect(iter([b"\x3a\x00"]))  # list_services: ""
    assert b"intent.compile.v1.CompileService" in answer
