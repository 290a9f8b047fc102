"""A separable Gaussian blur of any radius, with clamped borders.

Coordinates are tensors that arithmetic may move: rows + tap, clamped to the image, index it. An index
tensor of shape [H, 1] and one of [1, W] pair up to [H, W]. The loop over taps is ordered and carries
the sum; the weights are computed where they are used.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def weight_of(tap, sigma):
    distance = I.cast(tap, I.f32) / sigma
    return I.exp(-0.5 * distance * distance)


@intent.fn
def clamp(at, extent):
    return I.minimum(I.maximum(at, 0), extent - 1)


@intent.kernel
def gaussian_blur(
    image: I.In[I.f32, ("H", "W")],
    sigma: I.f32,
    out: I.Out[I.f32, ("H", "W")],
    radius: I.Constexpr[int],
):
    H, W = image.shape
    rows = I.indices(I.domain(0, H))
    columns = I.indices(I.domain(0, W))
    across = I.zeros((H, W), I.f32)
    total = I.cast(0.0, I.f32)
    for tap in range(2 * radius + 1):
        weight = weight_of(tap - radius, sigma)
        across = across + weight * image[rows[:, None], clamp(columns + (tap - radius), W)[None, :]]
        total = total + weight
    down = I.zeros((H, W), I.f32)
    for tap in range(2 * radius + 1):
        down = down + weight_of(tap - radius, sigma) * across[clamp(rows + (tap - radius), H), :]
    out[:, :] = down / (total * total)


def check(target=None):
    rng = np.random.default_rng(71)
    image = rng.random((27, 35)).astype(np.float32)
    artifact = intent.compile(gaussian_blur, target=target, constexprs={"radius": 4})
    out = artifact.run(image, 1.7)
    weight = np.exp(-0.5 * (np.arange(-4, 5) / 1.7) ** 2)
    weight /= weight.sum()
    wide = np.pad(image.astype(np.float64), 4, mode="edge")
    across = sum(w * wide[:, tap : tap + 35] for tap, w in enumerate(weight))
    want = sum(w * across[tap : tap + 27] for tap, w in enumerate(weight))
    np.testing.assert_allclose(out, want, rtol=1e-5)
