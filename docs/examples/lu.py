"""LU factors with partial pivoting, in place, as LAPACK's getrf leaves them.

The pivot is an arg-max over a subregion. A tensor that was read from a subregion counts from 0, so
the place that comes back is relative to it: `k + place` is the row. Rows are exchanged through
tensors, which are values: once `upper` is read, writing the view does not change it.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def lu(
    a: I.InOut[I.f64, ("B", "N", "N")],
    pivots: I.Out[I.i32, ("B", "N")],
):
    B, N, _ = a.shape
    rows = I.domain(0, N)
    for b in I.parallel(I.domain(0, B)):
        for k in range(N):
            _, place = I.arg_reduce.max(I.abs(a[b, rows[k:], k]), axis=0)
            pivot = k + place
            pivots[b, k] = I.cast(pivot, I.i32)
            upper = a[b, k, :]
            a[b, k, :] = a[b, pivot, :]
            a[b, pivot, :] = upper
            below = rows[k + 1 :]
            factor = a[b, below, k] / a[b, k, k]
            a[b, below, k] = factor
            a[b, below, below] = a[b, below, below] - I.outer(factor, a[b, k, below])


def check(target=None):
    rng = np.random.default_rng(8)
    a = rng.standard_normal((3, 11, 11))
    factors = a.copy()
    pivots = intent.compile(lu, target=target).run(factors)
    for matrix, packed, exchanged in zip(a, factors, pivots):
        permuted = matrix.copy()
        for k, pivot in enumerate(exchanged):
            permuted[[k, pivot]] = permuted[[pivot, k]]
        lower = np.tril(packed, -1) + np.eye(11)
        assert np.abs(lower).max() <= 1  # what pivoting is for
        np.testing.assert_allclose(lower @ np.triu(packed), permuted, rtol=1e-12, atol=1e-12)
