"""CPU artifacts in the caller's own process: one meaning with the service, no copy, no crash."""

import mmap
import os
import re
import socket
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest

import intent
from intent import local, peer

PATHS = ("local", "remote")

TEXT = """
@intent.kernel
def axpy(a: I.f32, x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    y[:] = a * x[:] + y[:]


@intent.kernel
def pick(x: I.In[I.f32, ("N",)], i: I.index, out: I.Out[I.f32, ("N",)]):
    out[:] = x[:] + x[i]


@intent.kernel
def shapes(x: I.In[I.f32, ("M", 4)], y: I.In[I.f32, ("M",)], out: I.Out[I.f32, ("M", 4)]):
    out[:, :] = x[:, :] + I.reshape(y[:], (x.shape[0], 1))


@intent.kernel
def regroup(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("M", 2)]):
    out[:, :] = I.reshape(x[:], (out.shape[0], 2))


@intent.kernel
def line(low: I.InOut[I.f32, ("N",), I.constraints(alias="line")],
         high: I.InOut[I.f32, ("N",), I.constraints(alias="line")]):
    high[:] = low[:] + 1.0


@intent.kernel
def apart(x: I.In[I.f32, ("N",), I.constraints(noalias=True)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] * 2.0


@intent.kernel
def sums(x: I.In[I.f64, ("M", "N")], rows: I.Out[I.f64, ("M",)], total: I.Out[I.f64, ()]):
    rows[:] = I.reduce.sum(x[:, :], axis=1)
    total[()] = I.reduce.sum(x[:, :], axis=(0, 1))


@intent.kernel
def narrow(x: I.In[I.bf16, ("N",)], y: I.In[I.f8e5m2, ("N",)], out: I.Out[I.bf16, ("N",)]):
    out[:] = I.cast(I.cast(x[:], I.f32) + I.cast(y[:], I.f32), I.bf16)


@intent.kernel
def scalars(b: I.bool, i: I.i8, u: I.u64, k: I.index, h: I.f16, f: I.f32, d: I.f64, out: I.Out[I.f64, (7,)]):
    out[0] = I.cast(b, I.f64)
    out[1] = I.cast(i, I.f64)
    out[2] = I.cast(u, I.f64)
    out[3] = I.cast(k, I.f64)
    out[4] = I.cast(h, I.f64)
    out[5] = I.cast(f, I.f64)
    out[6] = d


@intent.kernel
def endless(x: I.InOut[I.i64, (1,)]):
    going = True
    while going:
        x[0] = x[0] + 1
        going = x[0] >= 0
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    import importlib.util

    path = tmp_path_factory.mktemp("author") / "author_local.py"
    path.write_text("import intent\nimport intent.language as I\n\n" + TEXT)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def artifact(kernels, shared_daemon):
    """artifact(name) is a compiled kernel of the file."""
    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")
    made = {}

    def get(name):
        if name not in made:
            made[name] = intent.compile(getattr(kernels, name), compiler=compiler)
        return made[name]

    return get


def f32(*values):
    return np.array(values, np.float32)


class Exports:
    """An array of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class ExportsAsBefore(Exports):
    """One that cannot say whether its memory may be written to."""

    def __dlpack__(self):
        return self.array.__dlpack__()


# What runs where.


def test_an_artifact_of_ones_own_daemon_runs_here(artifact):
    assert artifact("axpy").executes == "local"
    x, y = f32(1, 2, 3), f32(1, 1, 1)
    artifact("axpy")(2.0, x, y)
    assert y.tolist() == [3, 5, 7]
    assert artifact("pick").run(x, 2).tolist() == [4, 5, 6]


def test_it_needs_no_daemon_once_it_is_loaded(kernels, start):
    daemon = start()
    made = intent.compile(kernels.axpy, compiler=f"unix:{daemon.socket}")
    assert made.executes == "local"
    daemon.close()
    y = f32(1, 1)
    made(2.0, f32(1, 2), y)
    assert y.tolist() == [3, 5]
    with pytest.raises(intent.ServiceError):
        made(2.0, f32(1, 2), y, execute="remote")


def test_the_service_runs_what_it_is_asked_to(kernels, shared_daemon, monkeypatch):
    def runs():
        return shared_daemon.statistics().executions

    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")
    x, y = f32(1), f32(0)
    here = intent.compile(kernels.axpy, compiler=compiler)
    there = intent.compile(kernels.axpy, compiler=compiler, options=intent.CompileOptions(execute="remote"))
    before = runs()
    here(1.0, x, y)
    assert runs() == before
    here(1.0, x, y, execute="remote")
    there(1.0, x, y)
    here.prepare(1.0, x, y, execute="remote").launch()
    assert runs() == before + 3
    there(1.0, x, y, execute="local")
    assert runs() == before + 3 and y.tolist() == [5]
    assert there.executes.startswith("remote")
    monkeypatch.setenv("INTENT_EXECUTE", "remote")
    assert intent.compile(kernels.axpy, compiler=compiler).executes.startswith("remote")
    monkeypatch.setenv("INTENT_EXECUTE", "here")
    with pytest.raises(ValueError, match="INTENT_EXECUTE is 'auto', 'local' or 'remote', not 'here'"):
        intent.compile(kernels.axpy, compiler=compiler)


def test_what_cannot_run_here_runs_there_unless_here_is_demanded(kernels, shared_daemon):
    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")
    interpreted = intent.compile(kernels.pick, compiler=compiler, target=intent.InterpreterTarget())
    assert interpreted.run(f32(1, 2), 1).tolist() == [3, 4]
    with pytest.raises(intent.ServiceError, match="an artifact for interp has no code for this process"):
        interpreted.run(f32(1, 2), 1, execute="local")
    foreign = intent.compile(kernels.pick, compiler=compiler, target=intent.CpuTarget("aarch64+lse"))
    with pytest.raises(intent.ServiceError, match="the artifact is for .* it lacks") as refused:
        foreign.run(f32(1, 2), 1, execute="local")
    assert refused.value.status == "FAILED_PRECONDITION"
    with pytest.raises(ValueError, match="execute is 'auto', 'local' or 'remote', not 'there'"):
        interpreted.run(f32(1, 2), 1, execute="there")


def test_code_of_another_users_daemon_does_not_run_here(kernels, shared_daemon, monkeypatch):
    monkeypatch.setattr(peer, "uid_of", lambda path: os.geteuid() + 1)
    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")
    made = intent.compile(kernels.pick, compiler=compiler)
    assert made.run(f32(1, 2), 1).tolist() == [3, 4]
    assert "is not one of your own" in made.executes
    with pytest.raises(intent.ServiceError, match="not one of your own"):
        made.run(f32(1, 2), 1, execute="local")


def test_who_listens_is_asked_of_the_system(folder):
    path = str(folder / "s")
    assert peer.uid_of(path) is None
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        assert peer.uid_of(path) == os.geteuid()
    assert peer.path_of(f"unix:{path}") == peer.path_of(f"unix://{path}") == path
    assert peer.path_of("dns:///host:1") is None and peer.path_of("unix-abstract:x") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_socket_of_another_user(folder):
    path = str(folder / "s")
    folder.chmod(0o777)
    serve = f"""
import os, socket
os.setuid(65534)
s = socket.socket(socket.AF_UNIX); s.bind({path!r}); s.listen(); print("ready", flush=True)
s.accept()[0].recv(1)
"""
    with subprocess.Popen([sys.executable, "-c", serve], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "ready\n"
        assert peer.uid_of(path) == 65534
        assert not intent.Compiler(f"unix:{path}").is_own()


def test_code_of_a_file_does_not_run_here(kernels, shared_daemon, tmp_path):
    import hashlib

    address = f"unix:{shared_daemon.socket}"
    made = intent.compile(kernels.pick, compiler=address)
    made.save(tmp_path / "a.intent")
    data = (tmp_path / "a.intent").read_bytes()
    code = made.payload(local.PAYLOAD)
    assert data.count(code) == 1
    forged = data[:-32].replace(code, b"\xcc" * len(code))
    (tmp_path / "a.intent").write_bytes(forged + hashlib.sha256(forged).digest())
    loaded = intent.load(tmp_path / "a.intent", compiler=address)
    assert loaded.run(f32(1, 2), 1).tolist() == [3, 4] and loaded.executes == "local"


# Memory.


def test_kernels_write_where_the_array_lies(artifact):
    memory = np.zeros(21, np.float32)
    y = memory[19:2:-2]  # backwards, every second element
    prepared = artifact("axpy").prepare(2.0, np.arange(9, dtype=np.float32), y)
    prepared.launch()
    prepared.launch()
    expected = np.zeros(21, np.float32)
    expected[19:2:-2] = 4 * np.arange(9)
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("execute", PATHS)
def test_overlapping_arrays_are_read_as_they_were(artifact, execute):
    memory = np.arange(10, dtype=np.float32)
    artifact("axpy")(1.0, memory[:-1], memory[1:], execute=execute)
    np.testing.assert_array_equal(memory, [0, 1, 3, 5, 7, 9, 11, 13, 15, 17])


@pytest.mark.parametrize("execute", PATHS)
def test_every_kind_of_array_is_used_as_it_is(artifact, execute, tmp_path):
    class Lends:
        def __init__(self, array):
            self.array = array
            self.__array_interface__ = array.__array_interface__

    memory = np.ones(4, np.float32)
    mapped = np.memmap(tmp_path / "y", np.float32, "w+", shape=(4,))
    for value, seen in (
        (Lends(memory), memory),
        (Exports(memory), memory),
        (ExportsAsBefore(memory), memory),
        (memoryview(memory), memory),
        (mapped, mapped),
        (np.lib.stride_tricks.as_strided(memory), memory),
    ):
        seen[:] = 1
        artifact("axpy")(3.0, f32(1, 2, 3, 4), value, execute=execute)
        assert seen.tolist() == [4, 7, 10, 13], value
        assert artifact("pick").run(value, 1, execute=execute).tolist() == [11, 14, 17, 20]
    with mmap.mmap(-1, 16) as raw:
        np.frombuffer(raw, np.float32)[:] = 1
        artifact("axpy")(3.0, f32(1, 2, 3, 4), np.frombuffer(raw, np.float32), execute=execute)
        assert np.frombuffer(raw, np.float32).tolist() == [4, 7, 10, 13]


@pytest.mark.parametrize("execute", PATHS)
@pytest.mark.parametrize("kind", [Exports, ExportsAsBefore])
def test_exported_arrays_of_every_shape(artifact, kind, execute):
    whole = np.arange(24, dtype=np.float64).reshape(4, 6)
    for array in (whole, whole.T, whole[::-1, ::2], whole[1:1], whole[:, 2:3], whole[3:4, ::-1]):
        rows, total = artifact("sums").run(kind(array), execute=execute)
        assert rows.tolist() == array.sum(axis=1).tolist() and total == array.sum()
    with pytest.raises(TypeError, match="x is f64, its array float32"):
        artifact("sums").run(kind(whole.astype(np.float32)), execute=execute)


@pytest.mark.parametrize("execute", PATHS)
def test_narrow_floats_and_their_bit_patterns(artifact, execute):
    x, y = np.arange(5).astype(ml_dtypes.bfloat16), np.ones(5, ml_dtypes.float8_e5m2)
    for a, b in ((x, y), (x.view(np.uint16), y.view(np.uint8))):
        out = artifact("narrow").run(a, b, execute=execute)
        assert out.dtype == ml_dtypes.bfloat16 and out.astype(np.float32).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("execute", PATHS)
@pytest.mark.parametrize("shape", [(3, 5), (0, 5), (3, 0), (1, 1)])
def test_outputs_are_made_in_order(artifact, execute, shape):
    x = np.random.default_rng(0).random(shape)
    rows, total = artifact("sums").run(np.asfortranarray(x), execute=execute)
    np.testing.assert_allclose(rows, x.sum(axis=1))
    assert total.shape == () and np.isclose(total, x.sum())
    prepared = artifact("sums").prepare(x, outputs=(rows, total), execute=execute)
    prepared.launch()
    assert prepared.result()[0] is rows and prepared.result()[1] is total


@pytest.mark.parametrize("execute", PATHS)
def test_scalars_of_every_kind(artifact, execute):
    run = artifact("scalars").run
    values = [True, -128, 2**64 - 1, -(2**63), 0.1, 0.1, 0.1]
    expected = [1, -128, float(2**64), -float(2**63), float(np.float16(0.1)), float(np.float32(0.1)), 0.1]
    assert run(*values, execute=execute).tolist() == expected
    kinds = (np.bool_, np.int8, np.uint64, np.int64, np.float16, np.float32, np.float64)
    assert run(*(kind(value) for kind, value in zip(kinds, values)), execute=execute).tolist() == expected
    whole = run(False, 127, 0, 7, 2048, 2**24, 2**53, execute=execute)
    assert whole.tolist() == [0, 127, 0, 7, 2048, 2**24, 2**53]
    assert np.isnan(run(True, 0, 0, 0, float("nan"), float("nan"), float("nan"), execute=execute)[4:]).all()
    assert run(True, 0, 0, 0, 0.0, float("-inf"), float("inf"), execute=execute)[5:].tolist() == [-np.inf, np.inf]


# Mistakes: one text on both paths.

READ_ONLY = f32(1, 1)
READ_ONLY.flags.writeable = False
BYTES = np.zeros(9, np.uint8)
SHARED = np.arange(6, dtype=np.float32)

MISTAKES = {
    "too few arguments": ("axpy", lambda: (1.0, f32(1, 2))),
    "another dtype": ("axpy", lambda: (1.0, np.zeros(2), f32(1, 1))),
    "another rank": ("axpy", lambda: (1.0, np.zeros((2, 1), np.float32), f32(1, 1))),
    "no array": ("axpy", lambda: (1.0, [1.0, 2.0], f32(1, 1))),
    "a read-only array": ("axpy", lambda: (1.0, f32(1, 2), READ_ONLY)),
    "a read-only array of another library": ("axpy", lambda: (1.0, f32(1, 2), Exports(READ_ONLY))),
    "another rank of another library": ("axpy", lambda: (1.0, Exports(np.zeros((2, 1), np.float32)), f32(1, 1))),
    "foreign byte order": ("axpy", lambda: (1.0, f32(1, 2).astype(">f4"), f32(1, 1))),
    "misaligned": ("axpy", lambda: (1.0, BYTES[1:9].view(np.float32), f32(1, 1))),
    "half strides": (
        "axpy",
        lambda: (1.0, np.lib.stride_tricks.as_strided(f32(1, 2, 3), (2,), (6,)), f32(1, 1)),
    ),
    "symbols that differ": ("axpy", lambda: (1.0, f32(1, 2), f32(1, 2, 3))),
    "a static extent": ("shapes", lambda: (np.zeros((2, 3), np.float32), f32(1, 2), np.zeros((2, 4), np.float32))),
    "a masked array": ("axpy", lambda: (1.0, np.ma.array([1, 2], dtype=np.float32), f32(1, 1))),
    "a text for a number": ("axpy", lambda: ("1", f32(1), f32(1))),
    "a number out of range": ("scalars", lambda: (True, 128, 0, 0, 0.0, 0.0, 0.0, np.zeros(7))),
    "a negative number": ("scalars", lambda: (True, 0, -1, 0, 0.0, 0.0, 0.0, np.zeros(7))),
    "an inexact integer": ("scalars", lambda: (True, 0, 0, 0, 0.0, 2**24 + 1, 0.0, np.zeros(7))),
    "beyond f32": ("scalars", lambda: (True, 0, 0, 0, 0.0, 1e39, 0.0, np.zeros(7))),
    "a number for a bool": ("scalars", lambda: (1, 0, 0, 0, 0.0, 0.0, 0.0, np.zeros(7))),
    "an index out of bounds": ("pick", lambda: (f32(1, 2), 2, f32(0, 0))),
    "a negative index": ("pick", lambda: (f32(1, 2), -1, f32(0, 0))),
    "an element count": ("regroup", lambda: (f32(1, 2, 3), np.zeros((2, 2), np.float32))),
    "a broken promise": ("apart", lambda: (SHARED[:4], SHARED[2:])),
    "an alias group": ("line", lambda: (f32(1, 2), f32(3, 4))),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_has_one_text(artifact, mistake):
    name, arguments = MISTAKES[mistake]
    made = artifact(name)

    def call(values, execute):
        made(*values, execute=execute)

    def launch(values, execute):
        outs = [p.kind == "view" and p.access == "Out" for p in made.parameters]
        inputs = [value for value, out in zip(values, outs) if not out]
        outputs = [value for value, out in zip(values, outs) if out]
        made.prepare(*inputs, outputs=outputs, execute=execute).launch()

    for way in (call, launch):
        raised = []
        for execute in PATHS:
            with pytest.raises((intent.RunError, TypeError, ValueError)) as caught:
                way(arguments(), execute)
            error = caught.value
            raised.append((type(error), str(error), getattr(error, "line", None), getattr(error, "status", None)))
        assert raised[0] == raised[1]


def test_an_array_that_lies_far_apart_is_a_mistake_of_nobody(artifact):
    memory = np.zeros((4, 1 << 16), np.float32)
    y = memory[:, 0]
    artifact("axpy")(1.0, f32(1, 2, 3, 4), y)
    assert memory[:, 0].tolist() == [1, 2, 3, 4] and memory.sum() == 10


# Threads, forks, Ctrl-C.


def test_threads_run_at_once_and_the_lock_is_free(artifact):
    x = np.ones((64, 4096))
    outcomes, seen = [], []

    def work():
        for _ in range(50):
            rows, total = artifact("sums").run(x)
            outcomes.append(rows.sum() == total == x.size)
            seen.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 300 and all(outcomes)


def test_a_prepared_call_serves_many_threads(artifact):
    y = np.zeros(4, np.float32)
    prepared = artifact("axpy").prepare(0.0, f32(1, 2, 3, 4), y)
    threads = [threading.Thread(target=lambda: [prepared.launch() for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert y.tolist() == [0, 0, 0, 0]


def test_a_child_of_a_fork_runs_kernels(artifact):
    x = np.ones((512, 4096))
    assert artifact("sums").run(x)[1] == x.size
    child = os.fork()
    if child == 0:
        os._exit(0 if artifact("sums").run(x)[1] == x.size else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert artifact("sums").run(x)[1] == x.size


def write_endless(folder):
    """A module `endless` with the kernel of that name."""
    source = re.search(r"@intent.kernel\ndef endless.*", TEXT, re.S)[0]
    (folder / "endless.py").write_text("import intent\nimport intent.language as I\n\n" + source)


ENDLESS = """
import os, signal, threading, time
import numpy as np
import sys; sys.path.insert(0, {folder!r})
import intent
from endless import endless

artifact = intent.compile(endless, compiler={address!r})
seen = []
{handler}
x = np.zeros(1, np.int64)
prepared = artifact.prepare(x)
assert artifact.executes == "local"

def interrupt():
    while x[0] < 1000:  # the interpreter goes on while the kernel runs
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    prepared.launch()
except KeyboardInterrupt:
    print("interrupted")
except intent.RunError as error:
    print(error.status, seen)
"""
# Python's own is not there where the tests run in the background, whose processes ignore the signal.
PYTHONS = "signal.signal(signal.SIGINT, signal.default_int_handler)"
HANDLERS = {
    PYTHONS: "interrupted",
    "signal.signal(signal.SIGINT, lambda *_: seen.append(1))": "cancelled [1]",
}


@pytest.mark.parametrize("handler", HANDLERS, ids=["python's", "own"])
def test_ctrl_c_ends_a_kernel(shared_daemon, script, tmp_path, handler):
    write_endless(tmp_path)
    text = ENDLESS.format(folder=str(tmp_path), address=f"unix:{shared_daemon.socket}", handler=handler)
    assert script(text).strip() == HANDLERS[handler]


FORKED = """
import os, signal, threading, time
import numpy as np
import sys; sys.path.insert(0, {folder!r})
import intent
from endless import endless

{handler}
artifact = intent.compile(endless, compiler={address!r})
x, y = np.zeros(1, np.int64), np.zeros(1, np.int64)

def fork():
    while x[0] < 1000:
        time.sleep(0.001)
    child = os.fork()  # while the main thread runs a kernel
    if child == 0:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            artifact(y)
        except KeyboardInterrupt:
            os._exit(7)
        os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=fork).start()
try:
    artifact(x)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_child_has_ctrl_c_of_its_own(shared_daemon, script, tmp_path):
    write_endless(tmp_path)
    text = FORKED.format(folder=str(tmp_path), address=f"unix:{shared_daemon.socket}", handler=PYTHONS)
    assert script(text).split() == ["7", "interrupted"]
