"""Cholesky factors of a batch of positive definite matrices.

A column is finished, then its outer product leaves what lies below and to the right of it. That
"below" is a subregion: `rows[k + 1:]` is a part of the domain `rows`, keeps its coordinates, and may
be empty. Indexing a buffer by it twice names the remaining square.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def cholesky(
    a: I.In[I.f32, ("B", "N", "N")],
    lower: I.Out[I.f32, ("B", "N", "N")],
):
    B, N, _ = a.shape
    rows = I.domain(0, N)
    at = I.indices(rows)
    for b in I.parallel(I.domain(0, B)):
        work = I.buffer((N, N), I.f32, init=a[b, :, :])
        for k in range(N):
            below = rows[k + 1 :]
            pivot = I.sqrt(work[k, k])
            column = work[below, k] / pivot
            work[k, k] = pivot
            work[below, k] = column
            work[below, below] = work[below, below] - I.outer(column, column)
        lower[b, :, :] = I.select(at[:, None] >= at, work[:, :], 0.0)


def check(target=None):
    rng = np.random.default_rng(7)
    root = rng.standard_normal((3, 13, 13))
    a = (root @ root.transpose(0, 2, 1) + 13 * np.eye(13)).astype(np.float32)
    lower = intent.compile(cholesky, target=target).run(a)
    np.testing.assert_allclose(lower, np.linalg.cholesky(a.astype(np.float64)), rtol=1e-4, atol=1e-5)
