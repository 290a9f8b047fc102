"""Batch norm: a training step with running statistics, and its backward pass.

Running mean and variance are InOut views that the step moves. A constexpr bool chooses between the
statistics of the batch and the running ones; the branch that is not chosen is checked, too, and then
costs nothing. Both branches define what follows uses.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def batch_norm(
    x: I.In[I.f32, ("M", "C")],
    weight: I.In[I.f32, ("C",)],
    bias: I.In[I.f32, ("C",)],
    running_mean: I.InOut[I.f32, ("C",)],
    running_variance: I.InOut[I.f32, ("C",)],
    momentum: I.f32,
    epsilon: I.f32,
    y: I.Out[I.f32, ("M", "C")],
    training: I.Constexpr[bool],
):
    value = x[:, :]
    count = I.cast(x.shape[0], I.f32)
    if training:
        mean = I.reduce.sum(value, axis=0) / count
        moved = value - mean
        variance = I.reduce.sum(moved * moved, axis=0) / count
        unbiased = variance * (count / (count - 1.0))
        running_mean[:] = running_mean[:] + momentum * (mean - running_mean[:])
        running_variance[:] = running_variance[:] + momentum * (unbiased - running_variance[:])
    else:
        mean = running_mean[:]
        variance = running_variance[:]
    y[:, :] = (value - mean) * I.rsqrt(variance + epsilon) * weight[:] + bias[:]


@intent.kernel
def batch_norm_backward(
    grad: I.In[I.f32, ("M", "C")],
    x: I.In[I.f32, ("M", "C")],
    weight: I.In[I.f32, ("C",)],
    epsilon: I.f32,
    grad_x: I.Out[I.f32, ("M", "C")],
    grad_weight: I.Out[I.f32, ("C",)],
    grad_bias: I.Out[I.f32, ("C",)],
):
    count = I.cast(x.shape[0], I.f32)
    dy = grad[:, :]
    moved = x[:, :] - I.reduce.sum(x[:, :], axis=0) / count
    scale = I.rsqrt(I.reduce.sum(moved * moved, axis=0) / count + epsilon)
    normal = moved * scale
    for_weight = I.reduce.sum(dy * normal, axis=0)
    for_bias = I.reduce.sum(dy, axis=0)
    grad_x[:, :] = weight[:] * scale * (dy - for_bias / count - normal * (for_weight / count))
    grad_weight[:] = for_weight
    grad_bias[:] = for_bias


def check(target=None):
    rng = np.random.default_rng(64)
    x, grad = rng.standard_normal((2, 43, 9)).astype(np.float32)
    x = x * 2 + 3
    weight, bias, mean = rng.standard_normal((3, 9)).astype(np.float32)
    variance = rng.uniform(0.5, 2, 9).astype(np.float32)
    wide = x.astype(np.float64)

    def normal(center, spread):
        return (wide - center) / np.sqrt(spread + 1e-5)

    steps = [intent.compile(batch_norm, target=target, constexprs={"training": t}) for t in (True, False)]
    want_mean = mean + 0.1 * (wide.mean(axis=0) - mean)
    want_variance = variance + 0.1 * (wide.var(axis=0, ddof=1) - variance)
    y = steps[0].run(x, weight, bias, mean, variance, 0.1, 1e-5)
    np.testing.assert_allclose(
        y, normal(wide.mean(axis=0), wide.var(axis=0)) * weight + bias, rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(mean, want_mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, want_variance, rtol=1e-5)
    y = steps[1].run(x, weight, bias, mean, variance, 0.1, 1e-5)
    np.testing.assert_allclose(y, normal(want_mean, want_variance) * weight + bias, rtol=1e-4, atol=1e-4)

    backward = intent.compile(batch_norm_backward, target=target)
    grad_x, grad_weight, grad_bias = backward.run(grad, x, weight, 1e-5)
    n = normal(wide.mean(axis=0), wide.var(axis=0))
    want_weight, want_bias = (grad * n).sum(axis=0), grad.sum(axis=0, dtype=np.float64)
    want = weight / np.sqrt(wide.var(axis=0) + 1e-5) * (grad - want_bias / 43 - n * want_weight / 43)
    np.testing.assert_allclose(grad_weight, want_weight, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(grad_bias, want_bias, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(grad_x, want, rtol=1e-3, atol=1e-5)
