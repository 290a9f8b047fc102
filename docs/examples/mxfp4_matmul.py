"""A microscaled FP4 product: quantising activations to MXFP4, and `I.scaled_matmul`.

Blocks of 32 share a power of two as their scale, a byte; elements are e2m1, two to a byte with the
earlier in the low nibble. The format has eight magnitudes, so quantising is counting how many midpoints
a number lies beyond. The product decodes, scales and sums: the formats are operands of the operation.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def quantize_mxfp4(
    x: I.In[I.f32, ("M", "K")],
    code: I.Out[I.u8, ("M", "G", 16)],
    scale: I.Out[I.u8, ("M", "G")],
):
    M, G, _ = code.shape
    block = I.reshape(x[:, :], (M, G, 32))
    peak = I.reduce.max(I.abs(block), axis=2)
    # The exponent of the peak, less 2, so that the peak lies in [4, 8) steps: e8m0 stores it as a byte.
    exponent = I.cast(I.bitcast(peak, I.u32) >> 23, I.i32) - 2
    biased = I.maximum(exponent, 1)
    scale[:, :] = I.cast(biased, I.u8)
    step = I.bitcast(I.cast(biased, I.u32) << 23, I.f32)
    size = I.abs(block) / step[:, :, None]
    # How many midpoints lie below; a tie goes to the even code.
    level = (
        I.cast(size > 0.25, I.u8)
        + I.cast(size >= 0.75, I.u8)
        + I.cast(size > 1.25, I.u8)
        + I.cast(size >= 1.75, I.u8)
        + I.cast(size > 2.5, I.u8)
        + I.cast(size >= 3.5, I.u8)
        + I.cast(size > 5.0, I.u8)
    )
    element = I.reshape(level | I.select(block < 0.0, I.cast(8, I.u8), 0), (M, G, 16, 2))
    code[:, :, :] = element[:, :, :, 0] | element[:, :, :, 1] << 4


@intent.kernel
def mxfp4_matmul(
    x: I.In[I.u8, ("M", "G", 16)],
    x_scale: I.In[I.u8, ("M", "G")],
    w: I.In[I.u8, ("G", 16, "N")],
    w_scale: I.In[I.u8, ("N", "G")],
    y: I.Out[I.f32, ("M", "N")],
):
    y[:, :] = I.scaled_matmul(
        x[:, :, :],
        x_scale[:, :],
        w[:, :, :],
        w_scale[:, :],
        lhs_format=I.e2m1,
        rhs_format=I.e2m1,
        group_size=32,
        acc_dtype=I.f32,
    )


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def decoded(code, scale):
    """Values [rows, groups, 32] of codes [rows, groups, 16]."""
    element = np.stack([E2M1[code & 15], E2M1[code >> 4]], axis=3).reshape(*code.shape[:2], 32)
    return element * 2.0 ** (scale[:, :, None].astype(float) - 127)


def check(target=None):
    rng = np.random.default_rng(55)
    x = rng.standard_normal((5, 64)).astype(np.float32)
    x[2, :32] = 0
    code, scale = np.empty((5, 2, 16), np.uint8), np.empty((5, 2), np.uint8)
    intent.compile(quantize_mxfp4, target=target)(x, code, scale)
    values = decoded(code, scale)
    block = x.reshape(5, 2, 32).astype(np.float64)
    step = 2.0 ** (scale[:, :, None].astype(float) - 127)
    nearest = np.abs(block[..., None] - E2M1 * step[..., None]).min(axis=3)
    np.testing.assert_array_equal(np.abs(block - values), nearest)

    w, w_scale = rng.integers(0, 256, (7, 2, 16), np.uint8), rng.integers(120, 130, (7, 2), np.uint8)
    packed = np.ascontiguousarray(w.transpose(1, 2, 0))
    y = intent.compile(mxfp4_matmul, target=target).run(code, scale, packed, w_scale)
    want = np.einsum("mgk,ngk->mn", values, decoded(w, w_scale))
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)
