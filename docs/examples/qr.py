"""QR factors by the modified Gram-Schmidt process.

The finished column is taken out of all that follow at once: `columns[k + 1:]` names them, one
vector-matrix product projects them, and one outer product corrects them. The last step meets an
empty subregion, for which nothing is done. The accumulator dtype of a contraction is always named.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def qr(
    a: I.In[I.f64, ("M", "N")],
    q: I.Out[I.f64, ("M", "N")],
    r: I.Out[I.f64, ("N", "N")],
):
    M, N = a.shape
    columns = I.domain(0, N)
    work = I.buffer((M, N), I.f64, init=a[:, :])
    r[:, :] = I.zeros((N, N), I.f64)
    for k in range(N):
        length = I.sqrt(I.reduce.sum(work[:, k] * work[:, k], axis=0))
        unit = work[:, k] / length
        rest = columns[k + 1 :]
        along = I.vecmat(unit, work[:, rest], acc_dtype=I.f64)
        work[:, rest] = work[:, rest] - I.outer(unit, along)
        q[:, k] = unit
        r[k, k] = length
        r[k, rest] = along


def check(target=None):
    rng = np.random.default_rng(10)
    a = rng.standard_normal((17, 9))
    q, r = intent.compile(qr, target=target).run(a)
    np.testing.assert_allclose(q @ r, a, atol=1e-12)
    np.testing.assert_allclose(q.T @ q, np.eye(9), atol=1e-12)
    np.testing.assert_array_equal(r, np.triu(r))
