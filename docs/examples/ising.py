"""The Ising model: Metropolis sweeps over the two colours of a checkerboard.

Cells of one colour do not neighbour each other, so they may all be flipped at once; the other colour
then sees the result. Randomness needs no state: sweep, colour and place make the counter. The lattice
is a buffer of i8, where -1 and 1 are spins.
"""

import numpy as np

import intent
import intent.language as I
from dropout import uniform


@intent.kernel
def metropolis(
    spin: I.InOut[I.i8, ("H", "W")],
    sweeps: I.index,
    beta: I.f32,
    seed: I.u64,
):
    H, W = spin.shape
    rows = I.indices(I.domain(0, H))[:, None]
    columns = I.indices(I.domain(0, W))[None, :]
    place = rows * W + columns
    lattice = I.buffer((H, W), I.i8, init=spin[:, :])
    for sweep in range(sweeps):
        for color in range(2):
            here = lattice[:, :]
            around = (
                lattice[(rows - 1) % H, columns]
                + lattice[(rows + 1) % H, columns]
                + lattice[rows, (columns - 1) % W]
                + lattice[rows, (columns + 1) % W]
            )
            cost = I.cast(2 * here * around, I.f32)
            drawn = I.random.uniform(seed, (sweep * 2 + color) * (H * W) + place)
            flips = ((rows + columns) % 2 == color) & (drawn < I.exp(-beta * cost))
            lattice[:, :] = I.select(flips, -here, here)
    spin[:, :] = lattice[:, :]


def check(target=None):
    rng = np.random.default_rng(85)
    spin = rng.choice(np.array([-1, 1], np.int8), (14, 18))  # even extents: a torus of two colours
    want = spin.copy()
    intent.compile(metropolis, target=target)(spin, 6, 0.3, 5)
    color = np.add.outer(np.arange(14), np.arange(18)) % 2
    for step in range(12):
        around = sum(np.roll(want, move, axis) for move in (1, -1) for axis in (0, 1))
        cost = (2 * want * around).astype(np.float32)
        drawn = uniform(5, step * want.size + np.arange(want.size)).reshape(want.shape)
        flips = (color == step % 2) & (drawn < np.exp(np.float32(-0.3) * cost))
        want = np.where(flips, -want, want)
    np.testing.assert_array_equal(spin, want)
