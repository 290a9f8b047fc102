"""RMS norm with a residual, and its backward pass, in bf16 with f32 arithmetic.

Storage dtype and arithmetic dtype are different things: what is loaded as bf16 is cast to f32 once and
rounded once at the end. Nothing mixes dtypes by itself, so every rounding stands in the source. The
residual stream is updated in place.
"""

import ml_dtypes
import numpy as np

import intent
import intent.language as I


@intent.kernel
def add_rms_norm(
    x: I.In[I.bf16, ("M", "N")],
    residual: I.InOut[I.bf16, ("M", "N")],
    weight: I.In[I.bf16, ("N",)],
    epsilon: I.f32,
    y: I.Out[I.bf16, ("M", "N")],
):
    M, N = x.shape
    for m in I.parallel(I.domain(0, M)):
        total = I.cast(x[m, :], I.f32) + I.cast(residual[m, :], I.f32)
        residual[m, :] = I.cast(total, I.bf16)
        square = I.reduce.sum(total * total, axis=0) / I.cast(N, I.f32)
        y[m, :] = I.cast(total * I.rsqrt(square + epsilon) * I.cast(weight[:], I.f32), I.bf16)


@intent.kernel
def rms_norm_backward(
    grad: I.In[I.bf16, ("M", "N")],
    x: I.In[I.bf16, ("M", "N")],
    weight: I.In[I.bf16, ("N",)],
    epsilon: I.f32,
    grad_x: I.Out[I.bf16, ("M", "N")],
    grad_weight: I.Out[I.f32, ("N",)],
):
    count = I.cast(x.shape[1], I.f32)
    value = I.cast(x[:, :], I.f32)
    dy = I.cast(grad[:, :], I.f32)
    scale = I.rsqrt(I.reduce.sum(value * value, axis=1) / count + epsilon)[:, None]
    normal = value * scale
    inner = dy * I.cast(weight[:], I.f32)
    along = I.reduce.sum(inner * normal, axis=1) / count
    grad_x[:, :] = I.cast((inner - normal * along[:, None]) * scale, I.bf16)
    grad_weight[:] = I.reduce.sum(dy * normal, axis=0)


def check(target=None):
    rng = np.random.default_rng(62)

    def brain(*shape):
        return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)

    x, before, grad, weight = brain(7, 61), brain(7, 61), brain(7, 61), brain(61)
    residual = before.copy()
    y = intent.compile(add_rms_norm, target=target).run(x, residual, weight, 1e-6)
    total = x.astype(np.float64) + before.astype(np.float64)
    scale = 1 / np.sqrt((total**2).mean(axis=1, keepdims=True) + 1e-6)
    np.testing.assert_array_equal(
        residual, (x.astype(np.float32) + before.astype(np.float32)).astype(residual.dtype)
    )
    np.testing.assert_allclose(y.astype(np.float64), total * scale * weight.astype(np.float64), rtol=2.0**-8)

    backward = intent.compile(rms_norm_backward, target=target)
    grad_x, grad_weight = backward.run(grad, x, weight, 1e-6)
    value, dy = x.astype(np.float64), grad.astype(np.float64)
    scale = 1 / np.sqrt((value**2).mean(axis=1, keepdims=True) + 1e-6)
    normal, inner = value * scale, dy * weight.astype(np.float64)
    want = (inner - normal * (inner * normal).mean(axis=1, keepdims=True)) * scale
    np.testing.assert_allclose(grad_x.astype(np.float64), want, rtol=2.0**-8, atol=1e-5)
    np.testing.assert_allclose(grad_weight, (dy * normal).sum(axis=0), rtol=1e-4, atol=1e-4)
