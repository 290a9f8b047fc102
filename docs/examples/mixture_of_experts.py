"""A mixture-of-experts layer: routing, then one product for each expert's own tokens.

The router takes the best expert of each token and its softmax weight, and sorts tokens by expert with
a running count, as a counting sort does. Then each expert multiplies just its tokens: a subregion of
the sorted order, gathered, contracted and scattered back. Experts without tokens cost nothing.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def route(
    x: I.In[I.f32, ("T", "D")],
    router: I.In[I.f32, ("D", "E")],
    weight: I.Out[I.f32, ("T",)],
    order: I.Out[I.i32, ("T",)],
    offset: I.Out[I.i32, ("E1",)],
):
    T = x.shape[0]
    E = router.shape[1]
    logits = I.matmul(x[:, :], router[:, :], acc_dtype=I.f32)
    peak, expert = I.arg_reduce.max(logits, axis=1)
    weight[:] = 1.0 / I.reduce.sum(I.exp(logits - peak[:, None]), axis=1)

    count = I.histogram(expert, bins=E, valid=True, count_dtype=I.i32)
    first = I.cumsum(count, axis=0, inclusive=False)
    offset[:E] = first
    offset[E] = I.cast(T, I.i32)
    chosen = I.cast(expert[:, None] == I.indices(I.domain(0, E)), I.i32)
    rank = I.reduce.sum(chosen * I.cumsum(chosen, axis=0, inclusive=False), axis=1)
    I.scatter_unique(order, first[expert] + rank, I.cast(I.indices(I.domain(0, T)), I.i32))


@intent.kernel
def experts(
    x: I.In[I.f32, ("T", "D")],
    weight: I.In[I.f32, ("T",)],
    order: I.In[I.i32, ("T",)],
    offsets: I.In[I.i32, ("E1",)],
    w: I.In[I.f32, ("E", "D", "F")],
    y: I.Out[I.f32, ("T", "F")],
):
    offset = I.cast(offsets[:], I.index)
    slots = I.domain(0, x.shape[0])
    for e in I.parallel(I.domain(0, w.shape[0])):
        token = order[slots[offset[e] : offset[e + 1]]]
        product = I.matmul(x[token, :], w[e, :, :], acc_dtype=I.f32)
        I.scatter_unique(y, (token, slice(None)), product * weight[token][:, None])


def check(target=None):
    rng = np.random.default_rng(43)
    x, router = (
        rng.standard_normal((37, 10)).astype(np.float32),
        rng.standard_normal((10, 5)).astype(np.float32),
    )
    router[:, 3] = 0
    router[0, 3] = -100 * np.sign(x[:, 0].sum())
    w = rng.standard_normal((5, 10, 6)).astype(np.float32)
    weight, order, offset = np.empty(37, np.float32), np.empty(37, np.int32), np.empty(6, np.int32)
    intent.compile(route, target=target)(x, router, weight, order, offset)
    y = intent.compile(experts, target=target).run(x, weight, order, offset, w)

    logits = x.astype(np.float64) @ router
    expert = logits.argmax(axis=1)
    share = 1 / np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)
    np.testing.assert_array_equal(order, np.argsort(expert, kind="stable"))
    np.testing.assert_array_equal(np.diff(offset), np.bincount(expert, minlength=5))
    want = np.einsum("td,tdf->tf", x, w[expert]) * share[:, None]
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)
