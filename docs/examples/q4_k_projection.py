"""A projection with q4_k weights, the format of many local language models.

The activations are quantised once, to q8_k records of 256 members, and every output row uses them: one
preparation, many dots. Records travel as bytes; `I.quantize` and `I.quantized_dot` know their layout
and round exactly as the format says, so results are equal on every target, bit for bit.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def q4_k_projection(
    x: I.In[I.f32, ("G", 256)],
    weight: I.In[I.u8, ("N", "G", 144)],
    y: I.Out[I.f32, ("N",)],
):
    record = I.quantize(x[:, :], format=I.quant.q8_k)
    for n in I.parallel(I.domain(0, weight.shape[0])):
        y[n] = I.quantized_dot(
            weight[n, :, :], record, lhs_format=I.quant.q4_k, rhs_format=I.quant.q8_k, acc_dtype=I.f32
        )


def dequantized(record):
    """The 256 weights of a q4_k record."""
    d, dmin = record[:4].view("<f2").astype(np.float64)
    low, high, rest = record[4:8], record[8:12], record[12:16]
    scale = np.concatenate([low & 63, (rest & 15) | (low >> 6) << 4])
    least = np.concatenate([high & 63, (rest >> 4) | (high >> 6) << 4])
    byte = record[16:].reshape(4, 32)
    q = np.stack([byte & 15, byte >> 4], axis=1).reshape(8, 32)
    return (d * scale[:, None] * q - dmin * least[:, None]).ravel()


def check(target=None):
    rng = np.random.default_rng(53)
    x = rng.standard_normal((3, 256)).astype(np.float32)
    weight = rng.integers(0, 256, (7, 3, 144), dtype=np.uint8)
    weight[:, :, :4] = rng.uniform(0.001, 0.01, (7, 3, 2)).astype("<f2").view(np.uint8)
    y = intent.compile(q4_k_projection, target=target).run(x, weight)

    extreme = np.take_along_axis(x, np.abs(x).argmax(axis=1)[:, None], axis=1)
    step = extreme / -127
    rounded = np.clip(np.rint(x / step), -128, 127) * step.astype(np.float64)
    rows = np.array([[dequantized(record) for record in row] for row in weight])
    np.testing.assert_allclose(y, (rows * rounded).sum(axis=(1, 2)), rtol=1e-3, atol=1e-2)
