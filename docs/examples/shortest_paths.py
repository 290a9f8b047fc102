"""Shortest paths between all pairs (Floyd and Warshall).

The loop carries the whole matrix as a value: each round makes a new one from the old, so no element
can be seen half updated. The inner two loops of the textbook are tensor axes: a column with a new
axis, `d[:, k, None]`, and a row meet in one broadcast sum.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def shortest_paths(
    length: I.In[I.f32, ("N", "N")],
    shortest: I.Out[I.f32, ("N", "N")],
):
    d = length[:, :]
    for k in range(length.shape[0]):
        d = I.minimum(d, d[:, k, None] + d[k, :])
    shortest[:, :] = d


def check(target=None):
    rng = np.random.default_rng(12)
    length = rng.integers(1, 50, (27, 27)).astype(np.float32)
    length[rng.random((27, 27)) < 0.8] = np.inf
    np.fill_diagonal(length, 0)
    want = length.copy()
    for _ in range(5):  # paths of at most 2, 4, 8, 16, 32 edges
        want = (want[:, :, None] + want[None, :, :]).min(axis=1)
    got = intent.compile(shortest_paths, target=target).run(length)
    np.testing.assert_array_equal(got, want)
