"""A 3x3 median filter, by a network of nineteen exchanges.

The nine neighbours are tensors of the whole image, and an exchange is a minimum and a maximum of two
of them: no element is compared by a branch. A helper returns several values as a tuple. Names are
rebound freely in straight-line code; nothing is overwritten, tensors are values.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def ordered(a, b):
    return I.minimum(a, b), I.maximum(a, b)


@intent.fn
def sorted_three(a, b, c):
    a, b = ordered(a, b)
    b, c = ordered(b, c)
    a, b = ordered(a, b)
    return a, b, c


@intent.fn
def moved(image, down, right):
    """Neighbours, where the border repeats the last pixel."""
    H, W = image.shape
    row = I.minimum(I.maximum(I.indices(I.domain(0, H)) + down, 0), H - 1)
    column = I.minimum(I.maximum(I.indices(I.domain(0, W)) + right, 0), W - 1)
    return image[row[:, None], column[None, :]]


@intent.kernel
def median(
    image: I.In[I.u8, ("H", "W")],
    out: I.Out[I.u8, ("H", "W")],
):
    low_a, mid_a, high_a = sorted_three(moved(image, -1, -1), moved(image, 0, -1), moved(image, 1, -1))
    low_b, mid_b, high_b = sorted_three(moved(image, -1, 0), moved(image, 0, 0), moved(image, 1, 0))
    low_c, mid_c, high_c = sorted_three(moved(image, -1, 1), moved(image, 0, 1), moved(image, 1, 1))
    low = I.maximum(I.maximum(low_a, low_b), low_c)
    high = I.minimum(I.minimum(high_a, high_b), high_c)
    _, mid, _ = sorted_three(mid_a, mid_b, mid_c)
    _, middle, _ = sorted_three(low, mid, high)
    out[:, :] = middle


def check(target=None):
    rng = np.random.default_rng(74)
    image = rng.integers(0, 256, (19, 31), dtype=np.uint8)
    out = intent.compile(median, target=target).run(image)
    padded = np.pad(image, 1, mode="edge")
    near = [padded[i : i + 19, j : j + 31] for i in range(3) for j in range(3)]
    np.testing.assert_array_equal(out, np.median(near, axis=0).astype(np.uint8))
