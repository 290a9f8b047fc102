"""A client in any language: messages of the protos and gRPC, no code of ours.

The module is y[i] = sum over j of a[i, j] * x[j] + bias, built message by message.
"""

import grpc
import numpy as np
import pytest
import harness  # noqa: F401  (puts the generated modules on the path)

from intent_proto.compile.v1 import compile_pb2, compile_pb2_grpc
from intent_proto.execute.v1 import execute_pb2, execute_pb2_grpc
from intent_proto.kir.v1 import kir_pb2 as kir

CLIENT = compile_pb2.ClientInfo(protocol_major=1, protocol_minor=0, producer="protos-alone")


def matrix_times_vector() -> bytes:
    module = kir.Module(format=1, kernel=0)
    function = module.functions.add(symbol_count=2)
    for symbol in (0, 1):
        function.extents.add(symbol=symbol)

    def add_type(**fields):
        function.types.add(**fields)
        return len(function.types) - 1

    f32 = kir.DTYPE_F32
    none = add_type(kind=kir.TYPE_NONE)
    matrix_view = add_type(kind=kir.TYPE_VIEW, dtype=f32, shape=[0, 1], access=kir.ACCESS_IN)
    vector_view = add_type(kind=kir.TYPE_VIEW, dtype=f32, shape=[1], access=kir.ACCESS_IN)
    result_view = add_type(kind=kir.TYPE_VIEW, dtype=f32, shape=[0], access=kir.ACCESS_OUT)
    scalar = add_type(kind=kir.TYPE_SCALAR, dtype=f32)
    matrix = add_type(kind=kir.TYPE_TENSOR, dtype=f32, shape=[0, 1])
    vector = add_type(kind=kir.TYPE_TENSOR, dtype=f32, shape=[1])
    result = add_type(kind=kir.TYPE_TENSOR, dtype=f32, shape=[0])
    function.result_type = none

    def add_value(type_index):
        function.value_types.append(type_index)
        return len(function.value_types) - 1

    body = function.blocks.add()
    for type_index in (matrix_view, vector_view, scalar, result_view):
        function.parameters.add()
        body.arguments.append(add_value(type_index))
    a, x, bias, y = body.arguments

    def add_operation(kind, type_index, *operands, **attributes):
        value = add_value(type_index)
        body.operations.append(len(function.operations))
        function.operations.add(kind=kind, result=value, operands=operands, **attributes)
        return value

    def whole(rank):
        return kir.Index(terms=[kir.IndexTerm(kind=kir.INDEX_FULL)] * rank)

    loaded_a = add_operation(kir.OP_VIEW_LOAD, matrix, a, index=whole(2))
    loaded_x = add_operation(kir.OP_VIEW_LOAD, vector, x, index=whole(1))
    pair = kir.AxisPair(lhs=kir.StaticInt(value=1), rhs=kir.StaticInt(value=0))
    product = add_operation(
        kir.OP_CONTRACT, result, loaded_a, loaded_x, contract=kir.Contract(reduce=[pair])
    )
    spread = add_operation(kir.OP_BROADCAST, result, bias)
    total = add_operation(kir.OP_BINARY, result, product, spread, binary=kir.Binary(kind=kir.BINARY_ADD))
    add_operation(kir.OP_VIEW_STORE, none, y, total, index=whole(1))
    add_operation(kir.OP_RETURN, none)
    return module.SerializeToString(deterministic=True)


@pytest.fixture
def stubs(daemon):
    with grpc.insecure_channel(f"unix:{daemon.socket}") as channel:
        yield compile_pb2_grpc.CompileServiceStub(channel), execute_pb2_grpc.ExecuteServiceStub(channel)


@pytest.mark.parametrize("target", ["native", "interp"])
def test_a_module_is_compiled_and_run(stubs, target):
    compiling, executing = stubs
    request = compile_pb2.CompileRequest(client=CLIENT, module=matrix_times_vector(), target=target)
    response = compiling.Compile(request, timeout=60)
    assert response.WhichOneof("outcome") == "artifact", response
    manifest = compile_pb2.Manifest.FromString(response.artifact.manifest)
    assert [p.WhichOneof("kind") for p in manifest.parameters] == ["view", "view", "scalar", "view"]

    a = np.random.default_rng(7).standard_normal((37, 41), np.float32)
    x = np.random.default_rng(8).standard_normal(41, np.float32)
    call = execute_pb2.ExecuteRequest(client=CLIENT, artifact_id=response.artifact.id)
    call.allocations.add(id=1, size=a.nbytes, data=a.tobytes())
    call.allocations.add(id=2, size=x.nbytes, data=x.tobytes())
    call.allocations.add(id=3, size=37 * 4, zero=execute_pb2.ZeroFilled(), returned=True)
    call.arguments.add().view.MergeFrom(execute_pb2.View(allocation=1, extents=[37, 41], strides=[41, 1]))
    call.arguments.add().view.MergeFrom(execute_pb2.View(allocation=2, extents=[41], strides=[1]))
    call.arguments.add(scalar_bits=0x3F000000)  # 0.5
    call.arguments.add().view.MergeFrom(execute_pb2.View(allocation=3, extents=[37], strides=[1]))
    done = executing.Execute(call, timeout=60)
    assert done.WhichOneof("outcome") == "completed", done
    (returned,) = done.completed.allocations
    y = np.frombuffer(returned.data, np.float32)
    np.testing.assert_allclose(y, a.astype(np.float64) @ x + 0.5, rtol=1e-4, atol=1e-5)


def test_a_mistake_is_a_diagnostic_by_ordinal(stubs):
    compiling, _ = stubs
    module = kir.Module.FromString(matrix_times_vector())
    module.functions[0].operations[2].contract.reduce[0].rhs.value = 1
    request = compile_pb2.CompileRequest(client=CLIENT, module=module.SerializeToString(), target="native")
    (diagnostic,) = compiling.Compile(request, timeout=60).diagnostics.diagnostics
    assert (diagnostic.code, diagnostic.ordinal) == ("E0303", 2)
