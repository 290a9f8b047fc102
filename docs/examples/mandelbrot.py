"""How soon points of the plane leave the Mandelbrot set.

Each pixel is a point of a parallel loop over two domains, and decides by itself when to stop: a `while`
with two conditions, of which the second is looked at only if the first holds. The state starts with
casts, because a bare 0.0 that gets a name is f64.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def mandelbrot(
    x: I.In[I.f32, ("W",)],
    y: I.In[I.f32, ("H",)],
    steps: I.Out[I.i32, ("H", "W")],
    limit: I.Constexpr[int] = 100,
):
    H, W = steps.shape
    for i, j in I.parallel((I.domain(0, H), I.domain(0, W))):
        a, b = I.cast(0.0, I.f32), I.cast(0.0, I.f32)
        n = I.cast(0, I.i32)
        while n < limit and a * a + b * b < 4.0:
            a, b = a * a - b * b + x[j], 2.0 * a * b + y[i]
            n += 1
        steps[i, j] = n


def check(target=None):
    # Multiples of 1/16 with 5 steps stay exact enough that no rounding decides.
    x, y = np.arange(-32, 17, dtype=np.float32) / 16, np.arange(-18, 19, dtype=np.float32) / 16
    steps = intent.compile(mandelbrot, target=target, constexprs={"limit": 5}).run(x, y)
    c = x[None, :].astype(np.complex128) + 1j * y[:, None]
    z, want = np.zeros_like(c), np.zeros(c.shape, np.int32)
    for _ in range(5):
        inside = abs(z) ** 2 < 4
        z, want = np.where(inside, z * z + c, z), want + inside
    np.testing.assert_array_equal(steps, want)
