"""A stable radix sort of 32-bit keys, four bits at a time.

A pass counts the digits, gives every digit its first place, and every key its rank among equal digits:
the rank is an exclusive running count of a one-hot matrix. The places are a permutation, so
`I.scatter_unique` may write them: that no two members meet is the author's promise. The passes are a
loop of the kernel; a buffer holds the keys between them.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def radix_sort(
    keys: I.In[I.u32, ("N",)],
    out: I.Out[I.u32, ("N",)],
):
    N = keys.shape[0]
    digits = I.cast(I.indices(I.domain(0, 16)), I.u32)
    work = I.buffer((N,), I.u32, init=keys[:])
    for step in range(8):
        key = work[:]
        digit = (key >> I.cast(4 * step, I.u32)) & 15
        count = I.histogram(digit, bins=16, valid=True, count_dtype=I.i32)
        first = I.cumsum(count, axis=0, inclusive=False)
        same = I.cast(digit[:, None] == digits[None, :], I.i32)
        rank = I.reduce.sum(same * I.cumsum(same, axis=0, inclusive=False), axis=1)
        I.scatter_unique(work, first[digit] + rank, key)
    out[:] = work[:]


def check(target=None):
    rng = np.random.default_rng(35)
    keys = rng.integers(0, 2**32, 131, dtype=np.uint32)
    keys[:40] &= 0xFF
    out = intent.compile(radix_sort, target=target).run(keys)
    np.testing.assert_array_equal(out, np.sort(keys))
