"""Conway's Game of Life on a torus, for any number of generations.

The neighbours of a cell are reached by coordinates modulo the extent: `%` has the sign of the divisor,
so one to the left of column 0 is the last column. The state is a bool tensor that the loop carries; it
is counted as integers and compared back to bool.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def life(
    cells: I.InOut[I.bool, ("H", "W")],
    generations: I.index,
):
    H, W = cells.shape
    rows = I.indices(I.domain(0, H))
    columns = I.indices(I.domain(0, W))
    alive = cells[:, :]
    for _ in range(generations):
        count = I.cast(alive, I.i32)
        across = count[:, (columns - 1) % W] + count + count[:, (columns + 1) % W]
        around = across[(rows - 1) % H, :] + across + across[(rows + 1) % H, :] - count
        alive = (around == 3) | (alive & (around == 2))
    cells[:, :] = alive


def check(target=None):
    rng = np.random.default_rng(82)
    cells = rng.random((23, 31)) < 0.4
    want = cells.copy()
    intent.compile(life, target=target)(cells, 17)
    for _ in range(17):
        moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        around = sum(np.roll(want, move, axis=(0, 1)).astype(int) for move in moves)
        want = (around == 3) | (want & (around == 2))
    np.testing.assert_array_equal(cells, want)
