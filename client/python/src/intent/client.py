"""The connection to a compile service."""

from __future__ import annotations

import hashlib
import os
import random
import struct
import threading
import time

import grpc
from intent_proto.admin.v1 import admin_pb2, admin_pb2_grpc
from intent_proto.compile.v1 import compile_pb2, compile_pb2_grpc
from intent_proto.execute.v1 import execute_pb2_grpc

from .errors import ServiceError

PROTOCOL = (1, 0)
PRODUCER = "intent-python/0.1.0"

DEFAULT_WAIT = 0.05  # seconds before the one further try
LONGEST_WAIT = 2.0  # a service that asks for more is not waited for

_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_http_proxy", 0),
)

_ADVICE = {
    "UNAVAILABLE": "is the daemon running at that address?",
    "RESOURCE_EXHAUSTED": "the service is at a limit; try again later or send less",
    "DEADLINE_EXCEEDED": "give a longer timeout, or a smaller kernel",
    "FAILED_PRECONDITION": "the service cannot do this for that target or version; see Compiler.capabilities()",
    "UNIMPLEMENTED": "the service is older than this package, or serves something else",
    "ABORTED": "what the call needed was lost; call again",
    "INTERNAL": "a process of the service failed; the request id finds it in the daemon's log",
    "UNAUTHENTICATED": "give intent.Compiler credentials",
}


class Compiler:
    """A compile service at an address: "unix:///path", "unix:path" or "dns:///host:port".

    `credentials` are grpc.ChannelCredentials; `timeout` in seconds bounds each call, None leaves it
    to the service. Safe to use from many threads; after a fork the child connects anew.
    """

    def __init__(self, address: str, *, credentials=None, timeout: float | None = None):
        self.address = address
        self.timeout = timeout
        self._credentials = credentials
        self._lock = threading.Lock()
        self._channel = None
        self._pid = 0

    def channel(self) -> grpc.Channel:
        with self._lock:
            if self._channel is None or self._pid != os.getpid():
                if self._credentials is None:
                    self._channel = grpc.insecure_channel(self.address, _OPTIONS)
                else:
                    self._channel = grpc.secure_channel(self.address, self._credentials, _OPTIONS)
                self._pid = os.getpid()
            return self._channel

    def close(self):
        """Close the connection; a later call opens it again."""
        with self._lock:
            if self._channel is not None and self._pid == os.getpid():
                self._channel.close()
            self._channel = None

    # Raw calls; each raises ServiceError.

    def compile(self, request) -> compile_pb2.CompileResponse:
        metadata = (("intent-routing-key", routing_key(request)),)
        return self._call(compile_pb2_grpc.CompileServiceStub, "Compile", request, metadata)

    def payload(self, artifact_id: bytes, name: str) -> bytes:
        request = compile_pb2.GetPayloadRequest(client=client_info(), artifact_id=artifact_id, name=name)
        stub = compile_pb2_grpc.CompileServiceStub(self.channel())
        try:
            return b"".join(chunk.data for chunk in stub.GetPayload(request, timeout=self.timeout))
        except grpc.RpcError as error:
            raise service_error(error, self.address) from None

    def execute(self, request):
        return self._call(execute_pb2_grpc.ExecuteServiceStub, "Execute", request, may_have_run=True)

    def execute_stream(self, parts):
        """The replies to a stream of requests, one by one."""
        stub = execute_pb2_grpc.ExecuteServiceStub(self.channel())
        try:
            yield from stub.ExecuteStream(parts, timeout=self.timeout)
        except grpc.RpcError as error:
            raise service_error(error, self.address) from None

    def stats(self) -> dict:
        """The daemon's counters by name, such as requests, hits_memory, misses and compiles."""
        reply = self._call(admin_pb2_grpc.AdminServiceStub, "GetStatistics", admin_pb2.GetStatisticsRequest())
        return {field.name: getattr(reply, field.name) for field in reply.DESCRIPTOR.fields}

    def capabilities(self):
        """What the daemon is and can do: an intent.admin.v1.Capabilities."""
        return self._call(admin_pb2_grpc.AdminServiceStub, "GetCapabilities", admin_pb2.GetCapabilitiesRequest())

    def config(self) -> dict:
        """The daemon's configuration in force: lists of values by key."""
        reply = self._call(admin_pb2_grpc.AdminServiceStub, "GetConfig", admin_pb2.GetConfigRequest())
        return {setting.key: list(setting.values) for setting in reply.settings}

    def _call(self, service, method, request, metadata=(), may_have_run=False):
        """One call, and one more where a short wait can help."""
        for last in (False, True):
            try:
                call = getattr(service(self.channel()), method)
                return call(request, timeout=self.timeout, metadata=metadata)
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.UNAVAILABLE:
                    # A channel that lost its daemon waits longer and longer before it looks again: take a new one.
                    self.close()
                wait = 0.0 if last else _retry_wait(error, may_have_run)
                if not wait:
                    raise service_error(error, self.address) from None
            time.sleep(wait)

    def __repr__(self) -> str:
        return f"intent.Compiler({self.address!r})"


def client_info() -> compile_pb2.ClientInfo:
    major, minor = PROTOCOL
    return compile_pb2.ClientInfo(protocol_major=major, protocol_minor=minor, producer=PRODUCER)


def routing_key(request: compile_pb2.CompileRequest) -> str:
    """Equal work has an equal key, whatever daemon it reaches and whichever client asks: proxies hash it."""
    rest = compile_pb2.CompileRequest.FromString(request.SerializeToString())
    for name in ("client", "module", "source_map", "inline_payloads"):
        rest.ClearField(name)

    def field(kind: bytes, tag: bytes, size: int, value: bytes) -> bytes:
        return kind + struct.pack("<I", len(tag)) + tag + struct.pack("<Q", size) + value

    preimage = field(b"b", b"kind", 7, b"route.1")
    for tag, data in ((b"module", request.module), (b"rest", rest.SerializeToString(deterministic=True))):
        preimage += field(b"h", tag, len(data), hashlib.sha256(data).digest())
    return hashlib.sha256(preimage).hexdigest()


def _retry_wait(error: grpc.RpcError, may_have_run: bool) -> float:
    """Seconds to wait before the one further try; 0 when it would not help."""
    wait = 0.0
    trailers = _trailers(error)
    if "retry-after-ms" in trailers:
        wait = float(trailers["retry-after-ms"]) / 1e3
    elif not may_have_run and error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED):
        wait = DEFAULT_WAIT
    return wait * random.uniform(0.5, 1.5) if wait <= LONGEST_WAIT else 0.0


def _trailers(error: grpc.RpcError) -> dict:
    return dict(error.trailing_metadata() or ())


def service_error(error: grpc.RpcError, address: str) -> ServiceError:
    """The ServiceError for a call that ended with a status."""
    status = error.code().name
    trailers = _trailers(error)
    advice = _ADVICE.get(status, "")
    retry = trailers.get("retry-after-ms")
    if retry:
        advice = f"the service is busy; try again in {retry} ms"
    return ServiceError(
        f"{address}: {status}: {error.details()}",
        status=status,
        advice=advice,
        request_id=trailers.get("request-id", ""),
    )


_lock = threading.Lock()
_by_address: dict[str, Compiler] = {}


def resolve(compiler: Compiler | str | None) -> Compiler:
    """The compiler of a call: given, else that of INTENT_COMPILER, else the embedded daemon."""
    if isinstance(compiler, Compiler):
        return compiler
    if compiler is not None and not isinstance(compiler, str):
        raise TypeError(f"compiler is an intent.Compiler or an address, not {type(compiler).__name__}")
    address = compiler or os.environ.get("INTENT_COMPILER")
    if not address:
        from . import embedded

        address = embedded.address()
    with _lock:
        return _by_address.setdefault(address, Compiler(address))
