"""Softmax over segments of different length that lie one behind the other.

The offsets of a segment are data; the subregion that they cut is read, normalised and written back
through the same name. A full reduction gives a scalar, which meets the segment in pointwise
arithmetic. An empty segment reads and writes nothing.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def ragged_softmax(
    x: I.In[I.f32, ("N",)],
    offsets: I.In[I.i64, ("S1",)],
    out: I.Out[I.f32, ("N",)],
):
    offset = I.cast(offsets[:], I.index)
    members = I.domain(0, x.shape[0])
    for s in I.parallel(I.domain(0, offsets.shape[0] - 1)):
        own = members[offset[s] : offset[s + 1]]
        peak = I.reduce.max(x[own], axis=0)
        weight = I.exp(x[own] - peak)
        out[own] = weight / I.reduce.sum(weight, axis=0)


def check(target=None):
    rng = np.random.default_rng(41)
    length = np.array([5, 0, 17, 1, 64, 0, 3])
    offset = np.concatenate([[0], np.cumsum(length)])
    x = (rng.standard_normal(offset[-1]) * 5).astype(np.float32)
    out = intent.compile(ragged_softmax, target=target).run(x, offset)
    for begin, end in zip(offset, offset[1:]):
        weight = np.exp(x[begin:end].astype(np.float64) - x[begin:end].max(initial=-np.inf))
        np.testing.assert_allclose(out[begin:end], weight / weight.sum(), rtol=1e-5)
