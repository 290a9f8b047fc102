"""k-means: assignment and update are two kernels, and the host repeats them.

A kernel is one launch; a program of several is ordinary Python that owns what passes between them.
Distances need no square of the point: |c|^2 - 2 x.c orders the centres alike. The sums of the members
are a reducing scatter of rows, their number a histogram.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def assign(
    point: I.In[I.f32, ("N", "D")],
    center: I.In[I.f32, ("K", "D")],
    label: I.Out[I.i32, ("N",)],
):
    c = center[:, :]
    near = 2.0 * I.matmul(point[:, :], c, acc_dtype=I.f32, transpose_rhs=True) - I.reduce.sum(c * c, axis=1)
    _, best = I.arg_reduce.max(near, axis=1)
    label[:] = I.cast(best, I.i32)


@intent.kernel
def update(
    point: I.In[I.f32, ("N", "D")],
    label: I.In[I.i32, ("N",)],
    total: I.InOut[I.f32, ("K", "D")],
    center: I.InOut[I.f32, ("K", "D")],
):
    K = center.shape[0]
    I.scatter_reduce(total, (label[:], slice(None)), point[:, :], combine=I.add)
    members = I.histogram(label[:], bins=K, valid=True, count_dtype=I.i32)[:, None]
    mean = total[:, :] / I.cast(I.maximum(members, 1), I.f32)
    center[:, :] = I.select(members > 0, mean, center[:, :])  # an empty cluster stays where it is


def check(target=None):
    rng = np.random.default_rng(34)
    middle = rng.uniform(-10, 10, (5, 3))
    point = (middle[rng.integers(0, 5, 157)] + rng.standard_normal((157, 3))).astype(np.float32)
    center = point[:6].copy()
    center[5] = 100  # nothing is near it
    want = center.astype(np.float64)
    assignment, movement = intent.compile(assign, target=target), intent.compile(update, target=target)
    for _ in range(4):
        label = assignment.run(point, center)
        movement(point, label, np.zeros((6, 3), np.float32), center)
        nearest = ((point[:, None] - want) ** 2).sum(axis=2).argmin(axis=1)
        np.testing.assert_array_equal(label, nearest)
        for k in range(6):
            if (nearest == k).any():
                want[k] = point[nearest == k].mean(axis=0, dtype=np.float64)
        np.testing.assert_allclose(center, want, rtol=1e-5, atol=1e-5)
