"""A sparse matrix in coordinates times a dense one, entries in any order.

Every entry contributes one row of the product, and entries of equal row meet: a reducing scatter. The
rows that they scale are gathered by indexing with the tensor of columns. Duplicate entries are legal.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def coo_matrix(
    row: I.In[I.i32, ("Z",)],
    column: I.In[I.i32, ("Z",)],
    value: I.In[I.f32, ("Z",)],
    x: I.In[I.f32, ("N", "R")],
    y: I.InOut[I.f32, ("M", "R")],
):
    part = value[:, None] * x[column[:], :]
    I.scatter_reduce(y, (row[:], slice(None)), part, combine=I.add)


def check(target=None):
    rng = np.random.default_rng(40)
    row, column = rng.integers(0, 19, 90, dtype=np.int32), rng.integers(0, 25, 90, dtype=np.int32)
    value, x = rng.integers(-9, 10, 90).astype(np.float32), rng.integers(-9, 10, (25, 6)).astype(np.float32)
    y = np.zeros((19, 6), np.float32)
    intent.compile(coo_matrix, target=target)(row, column, value, x, y)
    dense = np.zeros((19, 25), np.float32)
    np.add.at(dense, (row, column), value)
    np.testing.assert_array_equal(y, dense @ x)
