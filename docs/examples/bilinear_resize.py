"""Bilinear resizing of an image with channels, half-pixel centres, any factor.

Where a target pixel looks is float arithmetic on coordinates; how far it lies between two rows is what
is left behind the floor. Four index tensors address the corners, and a channel axis simply stays: a
full slice beside index tensors.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def between(target, source):
    """For each target coordinate the lower and upper source coordinate, and how far between them."""
    at = I.cast(I.indices(I.domain(0, target)), I.f32)
    factor = I.cast(source, I.f32) / I.cast(target, I.f32)
    exact = I.maximum((at + 0.5) * factor - 0.5, 0.0)
    low = I.minimum(I.cast(exact, I.index), source - 1)
    return low, I.minimum(low + 1, source - 1), exact - I.cast(low, I.f32)


@intent.kernel
def resize(
    image: I.In[I.f32, ("H", "W", "C")],
    out: I.Out[I.f32, ("P", "Q", "C")],
):
    H, W, _ = image.shape
    P, Q, _ = out.shape
    top, bottom, down = between(P, H)
    left, right, across = between(Q, W)
    top = top[:, None]
    bottom = bottom[:, None]
    across = across[:, None]
    upper = image[top, left, :] * (1.0 - across) + image[top, right, :] * across
    lower = image[bottom, left, :] * (1.0 - across) + image[bottom, right, :] * across
    down = down[:, None, None]
    out[:, :, :] = upper * (1.0 - down) + lower * down


def weights(target, source):
    """The matrix that resizes one axis."""
    exact = np.maximum((np.arange(target) + 0.5) * source / target - 0.5, 0)
    low = np.minimum(exact.astype(int), source - 1)
    matrix = np.zeros((target, source))
    np.add.at(matrix, (np.arange(target), low), 1 - (exact - low))
    np.add.at(matrix, (np.arange(target), np.minimum(low + 1, source - 1)), exact - low)
    return matrix


def check(target=None):
    rng = np.random.default_rng(75)
    image = rng.random((13, 18, 3)).astype(np.float32)
    artifact = intent.compile(resize, target=target)
    for shape in ((29, 41, 3), (5, 7, 3), (13, 18, 3)):
        out = np.empty(shape, np.float32)
        artifact(image, out)
        want = np.einsum("ph,qw,hwc->pqc", weights(shape[0], 13), weights(shape[1], 18), image)
        np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-5)
