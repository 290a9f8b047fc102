"""Sobel edges: magnitude and direction class of the gradient.

Neighbours are gathers with `valid`: outside the image no memory is touched and the fill counts, here
zero. Helpers take views and tensors alike, because they are typed where they are used. Directions are
compared, not computed: there is no arc tangent in the language, and none is needed.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def moved(image, down, right):
    H, W = image.shape
    row = I.indices(I.domain(0, H))[:, None] + down
    column = I.indices(I.domain(0, W))[None, :] + right
    inside = (row >= 0) & (row < H) & (column >= 0) & (column < W)
    return I.gather(image, (row, column), valid=inside)


@intent.kernel
def sobel(
    image: I.In[I.f32, ("H", "W")],
    magnitude: I.Out[I.f32, ("H", "W")],
    direction: I.Out[I.u8, ("H", "W")],
):
    right = moved(image, -1, 1) + 2.0 * moved(image, 0, 1) + moved(image, 1, 1)
    left = moved(image, -1, -1) + 2.0 * moved(image, 0, -1) + moved(image, 1, -1)
    below = moved(image, 1, -1) + 2.0 * moved(image, 1, 0) + moved(image, 1, 1)
    above = moved(image, -1, -1) + 2.0 * moved(image, -1, 0) + moved(image, -1, 1)
    x = right - left
    y = below - above
    magnitude[:, :] = I.sqrt(x * x + y * y)
    # 0: nothing, 1: mostly horizontal, 2: mostly vertical.
    steep = I.abs(y) > I.abs(x)
    direction[:, :] = I.cast(I.select((x == 0.0) & (y == 0.0), 0, I.select(steep, 2, 1)), I.u8)


def check(target=None):
    rng = np.random.default_rng(72)
    image = rng.integers(0, 50, (21, 33)).astype(np.float32)
    image[5:10, 5:12] = 7  # flat: no direction
    magnitude, direction = intent.compile(sobel, target=target).run(image)
    padded = np.pad(image, 1)
    smooth = padded[:-2] + 2 * padded[1:-1] + padded[2:]
    x = smooth[:, 2:] - smooth[:, :-2]
    smooth = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
    y = smooth[2:] - smooth[:-2]
    np.testing.assert_allclose(magnitude, np.sqrt(x * x + y * y), rtol=1e-6)
    np.testing.assert_array_equal(
        direction, np.where((x == 0) & (y == 0), 0, np.where(abs(y) > abs(x), 2, 1))
    )
