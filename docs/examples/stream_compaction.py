"""Keeping the members that pass a test, in order, and their number.

An exclusive running count of those that pass is the place of each. A store has no mask, so a scalar
`if` in a parallel loop decides who writes; no two places are equal, so the points do not conflict.
What follows the kept members is left as it was: the view is InOut.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def compact(
    x: I.In[I.f32, ("N",)],
    limit: I.f32,
    kept: I.InOut[I.f32, ("N",)],
    source: I.InOut[I.i32, ("N",)],
    count: I.Out[I.i32, ()],
):
    passes = x[:] > limit
    place = I.cumsum(I.cast(passes, I.i32), axis=0, inclusive=False)
    for i in I.parallel(I.domain(0, x.shape[0])):
        if passes[i]:
            kept[place[i]] = x[i]
            source[place[i]] = I.cast(i, I.i32)
    count[()] = I.reduce.sum(I.cast(passes, I.i32), axis=0)


def check(target=None):
    rng = np.random.default_rng(36)
    x = rng.standard_normal(173).astype(np.float32)
    kept, source = np.full(173, -1, np.float32), np.full(173, -1, np.int32)
    count = intent.compile(compact, target=target).run(x, 0.4, kept, source)
    want = np.flatnonzero(x > 0.4)
    assert count == len(want)
    np.testing.assert_array_equal(source[: len(want)], want)
    np.testing.assert_array_equal(kept[: len(want)], x[want])
    assert (source[len(want) :] == -1).all() and (kept[len(want) :] == -1).all()
