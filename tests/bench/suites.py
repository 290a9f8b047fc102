"""The rows of the benchmark: kernels, their peers, and what the service costs."""

import ctypes
import ctypes.util
import statistics
import time
from dataclasses import dataclass
from typing import Callable

import numpy as np

import bench_core
import intent
import intent.language as I


@dataclass
class Row:
    name: str
    peer: str
    make: Callable  # -> (peer, ours), each a function that runs once and returns seconds
    rest: float = 0.0  # seconds before each side, where the other's threads go on spinning


def timed(function):
    def run():
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    return run


# Kernels.


@intent.kernel
def chain(x: I.In[I.f32, ("N",)], y: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):
    a = x[:]
    b = y[:]
    out[:] = I.maximum((a * b + a) * 0.5 - b, 0.0) + a * 2.0


@intent.kernel
def softmax(x: I.In[I.f32, ("M", "N")], out: I.Out[I.f32, ("M", "N")]):
    M = x.shape[0]
    value = x[:, :]
    weights = I.exp(value - I.reshape(I.reduce.max(value, axis=1), (M, 1)))
    out[:, :] = weights / I.reshape(I.reduce.sum(weights, axis=1), (M, 1))


@intent.kernel
def matmul(a: I.In[I.f32, ("M", "K")], b: I.In[I.f32, ("K", "N")], c: I.Out[I.f32, ("M", "N")]):
    c[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32)


@intent.kernel
def matmul_turned(a: I.In[I.f32, ("K", "M")], b: I.In[I.f32, ("N", "K")], c: I.Out[I.f32, ("M", "N")]):
    c[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32, transpose_lhs=True, transpose_rhs=True)


@intent.kernel
def matmul_batched(a: I.In[I.f32, ("B", "M", "K")], b: I.In[I.f32, ("B", "K", "N")], c: I.Out[I.f32, ("B", "M", "N")]):
    c[:, :, :] = I.matmul(a[:, :, :], b[:, :, :], acc_dtype=I.f32)


@intent.kernel
def matmul_epilogue(
    a: I.In[I.f32, ("M", "K")], b: I.In[I.f32, ("K", "N")], bias: I.In[I.f32, ("N",)], c: I.Out[I.f32, ("M", "N")]
):
    c[:, :] = I.maximum(I.matmul(a[:, :], b[:, :], acc_dtype=I.f32) + bias[:], 0.0)


@intent.kernel
def column_sums(x: I.In[I.f32, ("M", "N")], out: I.Out[I.f32, ("N",)]):
    out[:] = I.reduce.sum(x[:, :], axis=0)


@intent.kernel
def row_sums(x: I.In[I.f32, ("M", "N")], out: I.Out[I.f32, ("M",)]):
    out[:] = I.reduce.sum(x[:, :], axis=1)


@intent.kernel
def turn(x: I.In[I.f32, ("M", "N")], out: I.Out[I.f32, ("N", "M")]):
    out[:, :] = I.transpose(x[:, :])


@intent.kernel
def forty(x: I.In[I.f32, ("N",)], y: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)], salt: I.Constexpr[float]):
    a = x[:]
    b = y[:]
    first = a
    a = a * b + salt
    b = b - a * 0.5
    a = I.maximum(a, b) * 2.0 + b
    b = I.select(a > b, a - b, b * 0.25)
    a = a / (b * b + 1.0)
    a = I.abs(a) + I.sqrt(b * b + 0.5)
    b = a * b - I.minimum(a, 3.0)
    a = I.exp(a * -0.1) + b
    b = b + a * 0.125
    a = a * a + b * b
    b = I.select(b < 0.0, -b, b) + 1.5
    a = a - b * 0.3
    a = I.maximum(a, -100.0)
    a = I.minimum(a, 100.0)
    out[:] = a * b + first


class Local:
    """Kernels compiled by the daemon and run in this process."""

    def __init__(self, address, threads):
        self.compiler = intent.Compiler(address)
        self.threads = threads

    def __call__(self, kernel, arrays, **constexprs):
        artifact = intent.compile(kernel, compiler=self.compiler, target=intent.CpuTarget(), constexprs=constexprs)
        local = bench_core.Kernel(artifact.payload("shared_object"), "intent_kernel", self.threads)
        local.bind(arrays, [])

        def run(keep=arrays):
            return local.run()

        return run


# Peers for products: the OpenBLAS that NumPy ships, and oneDNN where Debian's library is installed.


def onednn():
    name = ctypes.util.find_library("dnnl")
    if name is None:
        return None
    library = ctypes.CDLL(name)

    def sgemm(ta, tb, a, b, c):
        m, n = c.shape
        k = a.shape[0] if ta else a.shape[1]
        pointer = lambda array: array.ctypes.data_as(ctypes.c_void_p)  # noqa: E731
        library.dnnl_sgemm(
            ctypes.c_char(b"T" if ta else b"N"), ctypes.c_char(b"T" if tb else b"N"),
            ctypes.c_int64(m), ctypes.c_int64(n), ctypes.c_int64(k), ctypes.c_float(1.0),
            pointer(a), ctypes.c_int64(a.shape[1]), pointer(b), ctypes.c_int64(b.shape[1]),
            ctypes.c_float(0.0), pointer(c), ctypes.c_int64(n),
        )  # fmt: skip

    return sgemm


def openblas_kernel():
    try:
        import threadpoolctl

        found = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"]
        return found[0].get("architecture", "?") if found else "?"
    except ImportError:
        return "?"


def rows(address, threads):
    local = Local(address, threads)
    random = np.random.default_rng(1)

    def normal(*shape):
        return random.standard_normal(shape).astype(np.float32)

    def make_chain():
        n = 1 << 24
        x, y, out = normal(n), normal(n), np.empty(n, np.float32)
        peer = timed(lambda: np.maximum((x * y + x) * np.float32(0.5) - y, np.float32(0)) + x * np.float32(2))
        return peer, local(chain, [x, y, out])

    yield Row("elementwise chain of 6, 2^24", "NumPy", make_chain)

    def numpy_softmax(x):
        weights = np.exp(x - x.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def softmax_row(name, view):
        def make():
            x = view()
            return timed(lambda: numpy_softmax(x)), local(softmax, [x, np.empty(x.shape, np.float32)])

        return Row(f"row softmax {name}", "NumPy", make)

    yield softmax_row("4096x4096", lambda: normal(4096, 4096))
    yield softmax_row("1000x1023", lambda: normal(1000, 1023))
    yield softmax_row("1000x1023 transposed", lambda: normal(1023, 1000).T)
    yield softmax_row("1000x1023 strided", lambda: normal(2000, 2046)[::2, ::2])

    def reduce_row(name, kernel, axis):
        def make():
            x = normal(4096, 4096)
            return timed(lambda: x.sum(axis=axis)), local(kernel, [x, np.empty(4096, np.float32)])

        return Row(name, "NumPy", make)

    yield reduce_row("row sums 4096x4096", row_sums, 1)
    yield reduce_row("column sums 4096x4096", column_sums, 0)

    def make_turn():
        x = normal(4096, 4096)
        out = np.empty((4096, 4096), np.float32)
        return timed(lambda: np.copyto(out, x.T)), local(turn, [x, out])

    yield Row("transpose 4096x4096", "NumPy", make_turn)

    blas, dnnl = f"OpenBLAS {openblas_kernel()}", onednn()

    def product_rows(name, kernel, a, b, c, flags, extra=(), after=None):
        def with_blas():
            left = a.T if flags[0] else a
            right = b.T if flags[1] else b
            out = np.empty_like(c)

            def peer():
                np.matmul(left, right, out=out)
                if after is not None:
                    after(out)

            return timed(peer), local(kernel, [a, b, *extra, c])

        yield Row(f"product {name}", blas, with_blas, rest=0.15)
        if dnnl is not None and a.ndim == 2:

            def with_dnnl():
                out = np.empty_like(c)

                def peer():
                    dnnl(*flags, a, b, out)
                    if after is not None:
                        after(out)

                return timed(peer), local(kernel, [a, b, *extra, c])

            yield Row(f"product {name}", "oneDNN", with_dnnl, rest=0.15)

    for m, k, n in ((1024, 1024, 1024), (1000, 1023, 777)):
        size, c = f"{m}x{k}x{n}", np.empty((m, n), np.float32)
        yield from product_rows(size, matmul, normal(m, k), normal(k, n), c, (False, False))
        yield from product_rows(f"{size} transposed", matmul_turned, normal(k, m), normal(n, k), c, (True, True))
        bias = normal(n)
        after = lambda out, bias=bias: np.maximum(np.add(out, bias, out=out), 0, out=out)  # noqa: E731
        yield from product_rows(
            f"{size} epilogue", matmul_epilogue, normal(m, k), normal(k, n), c, (False, False), [bias], after
        )
    batch = normal(8, 256, 256), normal(8, 256, 256), np.empty((8, 256, 256), np.float32)
    yield from product_rows("8 of 256x256x256", matmul_batched, *batch, (False, False))


# What the service costs.


def llvm_alone(artifact):
    return artifact.timings["llvm_passes"] + artifact.timings["llvm_codegen"]


def service(address, rounds):
    compiler = intent.Compiler(address)
    target = intent.CpuTarget()
    plain = intent.CompileOptions(disabled_passes=("tuned_pipeline",))
    ratios, totals, llvm, default = [], [], [], []
    for number in range(rounds):
        salt = {"salt": 1.0 + number / 64}
        start = time.perf_counter()
        artifact = intent.compile(forty, compiler=compiler, target=target, constexprs=salt)
        totals.append(time.perf_counter() - start)
        llvm.append(llvm_alone(artifact))
        ratios.append(totals[-1] / llvm[-1])
        default.append(
            llvm_alone(intent.compile(forty, compiler=compiler, target=target, constexprs=salt, options=plain))
        )
    print(
        f"cold compile of 40 operations: {statistics.median(totals) * 1e3:.1f} ms in all; LLVM alone, same IR and "
        f"passes: {statistics.median(llvm) * 1e3:.1f} ms, ratio {statistics.median(ratios):.2f}; LLVM alone at its "
        f"default O2: {statistics.median(default) * 1e3:.1f} ms"
    )
    hits = []
    for _ in range(rounds * 20):
        start = time.perf_counter()
        intent.compile(forty, compiler=compiler, target=target, constexprs={"salt": 1.0})
        hits.append(time.perf_counter() - start)
    print(f"a hit through the Python package: {statistics.median(hits) * 1e3:.2f} ms")
