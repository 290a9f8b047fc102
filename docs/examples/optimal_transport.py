"""Entropic optimal transport by Sinkhorn's iteration.

The cheapest plan that moves the masses `a` to the masses `b`: rows and columns of a matrix are scaled in
turn until both sums are right. The loop carries two tensors, each computed from the other, and stops when
a round changes little; `transpose` uses the same matrix for the other side without a copy.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def sinkhorn(
    cost: I.In[I.f64, ("M", "N")],
    a: I.In[I.f64, ("M",)],
    b: I.In[I.f64, ("N",)],
    epsilon: I.f64,
    tolerance: I.f64,
    plan: I.Out[I.f64, ("M", "N")],
    rounds: I.Out[I.i32, ()],
    limit: I.Constexpr[int] = 500,
):
    kernel = I.exp(-cost[:, :] / epsilon)
    u = I.full(a.shape, 1.0, I.f64)
    v = I.full(b.shape, 1.0, I.f64)
    count = I.cast(0, I.i32)
    for _ in range(limit):
        before = u
        u = a[:] / I.matvec(kernel, v, acc_dtype=I.f64)
        v = b[:] / I.matvec(kernel, u, acc_dtype=I.f64, transpose=True)
        count += 1
        if I.reduce.max(I.abs(u - before), axis=0) < tolerance:
            break
    plan[:, :] = u[:, None] * kernel * v[:]
    rounds[()] = count


def check(target=None):
    rng = np.random.default_rng(62)
    cost, a, b = rng.random((9, 14)), rng.random(9) + 0.1, rng.random(14) + 0.1
    a, b = a / a.sum(), b / b.sum()
    plan, rounds = intent.compile(sinkhorn, target=target).run(cost, a, b, 0.2, 1e-9)
    u, v, kernel = np.ones(9), np.ones(14), np.exp(-cost / 0.2)
    for _ in range(int(rounds)):
        u = a / (kernel @ v)
        v = b / (kernel.T @ u)
    np.testing.assert_allclose(plan, u[:, None] * kernel * v, rtol=1e-7)
    np.testing.assert_allclose(plan.sum(axis=1), a, rtol=1e-6)
    assert 5 < rounds < 500
