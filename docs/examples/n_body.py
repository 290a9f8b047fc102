"""Gravity among bodies, integrated by leapfrog steps inside one kernel.

All pairs are one tensor: positions with a new axis against positions. The loop over time carries
positions and velocities as a tuple, and what a step makes has the shape of what it got. A body does not
attract itself: softening makes its distance harmless and its difference zero.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def acceleration(position, mass, softening):
    apart = position[None, :, :] - position[:, None, :]  # [body, other, axis]
    near = I.rsqrt(I.reduce.sum(apart * apart, axis=2) + softening)
    pull = mass * near * near * near
    return I.reduce.sum(apart * pull[:, :, None], axis=1)


@intent.kernel
def n_body(
    position: I.InOut[I.f64, ("N", 3)],
    velocity: I.InOut[I.f64, ("N", 3)],
    mass: I.In[I.f64, ("N",)],
    steps: I.index,
    dt: I.f64,
    softening: I.f64,
):
    p, v = position[:, :], velocity[:, :]
    for _ in range(steps):
        v = v + 0.5 * dt * acceleration(p, mass[:], softening)
        p = p + dt * v
        v = v + 0.5 * dt * acceleration(p, mass[:], softening)
    position[:, :] = p
    velocity[:, :] = v


def pulled(p, m, softening):
    apart = p[None] - p[:, None]
    distance = np.sqrt((apart**2).sum(axis=2) + softening)
    return (apart * (m / distance**3)[:, :, None]).sum(axis=1)


def check(target=None):
    rng = np.random.default_rng(81)
    p, v, m = rng.standard_normal((19, 3)), rng.standard_normal((19, 3)) * 0.1, rng.uniform(0.1, 1, 19)
    position, velocity = p.copy(), v.copy()
    intent.compile(n_body, target=target)(position, velocity, m, 12, 0.01, 0.05)
    for _ in range(12):
        v = v + 0.005 * pulled(p, m, 0.05)
        p = p + 0.01 * v
        v = v + 0.005 * pulled(p, m, 0.05)
    np.testing.assert_allclose(position, p, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(velocity, v, rtol=1e-10, atol=1e-10)
