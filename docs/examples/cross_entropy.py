"""Cross entropy of logits x W^T over a large vocabulary, without holding the logits.

The fold runs over rows of the weight: a stretch computes its logits, reduces them to peak and mass,
and picks the target's logit if the target lies in it, which its absolute coordinates tell. Only three
numbers for each row survive a stretch, which is what makes the fused loss of language models small.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def summarize(weight, at, x, target):
    logits = I.matmul(x, weight, acc_dtype=I.f32, transpose_rhs=True)
    peak = I.reduce.max(logits, axis=1)
    return I.record(
        valid=True,
        peak=peak,
        mass=I.reduce.sum(I.exp(logits - peak[:, None]), axis=1),
        picked=I.reduce.sum(I.select(at[None, :] == target[:, None], logits, 0.0), axis=1),
    )


@intent.fn
def merge(a, b):
    peak = I.select(a.valid & b.valid, I.maximum(a.peak, b.peak), I.select(a.valid, a.peak, b.peak))
    left = I.select(a.valid, I.exp(a.peak - peak), 0.0)
    right = I.select(b.valid, I.exp(b.peak - peak), 0.0)
    return I.record(
        valid=a.valid | b.valid,
        peak=peak,
        mass=a.mass * left + b.mass * right,
        picked=a.picked + b.picked,
    )


@intent.kernel
def linear_cross_entropy(
    x: I.In[I.f32, ("M", "D")],
    weight: I.In[I.f32, ("V", "D")],
    target: I.In[I.i64, ("M",)],
    loss: I.Out[I.f32, ("M",)],
):
    M = x.shape[0]
    V = weight.shape[0]
    none = I.zeros((M,), I.f32)
    total = I.region_fold(
        source=(weight[:, :], I.indices(I.domain(0, V))),
        axis=0,
        summarize=summarize,
        combine=merge,
        identity=I.record(valid=False, peak=none, mass=none, picked=none),
        operands=(x[:, :], I.cast(target[:], I.index)),
    )
    loss[:] = I.log(total.mass) + total.peak - total.picked


def check(target=None):
    rng = np.random.default_rng(29)
    x = rng.standard_normal((9, 12)).astype(np.float32)
    weight = rng.standard_normal((301, 12)).astype(np.float32)
    label = rng.integers(0, 301, 9)
    loss = intent.compile(linear_cross_entropy, target=target).run(x, weight, label)
    logits = x.astype(np.float64) @ weight.T
    want = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(9), label]
    np.testing.assert_allclose(loss, want, rtol=1e-5)
