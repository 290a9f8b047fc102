"""The connection to a compile service."""

from __future__ import annotations

import hashlib
import os
import random
import struct
import threading
import time
import weakref
from collections.abc import Callable

import grpc
from intent_proto.admin.v1 import admin_pb2, admin_pb2_grpc
from intent_proto.compile.v1 import compile_pb2, compile_pb2_grpc
from intent_proto.execute.v1 import execute_pb2_grpc

from . import peer
from .errors import ServiceError

PROTOCOL = (1, 2)
PRODUCER = "intent-python/0.1.0"

DEFAULT_WAIT = 0.05  # seconds before the one further try
LONGEST_WAIT = 2.0  # a service that asks for more is not waited for

_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_http_proxy", 0),
    (
        "grpc.use_local_subchannel_pool",
        1,
    ),  # a new channel does not share an old one's wait before it looks again
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


_compilers: weakref.WeakSet[Compiler] = weakref.WeakSet()  # of this process
_inherited: list[grpc.Channel] = []  # the parent's, in the child of a fork


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
        self._channel: grpc.Channel | None = None
        self._revive: Callable[[], str] | None = None  # brings the daemon back and gives its address
        _compilers.add(self)

    def channel(self) -> grpc.Channel:
        with self._lock:
            if self._channel is None:
                if self._credentials is None:
                    self._channel = grpc.insecure_channel(self.address, _OPTIONS)
                else:
                    self._channel = grpc.secure_channel(self.address, self._credentials, _OPTIONS)
            return self._channel

    def is_own(self) -> bool:
        """Whether a daemon of this user's, on this host, answers at the address."""
        path = peer.path_of(self.address)
        return path is not None and peer.uid_of(path) == os.geteuid()

    def close(self):
        """Close the connection; a later call opens it again."""
        with self._lock:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def _lost(self, channel):
        """A channel that lost its daemon waits longer and longer before it looks again: the next call
        takes a new one. The old one is not closed, for other threads' calls may still be on it."""
        with self._lock:
            if self._channel is channel:
                self._channel = None

    def _forked(self):
        """In the child of a fork: the parent's threads, and so its lock and its channel, are not here."""
        self._lock = threading.Lock()
        if self._channel is not None:
            _inherited.append(self._channel)  # never taken down: that would need the parent's threads
            self._channel = None

    # Raw calls; each raises ServiceError.

    def compile(self, request) -> compile_pb2.CompileResponse:
        metadata = (("intent-routing-key", routing_key(request)),)
        return self._call(compile_pb2_grpc.CompileServiceStub, "Compile", request, metadata)

    def compile_many(self, requests, finished=lambda position: None) -> list:
        """Compiles side by side; gives a CompileResponse or a ServiceError for each request, in order.

        `finished` is called, in this thread, with the position of each that is done.
        """
        outcomes: list = [None] * len(requests)
        self._retrying(lambda channel: self._compile_rest(channel, requests, outcomes, finished))
        busy = {
            position: outcome.retry_after_ms / 1e3
            for position, outcome in enumerate(outcomes)
            if isinstance(outcome, compile_pb2.Failure) and 0 < outcome.retry_after_ms <= LONGEST_WAIT * 1e3
        }
        if busy:
            time.sleep(max(busy.values()) * random.uniform(1.0, 1.5))
            for position in busy:
                outcomes[position] = None
            self._retrying(lambda channel: self._compile_rest(channel, requests, outcomes, finished))
        for position, outcome in enumerate(outcomes):
            if isinstance(outcome, compile_pb2.Failure):
                outcomes[position] = _failure(outcome, self.address)
                finished(position)
        return outcomes

    def _compile_rest(self, channel, requests, outcomes, finished):
        """One stream for the requests that have no outcome yet."""
        waiting = {position for position, outcome in enumerate(outcomes) if outcome is None}
        items = [
            compile_pb2.CompileManyRequest(tag=position, request=requests[position])
            for position in sorted(waiting)
        ]
        stub = compile_pb2_grpc.CompileServiceStub(channel)
        for reply in stub.CompileMany(iter(items), timeout=self.timeout):
            kind = reply.WhichOneof("outcome")
            if reply.tag not in waiting or kind is None:
                raise self._cut_short()
            waiting.remove(reply.tag)
            outcomes[reply.tag] = getattr(reply, kind)
            if kind == "response":
                finished(reply.tag)
        if waiting:
            raise self._cut_short()

    def payload(self, artifact_id: bytes, name: str) -> bytes:
        request = compile_pb2.GetPayloadRequest(client=client_info(), artifact_id=artifact_id, name=name)

        def fetch(channel):
            stub = compile_pb2_grpc.CompileServiceStub(channel)
            return b"".join(chunk.data for chunk in stub.GetPayload(request, timeout=self.timeout))

        return self._retrying(fetch)

    def execute(self, request):
        return self._call(execute_pb2_grpc.ExecuteServiceStub, "Execute", request, may_have_run=True)

    def execute_stream(self, make_parts, take):
        """Streams the requests that make_parts() yields and gives what `take` makes of the replies."""

        def call(channel):
            stub = execute_pb2_grpc.ExecuteServiceStub(channel)
            return take(stub.ExecuteStream(make_parts(), timeout=self.timeout))

        return self._retrying(call, may_have_run=True)

    def stats(self) -> dict:
        """The daemon's counters by name, such as requests, hits_memory, misses and compiles."""
        reply = self._call(admin_pb2_grpc.AdminServiceStub, "GetStatistics", admin_pb2.GetStatisticsRequest())
        return {field.name: getattr(reply, field.name) for field in reply.DESCRIPTOR.fields}

    def capabilities(self):
        """What the daemon is and can do: an intent.admin.v1.Capabilities."""
        return self._call(
            admin_pb2_grpc.AdminServiceStub, "GetCapabilities", admin_pb2.GetCapabilitiesRequest()
        )

    def config(self) -> dict:
        """The daemon's configuration in force: lists of values by key."""
        reply = self._call(admin_pb2_grpc.AdminServiceStub, "GetConfig", admin_pb2.GetConfigRequest())
        return {setting.key: list(setting.values) for setting in reply.settings}

    def _call(self, service, method, request, metadata=(), may_have_run=False):
        return self._retrying(
            lambda channel: getattr(service(channel), method)(
                request, timeout=self.timeout, metadata=metadata
            ),
            may_have_run,
        )

    def _retrying(self, call, may_have_run=False):
        """Makes a call on the channel, and once more where a short wait can help."""
        for last in (False, True):
            channel = self.channel()
            try:
                return call(channel)
            except grpc.RpcError as error:
                lost = error.code() == grpc.StatusCode.UNAVAILABLE
                if lost:
                    self._lost(channel)
                wait = 0.0 if last else _retry_wait(error, may_have_run)
                if not wait:
                    raise service_error(error, self.address) from None
            time.sleep(wait)
            if lost and self._revive:
                self.address = self._revive()

    def _cut_short(self) -> ServiceError:
        return ServiceError(
            f"{self.address}: the service's reply does not hold what was asked for",
            status="DATA_LOSS",
            advice="call again",
        )

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
    """Seconds to wait before the one further try; 0 when it would not help.

    A call whose daemon was lost is made again even if its kernel may have run: what a kernel writes
    reaches the caller's arrays with the reply only. One that cost the daemon an executor is not.
    """
    wait = 0.0
    trailers = _trailers(error)
    if "retry-after-ms" in trailers:
        wait = float(trailers["retry-after-ms"]) / 1e3
    elif error.code() == grpc.StatusCode.UNAVAILABLE:
        wait = DEFAULT_WAIT
    elif error.code() == grpc.StatusCode.ABORTED and not may_have_run:
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


def _failure(failure: compile_pb2.Failure, address: str) -> ServiceError:
    """The ServiceError for one compile of many."""
    names = {code.value[0]: code.name for code in grpc.StatusCode}
    status = names.get(failure.code, "UNKNOWN")
    return ServiceError(
        f"{address}: {status}: {failure.message}", status=status, advice=_ADVICE.get(status, "")
    )


_lock = threading.Lock()
_by_address: dict[str, Compiler] = {}


def _after_fork():
    global _lock
    _lock = threading.Lock()
    for compiler in list(_compilers):
        compiler._forked()


os.register_at_fork(after_in_child=_after_fork)


def resolve(compiler: Compiler | str | None) -> Compiler:
    """The compiler of a call: given, else that of INTENT_COMPILER, else the embedded daemon."""
    if isinstance(compiler, Compiler):
        return compiler
    if compiler is not None and not isinstance(compiler, str):
        raise TypeError(f"compiler is an intent.Compiler or an address, not {type(compiler).__name__}")
    address = compiler or os.environ.get("INTENT_COMPILER")
    revive = None
    if not address:
        from . import embedded

        address, revive = embedded.address(), embedded.address
    with _lock:
        found = _by_address.setdefault(address, Compiler(address))
    if revive:
        found._revive = revive
    return found
