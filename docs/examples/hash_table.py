"""A hash table that all points of a parallel loop fill at once.

Compare-and-exchange claims a slot: it succeeds for one point only and tells everybody else who was
there. Its result is a record of the old value and the success. No memory scope is named and no lock
is possible: points of a parallel loop need not run at the same time, so nobody may wait for another.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def slot_of(key, size):
    mixed = key * 2654435761  # Knuth's multiplicative hash; u32 wraps
    return I.cast(mixed >> 16, I.index) % size


@intent.kernel
def count_words(
    key: I.In[I.u32, ("N",)],
    slots: I.InOut[I.u32, ("S",)],
    count: I.InOut[I.i32, ("S",)],
):
    S = slots.shape[0]
    for i in I.parallel(I.domain(0, key.shape[0])):
        at = slot_of(key[i], S)
        placed = False
        while not placed:
            seen = I.atomic.compare_exchange(slots, at, 0, key[i], order="acq_rel")
            placed = seen.success | (seen.old_value == key[i])
            if not placed:
                at = (at + 1) % S
        I.atomic.add(count, at, 1)


def check(target=None):
    rng = np.random.default_rng(37)
    words = rng.integers(1, 2**32, 60, dtype=np.uint32)
    key = words[rng.integers(0, 60, 400)]
    slots, count = np.zeros(97, np.uint32), np.zeros(97, np.int32)
    intent.compile(count_words, target=target)(key, slots, count)
    found = {int(k): int(n) for k, n in zip(slots, count) if n}
    assert found == {int(k): int(n) for k, n in zip(*np.unique(key, return_counts=True))}
