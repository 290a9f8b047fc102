"""The heat equation on a plate with fixed borders, until it hardly changes.

The inside of the plate is a pair of subregions, `rows[1 : H - 1]` and its like, and its neighbours are
the same regions moved by one: slices with bounds. The buffer is written from values that were read
before, so a step cannot see itself. A reduction over the change ends the loop.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def settle(
    plate: I.InOut[I.f64, ("H", "W")],
    rate: I.f64,
    tolerance: I.f64,
    limit: I.i64,
    steps: I.Out[I.i64, ()],
):
    H, W = plate.shape
    rows = I.domain(0, H)[1 : H - 1]
    columns = I.domain(0, W)[1 : W - 1]
    count = I.cast(0, I.i64)
    change = tolerance + 1.0
    while change > tolerance and count < limit:
        here = plate[rows, columns]
        around = plate[0 : H - 2, columns] + plate[2:H, columns] + plate[rows, 0 : W - 2] + plate[rows, 2:W]
        moved = rate * (around - 4.0 * here)
        plate[rows, columns] = here + moved
        change = I.reduce.max(I.abs(moved), axis=(0, 1))
        count = count + 1
    steps[()] = count


def check(target=None):
    rng = np.random.default_rng(83)
    plate = np.zeros((13, 19))
    plate[0], plate[-1], plate[:, 0] = 1, rng.random(19), 0.5
    want, change, count = plate.copy(), 1.0, 0
    steps = intent.compile(settle, target=target).run(plate, 0.2, 1e-4, 1000)
    while change > 1e-4:
        inner = want[1:-1, 1:-1]
        moved = 0.2 * (want[:-2, 1:-1] + want[2:, 1:-1] + want[1:-1, :-2] + want[1:-1, 2:] - 4 * inner)
        want[1:-1, 1:-1] = inner + moved
        change, count = np.abs(moved).max(), count + 1
    assert steps == count
    np.testing.assert_allclose(plate, want, rtol=1e-12, atol=1e-12)
