"""An FP8 matrix product with one scale for each block of 32 along the sum.

Elements are f8e4m3fn and are multiplied as such; each block of the sum accumulates in f32 and is scaled
before it is added to the rest. The block is an axis that a reshape makes, and batch pairs of the
contraction keep it apart: result axes are those of the left, batch included, then those of the right.
"""

import ml_dtypes
import numpy as np

import intent
import intent.language as I


@intent.kernel
def fp8_matmul(
    x: I.In[I.f8e4m3fn, ("M", "G", 32)],
    x_scale: I.In[I.f32, ("M", "G")],
    w: I.In[I.f8e4m3fn, ("N", "G", 32)],
    w_scale: I.In[I.f32, ("N", "G")],
    y: I.Out[I.f32, ("M", "N")],
):
    part = I.contract(x[:, :, :], w[:, :, :], reduce=((2, 2),), batch=((1, 1),), acc_dtype=I.f32)
    scale = x_scale[:, :, None] * I.transpose(w_scale[:, :])
    y[:, :] = I.reduce.sum(part * scale, axis=1)


def check(target=None):
    rng = np.random.default_rng(54)
    x = rng.standard_normal((11, 3, 32)).astype(ml_dtypes.float8_e4m3fn)
    w = rng.standard_normal((6, 3, 32)).astype(ml_dtypes.float8_e4m3fn)
    x_scale = rng.uniform(0.1, 2, (11, 3)).astype(np.float32)
    w_scale = rng.uniform(0.1, 2, (6, 3)).astype(np.float32)
    y = intent.compile(fp8_matmul, target=target).run(x, x_scale, w, w_scale)
    left = x.astype(np.float64) * x_scale[:, :, None]
    right = w.astype(np.float64) * w_scale[:, :, None]
    np.testing.assert_allclose(y, np.einsum("mgk,ngk->mn", left, right), rtol=1e-4, atol=1e-4)
