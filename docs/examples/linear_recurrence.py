"""The recurrence h[t] = a[t] h[t-1] + b[t] of a gated RNN, in parallel over time.

A step is the map h -> a h + b; two maps in sequence are one map again, which is associative. So a
scan over pairs (a, b) gives every prefix, and the compiler may choose the grouping, but never the
order. The identity (1, 0) is the map that changes nothing.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def then(first, second):
    return I.record(a=first.a * second.a, b=first.b * second.a + second.b)


@intent.kernel
def linear_recurrence(
    a: I.In[I.f32, ("T", "C")],
    b: I.In[I.f32, ("T", "C")],
    start: I.In[I.f32, ("C",)],
    h: I.Out[I.f32, ("T", "C")],
):
    unchanged = I.record(a=I.cast(1.0, I.f32), b=I.cast(0.0, I.f32))
    steps = I.record(a=a[:, :], b=b[:, :])
    done = I.scan(steps, axis=0, identity=unchanged, combine=then, inclusive=True)
    h[:, :] = done.a * start[:] + done.b


def check(target=None):
    rng = np.random.default_rng(23)
    a = rng.uniform(0.5, 1, (77, 6)).astype(np.float32)
    b = rng.standard_normal((77, 6)).astype(np.float32)
    start = rng.standard_normal(6).astype(np.float32)
    got = intent.compile(linear_recurrence, target=target).run(a, b, start)
    h, want = start.astype(np.float64), []
    for decay, added in zip(a, b):
        h = decay * h + added
        want.append(h)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
