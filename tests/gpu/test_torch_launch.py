"""Launches in this process on torch tensors: streams, errors, graphs, and what a prepared launch costs."""

import time

import numpy as np
import pytest

import intent
from intent import language as I

torch = pytest.importorskip("torch")

TARGET = intent.CudaTarget("native")


@intent.kernel
def line(x: I.In[I.f32, ("N",)], factor: I.f32, y: I.Out[I.f32, ("N",)]):
    y[:] = factor * x[:] + 1.0


@intent.kernel
def pick(x: I.In[I.f32, ("N",)], at: I.In[I.index, ("M",)], y: I.Out[I.f32, ("M",)]):
    y[:] = x[at[:]]


@intent.kernel
def total_then_divide(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] / I.reduce.sum(x[:], axis=0)


@pytest.fixture(scope="module")
def artifact():
    return intent.compile(line, target=TARGET)


def values(count=100_003):
    return torch.arange(count, dtype=torch.float32, device="cuda")


def test_it_runs_where_the_tensors_are(artifact):
    x, y = values(), torch.empty(100_003, device="cuda")
    where = y.data_ptr()
    artifact(x, 2.0, y)
    assert torch.equal(y, 2 * x + 1)
    assert y.data_ptr() == where


def test_run_makes_tensors(artifact):
    x = values()
    y = artifact.run(x, 3.0)
    assert isinstance(y, torch.Tensor) and y.device == x.device
    assert torch.equal(y, 3 * x + 1)


def test_strided_tensors_are_not_copied(artifact):
    x, y = values(1000), torch.zeros(3000, device="cuda")
    artifact(x, 2.0, y[::3])
    assert torch.equal(y[::3], 2 * x + 1)
    assert not y[1::3].any()


def test_the_current_stream_is_used_and_nothing_waits(artifact):
    x = values()
    artifact.run(x, 2.0)  # loaded
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(2_000_000_000)  # about a second
        y = artifact.run(x, 2.0)
        assert not stream.query(), "the launch waited for its stream"
    stream.synchronize()
    assert torch.equal(y, 2 * x + 1)


def test_an_error_shows_at_the_next_call_or_when_asked():
    artifact = intent.compile(pick, target=TARGET)
    x, at = values(10), torch.full((5,), 10, dtype=torch.int64, device="cuda")
    artifact.run(x, at)
    with pytest.raises(intent.RunError, match="index 10 is out of bounds of x, axis 0") as caught:
        artifact.synchronize()
    assert caught.value.line
    artifact.run(x, at)
    torch.cuda.synchronize()
    with pytest.raises(intent.RunError, match="index 10"):
        artifact.run(x, at * 0)
    assert torch.equal(artifact.run(x, at * 0), x[:1].expand(5))


def test_phases_with_a_barrier_of_the_grid():
    artifact = intent.compile(total_then_divide, target=TARGET)
    x = torch.rand(1_000_003, device="cuda") + 0.5
    for _ in range(3):
        torch.testing.assert_close(artifact.run(x), x / x.double().sum().float(), rtol=1e-5, atol=0)


def test_a_prepared_launch_and_its_cost(artifact):
    x = values(1024)
    prepared = artifact.prepare(x, 2.0)
    prepared.launch()
    assert torch.equal(prepared.result(), 2 * x + 1)
    torch.cuda.synchronize()
    count = 5000
    began = time.perf_counter()
    for _ in range(count):
        prepared.launch()
    enqueued = (time.perf_counter() - began) / count
    torch.cuda.synchronize()
    done = (time.perf_counter() - began) / count
    add, buffer = torch.add, torch.empty_like(x)
    began = time.perf_counter()
    for _ in range(count):
        add(x, 1.0, out=buffer)
    theirs = (time.perf_counter() - began) / count
    torch.cuda.synchronize()
    print(
        f"\nprepared launch {enqueued * 1e6:.2f} us to enqueue, {done * 1e6:.2f} us done; "
        f"torch.add {theirs * 1e6:.2f} us to enqueue"
    )


def test_launches_are_captured_by_graphs(artifact):
    x, y = values(1000), torch.empty(1000, device="cuda")
    prepared = artifact.prepare(x, 2.0, outputs=(y,))
    prepared.launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prepared.launch()
    x.fill_(5.0)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, torch.full_like(y, 11.0))


def test_mixed_memory_is_refused_by_name(artifact):
    with pytest.raises(TypeError, match="x is not on the GPU"):
        artifact(np.zeros(4, np.float32), 2.0, values(4))
    with pytest.raises(TypeError, match="x is f32, its tensor torch.float64"):
        artifact(values(4).double(), 2.0, values(4))
    with pytest.raises(ValueError, match="N is 4 in x but 5 in y"):
        artifact(values(4), 2.0, values(5))


def test_arrays_of_the_host_run_in_the_daemon(artifact):
    x = np.arange(1000, dtype=np.float32)
    np.testing.assert_array_equal(artifact.run(x, 2.0), 2 * x + 1)


def test_other_exporters(artifact):
    class Exporter:
        """Memory of torch's by the CUDA array interface alone."""

        def __init__(self, tensor):
            self.tensor = tensor
            self.__cuda_array_interface__ = {
                **tensor.__cuda_array_interface__,
                "stream": torch.cuda.current_stream().cuda_stream or 1,
                "version": 3,
            }

    class Capsules:
        """The same by DLPack alone."""

        def __init__(self, tensor):
            self.__dlpack__, self.__dlpack_device__ = (
                tensor.__dlpack__,
                tensor.__dlpack_device__,
            )

    x = values(1000)
    for kind in (Exporter, Capsules):
        y = torch.zeros(1000, device="cuda")
        artifact(kind(x), 2.0, kind(y))
        torch.cuda.synchronize()
        assert torch.equal(y, 2 * x + 1)
