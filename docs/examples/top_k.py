"""The k greatest members of every row, greatest first, by k rounds of arg-max.

How many is the extent `K` of the views that the caller brings. Every round is one reduction over the
row, and what has been taken is masked out of the tensor that the loop carries. `I.arg_reduce.max` takes
the lowest of equal places, so the result is that of a stable sort.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def top_k(
    x: I.In[I.f32, ("M", "N")],
    values: I.Out[I.f32, ("M", "K")],
    places: I.Out[I.i64, ("M", "K")],
):
    M, N = x.shape
    K = values.shape[1]
    at = I.indices(I.domain(0, N))
    for m in I.parallel(I.domain(0, M)):
        left = x[m, :]
        for k in range(K):
            value, place = I.arg_reduce.max(left, axis=0)
            values[m, k] = value
            places[m, k] = I.cast(place, I.i64)
            left = I.select(at == place, -I.inf, left)


def check(target=None):
    rng = np.random.default_rng(5)
    x = rng.integers(-20, 20, (6, 37)).astype(np.float32)
    values, places = np.empty((6, 5), np.float32), np.empty((6, 5), np.int64)
    intent.compile(top_k, target=target)(x, values, places)
    want = np.argsort(-x, axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(places, want)
    np.testing.assert_array_equal(values, np.take_along_axis(x, want, axis=1))
