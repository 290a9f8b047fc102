"""Quantising rows to int8 as they come: a scale for each row from its greatest magnitude.

Two passes over a row in one kernel: a reduction, then pointwise arithmetic that uses it. Rounding to
the nearest is `floor(x + 0.5)`, halves upwards; the cast that clamps is `I.saturating_cast`, an
ordinary cast of what does not fit would be invalid. A zero row gets scale zero and must not divide.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def quantize_rows(
    x: I.In[I.f32, ("M", "K")],
    q: I.Out[I.i8, ("M", "K")],
    scale: I.Out[I.f32, ("M",)],
):
    for m in I.parallel(I.domain(0, x.shape[0])):
        row = x[m, :]
        peak = I.reduce.max(I.abs(row), axis=0)
        inverse = 127.0 / peak if peak > 0.0 else I.cast(0.0, I.f32)
        q[m, :] = I.saturating_cast(I.floor(row * inverse + 0.5), I.i8)
        scale[m] = peak / 127.0


def check(target=None):
    rng = np.random.default_rng(56)
    x = (rng.standard_normal((9, 83)) * 10.0 ** rng.integers(-3, 4, (9, 1))).astype(np.float32)
    x[4] = 0
    q, scale = intent.compile(quantize_rows, target=target).run(x)
    np.testing.assert_allclose(scale, np.abs(x).max(axis=1) / 127, rtol=1e-6)
    assert np.abs(q.astype(int)).max(axis=1).tolist() == [127] * 4 + [0] + [127] * 4
    assert (np.abs(q * scale[:, None].astype(np.float64) - x) <= 0.5001 * scale[:, None]).all()
