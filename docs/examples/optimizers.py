"""Optimiser steps in place: AdamW, Lion, and SGD with Nesterov momentum.

Parameters and moments are InOut views, hyperparameters run-time scalars: a schedule changes them
without compiling anew. A literal takes the dtype of what it meets, so `1.0 - beta` is f32. Reading
`parameter[:]` gives a value, which stays what it was after the view is written.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def adamw(
    parameter: I.InOut[I.f32, ("N",)],
    gradient: I.In[I.f32, ("N",)],
    first: I.InOut[I.f32, ("N",)],
    second: I.InOut[I.f32, ("N",)],
    step: I.f32,
    rate: I.f32,
    beta1: I.f32,
    beta2: I.f32,
    epsilon: I.f32,
    decay: I.f32,
):
    g = gradient[:]
    m = beta1 * first[:] + (1.0 - beta1) * g
    v = beta2 * second[:] + (1.0 - beta2) * g * g
    mean = m / (1.0 - beta1**step)
    deviation = I.sqrt(v / (1.0 - beta2**step))
    p = parameter[:]
    parameter[:] = p - rate * (mean / (deviation + epsilon) + decay * p)
    first[:] = m
    second[:] = v


@intent.fn
def sign(x):
    return I.select(x > 0.0, 1.0, I.select(x < 0.0, -1.0, x))


@intent.kernel
def lion(
    parameter: I.InOut[I.f32, ("N",)],
    gradient: I.In[I.f32, ("N",)],
    momentum: I.InOut[I.f32, ("N",)],
    rate: I.f32,
    beta1: I.f32,
    beta2: I.f32,
    decay: I.f32,
):
    g = gradient[:]
    m = momentum[:]
    p = parameter[:]
    parameter[:] = p - rate * (sign(beta1 * m + (1.0 - beta1) * g) + decay * p)
    momentum[:] = beta2 * m + (1.0 - beta2) * g


@intent.kernel
def nesterov(
    parameter: I.InOut[I.f32, ("N",)],
    gradient: I.In[I.f32, ("N",)],
    velocity: I.InOut[I.f32, ("N",)],
    rate: I.f32,
    momentum: I.f32,
):
    v = momentum * velocity[:] + gradient[:]
    parameter[:] = parameter[:] - rate * (gradient[:] + momentum * v)
    velocity[:] = v


def check(target=None):
    rng = np.random.default_rng(65)
    start, *gradients = rng.standard_normal((4, 137)).astype(np.float32)
    compiled = {kernel: intent.compile(kernel, target=target) for kernel in (adamw, lion, nesterov)}

    p, m, v = start.copy(), np.zeros(137, np.float32), np.zeros(137, np.float32)
    want, first, second = start.astype(np.float64), 0, 0
    for step, g in enumerate(gradients, 1):
        compiled[adamw](p, g, m, v, float(step), 1e-2, 0.9, 0.999, 1e-8, 0.1)
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g.astype(np.float64) ** 2
        mean, deviation = first / (1 - 0.9**step), np.sqrt(second / (1 - 0.999**step))
        want = want - 1e-2 * (mean / (deviation + 1e-8) + 0.1 * want)
        np.testing.assert_allclose(p, want, rtol=1e-4, atol=1e-5)

    p, m = start.copy(), np.zeros(137, np.float32)
    want, first = start.astype(np.float64), np.zeros(137)
    for g in gradients:
        compiled[lion](p, g, m, 1e-2, 0.9, 0.99, 0.1)
        want = want - 1e-2 * (np.sign(0.9 * first + 0.1 * g) + 0.1 * want)
        first = 0.99 * first + 0.01 * g
        np.testing.assert_allclose(p, want, rtol=1e-5, atol=1e-6)

    p, v = start.copy(), np.zeros(137, np.float32)
    want, velocity = start.astype(np.float64), 0
    for g in gradients:
        compiled[nesterov](p, g, v, 1e-2, 0.9)
        velocity = 0.9 * velocity + g
        want = want - 1e-2 * (g + 0.9 * velocity)
        np.testing.assert_allclose(p, want, rtol=1e-5, atol=1e-6)
