"""Attention that never holds all scores: full and causal, by `I.region_fold`.

The author says how one stretch of keys is summarised and how two adjacent summaries merge; the
compiler chooses the stretches. The identity must be neutral under real float arithmetic: a peak of
-inf would make NaN of -inf - -inf, so a summary says by `valid` whether it has seen any key, and its
other fields stay finite. Positions come in as a sliced column of coordinates, because a stretch does
not know where it starts. `causal` is a constexpr: one source, two kernels.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def summarize(scores, allowed, v):
    """What a stretch of keys contributes to every query."""
    valid = I.reduce.any(allowed, axis=1)
    peak = I.select(valid, I.reduce.max(I.select(allowed, scores, -I.inf), axis=1), 0.0)
    weights = I.select(allowed, I.exp(scores - peak[:, None]), 0.0)
    return I.record(
        valid=valid,
        peak=peak,
        mass=I.reduce.sum(weights, axis=1),
        total=I.matmul(weights, v, acc_dtype=I.f32),
    )


@intent.fn
def merge(a, b):
    higher = I.maximum(a.peak, b.peak)
    peak = I.select(a.valid, I.select(b.valid, higher, a.peak), b.peak)
    left = I.select(a.valid, I.exp(a.peak - peak), 0.0)
    right = I.select(b.valid, I.exp(b.peak - peak), 0.0)
    return I.record(
        valid=a.valid | b.valid,
        peak=peak,
        mass=a.mass * left + b.mass * right,
        total=a.total * left[:, None] + b.total * right[:, None],
    )


@intent.fn
def nothing(M, E):
    """The summary of no keys."""
    return I.record(
        valid=I.full((M,), False, dtype=I.bool),
        peak=I.zeros((M,), I.f32),
        mass=I.zeros((M,), I.f32),
        total=I.zeros((M, E), I.f32),
    )


@intent.fn
def summarize_keys(k, v, at, q, q_at, scale, causal):
    scores = I.matmul(q, k, acc_dtype=I.f32, transpose_rhs=True) * scale
    allowed = I.full(scores.shape, True, dtype=I.bool)
    if causal:
        allowed = at[None, :] <= q_at[:, None]
    return summarize(scores, allowed, v)


@intent.kernel
def attention(
    q: I.In[I.f32, ("H", "M", "D")],
    k: I.In[I.f32, ("H", "N", "D")],
    v: I.In[I.f32, ("H", "N", "E")],
    scale: I.f32,
    out: I.Out[I.f32, ("H", "M", "E")],
    causal: I.Constexpr[bool],
):
    H, M, _ = q.shape
    _, N, E = v.shape
    keys = I.domain(0, N)
    # The last query sees all keys, also where there are more keys than queries.
    q_at = I.indices(I.domain(0, M)) + (N - M)
    for h in I.parallel(I.domain(0, H)):
        seen = I.region_fold(
            source=(k[h, :, :], v[h, :, :], I.indices(keys)),
            axis=0,
            summarize=summarize_keys,
            combine=merge,
            identity=nothing(M, E),
            operands=(q[h, :, :], q_at, scale, causal),
        )
        out[h, :, :] = seen.total / I.select(seen.valid, seen.mass, 1.0)[:, None]


def reference(q, k, v, scale, allowed):
    scores = np.where(allowed, scale * q.astype(np.float64) @ k.transpose(0, 2, 1), -np.inf)
    peak = scores.max(axis=2, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(peak), peak, 0))
    mass = weights.sum(axis=2, keepdims=True)
    return weights @ v / np.where(mass == 0, 1, mass)


def check(target=None):
    rng = np.random.default_rng(21)
    q = rng.standard_normal((2, 19, 8)).astype(np.float32)
    k = rng.standard_normal((2, 45, 8)).astype(np.float32)
    v = rng.standard_normal((2, 45, 5)).astype(np.float32)
    before = np.arange(45) <= np.arange(19)[:, None] + (45 - 19)
    for causal in (False, True):
        artifact = intent.compile(attention, target=target, constexprs={"causal": causal})
        want = reference(q, k, v, 0.35, before | (not causal))
        np.testing.assert_allclose(artifact.run(q, k, v, 0.35), want, rtol=1e-5, atol=1e-5)
