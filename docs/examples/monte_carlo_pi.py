"""Pi by throwing darts, and how sure of it one may be.

A dart is two random numbers, and its counter is its number: the sum over a million of them needs no
memory, because random numbers, comparisons and reduction are one expression over coordinates. The same
seed gives the same darts on every target, in whatever order they are thrown.
"""

import numpy as np

import intent
import intent.language as I
from dropout import uniform


@intent.kernel
def throw_darts(
    darts: I.index,
    seed: I.u64,
    inside: I.Out[I.i64, ()],
    pi: I.Out[I.f64, ()],
):
    counter = I.indices(I.domain(0, darts))
    x = I.random.uniform(seed, 2 * counter)
    y = I.random.uniform(seed, 2 * counter + 1)
    hits = I.reduce.sum(I.cast(x * x + y * y < 1.0, I.i64), axis=0)
    inside[()] = hits
    pi[()] = 4.0 * I.cast(hits, I.f64) / I.cast(darts, I.f64)


def check(target=None):
    inside, pi = intent.compile(throw_darts, target=target).run(20_000, 2024)
    x = uniform(2024, np.arange(0, 40_000, 2)).astype(np.float64)
    y = uniform(2024, np.arange(1, 40_000, 2)).astype(np.float64)
    assert abs(int(inside) - np.count_nonzero(x * x + y * y < 1)) <= 1  # a dart within rounding of the edge
    assert pi == 4 * int(inside) / 20_000
    assert abs(pi - np.pi) < 0.05
