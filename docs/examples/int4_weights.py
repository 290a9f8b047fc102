"""A product with 4-bit weights, two to a byte, with a scale and a zero point for each group.

There is no 4-bit dtype: packed numbers travel in u8 and are unpacked with shifts and masks. Low and
high nibbles are joined on a new last axis, which a reshape makes neighbours of. The unpacked weights
are a value like any other, and no memory is asked for.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def int4_linear(
    x: I.In[I.f32, ("M", "K")],
    packed: I.In[I.u8, ("N", "G", 16)],
    scale: I.In[I.f16, ("N", "G")],
    zero: I.In[I.u8, ("N", "G")],
    y: I.Out[I.f32, ("M", "N")],
):
    N, G, _ = packed.shape
    M, K = x.shape
    byte = packed[:, :, :]
    code = I.reshape(I.join(byte & 15, byte >> 4), (N, G, 32))
    level = I.cast(I.cast(code, I.i8) - I.cast(zero[:, :], I.i8)[:, :, None], I.f32)
    weight = level * I.cast(scale[:, :], I.f32)[:, :, None]
    groups = I.reshape(x[:, :], (M, G, 32))
    y[:, :] = I.contract(groups, weight, reduce=((1, 1), (2, 2)), acc_dtype=I.f32)


def check(target=None):
    rng = np.random.default_rng(52)
    x = rng.standard_normal((7, 96)).astype(np.float32)
    code = rng.integers(0, 16, (11, 3, 32), dtype=np.uint8)
    packed = code[:, :, 0::2] | code[:, :, 1::2] << 4
    scale = rng.uniform(0.01, 0.1, (11, 3)).astype(np.float16)
    zero = rng.integers(0, 16, (11, 3), dtype=np.uint8)
    y = intent.compile(int4_linear, target=target).run(x, packed, scale, zero)
    weight = (code.astype(np.float64) - zero[:, :, None]) * scale[:, :, None]
    np.testing.assert_allclose(y, x @ weight.reshape(11, 96).T, rtol=1e-4, atol=1e-4)
