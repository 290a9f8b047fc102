"""The rows of the GPU's table: a kernel, its peer in torch, a reference to check both against, and the work that
a call cannot avoid."""

from dataclasses import dataclass
from typing import Any, Callable

import kernels
import torch
import torch.nn.functional as F

TFLOPS = {"bf16": 989, "fp8": 1979, "f32": 67, "f64": 67}  # dense, of the datasheet


@dataclass
class Row:
    name: str
    kernel: Any
    inputs: Callable  # () -> tensors and scalars, freshly drawn
    output: Callable  # (inputs) -> an empty tensor for the Out view
    peer: str
    theirs: Callable  # (inputs, output) -> its result
    want: Callable  # (inputs) -> the result in higher precision, or exact
    tolerance: float = 0.0  # relative error in norm; 0: every element is equal
    bytes: int = 0  # read and written at least
    flops: int = 0
    unit: str = ""  # of TFLOPS
    constexprs: dict | None = None
    floor: str = ""  # what the issue asks for


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


def like(dtype, *axes):
    """An output of these axes of the first input."""
    return lambda inputs: torch.empty([inputs[0].shape[a] for a in axes], dtype=dtype, device="cuda")


def flat(inputs):
    return torch.empty_like(inputs[0])


def elementwise():
    n = 1 << 27
    return Row(
        "chain of 6 elementwise, 2^27 f32", kernels.chain, lambda: (normal(n), normal(n)), flat,
        "torch.compile", compiled(lambda a, b: torch.relu((a * b + a) * 0.5 - b) + a * 2.0),
        lambda i: (lambda a, b: torch.relu((a * b + a) * 0.5 - b) + a * 2.0)(i[0].double(), i[1].double()),
        1e-6, bytes=3 * 4 * n, floor="85 % of copy",
    )  # fmt: skip


def whole_sum():
    n = 1 << 28
    return Row(
        "sum of 2^28 f32", kernels.total, lambda: (normal(n) + 1,), lambda i: torch.empty((), device="cuda"),
        "torch.sum", lambda i, out: i[0].sum(), lambda i: i[0].double().sum(), 1e-5, bytes=4 * n, floor="85 % of copy",
    )  # fmt: skip


def compiled(function):
    """torch.compile of it, made at the first call."""
    made = []

    def run(inputs, out):
        if not made:
            made.append(torch.compile(function, dynamic=False))
        return made[0](*inputs)

    return run


def softmax(m, n, dtype=torch.float32):
    size = torch.empty(0, dtype=dtype).element_size()
    kernel = kernels.softmax if dtype == torch.float32 else kernels.softmax_bf16
    return Row(
        f"softmax {m}x{n} {short(dtype)}", kernel, lambda: (normal(m, n, dtype=dtype) * 3,), flat,
        "torch", lambda i, out: torch.softmax(i[0], 1, out=out), lambda i: torch.softmax(i[0].double(), 1),
        1e-5 if size == 4 else 4e-3, bytes=2 * size * m * n,
        floor="torch" if dtype == torch.float32 and m * n == 1 << 24 else "",
    )  # fmt: skip


def layer_norm(m, n, dtype=torch.float32):
    size = torch.empty(0, dtype=dtype).element_size()
    kernel = kernels.layer_norm if dtype == torch.float32 else kernels.layer_norm_bf16
    return Row(
        f"layer norm {m}x{n} {short(dtype)}", kernel,
        lambda: (normal(m, n, dtype=dtype) + 1, normal(n, dtype=dtype), normal(n, dtype=dtype)), flat,
        "torch", lambda i, out: F.layer_norm(i[0], (n,), i[1], i[2], 1e-5),
        lambda i: F.layer_norm(i[0].double(), (n,), i[1].double(), i[2].double(), 1e-5),
        1e-5 if size == 4 else 4e-3, bytes=2 * size * m * n + 2 * size * n,
        floor="torch" if dtype == torch.float32 and m * n == 1 << 24 else "",
    )  # fmt: skip


def row_sums(m, n):
    return Row(
        f"row sums {m}x{n} f32", kernels.row_sums, lambda: (normal(m, n) + 1,), like(torch.float32, 0),
        "torch", lambda i, out: torch.sum(i[0], 1, out=out), lambda i: i[0].double().sum(1), 1e-5, bytes=4 * (m * n + m),
    )  # fmt: skip


def running_sums(m, n):
    return Row(
        f"cumsum {m}x{n} f32", kernels.running_sums, lambda: (normal(m, n) + 1,), flat,
        "torch", lambda i, out: torch.cumsum(i[0], 1, out=out), lambda i: i[0].double().cumsum(1),
        1e-5, bytes=8 * m * n,
    )  # fmt: skip


def arg_max(m, n):
    return Row(
        f"argmax {m}x{n} f32", kernels.arg_max, lambda: (normal(m, n),), like(torch.int64, 0),
        "torch", lambda i, out: torch.argmax(i[0], 1, out=out),
        # The first of equal ones, as the language says; torch may give another.
        lambda i: (i[0] == i[0].amax(1, keepdim=True)).to(torch.uint8).argmax(1), bytes=4 * m * n + 8 * m,
    )  # fmt: skip


def turn(m, n):
    return Row(
        f"transpose {m}x{n} f32", kernels.turn, lambda: (normal(m, n),), like(torch.float32, 1, 0),
        "torch", lambda i, out: out.copy_(i[0].t()), lambda i: i[0].t(), bytes=8 * m * n,
    )  # fmt: skip


def histogram():
    n = 1 << 25
    return Row(
        "histogram of 2^25 i64, 4096 bins", kernels.count,
        lambda: (torch.randint(0, 4096, (n,), device="cuda"),), lambda i: torch.empty(4096, dtype=torch.int64, device="cuda"),
        "torch.bincount", lambda i, out: torch.bincount(i[0], minlength=4096),
        lambda i: torch.zeros(4096, dtype=torch.int64, device="cuda").scatter_add_(0, i[0], torch.ones_like(i[0])),
        bytes=8 * n,
    )  # fmt: skip


def row_gather():
    rows, width, n = 1 << 17, 256, 1 << 18
    return Row(
        "rows gathered, 2^18 of 256 f32", kernels.take_rows,
        lambda: (normal(rows, width), torch.randint(0, rows, (n,), device="cuda")),
        lambda i: torch.empty(n, width, device="cuda"),
        "torch", lambda i, out: torch.index_select(i[0], 0, i[1], out=out), lambda i: i[0][i[1]],
        bytes=8 * n * width + 8 * n,
    )  # fmt: skip


def product(kernel, m, n, k, dtype, turned=False, floor=""):
    wide = torch.float64 if dtype in (torch.float32, torch.float64) else torch.float32
    out_dtype = dtype if dtype.itemsize > 1 else torch.bfloat16
    right = (lambda b: b.t()) if turned else (lambda b: b)
    one = torch.ones((), device="cuda")

    def theirs(i, out):
        if dtype.itemsize == 1:
            return torch._scaled_mm(i[0], i[1].t(), one, one, out_dtype=torch.bfloat16)
        return torch.matmul(i[0], right(i[1]), out=out)

    return Row(
        f"product {m}x{k}x{n} {short(dtype)}{' second transposed' if turned else ''}", kernel,
        lambda: (normal(m, k, dtype=dtype), normal(*((n, k) if turned else (k, n)), dtype=dtype)),
        lambda i: torch.empty(m, n, dtype=out_dtype, device="cuda"),
        "cuBLAS", theirs, lambda i: i[0].to(wide) @ right(i[1].to(wide)),
        {8: 1e-12, 4: 1e-5, 2: 4e-3, 1: 4e-3}[dtype.itemsize], flops=2 * m * n * k,
        unit={8: "f64", 4: "f32", 2: "bf16", 1: "fp8"}[dtype.itemsize], floor=floor,
    )  # fmt: skip


def attention(causal):
    b, h, s, d = 4, 32, 4096, 128

    def split(t):
        return t.view(b, h, s, d)

    def want(i):
        q, k, v = (t.float() for t in i[:3])
        out = torch.empty_like(q)
        mask = torch.ones(s, s, dtype=torch.bool, device="cuda").tril() if causal else None
        for head in range(b * h):
            scores = q[head] @ k[head].t() * i[3]
            if causal:
                scores.masked_fill_(~mask, float("-inf"))
            out[head] = torch.softmax(scores, 1) @ v[head]
        return out

    return Row(
        f"attention B{b} H{h} S{s} D{d} bf16{' causal' if causal else ''}", kernels.attention,
        lambda: (*(normal(b * h, s, d, dtype=torch.bfloat16) for _ in range(3)), d**-0.5),
        lambda i: torch.empty_like(i[0]),
        "SDPA", lambda i, out: F.scaled_dot_product_attention(*map(split, i[:3]), is_causal=causal).view(b * h, s, d),
        want, 1e-2, flops=4 * b * h * s * s * d // (2 if causal else 1), unit="bf16", constexprs={"causal": causal},
    )  # fmt: skip


def short(dtype):
    return {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "float8_e4m3fn": "fp8"}[str(dtype).split(".")[1]]


def rows():
    """Makers of rows, cheap ones first."""
    shapes = [(4096, 4096), (16384, 1024), (8192, 16384), (512, 131072)]
    bf16 = torch.bfloat16
    yield elementwise
    yield whole_sum
    for dtype in (torch.float32, bf16):
        for m, n in shapes:
            yield lambda m=m, n=n, dtype=dtype: softmax(m, n, dtype)
        for m, n in shapes:
            yield lambda m=m, n=n, dtype=dtype: layer_norm(m, n, dtype)
    yield lambda: row_sums(8192, 16384)
    yield lambda: running_sums(8192, 16384)
    yield lambda: arg_max(8192, 16384)
    yield lambda: turn(8192, 16384)
    yield histogram
    yield row_gather
    yield lambda: product(kernels.product_bf16, 4096, 4096, 4096, bf16, floor="40 % of cuBLAS")
    yield lambda: product(kernels.product_bf16, 4097, 4099, 4095, bf16)
    yield lambda: product(kernels.product_bf16_turned, 4096, 4096, 4096, bf16, turned=True)
    yield lambda: product(kernels.product_bf16_turned, 4097, 4099, 4095, bf16, turned=True)
    yield lambda: product(kernels.product_f32, 4096, 4096, 4096, torch.float32)
    yield lambda: product(kernels.product_f64, 4096, 4096, 4096, torch.float64)
    yield lambda: product(kernels.product_fp8, 4096, 4096, 4096, torch.float8_e4m3fn, turned=True)
    yield lambda: attention(False)
    yield lambda: attention(True)
