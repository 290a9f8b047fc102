"""Splatting points into an image: the nearest point wins each pixel.

Depth and colour are packed into one u64, depth on top, so one atomic minimum decides and carries the
colour along. The order of the points does not matter, which is what makes the kernel legal. A float's
bits order like its value where it is positive: `I.bitcast` reads them.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def splat(
    point: I.In[I.f32, ("N", 3)],
    color: I.In[I.u32, ("N",)],
    pixels: I.InOut[I.u64, ("H", "W")],
):
    H, W = pixels.shape
    for i in I.parallel(I.domain(0, point.shape[0])):
        depth = point[i, 2]
        if depth <= 0.0:
            continue
        column = I.floor((point[i, 0] / depth + 1.0) * 0.5 * I.cast(W, I.f32))
        row = I.floor((point[i, 1] / depth + 1.0) * 0.5 * I.cast(H, I.f32))
        if row >= 0.0 and row < I.cast(H, I.f32) and column >= 0.0 and column < I.cast(W, I.f32):
            packed = I.cast(I.bitcast(depth, I.u32), I.u64) << 32 | I.cast(color[i], I.u64)
            I.atomic.min(pixels, (I.cast(row, I.index), I.cast(column, I.index)), packed)


def check(target=None):
    rng = np.random.default_rng(38)
    point = (rng.standard_normal((500, 3)) + [0, 0, 2]).astype(np.float32)
    color = rng.integers(0, 2**32, 500, dtype=np.uint32)
    pixels = np.full((15, 21), 2**64 - 1, np.uint64)
    intent.compile(splat, target=target)(point, color, pixels)
    nearest = np.full((15, 21), np.inf)
    image = np.full((15, 21), 2**32 - 1, np.uint32)
    for (x, y, z), c in zip(point, color):
        if z <= 0:
            continue
        one, half = np.float32(1), np.float32(0.5)
        column = int(np.floor((x / z + one) * half * np.float32(21)))
        row = int(np.floor((y / z + one) * half * np.float32(15)))
        if 0 <= row < 15 and 0 <= column < 21 and z < nearest[row, column]:
            nearest[row, column], image[row, column] = z, c
    np.testing.assert_array_equal(pixels & 0xFFFFFFFF, image)
