"""What is malformed, over a limit or too hungry is answered in words, and the daemon goes on as before.

Envelopes and arguments one field at a time are in tests/service.
"""

import os
import time
from pathlib import Path

import grpc
import numpy as np
import pytest
from harness import (
    CLIENT,
    compile_pb2,
    compile_request,
    execute,
    execute_pb2,
    execute_request,
    status_of,
)

from intent_proto.kir.v1 import kir_pb2 as kir

Code = grpc.StatusCode
Error = execute_pb2.RunError

SAXPY = """kernel (%x: view<in, f32, [s0]>, %a: f32, %y: view<inout, f32, [s0]>) {
  %v = view_load %x [:] : tensor<f32, [s0]>
  %as = broadcast %a : tensor<f32, [s0]>
  %p = binary mul %as, %v : tensor<f32, [s0]>
  %w = view_load %y [:] : tensor<f32, [s0]>
  %s = binary add %p, %w : tensor<f32, [s0]>
  view_store %y [:] = %s
  return
}
"""


def codes_of(response):
    return {d.code for d in response.diagnostics.diagnostics}


def answer(daemon, module, target="interp"):
    """The codes of a module's diagnostics; none: it compiled."""
    if not isinstance(module, bytes):
        module = module.SerializeToString()
    return codes_of(daemon.compile(module, target=target))


# Modules message by message.


def empty_kernel(operations=0):
    """A kernel of so many operations, the return among them; the others are constants."""
    module = kir.Module(format=1)
    function = module.functions.add()
    function.types.add(kind=kir.TYPE_NONE)
    function.types.add(kind=kir.TYPE_SCALAR, dtype=kir.DTYPE_I8)
    body = function.blocks.add()
    for number in range(operations - 1):
        function.value_types.append(1)
        function.operations.add(kind=kir.OP_CONSTANT, result=number).constant.MergeFrom(
            kir.Constant(dtype=kir.DTYPE_I8, bits=b"\1")
        )
    function.value_types.append(0)
    function.operations.add(kind=kir.OP_RETURN, result=max(operations - 1, 0))
    body.operations.extend(range(len(function.operations)))
    return module


def many_functions(count):
    module = empty_kernel()
    for _ in range(count - 1):
        module.functions.add().MergeFrom(module.functions[0])
    return module


def many_constexprs(count):
    module = empty_kernel()
    for _ in range(count):
        parameter = module.constexprs.add()
        parameter.type.kind = kir.CONSTEXPR_INT
        parameter.default_value.int_value = 1
    return module


def view_of_rank(rank):
    module = empty_kernel()
    function = module.functions[0]
    function.extents.add(constant=1)
    function.types.add(kind=kir.TYPE_VIEW, dtype=kir.DTYPE_F32, shape=[0] * rank, access=kir.ACCESS_IN)
    function.parameters.add()
    function.value_types.append(2)
    function.blocks[0].arguments.append(1)
    return module


def nested_tuples(depth):
    module = empty_kernel(2)
    types = module.functions[0].types
    for _ in range(depth):
        types.add(kind=kir.TYPE_TUPLE, fields=[len(types) - 1])
    return module


def extents_in_a_chain(length):
    """s0, and beside it mod(... mod(mod(s0, 2), 3) ...)."""
    module = view_of_rank(1)
    function = module.functions[0]
    function.symbol_count = 1
    function.extents.add(symbol=0)
    for number in range(length):
        function.extents.add(constant=number + 2)
        operands = kir.ExtentPair(lhs=len(function.extents) - 2 if number else 1, rhs=len(function.extents) - 1)
        function.extents.add(mod=operands)
    function.types[2].shape[:] = [1, len(function.extents) - 1]
    return module


def constexprs_in_a_chain(length):
    module = many_constexprs(1)
    whole = kir.ConstexprType(kind=kir.CONSTEXPR_INT)
    module.constexpr_nodes.add(op=kir.CONSTEXPR_OP_PARAMETER, type=whole)
    for number in range(length):
        module.constexpr_nodes.add(op=kir.CONSTEXPR_OP_NEGATE, type=whole, operands=[number])
    function = module.functions[0]
    function.types[1].dtype = kir.DTYPE_I64
    function.value_types.append(1)
    operation = function.operations.add(kind=kir.OP_CONSTEXPR, result=1)
    operation.constexpr_reference.expr = length
    function.blocks[0].operations[:] = [1, 0]
    return module


def nested_ifs(depth):
    module = kir.Module(format=1)
    function = module.functions.add()
    function.types.add(kind=kir.TYPE_NONE)
    function.types.add(kind=kir.TYPE_SCALAR, dtype=kir.DTYPE_BOOL)

    def add(block, kind, type_index=0, **fields):
        function.value_types.append(type_index)
        block.operations.append(len(function.operations))
        function.operations.add(kind=kind, result=len(function.value_types) - 1, **fields)
        return len(function.value_types) - 1

    block = function.blocks.add()
    condition = add(block, kir.OP_CONSTANT, 1, constant=kir.Constant(dtype=kir.DTYPE_BOOL, bits=b"\1"))
    for _ in range(depth):
        inner, other = function.blocks.add(), function.blocks.add()
        add(block, kir.OP_IF, operands=[condition], regions=[len(function.blocks) - 2, len(function.blocks) - 1])
        add(block, kir.OP_YIELD if block is not function.blocks[0] else kir.OP_RETURN)
        add(other, kir.OP_YIELD)
        block = inner
    add(block, kir.OP_YIELD)
    return module


def numbered(**fields):
    """A small kernel with counts and indices of its own."""
    module = empty_kernel()
    for name, value in fields.items():
        if name == "kernel":
            module.kernel = value
        elif name == "symbol_count":
            module.functions[0].symbol_count = value
        elif name == "result_type":
            module.functions[0].result_type = value
        elif name == "result":
            module.functions[0].operations[0].result = value
        elif name == "block":
            module.functions[0].blocks[0].operations[0] = value
        elif name == "format":
            module.format = value
    return module


def packed(count):
    """A view whose shape names so many extents."""
    module = view_of_rank(1)
    module.functions[0].types[2].shape.extend([0] * (count - 1))
    return module


GOOD = {
    "the most operations": lambda: empty_kernel(100_000),
    "the most functions": lambda: many_functions(1024),
    "the most constexprs": lambda: many_constexprs(1024),
    "the highest rank": lambda: view_of_rank(64),
    "a chain of 10 extents": lambda: extents_in_a_chain(10),
    "a chain of 10,000 constexprs": lambda: constexprs_in_a_chain(10_000),
    "100 nested branches": lambda: nested_ifs(100),
}

BAD = {
    "one operation too many": (lambda: empty_kernel(100_001), "E0901"),
    "one function too many": (lambda: many_functions(1025), "E0901"),
    "one constexpr too many": (lambda: many_constexprs(1025), "E0901"),
    "one axis too many": (lambda: view_of_rank(65), "E0901"),
    "types one level too deep": (lambda: nested_tuples(33), "E0901"),
    "types 10,000 levels deep": (lambda: nested_tuples(10_000), "E0901"),
    "branches one level too deep": (lambda: nested_ifs(257), "E0901"),
    "branches 10,000 levels deep": (lambda: nested_ifs(10_000), "E0901"),
    "a shape of four million extents": (lambda: packed(4_000_000), "E0901"),
    "2^32 - 1 symbols": (lambda: numbered(symbol_count=2**32 - 1), "E0901"),
    "a kernel that is not there": (lambda: numbered(kernel=2**32 - 1), "E0103"),
    "a result type that is not there": (lambda: numbered(result_type=7), "E0103"),
    "a value that is not there": (lambda: numbered(result=2**31), "E0103"),
    "an operation that is not there": (lambda: numbered(block=99), "E0103"),
    "another format": (lambda: numbered(format=2), "E0101"),
    "no functions": (lambda: kir.Module(format=1), "E0103"),
    "a length beyond the end": (lambda: b"\x08\x01\x2a\xff\xff\xff\xff\x07", "E0101"),
    "groups 10,000 levels deep": (lambda: b"\x08\x01" + b"\x0b" * 10_000, "E0102"),
    "an extent 10,000 levels deep": (lambda: extents_in_a_chain(10_000), "E0306"),
    "text": (lambda: SAXPY.encode(), "E0102"),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_limit_itself_is_not_exceeded(shared_daemon, name):
    assert answer(shared_daemon, GOOD[name]()) == set()


@pytest.mark.parametrize("name", BAD)
def test_modules_that_are_refused(shared_daemon, name):
    make, code = BAD[name]
    before = shared_daemon.statistics().worker_crashes
    assert answer(shared_daemon, make()) == {code}
    assert shared_daemon.statistics().worker_crashes == before


def test_every_truncation_of_a_module_is_diagnosed(shared_daemon, encode):
    module = encode(SAXPY)
    requests = (
        compile_pb2.CompileManyRequest(tag=size, request=compile_request(module[:size], target="interp"))
        for size in range(1, len(module))
    )
    answers = {a.tag: codes_of(a.response) for a in shared_daemon.compile_service.CompileMany(requests, timeout=120)}
    assert answers.keys() == set(range(1, len(module)))
    odd = {tag: codes for tag, codes in answers.items() if not codes or not all(c.startswith("E01") for c in codes)}
    assert not odd


@pytest.mark.parametrize("target", ["", "z80", "x86-64-v99", "sm_1", "NATIVE", "native ", "interp\0", "a" * 500])
def test_targets_that_are_not_known(shared_daemon, encode, target):
    code, message, _ = status_of(shared_daemon.compile, encode(SAXPY), target=target)
    assert code == Code.FAILED_PRECONDITION, message


def test_bindings_out_of_range_are_diagnosed(shared_daemon):
    module = many_constexprs(1).SerializeToString()
    for binding in (
        compile_pb2.Binding(parameter=1, int_value=1),
        compile_pb2.Binding(parameter=2**32 - 1, int_value=1),
        compile_pb2.Binding(parameter=0, bool_value=True),
        compile_pb2.Binding(parameter=0, float_value=float("nan")),
        compile_pb2.Binding(parameter=0, enum_value=compile_pb2.EnumValue(enum_type=9)),
    ):
        assert codes_of(shared_daemon.compile(module, bindings=[binding])) == {"E0703"}


# Hunger.

HUNGRY = {
    # A scan of a constant is 2^29 f32: nothing of it comes from an argument.
    "a temporary": (
        """kernel (%k: view<in, f32, []>, %y: view<out, f32, []>) {
  %a = view_load %k [] : f32
  %t = full %a : tensor<f32, [536870912]>
  %zero = constant 0.0 : f32
  %s = scan %t, %zero axis 0 inclusive combine add : tensor<f32, [536870912]>
  %l = gather %s [536870911] : f32
  view_store %y [] = %l
  return
}
""",
        (),
    ),
    "a buffer": (
        """kernel (%k: view<in, f32, []>, %y: view<out, f32, []>) {
  %a = view_load %k [] : f32
  %b = buffer %a : buffer<f32, [536870912]>
  %l = buffer_load %b [536870911] : f32
  view_store %y [] = %l
  return
}
""",
        (),
    ),
    "a square of an argument's extent": (
        """kernel (%x: view<in, f32, [s0]>, %y: view<out, f32, [s0]>) {
  %v = view_load %x [:] : tensor<f32, [s0]>
  %t = broadcast %v : tensor<f32, [s0, s0]>
  %zero = constant 0.0 : f32
  %s = scan %t, %zero axis 1 inclusive combine add : tensor<f32, [s0, s0]>
  %u = scan %s, %zero axis 0 inclusive combine add : tensor<f32, [s0, s0]>
  %n = dim %x axis 0 : index
  %one = constant 1 : index
  %last = binary sub %n, %one : index
  %l = gather %u [%last, :] : tensor<f32, [s0]>
  view_store %y [:] = %l
  return
}
""",
        (40_000,),
    ),
    "a buffer whose count wraps to nothing": (
        """kernel (%k: view<in, f32, []>, %y: view<out, f32, []>) {
  %a = view_load %k [] : f32
  %b = buffer : buffer<f32, [2147483648, 2147483648, 4]>
  buffer_store %b [5, 0, 1] = %a
  %l = buffer_load %b [5, 0, 1] : f32
  view_store %y [] = %l
  return
}
""",
        (),
    ),
    "a buffer whose bytes wrap to nothing": (
        """kernel (%k: view<in, f32, []>, %y: view<out, f32, []>) {
  %a = view_load %k [] : f32
  %b = buffer : buffer<f32, [4611686018427387904]>
  buffer_store %b [5] = %a
  %l = buffer_load %b [5] : f32
  view_store %y [] = %l
  return
}
""",
        (),
    ),
    "a buffer of 2^64 elements by an argument's extent": (
        """kernel (%x: view<in, f32, [s0]>, %y: view<out, f32, [s0]>) {
  %v = view_load %x [:] : tensor<f32, [s0]>
  %b = buffer : buffer<f32, [s0, s0, s0, s0]>
  %k = gather %v [0] : f32
  buffer_store %b [100, 0, 0, 7] = %k
  %l = buffer_load %b [100, 0, 0, 7] : f32
  view_store %y [0] = %l
  return
}
""",
        (65_536,),
    ),
    "a scan of 2^64 elements": (
        """kernel (%x: view<in, f32, [s0]>, %y: view<out, f32, [s0]>) {
  %v = view_load %x [:] : tensor<f32, [s0]>
  %t = broadcast %v : tensor<f32, [s0, s0, s0, s0]>
  %zero = constant 0.0 : f32
  %s = scan %t, %zero axis 0 inclusive combine add : tensor<f32, [s0, s0, s0, s0]>
  %l = gather %s [5, 6, 7, 8] : f32
  view_store %y [0] = %l
  return
}
""",
        (65_536,),
    ),
    "2^62 bytes": (
        """kernel (%k: view<in, f32, []>, %y: view<out, f32, []>) {
  %a = view_load %k [] : f32
  %b = buffer %a : buffer<f32, [1073741824, 1073741824]>
  %l = buffer_load %b [0, 0] : f32
  view_store %y [] = %l
  return
}
""",
        (),
    ),
}


@pytest.mark.parametrize("target", ["native", "interp"])
@pytest.mark.parametrize("name", HUNGRY)
def test_a_small_module_that_demands_gigabytes_is_an_error(shared_daemon, encode, name, target):
    text, shape = HUNGRY[name]
    response = shared_daemon.compile(encode(text), target=target)
    assert response.HasField("artifact"), response
    x, y = np.ones(shape, np.float32), np.zeros(shape, np.float32)
    call = execute(shared_daemon, response.artifact.id, [x], [y], timeout=60)
    assert call.error.kind == Error.KIND_NO_MEMORY, call
    assert call.error.message
    counters = shared_daemon.statistics()
    assert (counters.worker_crashes, counters.executor_crashes) == (0, 0)


OVERFLOWING_RESHAPES = {
    "of nothing to 2^64 elements": "[s0, s1, s1, s1, s1]",
    "to more elements than can be counted": "[s0, 9223372036854775807, 2]",
}


@pytest.mark.parametrize("target", ["native", "interp"])
@pytest.mark.parametrize("name", OVERFLOWING_RESHAPES)
def test_a_reshape_whose_count_wraps_is_an_error(shared_daemon, encode, name, target):
    shape = OVERFLOWING_RESHAPES[name]
    place = ", ".join(["0"] * (shape.count(",") + 1))
    text = f"""kernel (%x: view<in, f32, [s0, s0]>, %n: view<in, f32, [s1]>, %y: view<out, f32, []>) {{
  %v = view_load %x [:, :] : tensor<f32, [s0, s0]>
  %r = reshape %v : tensor<f32, {shape}>
  %l = gather %r [{place}] : f32
  view_store %y [] = %l
  return
}}
"""
    artifact = shared_daemon.compile(encode(text), target=target).artifact
    x = np.ones((2**8, 2**8), np.float32)  # 2^8 * (2^14)^4 = 2^64 and 2^8 * 2^64 wrap to 0
    call = execute(shared_daemon, artifact.id, [x, np.ones(2**14, np.float32)], [np.zeros((), np.float32)])
    assert call.error.kind == Error.KIND_BAD_SHAPE, call


def test_allocations_are_bounded_before_they_are_made(shared_daemon, encode):
    artifact = shared_daemon.compile(encode(SAXPY)).artifact
    for size, code in ((1 << 40, Code.RESOURCE_EXHAUSTED), (2**64 - 1, Code.RESOURCE_EXHAUSTED)):
        request = execute_pb2.ExecuteRequest(client=CLIENT, artifact_id=artifact.id)
        request.allocations.add(id=0, size=size).zero.SetInParent()
        assert status_of(shared_daemon.execute_service.Execute, request)[0] == code
    many = execute_pb2.ExecuteRequest(client=CLIENT, artifact_id=artifact.id)
    for number in range(1025):
        many.allocations.add(id=number, size=0).zero.SetInParent()
    assert status_of(shared_daemon.execute_service.Execute, many)[0] == Code.RESOURCE_EXHAUSTED


def test_extents_whose_product_overflows_are_refused(shared_daemon, encode):
    text = SAXPY.replace("[s0]", "[s0, s1]").replace("[:]", "[:, :]")
    x = np.zeros((2, 2), np.float32)
    for target in ("native", "interp"):
        artifact = shared_daemon.compile(encode(text), target=target).artifact
        request = execute_request(artifact.id, [x], [x])
        scalar = request.arguments.add(scalar_bits=0)
        views = [request.arguments[0].view, request.arguments[1].view]
        for view in views:
            view.extents[:] = [2**40, 2**40]
            view.strides[:] = [0, 0]
        y = request.arguments[1]
        arguments = [request.arguments[0], scalar, y]
        call = execute_pb2.ExecuteRequest(client=CLIENT, artifact_id=artifact.id, allocations=request.allocations)
        call.arguments.extend(arguments)
        error = shared_daemon.execute_service.Execute(call, timeout=10).error
        assert error.kind == Error.KIND_BAD_ARGUMENT, error


# Afterwards.


def resident(daemon):
    """Bytes of the front process, and of the largest of the others."""

    def size(pid):
        try:
            return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        except (FileNotFoundError, ProcessLookupError, IndexError):
            return 0

    return size(daemon.process.pid), max(size(pid) for pid in daemon.children())


def test_the_daemon_is_as_before(start, encode):
    # One worker: with two, the first to see a hungry module may see it in any round.
    daemon = start("--workers", "1")
    bad = [make() for make, _ in BAD.values()]
    hungry = [encode(text) for text, _ in HUNGRY.values()]

    def round_of_everything():
        for module in bad:
            assert answer(daemon, module, "native")
        for module in hungry:
            artifact = daemon.compile(module).artifact
            scalar = np.ones((), np.float32)
            daemon.execute_service.Execute(execute_request(artifact.id, [scalar], [scalar]), timeout=60)
        for change in (dict(module=b""), dict(target="z80"), dict(module=bytes(17 * 2**20))):
            status_of(daemon.compile, **{"module": encode(SAXPY), **change})

    def peaks(rounds):
        """The most that the front and the largest other process hold after any of the rounds."""
        held = []
        for _ in range(rounds):
            round_of_everything()
            held.append(resident(daemon))
        return tuple(max(sizes) for sizes in zip(*held))

    front, largest = peaks(6)
    front_after, largest_after = peaks(6)
    # What the last requests held is given back a little after their answers.
    deadline = time.monotonic() + 20
    while not (front_after <= 1.05 * front and largest_after <= 1.05 * largest):
        assert time.monotonic() < deadline, (front, front_after, largest, largest_after)
        time.sleep(0.2)
        front_after, largest_after = resident(daemon)
    artifact = daemon.compile(encode(SAXPY)).artifact
    assert artifact.id and daemon.process.poll() is None
    counters = daemon.statistics()
    assert (counters.worker_crashes, counters.executor_crashes) == (0, 0)
