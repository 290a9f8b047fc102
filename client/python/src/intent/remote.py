"""Calls that the service executes: contents go along in the request, or as a stream of chunks if they are large."""

from __future__ import annotations

from . import marshal
from .errors import ServiceError

INLINE_BYTES = 1 << 20  # in all, either way; more goes as a stream of chunks
CHUNK_BYTES = 1 << 20


def execute(compiler, artifact_id: bytes, call: marshal.Call, check) -> None:
    """Runs the call and copies back what the kernel wrote; `check` raises the error of an ExecuteResponse."""
    from intent_proto.execute.v1 import execute_pb2

    from .client import client_info

    sent = sum(a.size for a in call.allocations if a.reads)
    returned = sum(a.size for a in call.allocations if a.writes)
    inline = sent <= INLINE_BYTES and returned <= INLINE_BYTES
    request = execute_pb2.ExecuteRequest(client=client_info(), artifact_id=artifact_id)
    for position, allocation in enumerate(call.allocations):
        entry = request.allocations.add(id=position, size=allocation.size, returned=allocation.writes)
        if not allocation.reads or not allocation.size:
            entry.zero.SetInParent()
        elif inline:
            entry.data = allocation.content()
        else:
            entry.streamed.SetInParent()
    for argument in call.arguments:
        entry = request.arguments.add()
        if isinstance(argument, marshal.ViewArgument):
            entry.view.allocation = argument.allocation
            entry.view.offset = argument.offset
            entry.view.extents.extend(argument.extents)
            entry.view.strides.extend(argument.strides)
        else:
            entry.scalar_bits = argument
    if not inline:
        marshal.copy_back(call, _stream(compiler, call, request, check))
        return
    response = compiler.execute(request)
    check(response)
    results = {a.id: a.data for a in response.completed.allocations}
    if any(len(results.get(i, b"")) != a.size for i, a in enumerate(call.allocations) if a.writes):
        raise _cut_short()
    marshal.copy_back(call, results)


def _stream(compiler, call, request, check) -> dict:
    """Runs with chunked contents; gives the returned contents by allocation."""
    from intent_proto.execute.v1 import execute_pb2

    def parts():
        yield execute_pb2.ExecuteStreamRequest(call=request)
        for position, allocation in enumerate(call.allocations):
            if not allocation.reads or not allocation.size:
                continue
            for offset in range(0, allocation.size, CHUNK_BYTES):
                data = allocation.content(offset, offset + CHUNK_BYTES)
                chunk = execute_pb2.Chunk(allocation=position, offset=offset, data=data)
                yield execute_pb2.ExecuteStreamRequest(chunk=chunk)

    return compiler.execute_stream(parts, lambda replies: _contents(call, replies, check))


def _contents(call, replies, check) -> dict:
    """The contents by allocation that a stream of replies brings."""
    results: dict[int, bytearray] = {}
    missing: dict[int, int] = {}
    for part in replies:
        if part.WhichOneof("part") == "response":
            check(part.response)
            for allocation in part.response.completed.allocations:
                results[allocation.id] = bytearray(call.allocations[allocation.id].size)
                missing[allocation.id] = allocation.size
        else:
            chunk = part.chunk
            if chunk.offset + len(chunk.data) > len(results.get(chunk.allocation, b"")):
                raise _cut_short()
            results[chunk.allocation][chunk.offset : chunk.offset + len(chunk.data)] = chunk.data
            missing[chunk.allocation] -= len(chunk.data)
    if any(missing.values()) or any(a.writes and i not in results for i, a in enumerate(call.allocations)):
        raise _cut_short()
    return results


def _cut_short() -> ServiceError:
    return ServiceError(
        "the service's reply does not hold what the call returns", status="DATA_LOSS", advice="call again"
    )
