"""CUDA artifacts in the caller's process, on a fake driver: memory, streams, errors, other libraries.

The fake's kernels have names, so the artifact that a compile of a kernel below gives is put into the daemon's
cache beforehand. Its work happens when somebody waits.
"""

import ctypes
import sys
import types
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "service"))

import fake_cuda
from harness import Daemon

import intent
from intent import language as I

NATIVE = intent.CudaTarget("native")


@intent.kernel
def add_one(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] + 1.0


@intent.kernel
def out_of_bounds(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    for i in range(12):
        y[i] = x[i]


@pytest.fixture(scope="module")
def driver():
    """The fake driver, which is this process's from here on, with its first device's context current."""
    library = ctypes.CDLL(str(fake_cuda.LIBRARY))
    context = ctypes.c_void_p()
    assert library.cuInit(0) == 0
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert library.cuCtxSetCurrent(context) == 0
    return library


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    import tempfile

    with tempfile.TemporaryDirectory(prefix="intent-") as folder:
        daemon = Daemon(folder, environment=fake_cuda.environment())
        yield daemon
        daemon.close()


@pytest.fixture(scope="module")
def compiled(driver, daemon):
    """Artifacts by kernel; one of each, so that what an earlier test left behind shows."""
    made = {}

    def get(kernel, name=None):
        if kernel not in made:
            fake_cuda.put(daemon, intent.lower(kernel).module, fake_cuda.manifest(name or kernel.name))
            made[kernel] = intent.compile(kernel, compiler=f"unix:{daemon.socket}", target=NATIVE)
        return made[kernel]

    return get


class Vector:
    """Device memory of a library of its own, in the CUDA array interface."""

    def __init__(self, driver, values, stream=None, read_only=False, device=0):
        values = np.asarray(values, np.float32)
        pointer = ctypes.c_uint64()
        context = ctypes.c_void_p()
        assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
        assert driver.cuCtxSetCurrent(context) == 0
        assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(values.nbytes, 1))) == 0
        assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert driver.cuCtxSetCurrent(context) == 0
        self.pointer = pointer.value
        memory = (ctypes.c_char * values.nbytes).from_address(self.pointer)
        self.content = np.frombuffer(memory, np.float32)  # the fake's device memory is the host's
        self.content[:] = values
        self.__cuda_array_interface__ = {
            "shape": values.shape,
            "typestr": "<f4",
            "data": (self.pointer, read_only),
            "strides": None,
            "version": 3,
            "stream": stream,
        }


def new_stream(driver):
    stream = ctypes.c_void_p()
    assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
    return stream.value


def statistics(driver):
    class Statistics(ctypes.Structure):
        _fields_ = [(n, ctypes.c_size_t) for n in ("launches", "allocations", "bytes", "modules", "waits")]

    now = Statistics()
    driver.fake_cuda_statistics_now(ctypes.byref(now))
    return now


def test_the_native_target_is_the_devices(driver):
    assert NATIVE.name == "sm_90a"


def test_a_call_launches_and_does_not_wait(driver, compiled):
    artifact = compiled(add_one)
    x, y = Vector(driver, [1, 2, 3]), Vector(driver, [0, 0, 0])
    artifact(x, y)  # the first loads the kernel
    before = statistics(driver)
    artifact(x, y)
    after = statistics(driver)
    assert after.launches == before.launches + 1
    assert (after.waits, after.allocations, after.modules) == (
        before.waits,
        before.allocations,
        before.modules,
    )
    artifact.synchronize()
    assert y.content.tolist() == [2, 3, 4]


def test_a_launch_is_in_the_arrays_stream(driver, compiled):
    artifact, stream = compiled(add_one), new_stream(driver)
    x, y = (Vector(driver, [1, 2, 3], stream=stream) for _ in range(2))
    artifact(x, y)
    driver.cuStreamSynchronize(ctypes.c_void_p(1))
    assert y.content.tolist() == [1, 2, 3], "it was in the legacy stream"
    driver.cuStreamSynchronize(ctypes.c_void_p(stream))
    assert y.content.tolist() == [2, 3, 4]


def test_arrays_of_two_streams_are_put_in_order(driver, compiled):
    artifact = compiled(add_one)
    first, second = new_stream(driver), new_stream(driver)
    x, y = Vector(driver, [1, 2], stream=first), Vector(driver, [0, 0], stream=second)
    artifact(x, y)
    # The fake does at once what somebody else shall wait for.
    assert y.content.tolist() == [2, 3]


def test_prepared_launches_use_the_present_contents(driver, compiled):
    artifact = compiled(add_one)
    x, y = Vector(driver, [1, 2]), Vector(driver, [0, 0])
    prepared = artifact.prepare(x, outputs=(y,))
    assert prepared.result() is y
    for value in (5, 6):
        x.content[:] = value
        prepared.launch()
        artifact.synchronize()
        assert y.content.tolist() == [value + 1] * 2


def test_errors_show_when_asked_or_at_the_next_call(driver, compiled):
    artifact = compiled(out_of_bounds)
    x, y = Vector(driver, range(10)), Vector(driver, range(10))
    artifact(x, y)
    with pytest.raises(
        intent.RunError, match="index 12 is out of bounds of x, axis 0, which has 10"
    ) as caught:
        artifact.synchronize()
    assert caught.value.status == "out_of_bounds" and caught.value.line
    artifact.synchronize()

    artifact(x, y)
    driver.cuStreamSynchronize(ctypes.c_void_p(1))
    launches = statistics(driver).launches
    with pytest.raises(intent.RunError, match="index 12"):
        artifact(x, y)
    assert statistics(driver).launches == launches
    artifact(x, y)  # it was told
    with pytest.raises(intent.RunError, match="index 12"):
        artifact.synchronize()


def test_wrong_arguments_name_their_parameter(driver, compiled):
    artifact = compiled(add_one)
    x, y = Vector(driver, [1, 2]), Vector(driver, [0, 0])
    with pytest.raises(
        TypeError, match="y is not on the GPU, as other arguments are: this ndarray is the host's"
    ):
        artifact(x, np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="N is 2 in x but 3 in y"):
        artifact(x, Vector(driver, [0, 0, 0]))
    with pytest.raises(ValueError, match="y is written to, but its array is read-only"):
        artifact(x, Vector(driver, [0, 0], read_only=True))
    with pytest.raises(ValueError, match="not on one device: x on device 0, y on device 1"):
        artifact(x, Vector(driver, [0, 0], device=1))
    wrong = Vector(driver, [0, 0])
    wrong.__cuda_array_interface__ = {**wrong.__cuda_array_interface__, "typestr": "<f8"}
    with pytest.raises(TypeError, match="y is f32, its array float64"):
        artifact(x, wrong)
    wrong.__cuda_array_interface__ = {**wrong.__cuda_array_interface__, "typestr": "<f4", "strides": (6,)}
    with pytest.raises(ValueError, match="stride of axis 0, 6 bytes, is no multiple"):
        artifact(x, wrong)
    wrong.__cuda_array_interface__ = {
        **wrong.__cuda_array_interface__,
        "strides": None,
        "data": (x.content.ctypes.data + (1 << 40), False),
    }
    with pytest.raises(ValueError, match="y: it is no memory of a CUDA device"):
        artifact(x, wrong)
    with pytest.raises(TypeError, match="1 arguments for 2 parameters"):
        artifact(x)
    with pytest.raises(TypeError, match="no library makes its array"):
        artifact.run(x)
    with pytest.raises(TypeError, match="leave execute away"):
        artifact(x, y, execute="remote")


def test_strides_and_empty_arrays(driver, compiled):
    artifact = compiled(add_one)
    x, y = Vector(driver, [1, 2, 3, 4]), Vector(driver, [0, 0])
    backwards = Vector(driver, [])
    backwards.__cuda_array_interface__ = {
        **x.__cuda_array_interface__,
        "shape": (2,),
        "strides": (-8,),
        "data": (x.pointer + 12, False),
    }
    artifact(backwards, y)
    artifact.synchronize()
    assert y.content.tolist() == [5, 3]
    empty = Vector(driver, [])
    empty.__cuda_array_interface__ = {**empty.__cuda_array_interface__, "data": (0, False)}
    artifact(empty, empty)
    artifact.synchronize()


def test_arrays_of_the_host_run_in_the_daemon(driver, compiled, daemon):
    artifact = compiled(add_one)
    launches, executions = statistics(driver).launches, daemon.statistics().executions
    assert artifact.run(np.float32([1, 2])).tolist() == [2, 3]
    assert statistics(driver).launches == launches
    assert daemon.statistics().executions == executions + 1


def test_a_fault_in_the_daemon_names_the_kernel(driver, compiled):
    @intent.kernel
    def faults(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
        y[:] = x[:] - 1.0

    artifact = compiled(faults, "illegal_address")
    with pytest.raises(
        intent.ServiceError, match=r"faults \(.*test_cuda_launch.py:\d+\): .*illegal memory"
    ) as caught:
        artifact.run(np.float32([1, 2]))
    assert caught.value.status == "ABORTED"


def test_torchs_tensors_and_stream(driver, compiled, monkeypatch):
    """What is asked of torch, by a stand-in."""
    stream, made = new_stream(driver), []

    class Tensor:
        is_cuda, requires_grad, layout, dtype, device = True, False, "strided", "torch.float32", "cuda:0"

        def __init__(self, values):
            self.vector = Vector(driver, values)
            self.shape = (len(values),)

        data_ptr = lambda self: self.vector.pointer  # noqa: E731
        stride = lambda self: (1,)  # noqa: E731
        is_conj = is_neg = lambda self: False

    def zeros(shape, dtype, device):
        assert (dtype, device) == ("the dtype", "cuda:0")
        made.append(Tensor(np.zeros(shape)))
        return made[-1]

    torch = types.ModuleType("torch")
    torch.Tensor, torch.strided, torch.float32, torch.zeros = Tensor, "strided", "the dtype", zeros
    torch._C = types.SimpleNamespace()
    torch.cuda = types.SimpleNamespace(
        current_stream=lambda device: types.SimpleNamespace(cuda_stream=stream)
    )
    monkeypatch.setitem(sys.modules, "torch", torch)

    artifact = compiled(add_one)
    x = Tensor([1, 2])
    y = artifact.run(x)
    assert y is made[0]
    assert y.vector.content.tolist() == [0, 0]
    driver.cuStreamSynchronize(ctypes.c_void_p(stream))
    assert y.vector.content.tolist() == [2, 3]
    x.dtype = "torch.float64"
    with pytest.raises(TypeError, match=r"x is f32, its tensor torch.float64; convert it with .to\(\)"):
        artifact.run(x)
    x.dtype, x.requires_grad = "torch.float32", True
    artifact.run(x)
    with pytest.raises(ValueError, match="y is written to, but its tensor requires gradients"):
        artifact(y, x)
    x.is_neg = lambda: True
    with pytest.raises(TypeError, match="resolve_neg"):
        artifact.run(x)


def test_code_of_other_peoples_daemons_does_not_run_here(driver, compiled, monkeypatch):
    artifact = compiled(add_one)
    artifact._cuda_kernels.clear()
    monkeypatch.setattr(type(artifact._compiler), "is_own", lambda self: False)
    with pytest.raises(intent.ServiceError, match="not one of your own"):
        artifact(Vector(driver, [1]), Vector(driver, [0]))


def test_zz_a_lost_context_says_so(driver, compiled):
    """Last: this process's context stays lost."""

    @intent.kernel
    def faults_here(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
        y[:] = x[:] - 2.0

    artifact, fine = compiled(faults_here, "illegal_address"), compiled(add_one)
    x, y = Vector(driver, [1, 2]), Vector(driver, [0, 0])
    fine(x, y)
    prepared = fine.prepare(x, outputs=(y,))
    artifact(x, y)
    with pytest.raises(intent.ServiceError, match=r"faults_here \(.*illegal memory access") as caught:
        artifact.synchronize()
    assert caught.value.status == "ABORTED"
    assert "start the process again" in str(caught.value)
    with pytest.raises(intent.ServiceError, match="start the process again"):
        prepared.launch()
