"""Histogram equalisation of an 8-bit image.

Count, accumulate, look up: `I.histogram` counts, `I.cumsum` accumulates, and indexing a tensor by a
tensor of integers looks every pixel up. All four arguments of a histogram are required; here every
pixel is valid. Integers become floats only by a cast.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def equalize(
    image: I.In[I.u8, ("H", "W")],
    out: I.Out[I.u8, ("H", "W")],
    counts: I.Out[I.i32, (256,)],
):
    pixels = image[:, :]
    count = I.histogram(pixels, bins=256, valid=True, count_dtype=I.i32)
    below = I.cumsum(count, axis=0)
    darkest = I.reduce(I.select(below > 0, below, 2147483647), axis=0, identity=2147483647, combine=I.minimum)
    total = I.reduce.sum(count, axis=0)
    span = I.cast(I.maximum(total - darkest, 1), I.f32)
    level = I.cast(below - darkest, I.f32) / span * 255.0
    table = I.saturating_cast(I.floor(level + 0.5), I.u8)
    out[:, :] = table[pixels]
    counts[:] = count


def check(target=None):
    rng = np.random.default_rng(31)
    image = (rng.standard_normal((37, 53)) * 12 + 90).astype(np.uint8)
    out, counts = intent.compile(equalize, target=target).run(image)
    want = np.bincount(image.ravel(), minlength=256)
    np.testing.assert_array_equal(counts, want)
    below = np.cumsum(want)
    darkest = below[below > 0].min()
    level = ((below - darkest).astype(np.float32) / np.float32(image.size - darkest)) * np.float32(255)
    table = np.clip(np.floor(level + np.float32(0.5)), 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(out, table[image])
