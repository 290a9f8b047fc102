"""Sessions: resident memory on the host and on the GPUs of a fake driver."""

import time

import grpc
import numpy as np
import pytest

import fake_cuda
from harness import CLIENT, chain_result, execute_pb2, status_of

Code = grpc.StatusCode


@pytest.fixture
def daemon(start):
    return start(environment=fake_cuda.environment())


class Session:
    """A session of a test's own."""

    def __init__(self, daemon, target, **fields):
        self.service = daemon.execute_service
        request = execute_pb2.OpenSessionRequest(client=CLIENT, target=target, **fields)
        reply = self.service.OpenSession(request, timeout=60)
        self.id, self.device = reply.session_id, reply.device

    def allocate(self, size):
        return self.service.Allocate(execute_pb2.AllocateRequest(session_id=self.id, size=size)).resident

    def free(self, handle):
        self.service.Free(execute_pb2.FreeRequest(session_id=self.id, resident=handle))

    def close(self):
        self.service.CloseSession(execute_pb2.CloseSessionRequest(session_id=self.id))

    def upload(self, handle, data, chunk=1 << 20, size=None):
        def parts():
            yield execute_pb2.UploadRequest(
                target=execute_pb2.UploadTarget(
                    client=CLIENT,
                    session_id=self.id,
                    resident=handle,
                    size=len(data) if size is None else size,
                )
            )
            for offset in range(0, len(data), chunk):
                piece = execute_pb2.Chunk(offset=offset, data=data[offset : offset + chunk])
                yield execute_pb2.UploadRequest(chunk=piece)

        self.service.Upload(parts(), timeout=60)

    def download(self, handle, size, offset=0):
        request = execute_pb2.DownloadRequest(
            client=CLIENT, session_id=self.id, resident=handle, offset=offset, size=size
        )
        content = bytearray(size)
        for chunk in self.service.Download(request, timeout=60):
            begin = chunk.offset - offset
            content[begin : begin + len(chunk.data)] = chunk.data
        return bytes(content)

    def request(self, artifact_id, handles, count):
        """A call on vectors of f32 that are resident."""
        request = execute_pb2.ExecuteRequest(client=CLIENT, artifact_id=artifact_id, session_id=self.id)
        for position, handle in enumerate(handles):
            request.allocations.add(id=position, size=4 * count, resident=handle)
            view = request.arguments.add().view
            view.allocation = position
            view.extents.append(count)
            view.strides.append(1)
        return request


class Place:
    """Where a session's memory is, and a kernel for it: y = f(x)."""

    def __init__(self, name, daemon, chain):
        self.target = "native" if name == "host" else fake_cuda.TARGET
        if name == "host":
            self.artifact = daemon.compile(chain(0b0101)).artifact
            self.f = lambda x: chain_result(0b0101, x)
        else:
            self.artifact = fake_cuda.artifact(daemon, "add_one")
            self.f = lambda x: x + 1


@pytest.fixture(params=["host", "cuda"])
def place(request, daemon, chain):
    return Place(request.param, daemon, chain)


def numbers(count):
    return np.linspace(0.5, 1.5, count, dtype=np.float32)


def test_memory_stays_between_calls(daemon, place):
    session = Session(daemon, place.target)
    x = numbers(1000)
    first, second = session.allocate(4000), session.allocate(4000)
    session.upload(first, x.tobytes())
    for source, target in ((first, second), (second, first)):
        response = daemon.execute_service.Execute(session.request(place.artifact.id, [source, target], 1000))
        assert response.HasField("completed"), response.error
    result = np.frombuffer(session.download(first, 4000), np.float32)
    np.testing.assert_allclose(result, place.f(place.f(x)), rtol=1e-5)
    assert daemon.statistics().sessions == 1


def test_new_memory_is_zero(daemon, place):
    session = Session(daemon, place.target)
    for size in (0, 1, 5000):
        assert session.download(session.allocate(size), size) == bytes(size)


def test_transfers_larger_than_a_window(daemon, place):
    session = Session(daemon, place.target)
    data = np.random.default_rng(1).integers(0, 256, 40_000_001, dtype=np.uint8).tobytes()
    handle = session.allocate(len(data))
    session.upload(handle, data, chunk=3_000_000)
    assert session.download(handle, len(data)) == data
    assert session.download(handle, 1000, offset=17_000_000) == data[17_000_000:17_001_000]
    session.upload(handle, b"new")
    assert session.download(handle, 5) == b"new" + data[3:5]


def test_resident_and_inline_allocations_mix(daemon, place):
    session = Session(daemon, place.target)
    x = numbers(100)
    handle = session.allocate(400)
    session.upload(handle, x.tobytes())
    request = session.request(place.artifact.id, [handle, handle], 100)
    del request.allocations[1]
    request.allocations.add(id=1, size=400, returned=True).zero.SetInParent()
    returned = daemon.execute_service.Execute(request).completed.allocations[0]
    np.testing.assert_allclose(np.frombuffer(returned.data, np.float32), place.f(x), rtol=1e-5)
    assert session.download(handle, 400) == x.tobytes()


def test_freed_memory_is_gone(daemon, place):
    session = Session(daemon, place.target)
    handle, other = session.allocate(400), session.allocate(400)
    session.free(handle)
    service = daemon.execute_service
    assert status_of(session.free, handle)[0] == Code.NOT_FOUND
    assert status_of(session.download, handle, 4)[0] == Code.NOT_FOUND
    assert status_of(session.upload, handle, b"x")[0] == Code.NOT_FOUND
    request = session.request(place.artifact.id, [handle, other], 100)
    assert status_of(service.Execute, request)[0] == Code.NOT_FOUND
    assert session.download(other, 4) == bytes(4)


def test_a_closed_session_is_aborted(daemon, place):
    session, other = Session(daemon, place.target), Session(daemon, place.target)
    handle = session.allocate(400)
    session.close()
    for call in (
        session.close,
        lambda: session.allocate(1),
        lambda: session.download(handle, 1),
    ):
        assert status_of(call)[0] == Code.ABORTED
    request = session.request(place.artifact.id, [handle, handle], 100)
    assert status_of(daemon.execute_service.Execute, request)[0] == Code.ABORTED
    assert other.allocate(1)


def test_an_idle_session_ends(daemon, place):
    session = Session(daemon, place.target, idle_seconds=1)
    before = len(daemon.children())
    deadline = time.monotonic() + 30
    while len(daemon.children()) >= before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(daemon.children()) < before
    assert status_of(session.allocate, 1)[0] == Code.ABORTED


def test_what_is_wrong_is_refused(daemon, place):
    session = Session(daemon, place.target)
    service = daemon.execute_service
    handle = session.allocate(400)

    def call(change):
        request = session.request(place.artifact.id, [handle, handle], 100)
        change(request)
        return status_of(service.Execute, request)[0]

    def resize(request):
        request.allocations[0].size = 800

    def returned(request):
        request.allocations[0].returned = True

    def without_session(request):
        request.session_id = b""

    def unknown(request):
        request.allocations[0].resident = b"no such handle"

    def device(request):
        request.device = "0"

    assert call(resize) == Code.INVALID_ARGUMENT
    assert call(returned) == Code.INVALID_ARGUMENT
    assert call(without_session) == Code.INVALID_ARGUMENT
    assert call(device) == Code.INVALID_ARGUMENT
    assert call(unknown) == Code.NOT_FOUND
    assert status_of(session.download, handle, 401)[0] == Code.OUT_OF_RANGE
    assert status_of(session.download, handle, 1, offset=2**63)[0] == Code.OUT_OF_RANGE
    assert status_of(session.upload, handle, bytes(401))[0] == Code.OUT_OF_RANGE
    assert status_of(session.upload, handle, bytes(10), size=20)[0] == Code.INVALID_ARGUMENT
    assert status_of(session.upload, handle, bytes(20), size=10)[0] == Code.INVALID_ARGUMENT
    assert status_of(session.allocate, 2**60)[0] == Code.RESOURCE_EXHAUSTED
    assert session.download(handle, 400) == bytes(400)


def test_more_memory_than_there_is(daemon, place):
    session = Session(daemon, place.target)
    assert status_of(session.allocate, 1 << 42)[0] == Code.RESOURCE_EXHAUSTED
    assert session.allocate(1000)


def test_sessions_are_bounded_and_pick_devices(start):
    daemon = start("--sessions", "2", environment=fake_cuda.environment())
    first = Session(daemon, fake_cuda.TARGET, device="1")
    assert first.device == fake_cuda.UUIDS[1]
    assert Session(daemon, fake_cuda.TARGET).device == fake_cuda.UUIDS[0]
    code, details, _ = status_of(Session, daemon, "native")
    assert code == Code.RESOURCE_EXHAUSTED and "2 sessions" in details
    first.close()
    Session(daemon, "native")
    assert status_of(Session, daemon, "native", device="0")[0] == Code.INVALID_ARGUMENT
    assert status_of(Session, daemon, "sm_80")[0] == Code.FAILED_PRECONDITION
    assert status_of(Session, daemon, "sm_1")[0] == Code.FAILED_PRECONDITION


def test_a_fault_ends_its_session_alone(daemon):
    faulty, fine = (fake_cuda.artifact(daemon, name) for name in ("illegal_address", "add_one"))
    session, other = (
        Session(daemon, fake_cuda.TARGET),
        Session(daemon, fake_cuda.TARGET),
    )
    handle, others = session.allocate(400), other.allocate(400)
    service = daemon.execute_service
    code, details, _ = status_of(service.Execute, session.request(faulty.id, [handle, handle], 100))
    assert code == Code.ABORTED and "illegal memory access" in details
    code, details, _ = status_of(session.download, handle, 400)
    assert code == Code.ABORTED and "open another" in details
    assert service.Execute(other.request(fine.id, [others, others], 100)).HasField("completed")
    assert daemon.statistics().cuda_reruns == 0, "a call on resident memory was done again"


def test_artifacts_of_another_place_are_refused(daemon, chain):
    cpu, cuda = daemon.compile(chain(1)).artifact, fake_cuda.artifact(daemon, "add_one")
    service = daemon.execute_service
    for target, artifact in (("native", cuda), (fake_cuda.TARGET, cpu)):
        session = Session(daemon, target)
        handle = session.allocate(40)
        code, _, _ = status_of(service.Execute, session.request(artifact.id, [handle, handle], 10))
        assert code == Code.FAILED_PRECONDITION
