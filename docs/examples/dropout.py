"""Dropout, forward and backward, without storing the mask.

Random numbers are a pure function of a seed and a counter (Philox): there is no state to keep. The
backward kernel draws the same numbers again, so the mask costs no memory. The counter is the element's
own place, which `I.indices` computes for the whole tensor at once.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def survivors(shape, seed, rate):
    M, N = shape
    place = I.indices(I.domain(0, M))[:, None] * N + I.indices(I.domain(0, N))
    return I.random.uniform(seed, place) >= rate


@intent.kernel
def dropout(
    x: I.In[I.f32, ("M", "N")],
    seed: I.u64,
    rate: I.f32,
    y: I.Out[I.f32, ("M", "N")],
):
    y[:, :] = I.select(survivors(x.shape, seed, rate), x[:, :] / (1.0 - rate), 0.0)


def philox(seed, counter):
    """32 random bits of Philox4x32-10 for each counter."""
    low = np.uint64(0xFFFFFFFF)
    counter = counter.astype(np.uint64)
    block = counter // 4
    c = [block & low, block >> np.uint64(32), np.zeros_like(block), np.zeros_like(block)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            second >> np.uint64(32) ^ c[1] ^ np.uint64(key[0]),
            second & low,
            first >> np.uint64(32) ^ c[3] ^ np.uint64(key[1]),
            first & low,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.choose((counter % 4).astype(int), c).astype(np.uint32)


def uniform(seed, counter):
    return (philox(seed, counter) >> 8).astype(np.float32) * np.float32(2.0**-24)


def check(target=None):
    rng = np.random.default_rng(66)
    x, grad = rng.standard_normal((2, 23, 37)).astype(np.float32)
    artifact = intent.compile(dropout, target=target)
    y, grad_x = artifact.run(x, 1234567890123, 0.25), artifact.run(grad, 1234567890123, 0.25)
    kept = uniform(1234567890123, np.arange(x.size)).reshape(x.shape) >= 0.25
    np.testing.assert_allclose(y, np.where(kept, x / 0.75, 0), rtol=1e-6)
    np.testing.assert_allclose(grad_x, np.where(kept, grad / 0.75, 0), rtol=1e-6)
    assert 0.7 < kept.mean() < 0.8
