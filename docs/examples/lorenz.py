"""Lorenz trajectories by the classical Runge-Kutta method, many starts at once.

The right-hand side is a helper of three tensors that returns three; a step calls it four times. Starts
are a tensor axis, time is an ordered loop, and every state is recorded in an Out view at its step. A
chaotic system is a good test of numerics: both sides compute in f64 and only for a short while.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def flow(x, y, z, sigma, rho, beta):
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


@intent.fn
def runge_kutta(x, y, z, dt, sigma, rho, beta):
    half = 0.5 * dt
    ax, ay, az = flow(x, y, z, sigma, rho, beta)
    bx, by, bz = flow(x + half * ax, y + half * ay, z + half * az, sigma, rho, beta)
    cx, cy, cz = flow(x + half * bx, y + half * by, z + half * bz, sigma, rho, beta)
    dx, dy, dz = flow(x + dt * cx, y + dt * cy, z + dt * cz, sigma, rho, beta)
    sixth = dt / 6.0
    return (
        x + sixth * (ax + 2.0 * bx + 2.0 * cx + dx),
        y + sixth * (ay + 2.0 * by + 2.0 * cy + dy),
        z + sixth * (az + 2.0 * bz + 2.0 * cz + dz),
    )


@intent.kernel
def lorenz(
    start: I.In[I.f64, (3, "N")],
    dt: I.f64,
    path: I.Out[I.f64, ("T", 3, "N")],
):
    x, y, z = start[0, :], start[1, :], start[2, :]
    sigma, rho, beta = I.cast(10.0, I.f64), I.cast(28.0, I.f64), I.cast(8.0 / 3.0, I.f64)
    for t in range(path.shape[0]):
        x, y, z = runge_kutta(x, y, z, dt, sigma, rho, beta)
        path[t, 0, :] = x
        path[t, 1, :] = y
        path[t, 2, :] = z


def check(target=None):
    rng = np.random.default_rng(84)
    state, dt = rng.standard_normal((3, 21)) * 5, 0.01
    path = np.empty((60, 3, 21))
    intent.compile(lorenz, target=target)(state, dt, path)

    def slope(s):
        return np.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    for got in path:
        a = slope(state)
        b = slope(state + dt / 2 * a)
        c = slope(state + dt / 2 * b)
        d = slope(state + dt * c)
        state = state + dt / 6 * (a + 2 * b + 2 * c + d)
        np.testing.assert_allclose(got, state, rtol=1e-9, atol=1e-9)
