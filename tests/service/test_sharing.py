"""Equal requests share one compile, and nobody pays for another's departure."""

import threading
import time

import grpc
import pytest

from harness import Where, compile_request, status_of


class Crowd:
    """Equal requests on threads of their own."""

    def __init__(self, daemon, module, count, timeout=60):
        self.answers, self.errors = [], []

        def call():
            try:
                self.answers.append(daemon.compile(module, timeout=timeout))
            except grpc.RpcError as error:
                self.errors.append(error.code())

        self.threads = [threading.Thread(target=call) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def join(self):
        for thread in self.threads:
            thread.join()
        return self


def until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def in_flight(daemon):
    from harness import admin_pb2

    return daemon.admin_service.GetStatistics(admin_pb2.GetStatisticsRequest()).in_flight


def test_64_equal_cold_requests_compile_once(failing, chain):
    failing.failpoint("compile:slow:1000")
    crowd = Crowd(failing, chain(40), 64).join()
    assert len(crowd.answers) == 64 and not crowd.errors
    assert len({answer.artifact.id for answer in crowd.answers}) == 1
    where = [answer.artifact.cache.where for answer in crowd.answers]
    assert where.count(Where.WHERE_COMPILED) == 1
    counters = failing.statistics()
    assert (counters.requests, counters.compiles, counters.misses) == (64, 1, 64)
    assert counters.joined == 63


def test_a_leader_that_leaves_does_not_take_its_followers(failing, chain):
    failing.failpoint("compile:slow:1500")
    leader = failing.compile_service.Compile.future(compile_request(chain(41)))
    until(lambda: in_flight(failing) == 1)
    crowd = Crowd(failing, chain(41), 8)
    until(lambda: in_flight(failing) == 9)
    leader.cancel()
    crowd.join()
    assert len(crowd.answers) == 8 and not crowd.errors
    counters = failing.statistics()
    assert (counters.compiles, counters.misses, counters.errors) == (1, 8, 1)


def test_work_ends_when_nobody_waits(failing, chain):
    failing.failpoint("compile:hang")
    calls = [failing.compile_service.Compile.future(compile_request(chain(42))) for _ in range(4)]
    until(lambda: in_flight(failing) == 4)
    for call in calls:
        call.cancel()
    until(lambda: in_flight(failing) == 0)
    failing.failpoint()
    assert failing.compile(chain(43), timeout=10).artifact.id
    assert failing.compile(chain(44), timeout=10).artifact.id
    assert failing.statistics().worker_timeouts == 0


def test_a_crash_costs_only_the_request_that_started_the_work(start, chain):
    daemon = start("--quarantine-crashes", "0")
    if not daemon.has_failpoints():
        pytest.skip("the daemon has no failpoints")
    daemon.failpoint("prepared:slow:1000,compile:crash")
    crowd = Crowd(daemon, chain(45), 8)
    until(lambda: in_flight(daemon) == 8)
    time.sleep(0.5)
    daemon.failpoint("prepared:slow:1000,compile:crash")
    until(lambda: "crashed" in daemon.log())
    daemon.failpoint()
    crowd.join()
    assert crowd.errors and all(code == grpc.StatusCode.INTERNAL for code in crowd.errors)
    assert len(crowd.errors) < 8
    assert daemon.statistics().worker_crashes == len(crowd.errors)


def test_a_full_queue_refuses_at_once_and_says_when_to_come_back(start, chain):
    daemon = start("--queue-jobs", "2", "--workers", "1")
    if not daemon.has_failpoints():
        pytest.skip("the daemon has no failpoints")
    daemon.failpoint("compile:slow:2000")
    running = [daemon.compile_service.Compile.future(compile_request(chain(50 + i))) for i in range(3)]
    until(lambda: in_flight(daemon) == 3)
    time.sleep(0.3)
    code, _, trailers = status_of(daemon.compile, chain(59), timeout=1)
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert int(trailers["retry-after-ms"]) > 0
    daemon.failpoint()
    assert all(call.result().artifact.id for call in running)
    assert daemon.statistics().rejected == 1


def test_every_request_is_counted_once(daemon, chain, folder):
    from harness import BAD_TEXT, compile_pb2, encode

    daemon.compile(chain(46))
    daemon.compile(chain(46))
    daemon.compile(encode(folder, BAD_TEXT))
    daemon.compile(chain(46), cache=compile_pb2.CACHE_POLICY_BYPASS)
    status_of(daemon.compile, b"")
    c = daemon.statistics()
    assert c.requests == 5
    assert c.requests == c.hits_memory + c.hits_disk + c.hits_remote + c.misses + c.bypasses + c.errors
    assert (c.hits_memory, c.misses, c.bypasses, c.errors, c.diagnosed) == (1, 2, 1, 1, 1)
