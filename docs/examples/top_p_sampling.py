"""Nucleus sampling: of the most probable tokens that together hold mass p, draw one.

No sort is needed. The set is all tokens above some probability, and the threshold is found by
bisection: a loop that carries two scalars and reduces a tensor each time. The draw inverts the running
sum of what is left: it takes the first token whose sum exceeds a random share of the total.
"""

import numpy as np

import intent
import intent.language as I
from dropout import uniform


@intent.kernel
def top_p(
    logits: I.In[I.f32, ("B", "V")],
    p: I.f32,
    seed: I.u64,
    token: I.Out[I.i32, ("B",)],
    size: I.Out[I.i32, ("B",)],
):
    B, V = logits.shape
    for b in I.parallel(I.domain(0, B)):
        row = logits[b, :]
        weight = I.exp(row - I.reduce.max(row, axis=0))
        probability = weight / I.reduce.sum(weight, axis=0)
        low = I.cast(0.0, I.f32)  # enough mass lies above
        high = I.cast(1.0, I.f32)
        for _ in range(30):
            middle = 0.5 * (low + high)
            above = I.reduce.sum(I.select(probability > middle, probability, 0.0), axis=0)
            if above >= p:
                low = middle
            else:
                high = middle
        kept = I.select(probability > low, probability, 0.0)
        running = I.cumsum(kept, axis=0)
        share = I.random.uniform(seed, b) * running[V - 1]
        passed = I.reduce.sum(I.cast(running <= share, I.i32), axis=0)
        token[b] = passed
        size[b] = I.reduce.sum(I.cast(kept > 0.0, I.i32), axis=0)


def check(target=None):
    rng = np.random.default_rng(68)
    logits = (rng.standard_normal((300, 29)) * 2).astype(np.float32)
    token, size = intent.compile(top_p, target=target).run(logits, 0.8, 7)
    probability = np.exp(logits.astype(np.float64))
    probability /= probability.sum(axis=1, keepdims=True)
    order = np.argsort(-probability, axis=1)
    running = np.cumsum(np.take_along_axis(probability, order, axis=1), axis=1)
    np.testing.assert_array_equal(size, (running < 0.8).sum(axis=1) + 1)
    draw, right = uniform(7, np.arange(300)), 0
    for b in range(300):
        nucleus = order[b, : size[b]]
        assert token[b] in nucleus
        kept = np.zeros(29)
        kept[nucleus] = probability[b, nucleus]
        right += token[b] == np.searchsorted(np.cumsum(kept), draw[b] * kept.sum(), side="right")
    assert right >= 299  # but for a draw within rounding of a boundary
