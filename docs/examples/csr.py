"""Products of a CSR matrix with a vector and with a dense matrix.

A row's entries are a subregion of all entries, cut where the row pointers say. Subregions have run-time
extents and may be empty; everything on tensors works on them, here a sum of products and a product of
a vector with gathered rows. Bounds of regions are coordinates, so the pointers are cast to I.index once.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def csr_vector(
    pointer: I.In[I.i32, ("M1",)],
    column: I.In[I.i32, ("Z",)],
    value: I.In[I.f32, ("Z",)],
    x: I.In[I.f32, ("N",)],
    y: I.Out[I.f32, ("M",)],
):
    start = I.cast(pointer[:], I.index)
    entries = I.domain(0, value.shape[0])
    for m in I.parallel(I.domain(0, y.shape[0])):
        own = entries[start[m] : start[m + 1]]
        y[m] = I.reduce.sum(value[own] * x[column[own]], axis=0)


@intent.kernel
def csr_matrix(
    pointer: I.In[I.i32, ("M1",)],
    column: I.In[I.i32, ("Z",)],
    value: I.In[I.f32, ("Z",)],
    x: I.In[I.f32, ("N", "R")],
    y: I.Out[I.f32, ("M", "R")],
):
    start = I.cast(pointer[:], I.index)
    entries = I.domain(0, value.shape[0])
    for m in I.parallel(I.domain(0, y.shape[0])):
        own = entries[start[m] : start[m + 1]]
        y[m, :] = I.vecmat(value[own], x[column[own], :], acc_dtype=I.f32)


def compressed(dense):
    """Row pointers, columns and values of a matrix."""
    rows, columns = np.nonzero(dense)
    start = np.searchsorted(rows, np.arange(len(dense) + 1)).astype(np.int32)
    return start, columns.astype(np.int32), dense[rows, columns]


def check(target=None):
    rng = np.random.default_rng(39)
    dense = np.where(rng.random((23, 31)) < 0.15, rng.integers(-9, 10, (23, 31)), 0).astype(np.float32)
    dense[[4, 5, 22]] = 0  # rows without entries
    x = rng.integers(-9, 10, (31, 7)).astype(np.float32)
    y = np.empty((23, 7), np.float32)
    intent.compile(csr_vector, target=target)(*compressed(dense), x[:, 0], y[:, 0])
    np.testing.assert_array_equal(y[:, 0], dense @ x[:, 0])
    intent.compile(csr_matrix, target=target)(*compressed(dense), x, y)
    np.testing.assert_array_equal(y, dense @ x)
