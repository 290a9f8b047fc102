"""Execute and ExecuteStream: results, argument errors, refusals, and executors that are lost."""

import threading
import time

import grpc
import numpy as np
import pytest

from harness import (
    CLIENT,
    ENDLESS_TEXT,
    chain_result,
    encode,
    execute,
    execute_pb2,
    execute_request,
    status_of,
)

Code = grpc.StatusCode
Error = execute_pb2.RunError


@pytest.fixture(params=["native", "interp"])
def target(request):
    return request.param


def numbers(count):
    return np.linspace(0.5, 1.5, count, dtype=np.float32)


def test_a_call_computes(daemon, chain, target):
    artifact = daemon.compile(chain(0b0101), target=target).artifact
    x, y = numbers(1000), np.zeros(1000, np.float32)
    response = execute(daemon, artifact.id, [x], [y])
    assert response.HasField("completed"), response.error
    np.testing.assert_allclose(y, chain_result(0b0101, x), rtol=1e-5)


def test_extents_of_zero_and_one(daemon, chain, target):
    artifact = daemon.compile(chain(3), target=target).artifact
    for count in (0, 1):
        x, y = numbers(count), np.zeros(count, np.float32)
        assert execute(daemon, artifact.id, [x], [y]).HasField("completed")
        np.testing.assert_allclose(y, chain_result(3, x), rtol=1e-5)


def test_strides_reach_backwards_and_stand_still(daemon, chain):
    artifact = daemon.compile(chain(1)).artifact
    x, y = numbers(10), np.zeros(10, np.float32)
    request = execute_request(artifact.id, [x], [y])
    request.arguments[0].view.offset = 9
    request.arguments[0].view.strides[0] = -1
    returned = daemon.execute_service.Execute(request).completed.allocations[0]
    np.testing.assert_allclose(np.frombuffer(returned.data, np.float32), chain_result(1, x[::-1]), rtol=1e-5)
    request.arguments[0].view.strides[0] = 0
    returned = daemon.execute_service.Execute(request).completed.allocations[0]
    np.testing.assert_allclose(np.frombuffer(returned.data, np.float32), chain_result(1, x[[9] * 10]), rtol=1e-5)


def stream(daemon, artifact_id, x, y, chunk=1 << 20):
    def parts():
        yield execute_pb2.ExecuteStreamRequest(call=execute_request(artifact_id, [x], [y], streamed=True))
        data = x.tobytes()
        for offset in range(0, len(data), chunk):
            piece = execute_pb2.Chunk(allocation=0, offset=offset, data=data[offset : offset + chunk])
            yield execute_pb2.ExecuteStreamRequest(chunk=piece)

    received = bytearray(y.nbytes)
    answers = daemon.execute_service.ExecuteStream(parts(), timeout=120)
    response = next(answers).response
    for answer in answers:
        piece = answer.chunk
        received[piece.offset : piece.offset + len(piece.data)] = piece.data
    y[...] = np.frombuffer(received, y.dtype)
    return response


def test_a_stream_carries_more_than_a_message(daemon, chain):
    artifact = daemon.compile(chain(0)).artifact
    for count in (5, 3_000_001):
        x, y = numbers(count), np.zeros(count, np.float32)
        assert stream(daemon, artifact.id, x, y).HasField("completed")
        np.testing.assert_allclose(y, chain_result(0, x), rtol=1e-5)


def test_memory_is_zero_for_the_next_caller(daemon, folder, chain):
    artifact = daemon.compile(chain(0)).artifact
    for _ in range(3):
        x = np.full(10_000, 7.0, np.float32)
        execute(daemon, artifact.id, [x], [np.zeros(10_000, np.float32)])
    untouched = execute_pb2.ExecuteRequest(client=CLIENT, artifact_id=artifact.id)
    untouched.CopyFrom(execute_request(artifact.id, [np.zeros(1, np.float32)], [np.zeros(1, np.float32)]))
    untouched.allocations.add(id=9, size=80_000, returned=True).zero.SetInParent()
    response = daemon.execute_service.Execute(untouched)
    assert not any({a.id: a.data for a in response.completed.allocations}[9])


def change(request, what):
    view = request.arguments[1].view
    if what == "too few":
        del request.arguments[1]
    elif what == "scalar for view":
        request.arguments[1].scalar_bits = 1
    elif what == "rank":
        view.extents.append(1)
    elif what == "negative extent":
        view.extents[0] = -1
    elif what == "beyond the end":
        view.extents[0] = 11
        request.arguments[0].view.extents[0] = 11
    elif what == "before the start":
        view.offset = -1
    elif what == "offset overflows":
        view.offset = 2**62
    elif what == "stride overflows":
        view.strides[0] = 2**61
    elif what == "no such allocation":
        view.allocation = 77
    elif what == "symbols differ":
        view.extents[0] = 9


@pytest.mark.parametrize(
    "what, kind, parameter",
    [
        ("too few", Error.KIND_BAD_ARGUMENT, None),
        ("scalar for view", Error.KIND_BAD_ARGUMENT, 1),
        ("rank", Error.KIND_BAD_ARGUMENT, 1),
        ("negative extent", Error.KIND_NEGATIVE_EXTENT, 1),
        ("beyond the end", Error.KIND_BAD_ARGUMENT, 0),
        ("before the start", Error.KIND_BAD_ARGUMENT, 1),
        ("offset overflows", Error.KIND_BAD_ARGUMENT, 1),
        ("stride overflows", Error.KIND_BAD_ARGUMENT, 1),
        ("no such allocation", Error.KIND_BAD_ARGUMENT, 1),
        ("symbols differ", Error.KIND_BAD_SHAPE, 1),
    ],
)
def test_wrong_arguments_are_run_errors(daemon, chain, what, kind, parameter):
    artifact = daemon.compile(chain(1)).artifact
    request = execute_request(artifact.id, [numbers(10)], [np.zeros(10, np.float32)])
    change(request, what)
    error = daemon.execute_service.Execute(request).error
    assert error.kind == kind, error
    assert not error.HasField("parameter") if parameter is None else error.parameter == parameter
    counters = daemon.statistics()
    assert (counters.run_errors, counters.executor_crashes) == (1, 0)


def test_envelopes_that_are_refused(daemon, chain):
    artifact = daemon.compile(chain(1)).artifact
    good = execute_request(artifact.id, [numbers(10)], [np.zeros(10, np.float32)])

    def refused(edit):
        request = execute_pb2.ExecuteRequest()
        request.CopyFrom(good)
        edit(request)
        return status_of(daemon.execute_service.Execute, request)[0]

    def replace_id(value):
        return lambda r: setattr(r, "artifact_id", value)

    assert refused(replace_id(bytes(32))) == Code.NOT_FOUND
    assert refused(replace_id(b"short")) == Code.INVALID_ARGUMENT
    assert refused(lambda r: r.client.Clear()) == Code.FAILED_PRECONDITION
    assert refused(lambda r: setattr(r, "session_id", b"s")) == Code.ABORTED
    assert refused(lambda r: setattr(r.allocations[0], "size", 41)) == Code.INVALID_ARGUMENT
    assert refused(lambda r: setattr(r.allocations[1], "id", 0)) == Code.INVALID_ARGUMENT
    assert refused(lambda r: r.allocations[1].ClearField("zero")) == Code.INVALID_ARGUMENT
    assert refused(lambda r: r.allocations[1].streamed.SetInParent()) == Code.INVALID_ARGUMENT
    assert refused(lambda r: r.arguments[0].ClearField("view")) == Code.INVALID_ARGUMENT
    assert refused(lambda r: setattr(r.allocations[1], "size", 2**20 + 1)) == Code.INVALID_ARGUMENT
    assert refused(lambda r: r.arguments[0].view.extents.extend([1] * 64)) == Code.RESOURCE_EXHAUSTED
    assert daemon.execute_service.Execute(good).HasField("completed")


def test_inline_data_ends_at_one_mebibyte(daemon, chain):
    artifact = daemon.compile(chain(1)).artifact
    x, y = numbers(2**18), np.zeros(2**18, np.float32)
    assert execute(daemon, artifact.id, [x], [y]).HasField("completed")
    request = execute_request(artifact.id, [numbers(2**18 + 1)], [y])
    assert status_of(daemon.execute_service.Execute, request)[0] == Code.INVALID_ARGUMENT


def test_tensors_are_bounded(start, chain):
    daemon = start("--tensor-memory", "4194304")
    artifact = daemon.compile(chain(1)).artifact
    x = numbers(2**20 + 16)
    request = execute_pb2.ExecuteStreamRequest(call=execute_request(artifact.id, [x], [x], streamed=True))
    code, message, _ = status_of(lambda: list(daemon.execute_service.ExecuteStream(iter([request]))))
    assert code == Code.RESOURCE_EXHAUSTED, message


def test_streams_that_are_refused(daemon, chain):
    artifact = daemon.compile(chain(1)).artifact
    x, y = numbers(10), np.zeros(10, np.float32)
    call = execute_pb2.ExecuteStreamRequest(call=execute_request(artifact.id, [x], [y], streamed=True))

    def chunk(**fields):
        return execute_pb2.ExecuteStreamRequest(chunk=execute_pb2.Chunk(**fields))

    whole = chunk(allocation=0, offset=0, data=x.tobytes())
    for parts in (
        [],
        [whole],
        [call],
        [call, call],
        [call, chunk(allocation=0, offset=4, data=b"1234")],
        [call, chunk(allocation=0, offset=0, data=bytes(41))],
        [call, chunk(allocation=1, offset=0, data=b"1234")],
        [call, whole, whole],
    ):
        code, message, _ = status_of(lambda: list(daemon.execute_service.ExecuteStream(iter(parts))))
        assert code == Code.INVALID_ARGUMENT, message
    assert len(list(daemon.execute_service.ExecuteStream(iter([call, whole])))) == 2


def test_an_endless_kernel_ends_with_its_callers_deadline(daemon, folder, chain, target):
    endless = daemon.compile(encode(folder, ENDLESS_TEXT), target=target)
    assert endless.HasField("artifact"), endless
    begin = time.monotonic()
    truth = np.ones((), np.uint8)
    request = execute_request(endless.artifact.id, [truth], [np.zeros((), np.uint8)])
    code, _, _ = status_of(daemon.execute_service.Execute, request, timeout=0.5)
    assert code == Code.DEADLINE_EXCEEDED
    artifact = daemon.compile(chain(1)).artifact
    x, y = numbers(10), np.zeros(10, np.float32)
    assert execute(daemon, artifact.id, [x], [y]).HasField("completed"), "the executor is free again"
    assert time.monotonic() - begin < 10


def test_an_endless_kernel_ends_with_the_daemons_limit(start, folder):
    daemon = start("--execute-time-ms", "500")
    artifact = daemon.compile(encode(folder, ENDLESS_TEXT)).artifact
    request = execute_request(artifact.id, [np.ones((), np.uint8)], [np.zeros((), np.uint8)])
    code, message, _ = status_of(daemon.execute_service.Execute, request)
    assert code == Code.ABORTED and artifact.id.hex() in message
    assert daemon.statistics().executor_timeouts == 1


def test_many_callers_at_once(start, chain):
    daemon = start("--executors", "2")
    artifact = daemon.compile(chain(9)).artifact
    wrong = []

    def call(seed):
        x = np.random.default_rng(seed).random(777, np.float32)
        y = np.zeros(777, np.float32)
        execute(daemon, artifact.id, [x], [y])
        if not np.allclose(y, chain_result(9, x), rtol=1e-4):
            wrong.append(seed)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
