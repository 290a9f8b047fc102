"""The median of every row without sorting it (Hoare's selection).

Scalar control flow: `while` inside `while`, `break`, and a buffer that is partitioned in place. Loop
state needs the right dtype from the start: `I.cast(0, I.index)` is a coordinate, a bare `0` would be
an i64.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def row_median(
    x: I.In[I.f32, ("M", "N")],
    median: I.Out[I.f32, ("M",)],
):
    M, N = x.shape
    wanted = N // 2
    for m in I.parallel(I.domain(0, M)):
        work = I.buffer((N,), I.f32, init=x[m, :])
        low = I.cast(0, I.index)
        high = N - 1
        while low < high:
            pivot = work[(low + high) // 2]
            i = low
            j = high
            while i <= j:
                while work[i] < pivot:
                    i = i + 1
                while work[j] > pivot:
                    j = j - 1
                if i <= j:
                    moved = work[i]
                    work[i] = work[j]
                    work[j] = moved
                    i = i + 1
                    j = j - 1
            if wanted <= j:
                high = j
            elif wanted >= i:
                low = i
            else:
                break
        median[m] = work[wanted]


def check(target=None):
    rng = np.random.default_rng(6)
    x = rng.standard_normal((7, 51)).astype(np.float32)
    x[1] = np.arange(51)
    x[2] = rng.integers(0, 3, 51)
    x[3] = 1
    median = intent.compile(row_median, target=target).run(x)
    np.testing.assert_array_equal(median, np.sort(x, axis=1)[:, 51 // 2])
