"""A bilateral filter: a blur that respects edges.

Every pixel weighs its neighbours by distance and by difference of value, so the weights are data. The
parallel loop says that pixels are independent; inside, a subregion of rows and one of columns, cut at
the borders of the image, name the neighbourhood, whose size differs from pixel to pixel.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def bilateral(
    image: I.In[I.f32, ("H", "W")],
    radius: I.index,
    reach: I.f32,
    contrast: I.f32,
    out: I.Out[I.f32, ("H", "W")],
):
    H, W = image.shape
    rows = I.domain(0, H)
    columns = I.domain(0, W)
    for i, j in I.parallel((rows, columns)):
        down = rows[I.maximum(i - radius, 0) : I.minimum(i + radius + 1, H)]
        across = columns[I.maximum(j - radius, 0) : I.minimum(j + radius + 1, W)]
        near = image[down, across]
        y = I.cast(I.indices(down) - i, I.f32)[:, None]
        x = I.cast(I.indices(across) - j, I.f32)[None, :]
        unlike = (near - image[i, j]) / contrast
        weight = I.exp(-0.5 * ((x * x + y * y) / (reach * reach) + unlike * unlike))
        out[i, j] = I.reduce.sum(weight * near, axis=(0, 1)) / I.reduce.sum(weight, axis=(0, 1))


def check(target=None):
    rng = np.random.default_rng(73)
    image = (rng.random((17, 22)) + (np.arange(22) > 10) * 5).astype(np.float32)
    out = intent.compile(bilateral, target=target).run(image, 3, 1.5, 0.4)
    wide, want = image.astype(np.float64), np.empty((17, 22))
    for i in range(17):
        for j in range(22):
            down, across = np.arange(max(i - 3, 0), min(i + 4, 17)), np.arange(max(j - 3, 0), min(j + 4, 22))
            near = wide[np.ix_(down, across)]
            apart = (down[:, None] - i) ** 2 + (across - j) ** 2
            weight = np.exp(-0.5 * (apart / 1.5**2 + ((near - wide[i, j]) / 0.4) ** 2))
            want[i, j] = (weight * near).sum() / weight.sum()
    np.testing.assert_allclose(out, want, rtol=1e-4)
