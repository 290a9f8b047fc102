"""Longest common subsequence, with the members that it keeps.

A table of two axes in a buffer, then a walk back through it: a `while` loop whose `and` looks at its
right side only where the left is true, as in Python. What the loop changes, here `i` and `j`, is
carried from one iteration to the next by being assigned.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def common_subsequence(
    first: I.In[I.i32, ("B", "M")],
    second: I.In[I.i32, ("B", "N")],
    length: I.Out[I.i32, ("B",)],
    kept: I.Out[I.bool, ("B", "M")],
):
    B, M = first.shape
    N = second.shape[1]
    for b in I.parallel(I.domain(0, B)):
        best = I.buffer((M + 1, N + 1), I.i32, init=I.zeros((M + 1, N + 1), I.i32))
        for i in range(M):
            for j in range(N):
                if first[b, i] == second[b, j]:
                    best[i + 1, j + 1] = best[i, j] + 1
                else:
                    best[i + 1, j + 1] = I.maximum(best[i, j + 1], best[i + 1, j])
        length[b] = best[M, N]
        kept[b, :] = I.full((M,), False, dtype=I.bool)
        i = M
        j = N
        while i > 0 and j > 0:
            if first[b, i - 1] == second[b, j - 1]:
                kept[b, i - 1] = True
                i = i - 1
                j = j - 1
            elif best[i - 1, j] >= best[i, j - 1]:
                i = i - 1
            else:
                j = j - 1


def longest(first, second):
    row = [0] * (len(second) + 1)
    for a in first:
        new = [0]
        for j, b in enumerate(second):
            new.append(row[j] + 1 if a == b else max(row[j + 1], new[j]))
        row = new
    return row[-1]


def is_subsequence(part, whole):
    rest = iter(whole)
    return all(any(member == other for other in rest) for member in part)


def check(target=None):
    rng = np.random.default_rng(2)
    first = rng.integers(0, 4, (5, 23), dtype=np.int32)
    second = rng.integers(0, 4, (5, 19), dtype=np.int32)
    second[3] = 9  # nothing in common
    length, kept = intent.compile(common_subsequence, target=target).run(first, second)
    np.testing.assert_array_equal(length, [longest(a, b) for a, b in zip(first, second)])
    np.testing.assert_array_equal(kept.sum(axis=1), length)
    assert all(is_subsequence(a[k], b) for a, b, k in zip(first, second, kept))
