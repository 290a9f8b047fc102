"""Rotary position embeddings: pairs of features turned by an angle that grows with the position.

Angles are an outer product of two index tensors, cast to float: no table, no memory. The features of a
pair lie half a row apart. The second half is written `half : half + half`, whose extent is provably that
of the first; `half : D` would have D - half features, another extent when D is odd.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def rotate(x: I.In[I.f32, ("T", "H", "D")], base: I.f32, out: I.Out[I.f32, ("T", "H", "D")]):
    T, _, D = x.shape
    half = D // 2
    position = I.cast(I.indices(I.domain(0, T)), I.f32)
    pair = I.cast(I.indices(I.domain(0, half)), I.f32)
    angle = position[:, None] * base ** (-2.0 * pair / I.cast(D, I.f32))
    cos, sin = I.cos(angle)[:, None], I.sin(angle)[:, None]  # [T, 1, D / 2]: the same for every head
    a, b = x[:, :, 0:half], x[:, :, half : half + half]
    out[:, :, 0:half] = a * cos - b * sin
    out[:, :, half : half + half] = a * sin + b * cos


def check(target=None):
    x = np.random.default_rng(61).standard_normal((13, 3, 10)).astype(np.float32)
    got = intent.compile(rotate, target=target).run(x, 10_000.0)
    turn = np.exp(1j * np.arange(13)[:, None] * 10_000.0 ** (-np.arange(5) / 5))[:, None]
    want = (x[..., :5] + 1j * x[..., 5:]) * turn
    np.testing.assert_allclose(got, np.concatenate([want.real, want.imag], axis=2), rtol=1e-4, atol=1e-5)
