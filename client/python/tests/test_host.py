"""Specialised kernels, many at once, awaited calls, lost services, threads and forks."""

import asyncio
import os
import signal
import threading
import time

import numpy as np
import pytest
from fake_service import TEXT, double, serve
from intent_proto.compile.v1 import compile_pb2

import intent

WRONG = """
@intent.kernel
def wrong(x: I.In[I.f32, ("N",)]):
    y = x[:] + nothing
"""


def arguments(n=3):
    return np.ones(n, np.float32), 1.0, np.zeros(n, np.float32)


# kernel.specialize


def test_a_specialised_kernel_is_compiled_in_the_kernels_place(build, service):
    bound = build.module.kernel.specialize(taps=5)
    intent.compile(bound, compiler=service.address)
    intent.compile(bound.specialize(mode=build.module.Mode.SUB), compiler=service.address)
    intent.compile(bound, compiler=service.address, constexprs={"taps": 6})
    intent.generate(bound.specialize(taps=7), compiler=service.address)
    assert [[b.int_value for b in r.bindings if b.int_value] for r in service.compiles] == [
        [5],
        [5],
        [6],
        [7],
    ]
    assert "taps=5" in repr(bound) and bound.constexprs == {"taps": 5}
    assert intent.lower(bound).module == service.compiles[0].module


def test_a_binding_that_does_not_fit_is_found_at_the_compile(build, service):
    with pytest.raises(intent.CompileError, match="'no' is no constexpr"):
        intent.compile(build.module.kernel.specialize(no=1), compiler=service.address)
    with pytest.raises(TypeError, match="an @intent.kernel is needed, not int"):
        intent.compile(3, compiler=service.address)
    with pytest.raises(TypeError, match="compile it with intent.compile"):
        build.module.kernel.specialize(taps=1)(2)


# compile_many


def test_artifacts_come_in_the_order_of_the_kernels(build, service):
    kernel, told = build.module.kernel, []
    artifacts = intent.compile_many(
        [kernel.specialize(taps=1), (kernel, {"taps": 2}), kernel],
        compiler=service.address,
        progress=lambda *facts: told.append(facts),
    )
    assert service.streams == [3], "one call, whose items the service compiles side by side"
    bindings = [[b.int_value for b in a._request.bindings] for a in artifacts]
    assert bindings == [[1], [2], []]
    assert [t[:2] for t in told] == [(1, 3), (2, 3), (3, 3)] and told[-1][2] == "kernel(taps=1)"
    service.kernel = double
    assert artifacts[1].run(*arguments()).tolist() == [2, 2, 2]


def test_the_mistakes_of_all_kernels_are_collected(build, service, author):
    wrong = author(WRONG).wrong
    with pytest.raises(intent.CompileErrors, match="2 of 3 kernels failed") as caught:
        intent.compile_many([wrong, build.module.kernel, wrong], compiler=service.address)
    error = caught.value
    assert isinstance(error, intent.CompileError)
    assert [position for position, _ in error.errors] == [0, 2]
    assert len(error.diagnostics) == 2 and "nothing" in str(error)
    assert error.artifacts[0] is None and error.artifacts[1].target == "t"


def test_diagnostics_of_the_service_belong_to_their_kernel(build, service):
    service.diagnostics = compile_pb2.Diagnostics()
    service.diagnostics.diagnostics.add(code="E1001", message="not lowered", ordinal=0)
    with pytest.raises(intent.CompileErrors) as caught:
        intent.compile_many([build.module.kernel], compiler=service.address)
    assert caught.value.diagnostics[0].file == build.module.__file__


def test_an_item_that_the_busy_service_put_off_is_sent_again(build, service):
    service.failures = {1: compile_pb2.Failure(code=8, message="full", retry_after_ms=10)}
    artifacts = intent.compile_many(
        [build.module.kernel.specialize(taps=t) for t in (1, 2)], compiler=service.address
    )
    assert service.streams == [2, 1] and len(artifacts) == 2


def test_an_item_that_failed_for_good_is_a_service_error(build, service):
    service.failures = {0: compile_pb2.Failure(code=13, message="the worker crashed")}
    with pytest.raises(intent.ServiceError, match="INTERNAL: the worker crashed"):
        intent.compile_many([build.module.kernel, build.module.kernel], compiler=service.address)


def test_a_broken_stream_is_opened_once_more(build, service):
    service.dropped = 1
    assert len(intent.compile_many([build.module.kernel] * 2, compiler=service.address)) == 2
    assert service.streams == [2, 2]
    service.dropped = 2
    with pytest.raises(intent.ServiceError, match="is the daemon running"):
        intent.compile_many([build.module.kernel], compiler=service.address)


def test_no_kernels_need_no_service():
    assert intent.compile_many([], compiler="unix:/nowhere") == []


def test_the_bar_counts_every_kernel(build, service, capsys):
    intent.compile_many([build.module.kernel] * 2, compiler=service.address, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and "1/2 kernel" in lines[0] and f"[{'#' * 30}] 2/2" in lines[1]


# Awaited calls


def test_awaited_compiles_and_runs(build, service):
    service.kernel = double
    kernel = build.module.kernel

    async def one(taps):
        artifact = await intent.compile_async(kernel, compiler=service.address, constexprs={"taps": taps})
        out = await artifact.run_async(*arguments())
        prepared = artifact.prepare(*arguments())
        await prepared.launch_async()
        return out.tolist() + prepared.result().tolist()

    async def all_of_them():
        return await asyncio.gather(*(one(taps) for taps in range(20)))

    assert asyncio.run(all_of_them()) == [[2] * 6] * 20


def test_the_loop_goes_on_while_a_run_is_awaited(build, service):
    begun, go = threading.Event(), threading.Event()

    def slow(views, scalars):
        begun.set()
        go.wait(30)
        double(views, scalars)

    service.kernel = slow
    artifact = build()

    async def main():
        run = asyncio.create_task(artifact.run_async(*arguments()))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        go.set()
        return await run

    assert asyncio.run(main()).tolist() == [2, 2, 2]


def test_awaited_errors(author, service):
    async def main():
        await intent.compile_async(author(WRONG).wrong, compiler=service.address)

    with pytest.raises(intent.CompileError, match="nothing"):
        asyncio.run(main())


# Threads


def test_many_threads_trace_compile_and_run(author, service):
    service.kernel = double
    kernel = author(TEXT).kernel
    compiler = intent.Compiler(service.address)
    shared = intent.compile(kernel, compiler=compiler)
    wrong, done = [], []

    def work(number):
        try:
            for turn in range(8):
                n = 1 + (number + turn) % 5
                fresh = intent.compile(kernel, compiler=compiler, constexprs={"taps": turn})
                for artifact in (shared, fresh):
                    x, state = np.full(n, number, np.float32), np.zeros(n, np.float32)
                    out = artifact.run(x, 1.0, state)
                    assert out.tolist() == [2 * number] * n and state.tolist() == [number] * n
                if number == 0:
                    service.forgotten = turn % 2
                    compiler._lost(compiler.channel())  # as after a lost daemon, under the others' calls
            done.append(number)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]
    assert len(done) == 10


def test_the_interpreter_in_this_process_lets_other_threads_run(author):
    module = author(
        """
        @intent.kernel
        def kernel(n: I.i64, out: I.Out[I.i64, (1,)]):
            s = I.cast(0, I.i64)
            for i in range(I.cast(n, I.index)):
                s = s + 1
            out[0] = s
        """
    )
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    began = time.monotonic()
    n = 200_000
    while not any(began < t for t in ticks):  # on a slow or quick machine alike: as much work as it takes
        began = time.monotonic()
        assert intent.interpret(module.kernel, n).tolist() == [n]
        ended = time.monotonic()
        ticks[:] = [t for t in ticks if began < t < ended]
    done.set()
    ticker.join()


def test_threads_share_a_traced_program(author):
    from intent import _core

    kernel = author(TEXT).kernel
    program = intent.lower(kernel).program
    text, module, ordinals = program.text, program.module, _core.ordinals(program, [])
    wrong = []

    def work():
        try:
            for _ in range(10):
                assert program.text == text and program.module == module
                assert _core.ordinals(program, []) == ordinals and _core.print_module(module)
                assert intent.interpret(kernel, *arguments()).tolist() == [1, 1, 1]
                with pytest.raises(ValueError):
                    _core.print_module(b"no module")
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]


# Lost services


def test_a_run_is_made_again_when_the_service_was_lost(build, service, monkeypatch):
    service.kernel = double
    artifact = build()
    service.lost = 1
    assert artifact.run(*arguments()).tolist() == [2, 2, 2]
    x = np.ones(700_000, np.float32)
    service.lost = 1
    assert artifact.run(x, 1.0, np.zeros_like(x))[-1] == 2
    service.lost = 2
    with pytest.raises(intent.ServiceError, match="is the daemon running") as caught:
        artifact.run(*arguments())
    assert caught.value.status == "UNAVAILABLE" and service.lost == 0


def test_the_daemon_of_ones_own_is_started_again(author, service, monkeypatch, tmp_path):
    from intent import embedded

    monkeypatch.delenv("INTENT_COMPILER", raising=False)
    starts = []

    def address():
        starts.append(1)
        return service.address if len(starts) != 1 else f"unix:{tmp_path}/gone"

    monkeypatch.setattr(embedded, "address", address)
    service.kernel = double
    artifact = intent.compile(author(TEXT).kernel)  # what was found at first is gone when it is called
    assert len(starts) == 2 and artifact.run(*arguments()).tolist() == [2, 2, 2]


def test_a_new_channel_looks_at_once_whatever_an_old_one_waits_for(tmp_path):
    address = f"unix:{tmp_path}/s.sock"
    compiler = intent.Compiler(address)
    kept = compiler.channel()  # as by a call of another thread
    for _ in range(4):
        with pytest.raises(intent.ServiceError):
            compiler.compile_many([compile_pb2.CompileRequest()])
    server, _ = serve(address)
    assert len(compiler.compile_many([compile_pb2.CompileRequest()])) == 1
    compiler.close()
    kept.close()
    server.stop(None)


# Forks


def in_child(work):
    """Runs work() in the child of a fork, for 30 s at most; gives what it wrote."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(30)
            os.write(write, str(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with open(read) as pipe:
        text = pipe.read()
    return os.waitpid(pid, 0)[1], text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking with threads is what is tested
def test_a_forked_child_connects_anew(daemon_process, author):
    compiler = intent.Compiler(daemon_process)
    kernel = author(TEXT).kernel
    artifact = intent.compile(kernel, compiler=compiler)
    channel = compiler.channel()

    def work():
        again = intent.compile(kernel, compiler=compiler, constexprs={"taps": 9})
        assert compiler.channel() is not channel
        assert asyncio.run(again.run_async(*arguments())).tolist() == [2, 2, 2]
        return artifact.run(*arguments()).tolist()

    assert in_child(work) == (0, "[2.0, 2.0, 2.0]")
    assert compiler.channel() is channel, "the parent keeps its own"
    assert artifact.run(*arguments()).tolist() == [2, 2, 2]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_does_not_inherit_held_locks(daemon_process, author):
    from intent import client
    from intent.frontend import tracer

    compiler = intent.Compiler(daemon_process)
    kernel = author(TEXT).kernel
    with compiler._lock, client._lock, tracer._tracing:  # as other threads may hold them at a fork
        status, text = in_child(lambda: intent.compile(kernel, compiler=compiler).run(*arguments()).tolist())
    assert (status, text) == (0, "[2.0, 2.0, 2.0]")
