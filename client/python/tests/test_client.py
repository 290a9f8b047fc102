"""The client against a service made of a few lines: requests, diagnostics, statuses, inline and streamed calls."""

import grpc
import numpy as np
import pytest
from fake_service import TEXT, double
from intent_proto.compile.v1 import compile_pb2
from intent_proto.execute.v1 import execute_pb2

import intent


def test_a_request_names_target_options_and_bindings(build, service):
    options = intent.CompileOptions(numerics="relaxed_normalization", bounds="trust", opt_level=1)
    constexprs = {"taps": 7, "mode": build.module.Mode.SUB}
    build(target=intent.CpuTarget("x86-64-v3"), options=options, constexprs=constexprs)
    request = service.compiles[0]
    assert request.target == "x86-64-v3" and request.module and request.source_map
    assert request.options.numerics == compile_pb2.NUMERICS_RELAXED_NORMALIZATION
    assert request.options.bounds == compile_pb2.BOUNDS_TRUST and request.options.opt_level == 1
    assert [(b.parameter, b.int_value, b.enum_value.value) for b in request.bindings] == [
        (0, 7, 0),
        (1, 0, 5),
    ]


@pytest.mark.parametrize(
    "constexprs, words",
    [
        ({"taps": 1.5}, "'taps' takes int"),
        ({"mode": 1}, "a member of Mode"),
        ({"no": 1}, "'no' is no constexpr"),
    ],
)
def test_bindings_that_do_not_fit(build, service, constexprs, words):
    with pytest.raises(intent.CompileError, match=words):
        build(constexprs=constexprs)
    assert not service.compiles


def test_run_gives_the_out_arrays_and_updates_inout_ones(build, service):
    service.kernel = double
    x, state = np.arange(6, dtype=np.float32)[::2], np.ones(3, np.float32)
    out = build().run(x, 1.0, state)
    assert out.tolist() == [0, 4, 8] and state.tolist() == [1, 3, 5]
    assert service.calls[0].arguments[1].scalar_bits == 0x3F800000


def test_a_call_takes_out_arrays_too_and_returns_nothing(build, service):
    service.kernel = double
    out = np.empty((3, 2), np.float32)[:, 1]
    assert build()(np.ones(3, np.float32), 1.0, out, np.zeros(3, np.float32)) is None
    assert out.tolist() == [2, 2, 2]


def test_prepared_calls_read_the_arrays_as_they_are_at_each_launch(build, service):
    service.kernel = double
    x, out = np.ones(2, np.float32), np.zeros(2, np.float32)
    prepared = build().prepare(x, 1.0, np.zeros(2, np.float32), outputs=(out,))
    assert not service.calls
    prepared.launch()
    x[:] = 5
    prepared.launch()
    assert prepared.result() is out and out.tolist() == [10, 10]


def test_large_arrays_go_in_chunks_both_ways(build, service):
    service.kernel = double
    x, state = np.arange(700_001, dtype=np.float32), np.zeros(700_001, np.float32)
    out = build().run(x, 1.0, state)
    assert np.array_equal(out, x * 2) and np.array_equal(state, x)
    assert service.calls[0].allocations[0].WhichOneof("content") == "streamed"


def test_overlaps_reach_the_kernel_and_come_back(build, service):
    def smear(views, scalars):
        x, out, state = views
        state[...] = 0
        out[...] = x

    service.kernel = smear
    memory = np.arange(5, dtype=np.float32)
    out = build().run(memory[:-1], 1.0, memory[1:])
    assert out.tolist() == [0, 0, 0, 0] and memory.tolist() == [0] * 5


def test_diagnostics_get_the_authors_place(build, service):
    service.diagnostics = compile_pb2.Diagnostics()
    found = service.diagnostics.diagnostics.add(code="E1001", message="not lowered", ordinal=1)
    found.notes.add(text="see here", ordinal=0)
    with pytest.raises(intent.CompileError) as caught:
        build()
    diagnostic = caught.value.diagnostics[0]
    lines = open(build.module.__file__).read().splitlines()
    assert "x[:] * scale" in lines[diagnostic.line - 1] and diagnostic.file == build.module.__file__
    assert diagnostic.notes[0].line == diagnostic.line and "^" in str(diagnostic)


def test_a_run_error_names_parameter_axis_and_line(build, service):
    kind = execute_pb2.RunError.KIND_OUT_OF_BOUNDS
    service.error = execute_pb2.RunError(kind=kind, ordinal=0, parameter=3, axis=0, value=9, limit=3)
    with pytest.raises(
        intent.RunError, match="index 9 is out of bounds of state, axis 0, which has 3"
    ) as caught:
        build().run(np.ones(3, np.float32), 1.0, np.zeros(3, np.float32))
    assert (caught.value.parameter, caught.value.axis, caught.value.status) == ("state", 0, "out_of_bounds")
    assert caught.value.line


def test_a_status_becomes_a_service_error_with_advice_and_request_id(build, service):
    trailers = (("request-id", "r-17"), ("retry-after-ms", "25"))
    service.status = (grpc.StatusCode.RESOURCE_EXHAUSTED, "the queue is full", trailers)
    with pytest.raises(intent.ServiceError, match="again in 25 ms") as caught:
        build()
    assert (caught.value.status, caught.value.request_id) == ("RESOURCE_EXHAUSTED", "r-17")
    assert service.refused == 2  # the wait was short enough for one more try


def test_no_service_at_the_address(author, tmp_path):
    with pytest.raises(intent.ServiceError, match="is the daemon running"):
        intent.compile(author(TEXT).kernel, compiler=intent.Compiler(f"unix:{tmp_path}/none.sock"))


def test_a_forgotten_artifact_is_compiled_again(build, service):
    service.kernel = double
    artifact = build()
    service.forgotten = 1
    assert artifact.run(np.ones(1, np.float32), 1.0, np.zeros(1, np.float32)).tolist() == [2]
    assert len(service.compiles) == 2


def test_what_an_artifact_shows(build, service):
    artifact = build()
    assert artifact.object_code == b"\x7fELF" and artifact.target == "t"
    assert artifact.timings == {"emit": 0.0015}
    assert artifact.cache == {"hit": True, "where": "disk", "canonical": False}
    with pytest.raises(KeyError, match="it has: object"):
        artifact.payload("cubin")


def test_the_address_may_come_from_the_environment(author, service, monkeypatch):
    monkeypatch.setenv("INTENT_COMPILER", service.address)
    intent.compile(author(TEXT).kernel)
    assert len(service.compiles) == 1


def test_equal_work_has_an_equal_routing_key(build, service, author):
    build()
    intent.compile(
        author("# moved and renamed\n" + TEXT.replace("taps", "t")).kernel, compiler=service.address
    )
    build(constexprs={"taps": 4})
    build(target=intent.InterpreterTarget())
    first, *others = service.keys
    assert others[0] == first and first not in others[1:] and others[1] != others[2]


def test_the_routing_key_is_that_of_the_other_clients():
    from intent.client import routing_key

    request = compile_pb2.CompileRequest(module=b"module", source_map=b"map", target="native")
    request.bindings.add(parameter=1, int_value=-3)
    assert routing_key(request) == "7a16dad0d3a7457643db2c36d7c4aa521a95b0518e3b8aac1615ea3b83088345"
