"""Sampling tokens with a temperature, by the Gumbel-max trick.

Adding Gumbel noise to logits and taking the arg-max draws from their softmax, without a sum or a
search. Uniform numbers are in [0, 1): the lowest is exactly zero, and the logarithm of a number that
may be zero is kept finite by adding half a step. A draw depends on seed and position only, so it can be
repeated.
"""

import numpy as np

import intent
import intent.language as I
from dropout import uniform


@intent.kernel
def sample(
    logits: I.In[I.f32, ("B", "V")],
    temperature: I.f32,
    seed: I.u64,
    token: I.Out[I.i32, ("B",)],
):
    B, V = logits.shape
    place = I.indices(I.domain(0, B))[:, None] * V + I.indices(I.domain(0, V))
    u = I.random.uniform(seed, place) + 2.0**-25
    gumbel = -I.log(-I.log(u))
    _, best = I.arg_reduce.max(logits[:, :] / temperature + gumbel, axis=1)
    token[:] = I.cast(best, I.i32)


def check(target=None):
    rng = np.random.default_rng(67)
    logits = np.tile(rng.standard_normal(11).astype(np.float32), (2000, 1))
    token = intent.compile(sample, target=target).run(logits, 0.8, 99)
    u = uniform(99, np.arange(logits.size)).reshape(logits.shape) + np.float32(2.0**-25)
    want = (logits / 0.8 - np.log(-np.log(u.astype(np.float64)))).argmax(axis=1)
    assert (token == want).mean() > 0.999  # but for ties within rounding
    probability = np.exp(logits[0] / 0.8)
    share = np.bincount(token, minlength=11) / 2000
    np.testing.assert_allclose(share, probability / probability.sum(), atol=0.04)
