"""Embedding lookup and its gradient.

Forward is indexing by a tensor of tokens. Backward is a reducing scatter of whole rows: the index is a
tuple of the tokens and a full slice, and rows of equal tokens are summed. Padding contributes zeros.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def embed(
    table: I.In[I.f32, ("V", "D")],
    token: I.In[I.i32, ("B", "T")],
    out: I.Out[I.f32, ("B", "T", "D")],
):
    out[:, :, :] = table[token[:, :], :]


@intent.kernel
def embedding_gradient(
    token: I.In[I.i32, ("B", "T")],
    grad: I.In[I.f32, ("B", "T", "D")],
    padding: I.i32,
    grad_table: I.InOut[I.f32, ("V", "D")],
):
    at = token[:, :]
    counted = I.select((at == padding)[:, :, None], 0.0, grad[:, :, :])
    I.scatter_reduce(grad_table, (at, slice(None)), counted, combine=I.add)


def check(target=None):
    rng = np.random.default_rng(33)
    table = rng.standard_normal((29, 7)).astype(np.float32)
    token = rng.integers(0, 29, (4, 17), dtype=np.int32)
    token[:, 13:] = 0
    out = intent.compile(embed, target=target).run(table, token)
    np.testing.assert_array_equal(out, table[token])

    grad = rng.integers(-9, 10, (4, 17, 7)).astype(np.float32)
    grad_table = np.zeros((29, 7), np.float32)
    intent.compile(embedding_gradient, target=target)(token, grad, 0, grad_table)
    want = np.zeros((29, 7), np.float32)
    np.add.at(want, token, np.where((token == 0)[..., None], 0, grad))
    np.testing.assert_array_equal(grad_table, want)
