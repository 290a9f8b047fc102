"""The kernels of the GPU's benchmark, as an author would write them: nothing in them names the machine."""

import sys
from pathlib import Path

import intent
import intent.language as I

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "docs" / "examples"))
import attention as example  # noqa: E402


@intent.kernel
def chain(x: I.In[I.f32, ("N",)], y: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):
    a = x[:]
    b = y[:]
    out[:] = I.maximum((a * b + a) * 0.5 - b, 0.0) + a * 2.0


@intent.kernel
def total(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ()]):
    out[...] = I.reduce.sum(x[:], axis=0)


@intent.fn
def softmax_rows(x):
    weights = I.exp(x - I.reduce.max(x, axis=1)[:, None])
    return weights / I.reduce.sum(weights, axis=1)[:, None]


@intent.kernel
def softmax(x: I.In[I.f32, ("M", "N")], out: I.Out[I.f32, ("M", "N")]):
    out[:, :] = softmax_rows(x[:, :])


@intent.kernel
def softmax_bf16(x: I.In[I.bf16, ("M", "N")], out: I.Out[I.bf16, ("M", "N")]):
    out[:, :] = I.cast(softmax_rows(I.cast(x[:, :], I.f32)), I.bf16)


@intent.fn
def normal_rows(x, weight, bias, epsilon):
    count = I.cast(x.shape[1], I.f32)
    moved = x - (I.reduce.sum(x, axis=1) / count)[:, None]
    variance = I.reduce.sum(moved * moved, axis=1) / count
    return moved * I.rsqrt(variance + epsilon)[:, None] * weight + bias


@intent.kernel
def layer_norm(
    x: I.In[I.f32, ("M", "N")],
    weight: I.In[I.f32, ("N",)],
    bias: I.In[I.f32, ("N",)],
    out: I.Out[I.f32, ("M", "N")],
):
    out[:, :] = normal_rows(x[:, :], weight[:], bias[:], 1e-5)


@intent.kernel
def layer_norm_bf16(
    x: I.In[I.bf16, ("M", "N")],
    weight: I.In[I.bf16, ("N",)],
    bias: I.In[I.bf16, ("N",)],
    out: I.Out[I.bf16, ("M", "N")],
):
    value = I.cast(x[:, :], I.f32)
    out[:, :] = I.cast(normal_rows(value, I.cast(weight[:], I.f32), I.cast(bias[:], I.f32), 1e-5), I.bf16)


@intent.kernel
def row_sums(x: I.In[I.f32, ("M", "N")], out: I.Out[I.f32, ("M",)]):
    out[:] = I.reduce.sum(x[:, :], axis=1)


@intent.kernel
def running_sums(x: I.In[I.f32, ("M", "N")], out: I.Out[I.f32, ("M", "N")]):
    out[:, :] = I.cumsum(x[:, :], axis=1)


@intent.kernel
def arg_max(x: I.In[I.f32, ("M", "N")], out: I.Out[I.i64, ("M",)]):
    _, place = I.arg_reduce.max(x[:, :], axis=1)
    out[:] = I.cast(place, I.i64)


@intent.kernel
def turn(x: I.In[I.f32, ("M", "N")], out: I.Out[I.f32, ("N", "M")]):
    out[:, :] = I.transpose(x[:, :])


@intent.kernel
def count(x: I.In[I.i64, ("N",)], out: I.Out[I.i64, (4096,)]):
    out[:] = I.histogram(x[:], bins=4096, valid=True, count_dtype=I.i64)


@intent.kernel
def take_rows(table: I.In[I.f32, ("R", "C")], rows: I.In[I.i64, ("N",)], out: I.Out[I.f32, ("N", "C")]):
    out[:, :] = I.gather(table, rows[:])


@intent.kernel
def product_bf16(a: I.In[I.bf16, ("M", "K")], b: I.In[I.bf16, ("K", "N")], out: I.Out[I.bf16, ("M", "N")]):
    out[:, :] = I.cast(I.matmul(a[:, :], b[:, :], acc_dtype=I.f32), I.bf16)


@intent.kernel
def product_bf16_turned(a: I.In[I.bf16, ("M", "K")], b: I.In[I.bf16, ("N", "K")], out: I.Out[I.bf16, ("M", "N")]):
    out[:, :] = I.cast(I.matmul(a[:, :], b[:, :], acc_dtype=I.f32, transpose_rhs=True), I.bf16)


@intent.kernel
def product_f32(a: I.In[I.f32, ("M", "K")], b: I.In[I.f32, ("K", "N")], out: I.Out[I.f32, ("M", "N")]):
    out[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32)


@intent.kernel
def product_f64(a: I.In[I.f64, ("M", "K")], b: I.In[I.f64, ("K", "N")], out: I.Out[I.f64, ("M", "N")]):
    out[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=I.f64)


@intent.kernel
def product_fp8(a: I.In[I.f8e4m3fn, ("M", "K")], b: I.In[I.f8e4m3fn, ("N", "K")], out: I.Out[I.bf16, ("M", "N")]):
    out[:, :] = I.cast(I.matmul(a[:, :], b[:, :], acc_dtype=I.f32, transpose_rhs=True), I.bf16)


@intent.fn
def summarize_keys(k, v, at, q, q_at, scale, causal):
    scores = I.matmul(q, k, acc_dtype=I.f32, transpose_rhs=True) * scale
    allowed = I.full(scores.shape, True, dtype=I.bool)
    if causal:
        allowed = at[None, :] <= q_at[:, None]
    valid = I.reduce.any(allowed, axis=1)
    peak = I.select(valid, I.reduce.max(I.select(allowed, scores, -I.inf), axis=1), 0.0)
    weights = I.select(allowed, I.exp(scores - peak[:, None]), 0.0)
    return I.record(
        valid=valid,
        peak=peak,
        mass=I.reduce.sum(weights, axis=1),
        total=I.matmul(I.cast(weights, I.bf16), v, acc_dtype=I.f32),
    )


@intent.kernel
def attention(
    q: I.In[I.bf16, ("H", "M", "D")],
    k: I.In[I.bf16, ("H", "N", "D")],
    v: I.In[I.bf16, ("H", "N", "E")],
    scale: I.f32,
    out: I.Out[I.bf16, ("H", "M", "E")],
    causal: I.Constexpr[bool],
):
    H, M, _ = q.shape
    _, N, E = v.shape
    q_at = I.indices(I.domain(0, M)) + (N - M)
    for h in I.parallel(I.domain(0, H)):
        seen = I.region_fold(
            source=(k[h, :, :], v[h, :, :], I.indices(I.domain(0, N))),
            axis=0,
            summarize=summarize_keys,
            combine=example.merge,
            identity=example.nothing(M, E),
            operands=(q[h, :, :], q_at, scale, causal),
        )
        out[h, :, :] = I.cast(seen.total / I.select(seen.valid, seen.mass, 1.0)[:, None], I.bf16)


@intent.kernel
def add_one(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):
    out[:] = x[:] + 1.0
