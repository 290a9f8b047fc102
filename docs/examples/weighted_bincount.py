"""Totals and greatest member of every group, by reducing scatters.

`I.scatter_reduce` combines values into a view that already holds something: updates that meet are not
lost, in whatever order they come. The combine is I.add, I.maximum, I.minimum or a helper of one's own.
A store cannot be masked; a value can: what should not count is made neutral by `I.select`.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def longer(a, b):
    """The value of greater magnitude; of equal ones the positive."""
    return I.select(I.abs(a) == I.abs(b), I.maximum(a, b), I.select(I.abs(a) > I.abs(b), a, b))


@intent.kernel
def by_group(
    group: I.In[I.i32, ("N",)],
    value: I.In[I.f32, ("N",)],
    ignored: I.In[I.bool, ("N",)],
    total: I.InOut[I.f32, ("G",)],
    greatest: I.InOut[I.f32, ("G",)],
    extreme: I.InOut[I.f32, ("G",)],
):
    at = group[:]
    I.scatter_reduce(total, at, I.select(ignored[:], 0.0, value[:]), combine=I.add)
    I.scatter_reduce(greatest, at, I.select(ignored[:], -I.inf, value[:]), combine=I.maximum)
    I.scatter_reduce(extreme, at, I.select(ignored[:], 0.0, value[:]), combine=longer)


def check(target=None):
    rng = np.random.default_rng(32)
    group = rng.integers(0, 13, 211, dtype=np.int32)
    value = rng.integers(-99, 100, 211).astype(np.float32)
    ignored = rng.random(211) < 0.2
    total, extreme = np.zeros((2, 13), np.float32)
    greatest = np.full(13, -np.inf, np.float32)
    intent.compile(by_group, target=target)(group, value, ignored, total, greatest, extreme)
    members = [value[(group == g) & ~ignored] for g in range(13)]
    np.testing.assert_array_equal(total, [m.sum() for m in members])
    np.testing.assert_array_equal(greatest, [m.max() for m in members])
    np.testing.assert_array_equal(extreme, [max(m, key=lambda v: (abs(v), v)) for m in members])
