"""Conjugate gradients: solve A x = b until the residual is small.

A `while` loop runs until a value of the computation says so, carrying three vectors and a scalar.
Full reductions give scalars, which may stand in its condition; `I.dot` would give a tensor of rank 0.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def conjugate_gradient(
    a: I.In[I.f64, ("N", "N")],
    b: I.In[I.f64, ("N",)],
    tolerance: I.f64,
    limit: I.i64,
    solution: I.Out[I.f64, ("N",)],
    steps: I.Out[I.i64, ()],
):
    x = I.zeros(b.shape, I.f64)
    residual = b[:]
    direction = residual
    energy = I.reduce.sum(residual * residual, axis=0)
    count = I.cast(0, I.i64)
    while energy > tolerance * tolerance and count < limit:
        image = I.matvec(a[:, :], direction, acc_dtype=I.f64)
        length = energy / I.reduce.sum(direction * image, axis=0)
        x = x + length * direction
        residual = residual - length * image
        smaller = I.reduce.sum(residual * residual, axis=0)
        direction = residual + (smaller / energy) * direction
        energy = smaller
        count = count + 1
    solution[:] = x
    steps[()] = count


def check(target=None):
    rng = np.random.default_rng(15)
    root = rng.standard_normal((31, 31))
    a, b = root @ root.T / 31 + np.eye(31), rng.standard_normal(31)
    x, steps = intent.compile(conjugate_gradient, target=target).run(a, b, 1e-10, 100)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-8, atol=1e-9)
    assert 0 < steps < 100
