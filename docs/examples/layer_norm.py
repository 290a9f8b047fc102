"""Layer norm and its backward pass.

The forward kernel writes what the backward needs, mean and reciprocal deviation, to Out views of its
own. Gradients of weight and bias sum over rows, the gradient of the input over columns: reductions of
one tensor along different axes, of which no author says how they are tiled.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def layer_norm(
    x: I.In[I.f32, ("M", "N")],
    weight: I.In[I.f32, ("N",)],
    bias: I.In[I.f32, ("N",)],
    epsilon: I.f32,
    y: I.Out[I.f32, ("M", "N")],
    mean: I.Out[I.f32, ("M",)],
    inverse: I.Out[I.f32, ("M",)],
):
    count = I.cast(x.shape[1], I.f32)
    value = x[:, :]
    center = I.reduce.sum(value, axis=1) / count
    moved = value - center[:, None]
    scale = I.rsqrt(I.reduce.sum(moved * moved, axis=1) / count + epsilon)
    y[:, :] = moved * scale[:, None] * weight[:] + bias[:]
    mean[:] = center
    inverse[:] = scale


@intent.kernel
def layer_norm_backward(
    grad: I.In[I.f32, ("M", "N")],
    x: I.In[I.f32, ("M", "N")],
    weight: I.In[I.f32, ("N",)],
    mean: I.In[I.f32, ("M",)],
    inverse: I.In[I.f32, ("M",)],
    grad_x: I.Out[I.f32, ("M", "N")],
    grad_weight: I.Out[I.f32, ("N",)],
    grad_bias: I.Out[I.f32, ("N",)],
):
    count = I.cast(x.shape[1], I.f32)
    dy = grad[:, :]
    normal = (x[:, :] - mean[:][:, None]) * inverse[:][:, None]
    inner = dy * weight[:]
    along = I.reduce.sum(inner * normal, axis=1) / count
    across = I.reduce.sum(inner, axis=1) / count
    grad_x[:, :] = (inner - across[:, None] - normal * along[:, None]) * inverse[:][:, None]
    grad_weight[:] = I.reduce.sum(dy * normal, axis=0)
    grad_bias[:] = I.reduce.sum(dy, axis=0)


def check(target=None):
    rng = np.random.default_rng(61)
    x, grad = rng.standard_normal((2, 11, 77)).astype(np.float32) * 2 + 1
    weight, bias = rng.standard_normal((2, 77)).astype(np.float32)
    y, mean, inverse = intent.compile(layer_norm, target=target).run(x, weight, bias, 1e-5)
    wide = x.astype(np.float64)
    scale = 1 / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    normal = (wide - wide.mean(axis=1, keepdims=True)) * scale
    np.testing.assert_allclose(y, normal * weight + bias, rtol=1e-4, atol=1e-5)

    backward = intent.compile(layer_norm_backward, target=target)
    grad_x, grad_weight, grad_bias = backward.run(grad, x, weight, mean, inverse)
    inner = grad * weight.astype(np.float64)
    along, across = (inner * normal).mean(axis=1, keepdims=True), inner.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(grad_x, (inner - across - normal * along) * scale, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(grad_weight, (grad * normal).sum(axis=0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(grad_bias, grad.sum(axis=0), rtol=1e-4, atol=1e-4)
