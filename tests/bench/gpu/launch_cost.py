"""What one launch of a small kernel costs the host: ours, prepared and not, beside Triton, CuPy and torch."""

import time
from types import SimpleNamespace

import cupy
import kernels
import torch
import triton
import triton.language as tl
from ours import bind, compile_row

COUNT = 1024
LAUNCHES = 2000  # fewer than a stream queues before it makes the host wait, in pieces of 500


@triton.jit
def add_one(x, out, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + at, tl.load(x + at, at < n) + 1.0, at < n)


def microseconds(run):
    """Of the host's time for one call, the best of a few passes."""
    best = float("inf")
    for _ in range(5):
        spent = 0.0
        for _ in range(LAUNCHES // 500):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(500):
                run()
            spent += time.perf_counter() - begin
        best = min(best, spent / LAUNCHES * 1e6)
    torch.cuda.synchronize()
    return best


def lines(compiler):
    artifact = compile_row(SimpleNamespace(kernel=kernels.add_one, constexprs=None), compiler)
    if isinstance(artifact, Exception):
        raise artifact
    x = torch.randn(COUNT, device="cuda")
    out = torch.full_like(x, float("nan"))
    prepared = bind(artifact, (x,), out)
    prepared()
    torch.testing.assert_close(out, x + 1, rtol=0, atol=0)
    theirs = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x + 1", "add_one")
    cx, cy = cupy.from_dlpack(x), cupy.from_dlpack(out)
    rows = {
        "ours, prepared": prepared,
        "ours, arguments checked": lambda: artifact(x, out),
        "Triton": lambda: add_one[(1,)](x, out, COUNT, block=1024),
        "CuPy ElementwiseKernel": lambda: theirs(cx, cy),
        "torch.add(out=)": lambda: torch.add(x, 1.0, out=out),
    }
    for name, run in rows.items():
        run()
        yield f"{'launch of 1024 f32 + 1: ' + name:60} {microseconds(run):8.2f} us"
