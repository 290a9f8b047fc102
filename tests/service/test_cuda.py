"""Calls of CUDA artifacts through the daemon, on the two GPUs of a fake driver."""

import threading
import time

import grpc
import numpy as np
import pytest

import fake_cuda
from harness import execute, execute_pb2, execute_request, status_of, wait_gone

Code = grpc.StatusCode
Error = execute_pb2.RunError


@pytest.fixture
def daemon(start):
    return start(environment=fake_cuda.environment())


def vectors(count, first=0.5):
    x = np.linspace(first, 1.5, count, dtype=np.float32)
    return x, np.zeros(count, np.float32)


def run(daemon, artifact, count=1000, first=0.5):
    """Runs on one vector and expects its successor."""
    x, y = vectors(count, first)
    response = execute(daemon, artifact.id, [x], [y])
    assert response.HasField("completed"), response.error
    np.testing.assert_array_equal(y, x + 1)


def test_a_call_computes(daemon):
    artifact = fake_cuda.artifact(daemon, "add_one")
    assert artifact.payloads[0].name == "cubin"
    for count in (1000, 1, 0, 70_000):
        run(daemon, artifact, count)


def test_launches_have_the_manifests_shape(daemon):
    rest = f"cooperative: true block_scratch_bytes {fake_cuda.constant(100)} shared_bytes {fake_cuda.constant(90000)}"
    artifact = fake_cuda.artifact(daemon, "report", dtype="i64", views=1, blocks=50, rest=rest)
    facts = np.zeros(12, np.int64)
    assert execute(daemon, artifact.id, [], [facts]).HasField("completed")
    assert facts[:8].tolist() == [8, 1, 1, 64, 1, 1, 90000, 1]
    assert facts[11] == 256


def test_errors_of_kernels_and_arguments_are_run_errors(daemon):
    artifact = fake_cuda.artifact(daemon, "out_of_bounds")
    response = execute(daemon, artifact.id, [np.zeros(10, np.float32)], [np.zeros(10, np.float32)])
    assert (response.error.kind, response.error.ordinal, response.error.value) == (
        Error.KIND_OUT_OF_BOUNDS,
        3,
        12,
    )
    unequal = execute(daemon, artifact.id, [np.zeros(10, np.float32)], [np.zeros(9, np.float32)])
    assert unequal.error.kind == Error.KIND_BAD_SHAPE
    run(daemon, fake_cuda.artifact(daemon, "add_one"))
    assert daemon.statistics().cuda_executor_starts == 1


def test_scratch_memory_is_zero_for_the_next_caller(daemon):
    rest = f"scratch_bytes {fake_cuda.constant(5000)}"
    artifact = fake_cuda.artifact(daemon, "use_scratch", dtype="i64", views=1, rest=rest)
    for _ in range(4):
        facts = np.zeros(2, np.int64)
        assert execute(daemon, artifact.id, [], [facts]).HasField("completed")
    assert facts[1] == 0


def test_capabilities_name_the_devices(daemon):
    capabilities = daemon.capabilities()
    assert [d.uuid for d in capabilities.cuda_devices] == fake_cuda.UUIDS
    assert capabilities.cuda_devices[1].name == "Fake GPU B"
    assert capabilities.cuda_devices[1].architecture == "sm_90"
    assert {"sm_90", "sm_90a"} <= set(capabilities.execute_targets)
    assert "sm_80" not in capabilities.execute_targets
    assert not capabilities.cuda_devices_missing


def test_calls_pick_a_device(daemon):
    artifact = fake_cuda.artifact(daemon, "add_one")
    x, y = vectors(10)
    for device in ("1", fake_cuda.UUIDS[1], "GPU-b0b1"):
        request = execute_request(artifact.id, [x], [y])
        request.device = device
        assert daemon.execute_service.Execute(request).HasField("completed")
    assert daemon.statistics().cuda_executor_starts == 1
    run(daemon, artifact)
    assert daemon.statistics().cuda_executor_starts == 2, "not another device's process"
    request.device = "2"
    code, details, _ = status_of(daemon.execute_service.Execute, request)
    assert code == Code.FAILED_PRECONDITION
    assert "no CUDA device '2'" in details and "Fake GPU B" in details


def test_a_cpu_artifact_takes_no_device(daemon, chain):
    artifact = daemon.compile(chain(1)).artifact
    request = execute_request(artifact.id, *[[v] for v in vectors(10)])
    request.device = "0"
    assert status_of(daemon.execute_service.Execute, request)[0] == Code.INVALID_ARGUMENT


def test_the_operators_choice_of_devices_holds(start):
    daemon = start(environment=fake_cuda.environment(CUDA_VISIBLE_DEVICES="1"))
    devices = daemon.capabilities().cuda_devices
    assert [(d.index, d.uuid) for d in devices] == [(0, fake_cuda.UUIDS[1])]
    run(daemon, fake_cuda.artifact(daemon, "add_one"))


@pytest.mark.parametrize("visible, reason", [("", "no CUDA-capable device"), (None, "no CUDA driver")])
def test_a_host_without_a_gpu_says_so(start, tmp_path, visible, reason):
    """Without devices, and without the driver."""
    if visible is None:
        (tmp_path / "libcuda.so.1").write_bytes(b"no library")
        environment = {"LD_LIBRARY_PATH": str(tmp_path)}
    else:
        environment = fake_cuda.environment(CUDA_VISIBLE_DEVICES=visible)
    daemon = start(environment=environment)
    capabilities = daemon.capabilities()
    assert not capabilities.cuda_devices
    assert reason in capabilities.cuda_devices_missing
    artifact = fake_cuda.artifact(daemon, "add_one")
    code, details, _ = status_of(execute, daemon, artifact.id, *[[v] for v in vectors(10)])
    assert code == Code.FAILED_PRECONDITION
    assert reason in details


def test_a_fault_ends_its_own_call_alone(daemon):
    faulty, fine = (fake_cuda.artifact(daemon, name) for name in ("illegal_address", "add_one"))
    run(daemon, fine)
    for _ in range(3):
        code, details, _ = status_of(execute, daemon, faulty.id, *[[v] for v in vectors(10)])
        assert code == Code.ABORTED
        assert "illegal memory access" in details and faulty.id.hex() in details
        run(daemon, fine)
    counters = daemon.statistics()
    # The first fault was tried again alone; from then on the artifact is a suspect.
    assert counters.cuda_executor_crashes == 4
    assert counters.cuda_reruns == 1
    assert counters.execution_errors == 3


def test_while_one_client_loops_a_fault_the_other_goes_on(daemon):
    faulty, fine = (fake_cuda.artifact(daemon, name) for name in ("illegal_address", "add_one"))
    end, faults = threading.Event(), []

    def loop():
        while not end.is_set():
            faults.append(status_of(execute, daemon, faulty.id, *[[v] for v in vectors(10)])[0])

    clients = [threading.Thread(target=loop) for _ in range(3)]
    for client in clients:
        client.start()
    try:
        for _ in range(200):
            run(daemon, fine)
    finally:
        end.set()
        for client in clients:
            client.join()
    assert faults and set(faults) == {Code.ABORTED}


def test_the_same_kernel_with_other_data_succeeds_beside_its_faults(daemon):
    artifact = fake_cuda.artifact(daemon, "fault_if_negative")
    for _ in range(3):
        code, _, _ = status_of(execute, daemon, artifact.id, *[[v] for v in vectors(10, first=-1)])
        assert code == Code.ABORTED
        run(daemon, artifact)
    before = daemon.statistics()
    for _ in range(20):  # after 16 it is trusted again
        run(daemon, artifact)
    code, _, _ = status_of(execute, daemon, artifact.id, *[[v] for v in vectors(10, first=-1)])
    assert code == Code.ABORTED
    assert daemon.statistics().cuda_reruns == before.cuda_reruns + 1


@pytest.mark.parametrize("kernel", ["endless", "endless"])
def test_a_callers_deadline_ends_a_kernel(daemon, kernel):
    """Whether the kernel asks if it shall go on, or must be killed with its process."""
    artifact, fine = (
        fake_cuda.artifact(daemon, kernel),
        fake_cuda.artifact(daemon, "add_one"),
    )
    code, _, _ = status_of(execute, daemon, artifact.id, *[[v] for v in vectors(10)], timeout=1)
    assert code == Code.DEADLINE_EXCEEDED
    run(daemon, fine)


def test_a_kernel_over_the_daemons_time_is_aborted(start):
    daemon = start("--execute-time-ms", "500", environment=fake_cuda.environment())
    artifact, fine = (
        fake_cuda.artifact(daemon, "endless"),
        fake_cuda.artifact(daemon, "add_one"),
    )
    code, details, _ = status_of(execute, daemon, artifact.id, *[[v] for v in vectors(10)])
    assert code == Code.ABORTED
    assert "500 ms" in details
    assert daemon.statistics().cuda_executor_timeouts == 1
    run(daemon, fine)


def test_a_hanging_kernel_does_not_keep_others_waiting(daemon):
    endless, fine = (
        fake_cuda.artifact(daemon, "endless"),
        fake_cuda.artifact(daemon, "add_one"),
    )
    hanging = daemon.execute_service.Execute.future(execute_request(endless.id, *[[v] for v in vectors(10)]))
    while not daemon.statistics().executions:
        time.sleep(0.01)
    run(daemon, fine)
    assert not hanging.done()
    hanging.cancel()


def test_no_process_is_left(start, folder):
    daemon = start(environment=fake_cuda.environment())
    run(daemon, fake_cuda.artifact(daemon, "add_one"))
    children = daemon.children()
    assert daemon.terminate() == 0
    wait_gone(children)
