"""2:4 structured sparsity: pruning a weight, and multiplying by what is left.

Of each four neighbours in a row the two of greatest magnitude are kept; a byte says which. The product
takes values and places as they are: `I.sparse_matmul` is told the format and never makes a dense copy.
How places are packed is the author's business: bits are taken apart with ordinary integer operations.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def prune(
    weight: I.In[I.f32, ("M", "K")],
    kept: I.Out[I.f32, ("M", "G", 2)],
    code: I.Out[I.u8, ("M", "G")],
):
    M, G = code.shape
    group = I.reshape(weight[:, :], (M, G, 4))
    at = I.indices(I.domain(0, 4))
    _, a = I.arg_reduce.max(I.abs(group), axis=2)
    _, b = I.arg_reduce.max(I.select(at == a[:, :, None], -1.0, I.abs(group)), axis=2)
    first = I.minimum(a, b)
    second = I.maximum(a, b)
    zero = I.cast(0.0, I.f32)
    kept[:, :, 0] = I.reduce.sum(I.select(at == first[:, :, None], group, zero), axis=2)
    kept[:, :, 1] = I.reduce.sum(I.select(at == second[:, :, None], group, zero), axis=2)
    code[:, :] = I.cast(first | second << 2, I.u8)


@intent.kernel
def sparse_linear(
    kept: I.In[I.f32, ("M", "C")],
    code: I.In[I.u8, ("M", "G")],
    x: I.In[I.f32, ("K", "N")],
    y: I.Out[I.f32, ("M", "N")],
):
    places = code[:, :]
    y[:, :] = I.sparse_matmul(
        kept[:, :],
        I.record(first=I.cast(places & 3, I.index), second=I.cast(places >> 2, I.index)),
        x[:, :],
        format=I.sparse.two_of_four(compression_axis=1, logical_extent=x.shape[0]),
        acc_dtype=I.f32,
    )


def check(target=None):
    rng = np.random.default_rng(44)
    weight = rng.permutation(np.arange(1, 9 * 24 + 1)).reshape(9, 24).astype(np.float32)
    weight *= rng.choice([-1, 1], weight.shape)
    x = rng.integers(-9, 10, (24, 5)).astype(np.float32)
    kept, code = np.empty((9, 6, 2), np.float32), np.empty((9, 6), np.uint8)
    intent.compile(prune, target=target)(weight, kept, code)
    group = np.abs(weight).reshape(9, 6, 4)
    rank = np.argsort(np.argsort(-group, axis=2), axis=2)
    pruned = np.where(rank < 2, weight.reshape(9, 6, 4), 0).reshape(9, 24)
    np.testing.assert_array_equal(kept.reshape(-1), pruned[pruned != 0])
    y = intent.compile(sparse_linear, target=target).run(kept.reshape(9, 12), code, x)
    np.testing.assert_array_equal(y, pruned @ x)
