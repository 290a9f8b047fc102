"""A service made of a few lines, for tests of the client."""

import hashlib
import sys
from concurrent import futures

import grpc
import numpy as np
from intent_proto.compile.v1 import compile_pb2, compile_pb2_grpc
from intent_proto.execute.v1 import execute_pb2, execute_pb2_grpc

TEXT = """
class Mode(I.Enum):
    ADD = 1
    SUB = 5

@intent.kernel
def kernel(
    x: I.In[I.f32, ("N",)],
    scale: I.f32,
    out: I.Out[I.f32, ("N",)],
    state: I.InOut[I.f32, ("N",)],
    taps: I.Constexpr[int] = 3,
    mode: I.Constexpr[Mode] = Mode.ADD,
):
    out[:] = x[:] * scale
    state[:] = state[:] + x[:]
"""


def text_parameters() -> list:
    """What a manifest says of the runtime parameters of TEXT's kernel."""
    axis = compile_pb2.Axis(symbol=0)

    def view(access):
        return compile_pb2.Parameter(view=compile_pb2.ViewParameter(dtype="f32", access=access, axes=[axis]))

    scalar = compile_pb2.Parameter(scalar=compile_pb2.ScalarParameter(dtype="f32"))
    return [view(compile_pb2.ACCESS_IN), scalar, view(compile_pb2.ACCESS_OUT), view(compile_pb2.ACCESS_INOUT)]


class Service(compile_pb2_grpc.CompileServiceServicer, execute_pb2_grpc.ExecuteServiceServicer):
    """Answers what a test says; `kernel(arrays, scalars)` stands for the compiled code."""

    def __init__(self):
        self.compiles: list = []
        self.calls: list = []
        self.diagnostics = None
        self.status = None  # (code, text, trailers)
        self.refused = 0
        self.keys: list = []
        self.streams: list = []  # how many requests each CompileMany brought
        self.dropped = 0
        self.failures: dict = {}  # by tag, once
        self.version = 1  # of the compiler
        self.parameters = text_parameters()  # of manifests
        self.error = None
        self.lost = 0  # how many calls break
        self.forgotten = 0  # how many calls find the artifact gone
        self.kernel = lambda views, scalars: None

    def Compile(self, request, context):
        if self.status:
            code, text, trailers = self.status
            self.refused += 1
            context.set_trailing_metadata(trailers)
            context.abort(code, text)
        self.keys.append(dict(context.invocation_metadata())["intent-routing-key"])
        return self._answer(request)

    def _answer(self, request):
        self.compiles.append(request)
        if self.diagnostics:
            return compile_pb2.CompileResponse(diagnostics=self.diagnostics)
        manifest = compile_pb2.Manifest(target="t", parameters=self.parameters)
        work = (self.version, request.module, *(b.SerializeToString() for b in request.bindings))
        artifact = compile_pb2.Artifact(
            id=hashlib.sha256(repr(work).encode()).digest(), manifest=manifest.SerializeToString()
        )
        artifact.payloads.add(name="object", size=4)
        artifact.times.add(stage="emit", nanoseconds=1_500_000)
        artifact.cache.where = compile_pb2.CacheInfo.WHERE_DISK
        return compile_pb2.CompileResponse(artifact=artifact)

    def CompileMany(self, items, context):
        """Answers in the reverse order; the first `dropped` streams break."""
        requests = list(items)
        self.streams.append(len(requests))
        if self.dropped:
            self.dropped -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        for item in reversed(requests):
            answer = compile_pb2.CompileManyResponse(tag=item.tag)
            failure = self.failures.pop(item.tag, None)
            if failure:
                answer.failure.CopyFrom(failure)
            else:
                answer.response.CopyFrom(self._answer(item.request))
            yield answer

    def GetPayload(self, request, context):
        yield compile_pb2.PayloadChunk(total_size=4, data=b"\x7fE")
        yield compile_pb2.PayloadChunk(offset=2, total_size=4, data=b"LF")

    def _run(self, request, memories, context):
        if self.lost:
            self.lost -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        if self.forgotten:
            self.forgotten -= 1
            context.abort(grpc.StatusCode.NOT_FOUND, "the artifact is gone")
        self.calls.append(request)
        if self.error:
            return execute_pb2.ExecuteResponse(error=self.error)
        views, scalars = [], []
        for argument in request.arguments:
            if argument.WhichOneof("kind") == "scalar_bits":
                scalars.append(argument.scalar_bits)
                continue
            view = argument.view
            strides = [4 * s for s in view.strides]
            views.append(
                np.ndarray(view.extents, np.float32, memories[view.allocation], 4 * view.offset, strides)
            )
        self.kernel(views, scalars)
        response = execute_pb2.ExecuteResponse()
        response.completed.SetInParent()
        return response

    def Execute(self, request, context):
        memories = {a.id: bytearray(a.data or bytes(a.size)) for a in request.allocations}
        response = self._run(request, memories, context)
        if response.WhichOneof("outcome") == "completed":
            for a in request.allocations:
                if a.returned:
                    response.completed.allocations.add(id=a.id, size=a.size, data=bytes(memories[a.id]))
        return response

    def ExecuteStream(self, parts, context):
        request = next(parts).call
        memories = {a.id: bytearray(a.data or bytes(a.size)) for a in request.allocations}
        for part in parts:
            chunk = part.chunk
            assert len(chunk.data) <= 1 << 20
            memories[chunk.allocation][chunk.offset : chunk.offset + len(chunk.data)] = chunk.data
        response = self._run(request, memories, context)
        if response.WhichOneof("outcome") == "completed":
            for a in request.allocations:
                if a.returned:
                    response.completed.allocations.add(id=a.id, size=a.size)
        yield execute_pb2.ExecuteStreamResponse(response=response)
        for a in response.completed.allocations:
            for offset in range(0, a.size, 1 << 20):
                data = bytes(memories[a.id][offset : offset + (1 << 20)])
                chunk = execute_pb2.Chunk(allocation=a.id, offset=offset, data=data)
                yield execute_pb2.ExecuteStreamResponse(chunk=chunk)


def double(views, scalars):
    """What the kernel of TEXT does where its scale is 2."""
    x, out, state = views
    out[...] = x * 2
    state += x


def serve(address):
    """A running server and its Service."""
    servicer = Service()
    server = grpc.server(futures.ThreadPoolExecutor(4))
    compile_pb2_grpc.add_CompileServiceServicer_to_server(servicer, server)
    execute_pb2_grpc.add_ExecuteServiceServicer_to_server(servicer, server)
    servicer.address = address
    server.add_insecure_port(address)
    server.start()
    return server, servicer


if __name__ == "__main__":  # in a process of its own, until its standard input ends
    running, fake = serve(sys.argv[1])
    fake.kernel = double
    print("ready", flush=True)
    sys.stdin.read()
    running.stop(None)
