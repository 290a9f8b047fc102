"""An int8 matrix product with scales for each row and each column (W8A8).

Products of 8-bit integers are summed exactly in i32, because the contraction names its accumulator:
i8 with i8 into i32 is one operation. The scales meet the result as a column and as a row.
"""

import ml_dtypes
import numpy as np

import intent
import intent.language as I


@intent.kernel
def int8_matmul(
    x: I.In[I.i8, ("M", "K")],
    x_scale: I.In[I.f32, ("M",)],
    w: I.In[I.i8, ("N", "K")],
    w_scale: I.In[I.f32, ("N",)],
    bias: I.In[I.f32, ("N",)],
    y: I.Out[I.bf16, ("M", "N")],
):
    product = I.matmul(x[:, :], w[:, :], acc_dtype=I.i32, transpose_rhs=True)
    scaled = I.cast(product, I.f32) * x_scale[:, None] * w_scale[:] + bias[:]
    y[:, :] = I.cast(scaled, I.bf16)


def check(target=None):
    rng = np.random.default_rng(51)
    x, w = rng.integers(-128, 128, (13, 75), dtype=np.int8), rng.integers(-128, 128, (9, 75), dtype=np.int8)
    x_scale, w_scale = (
        rng.uniform(1e-3, 1e-2, 13).astype(np.float32),
        rng.uniform(1e-3, 1e-2, 9).astype(np.float32),
    )
    bias = rng.standard_normal(9).astype(np.float32)
    y = intent.compile(int8_matmul, target=target).run(x, x_scale, w, w_scale, bias)
    want = (x.astype(np.int64) @ w.T.astype(np.int64)) * x_scale[:, None].astype(np.float64) * w_scale + bias
    assert y.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(y.astype(np.float64), want, rtol=2.0**-8)
