"""Attention over the last W positions, and attention with sinks.

The same summaries as in attention.py, imported from there: helpers are ordinary names of a module. A
window is another relation of coordinates, so whole stretches may hold no allowed key; `valid` makes
that harmless. A sink is a learned logit per head that takes part in the softmax and has no value: it
is one more summary, merged by the same helper once the fold is done.
"""

import numpy as np

import intent
import intent.language as I
from attention import merge, nothing, reference, summarize


@intent.fn
def summarize_window(k, v, at, q, q_at, scale, window):
    scores = I.matmul(q, k, acc_dtype=I.f32, transpose_rhs=True) * scale
    back = q_at[:, None] - at[None, :]
    return summarize(scores, (back >= 0) & (back < window), v)


@intent.kernel
def window_attention(
    q: I.In[I.f32, ("H", "N", "D")],
    k: I.In[I.f32, ("H", "N", "D")],
    v: I.In[I.f32, ("H", "N", "E")],
    scale: I.f32,
    window: I.index,
    out: I.Out[I.f32, ("H", "N", "E")],
):
    H, N, E = v.shape
    at = I.indices(I.domain(0, N))
    for h in I.parallel(I.domain(0, H)):
        seen = I.region_fold(
            source=(k[h, :, :], v[h, :, :], at),
            axis=0,
            summarize=summarize_window,
            combine=merge,
            identity=nothing(N, E),
            operands=(q[h, :, :], at, scale, window),
        )
        out[h, :, :] = seen.total / seen.mass[:, None]


@intent.kernel
def sink_attention(
    q: I.In[I.f32, ("H", "N", "D")],
    k: I.In[I.f32, ("H", "N", "D")],
    v: I.In[I.f32, ("H", "N", "E")],
    sink: I.In[I.f32, ("H",)],
    scale: I.f32,
    window: I.index,
    out: I.Out[I.f32, ("H", "N", "E")],
):
    H, N, E = v.shape
    at = I.indices(I.domain(0, N))
    for h in I.parallel(I.domain(0, H)):
        seen = I.region_fold(
            source=(k[h, :, :], v[h, :, :], at),
            axis=0,
            summarize=summarize_window,
            combine=merge,
            identity=nothing(N, E),
            operands=(q[h, :, :], at, scale, window),
        )
        drain = I.record(
            valid=I.full((N,), True, dtype=I.bool),
            peak=I.full((N,), sink[h], dtype=I.f32),
            mass=I.full((N,), 1.0, dtype=I.f32),
            total=I.zeros((N, E), I.f32),
        )
        whole = merge(seen, drain)
        out[h, :, :] = whole.total / whole.mass[:, None]


def check(target=None):
    rng = np.random.default_rng(22)
    q, k = rng.standard_normal((2, 3, 50, 8)).astype(np.float32)
    v = rng.standard_normal((3, 50, 6)).astype(np.float32)
    sink = rng.standard_normal(3).astype(np.float32)
    window, scale = 9, 0.35
    back = np.arange(50)[:, None] - np.arange(50)
    allowed = (back >= 0) & (back < window)
    got = intent.compile(window_attention, target=target).run(q, k, v, scale, window)
    np.testing.assert_allclose(got, reference(q, k, v, scale, allowed), rtol=1e-5, atol=1e-5)

    got = intent.compile(sink_attention, target=target).run(q, k, v, sink, scale, window)
    weights = np.where(allowed, np.exp(scale * q.astype(np.float64) @ k.transpose(0, 2, 1)), 0)
    mass = weights.sum(axis=2, keepdims=True) + np.exp(sink.astype(np.float64))[:, None, None]
    np.testing.assert_allclose(got, weights @ v / mass, rtol=1e-5, atol=1e-5)
