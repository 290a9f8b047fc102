"""Levenshtein distance of pairs of words.

Dynamic programming with one row of the table: a buffer is the kernel's own mutable storage, and an
ordinary loop runs strictly in order, so the row may be overwritten while it is read. Words of a
batch have their own lengths: a loop bound may be data. The pairs are independent of each other,
which `I.parallel` says.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def edit_distance(
    first: I.In[I.u8, ("B", "M")],
    first_length: I.In[I.i32, ("B",)],
    second: I.In[I.u8, ("B", "N")],
    second_length: I.In[I.i32, ("B",)],
    distance: I.Out[I.i32, ("B",)],
):
    B = first.shape[0]
    N = second.shape[1]
    for b in I.parallel(I.domain(0, B)):
        rows = I.cast(first_length[b], I.index)
        columns = I.cast(second_length[b], I.index)
        row = I.buffer((N + 1,), I.i32, init=I.cast(I.indices(I.domain(0, N + 1)), I.i32))
        for i in range(rows):
            diagonal = row[0]
            row[0] = I.cast(i + 1, I.i32)
            for j in range(columns):
                above = row[j + 1]
                replaced = diagonal + I.cast(first[b, i] != second[b, j], I.i32)
                row[j + 1] = I.minimum(replaced, I.minimum(above, row[j]) + 1)
                diagonal = above
        distance[b] = row[columns]


def levenshtein(first, second):
    table = np.zeros((len(first) + 1, len(second) + 1), dtype=np.int32)
    table[:, 0] = np.arange(len(first) + 1)
    table[0] = np.arange(len(second) + 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            table[i + 1, j + 1] = min(table[i, j] + (a != b), table[i, j + 1] + 1, table[i + 1, j] + 1)
    return table[-1, -1]


def batch(words):
    """Words of one batch as bytes, padded with zeros, and their lengths."""
    lengths = np.array([len(word) for word in words], dtype=np.int32)
    letters = np.zeros((len(words), lengths.max()), dtype=np.uint8)
    for row, word in zip(letters, words):
        row[: len(word)] = np.frombuffer(word.encode(), dtype=np.uint8)
    return letters, lengths


def check(target=None):
    first = ["kitten", "flaw", "", "intention", "same", "abcdefghijk"]
    second = ["sitting", "lawn", "empty", "execution", "same", "bdfhj"]
    artifact = intent.compile(edit_distance, target=target)
    distance = artifact.run(*batch(first), *batch(second))
    np.testing.assert_array_equal(distance, [levenshtein(a, b) for a, b in zip(first, second)])
