"""Forward substitution: L X = B for many right-hand sides, in place.

Row k needs the rows before it, so the loop over rows is ordered; the right-hand sides are a tensor
axis and need no loop. `rows[:k]` is empty for the first row, and a contraction over nothing is zero:
no case has to be made of it. An InOut view is storage that the caller keeps.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def solve_lower(
    l: I.In[I.f32, ("N", "N")],
    x: I.InOut[I.f32, ("N", "R")],
):
    N = l.shape[0]
    rows = I.domain(0, N)
    for k in range(N):
        known = rows[:k]
        rest = x[k, :] - I.vecmat(l[k, known], x[known, :], acc_dtype=I.f32)
        x[k, :] = rest / l[k, k]


def check(target=None):
    rng = np.random.default_rng(9)
    l = np.tril(rng.standard_normal((29, 29)) * 0.2 + 2 * np.eye(29)).astype(np.float32)
    b = rng.standard_normal((29, 5)).astype(np.float32)
    x = b.copy()
    intent.compile(solve_lower, target=target)(l, x)
    np.testing.assert_allclose(x, np.linalg.solve(l.astype(np.float64), b), rtol=1e-4, atol=1e-5)
