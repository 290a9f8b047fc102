"""A stable argsort of every row, by merging runs from the bottom up.

The language has no sort: authors write the one that they want, with buffers and loops. The runs
start where a domain with a step says, `I.domain(0, N, 2 * width)`, and the step may be a value of
the run. Reading a buffer as `merged[:]` takes a snapshot, so `order[:] = merged[:]` is a copy.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def argsort(
    x: I.In[I.f32, ("M", "N")],
    order: I.Out[I.i64, ("M", "N")],
):
    M, N = x.shape
    for m in I.parallel(I.domain(0, M)):
        places = I.buffer((N,), I.index, init=I.indices(I.domain(0, N)))
        merged = I.buffer((N,), I.index)
        width = I.cast(1, I.index)
        while width < N:
            for begin in I.domain(0, N, 2 * width):
                middle = I.minimum(begin + width, N)
                end = I.minimum(begin + 2 * width, N)
                left = begin
                right = middle
                for place in range(begin, end):
                    take_left = left < middle and (right >= end or x[m, places[left]] <= x[m, places[right]])
                    if take_left:
                        merged[place] = places[left]
                        left = left + 1
                    else:
                        merged[place] = places[right]
                        right = right + 1
            places[:] = merged[:]
            width = width * 2
        order[m, :] = I.cast(places[:], I.i64)


def check(target=None):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 12, (5, 43)).astype(np.float32)  # many equal members
    order = intent.compile(argsort, target=target).run(x)
    np.testing.assert_array_equal(order, np.argsort(x, axis=1, kind="stable"))
