"""Mean and variance of every prefix, in one stable pass.

The state of a scan may be a record: count, mean, and the sum of squared deviations. Two parts merge
by the formula of Chan, Golub and LeVeque, which is associative up to rounding. The components of the
scanned value are tensors of one shape; a single number is a count of one with no deviation.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def merge(a, b):
    count = a.count + b.count
    share = b.count / I.maximum(count, 1.0)
    moved = b.mean - a.mean
    return I.record(
        count=count,
        mean=a.mean + moved * share,
        deviation=a.deviation + b.deviation + moved * moved * a.count * share,
    )


@intent.kernel
def running_statistics(
    x: I.In[I.f32, ("M", "N")],
    mean: I.Out[I.f32, ("M", "N")],
    variance: I.Out[I.f32, ("M", "N")],
):
    zero = I.cast(0.0, I.f32)
    so_far = I.scan(
        I.record(
            count=I.full(x.shape, 1.0, dtype=I.f32),
            mean=x[:, :],
            deviation=I.zeros(x.shape, I.f32),
        ),
        axis=1,
        identity=I.record(count=zero, mean=zero, deviation=zero),
        combine=merge,
        inclusive=True,
    )
    mean[:, :] = so_far.mean
    variance[:, :] = so_far.deviation / so_far.count


def check(target=None):
    rng = np.random.default_rng(26)
    x = (rng.standard_normal((5, 67)) + 1000).astype(np.float32)  # squares would cancel
    mean, variance = intent.compile(running_statistics, target=target).run(x)
    prefixes = [x[:, : n + 1].astype(np.float64) for n in range(67)]
    np.testing.assert_allclose(mean, np.stack([p.mean(axis=1) for p in prefixes], axis=1), rtol=1e-6)
    np.testing.assert_allclose(
        variance, np.stack([p.var(axis=1) for p in prefixes], axis=1), rtol=1e-3, atol=1e-4
    )
