"""Workers that crash, hang or eat memory while they hold a request, at every stage: one request gets one
typed error in time, and the daemon goes on."""

import os
import signal
import time

import grpc
import numpy as np
import pytest

from harness import encode, execute, execute_pb2, execute_request, status_of, wait_gone

Code = grpc.StatusCode

COMPILE_STAGES = ["prepare", "prepared", "compile", "compiled"]
EXECUTE_STAGES = ["load", "execute", "executed"]


@pytest.mark.parametrize("stage", COMPILE_STAGES)
def test_a_crash_costs_one_request_a_typed_error(failing, chain, stage):
    failing.failpoint(f"{stage}:crash")
    code, message, _ = status_of(failing.compile, chain(20))
    assert code == Code.INTERNAL
    assert "signal 11" in message and "input " in message
    failing.failpoint()
    assert failing.compile(chain(20)).artifact.id
    counters = failing.statistics()
    assert (counters.worker_crashes, counters.errors, counters.misses) == (1, 1, 1)


@pytest.mark.parametrize("stage", COMPILE_STAGES)
def test_a_hang_ends_with_the_callers_deadline(failing, chain, stage):
    failing.failpoint(f"{stage}:hang")
    begin = time.monotonic()
    code, _, _ = status_of(failing.compile, chain(21), timeout=1)
    assert code == Code.DEADLINE_EXCEEDED
    assert time.monotonic() - begin < 2
    failing.failpoint()
    failing.statistics()  # the daemon has noticed that nobody waits any more
    assert failing.compile(chain(21)).artifact.id, "the hanging worker has been replaced"


@pytest.mark.parametrize("stage", COMPILE_STAGES)
def test_a_hang_ends_with_the_daemons_limit(start, chain, stage):
    daemon = start("--compile-time-ms", "700")
    if not daemon.has_failpoints():
        pytest.skip("the daemon has no failpoints")
    daemon.failpoint(f"{stage}:hang")
    begin = time.monotonic()
    code, message, _ = status_of(daemon.compile, chain(22))
    assert code == Code.INTERNAL and "700 ms" in message
    assert time.monotonic() - begin < 1.7
    daemon.failpoint()
    assert daemon.compile(chain(22)).artifact.id, "a limit is not held against the input"
    assert daemon.statistics().worker_timeouts == 1


def test_memory_is_limited(start, chain):
    daemon = start("--compile-memory", str(512 << 20))
    if not daemon.has_failpoints():
        pytest.skip("the daemon has no failpoints")
    daemon.failpoint("compile:eat:1000")
    code, message, _ = status_of(daemon.compile, chain(23))
    assert code == Code.RESOURCE_EXHAUSTED and "memory" in message
    daemon.failpoint()
    assert daemon.compile(chain(23)).artifact.id
    assert daemon.statistics().worker_memory_kills == 1


def test_inputs_that_crash_again_and_again_are_quarantined(start, chain):
    daemon = start("--quarantine-crashes", "2", "--quarantine-ms", "1500")
    if not daemon.has_failpoints():
        pytest.skip("the daemon has no failpoints")
    daemon.failpoint("compile:crash")
    for _ in range(2):
        assert status_of(daemon.compile, chain(24))[0] == Code.INTERNAL
    daemon.failpoint()
    code, message, trailers = status_of(daemon.compile, chain(24))
    assert code == Code.INTERNAL and "refused" in message
    assert 0 < int(trailers["retry-after-ms"]) <= 1500
    assert daemon.compile(chain(25)).artifact.id, "other inputs are not refused"
    time.sleep(int(trailers["retry-after-ms"]) / 1000 + 0.1)
    assert daemon.compile(chain(24)).artifact.id
    counters = daemon.statistics()
    assert (counters.worker_crashes, counters.quarantined) == (2, 1)


@pytest.mark.parametrize("stage", EXECUTE_STAGES)
def test_an_executor_that_crashes_costs_one_call(failing, chain, stage):
    artifact = failing.compile(chain(26)).artifact
    x, y = np.ones(10, np.float32), np.zeros(10, np.float32)
    failing.failpoint(f"{stage}:crash")
    code, message, _ = status_of(failing.execute_service.Execute, execute_request(artifact.id, [x], [y]))
    assert code == Code.ABORTED and artifact.id.hex() in message
    failing.failpoint()
    assert execute(failing, artifact.id, [x], [y]).HasField("completed")
    assert failing.statistics().executor_crashes == 1


@pytest.mark.parametrize("stage", EXECUTE_STAGES)
def test_an_executor_that_hangs_ends_with_the_callers_deadline(failing, chain, stage):
    artifact = failing.compile(chain(27)).artifact
    request = execute_request(artifact.id, [np.ones(10, np.float32)], [np.zeros(10, np.float32)])
    failing.failpoint(f"{stage}:hang")
    begin = time.monotonic()
    assert status_of(failing.execute_service.Execute, request, timeout=1)[0] == Code.DEADLINE_EXCEEDED
    assert time.monotonic() - begin < 2
    failing.failpoint()
    assert failing.execute_service.Execute(request, timeout=10).HasField("completed")


def test_idle_workers_that_are_killed_from_outside_cost_nobody_anything(daemon, chain):
    x, y = np.ones(10, np.float32), np.zeros(10, np.float32)
    execute(daemon, daemon.compile(chain(28)).artifact.id, [x], [y])
    for round in range(2):
        zygote, *workers = daemon.children()
        for pid in workers if round == 0 else [zygote]:
            os.kill(pid, signal.SIGKILL)
        wait_gone(workers)
        for i in range(4):
            artifact = daemon.compile(chain(30 + 10 * round + i)).artifact
            assert execute(daemon, artifact.id, [x], [y]).HasField("completed")
    assert daemon.statistics().errors == 0


def test_no_process_can_be_dumped_or_gain_rights(daemon):
    for pid in daemon.children():
        with open(f"/proc/{pid}/status") as status:
            assert "NoNewPrivs:\t1" in status.read()
        with open(f"/proc/{pid}/limits") as limits:
            (core,) = [line.split() for line in limits if line.startswith("Max core file size")]
            assert core[4:6] == ["0", "0"]


def test_workers_hold_no_descriptor_but_their_channel(daemon, chain):
    daemon.compile(chain(29))
    for pid in daemon.children()[1:]:
        try:
            descriptors = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
        except PermissionError:
            pytest.skip("not dumpable, and this user may not look")
        assert descriptors <= {0, 1, 2, 3}, descriptors


def test_a_kernel_that_demands_too_much_memory_is_an_error(daemon, folder):
    text = """kernel (%y: view<out, f32, []>) {
  %b = buffer : buffer<f32, [3000000000]>
  %i = constant 2999999999 : index
  %one = constant 1.0 : f32
  buffer_store %b [%i] = %one
  %c = buffer_load %b [%i] : f32
  view_store %y [] = %c
  return
}
"""
    for target in ("native", "interp"):
        response = daemon.compile(encode(folder, text), target=target)
        assert response.HasField("artifact"), response
        y = np.zeros((), np.float32)
        error = execute(daemon, response.artifact.id, [], [y]).error
        assert error.kind == execute_pb2.RunError.KIND_NO_MEMORY, (target, error)
    assert daemon.statistics().executor_crashes == 0
