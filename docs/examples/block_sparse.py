"""A block sparse matrix (BSR) times a dense one.

The blocks of a block row, and the blocks of the right side that they meet, are gathered; then one
contraction sums over both the blocks and the columns inside them: `reduce` pairs axes of the two sides,
any number of them. Free axes of the left come first in the result, then those of the right.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def block_sparse_matmul(
    pointer: I.In[I.i32, ("R1",)],
    column: I.In[I.i32, ("Z",)],
    block: I.In[I.f32, ("Z", "A", "C")],
    x: I.In[I.f32, ("K", "C", "N")],
    y: I.Out[I.f32, ("R", "A", "N")],
):
    start = I.cast(pointer[:], I.index)
    blocks = I.domain(0, block.shape[0])
    for r in I.parallel(I.domain(0, y.shape[0])):
        own = blocks[start[r] : start[r + 1]]
        y[r, :, :] = I.contract(
            block[own, :, :], x[column[own], :, :], reduce=((0, 0), (2, 1)), acc_dtype=I.f32
        )


def check(target=None):
    rng = np.random.default_rng(42)
    present = rng.random((6, 5)) < 0.4
    present[2] = False
    rows, columns = np.nonzero(present)
    block = rng.integers(-9, 10, (len(rows), 3, 4)).astype(np.float32)
    x = rng.integers(-9, 10, (5, 4, 7)).astype(np.float32)
    start = np.searchsorted(rows, np.arange(7)).astype(np.int32)
    y = np.empty((6, 3, 7), np.float32)
    intent.compile(block_sparse_matmul, target=target)(start, columns.astype(np.int32), block, x, y)
    dense = np.zeros((6, 3, 5, 4), np.float32)
    dense[rows, :, columns] = block
    np.testing.assert_array_equal(y.reshape(18, 7), dense.reshape(18, 20) @ x.reshape(20, 7))
