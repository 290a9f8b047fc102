"""Connectionist temporal classification: the negative log-likelihood of label sequences.

Sums of probabilities in logarithms. The labels, with blanks between them, are one tensor axis of the
state; looking one or two places back is a `gather` whose `valid` excludes what lies before the
beginning: no memory is touched there and `fill` stands in. The state starts at -inf, which a
log-sum-exp must not turn into NaN.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def log_sum_exp(a, b, c):
    peak = I.maximum(I.maximum(a, b), c)
    base = I.select(peak == -I.inf, 0.0, peak)
    return base + I.log(I.exp(a - base) + I.exp(b - base) + I.exp(c - base))


@intent.kernel
def ctc_loss(
    log_probability: I.In[I.f32, ("B", "T", "V")],
    labels: I.In[I.i32, ("B", "L")],
    loss: I.Out[I.f32, ("B",)],
):
    B, T, _ = log_probability.shape
    L = labels.shape[1]
    at = I.indices(I.domain(0, 2 * L + 1))
    for b in I.parallel(I.domain(0, B)):
        # Blank, label, blank, label, ..., blank; blank is class 0.
        extended = I.gather(labels, (b, at // 2), valid=at % 2 == 1)
        before = I.gather(extended, at - 2, valid=at >= 2)
        may_skip = (extended != 0) & (extended != before)
        first = log_probability[b, 0, extended]
        state = I.select(at < 2, first, -I.inf)
        for t in range(1, T):
            one = I.gather(state, at - 1, valid=at >= 1, fill=-I.inf)
            two = I.gather(state, at - 2, valid=may_skip & (at >= 2), fill=-I.inf)
            state = log_sum_exp(state, one, two) + log_probability[b, t, extended]
        last = I.select(at >= 2 * L - 1, state, -I.inf)
        peak = I.reduce.max(last, axis=0)
        loss[b] = -(peak + I.log(I.reduce.sum(I.exp(last - peak), axis=0)))


def loss_of(log_probability, labels):
    extended = np.zeros(2 * len(labels) + 1, dtype=int)
    extended[1::2] = labels
    alpha = np.zeros(len(extended))
    alpha[:2] = np.exp(log_probability[0, extended[:2]])
    for row in np.exp(log_probability[1:]):
        new = alpha.copy()
        new[1:] += alpha[:-1]
        skip = (extended[2:] != 0) & (extended[2:] != extended[:-2])
        new[2:] += np.where(skip, alpha[:-2], 0)
        alpha = new * row[extended]
    return -np.log(alpha[-1] + alpha[-2])


def check(target=None):
    rng = np.random.default_rng(13)
    logits = rng.standard_normal((3, 21, 9))
    log_probability = (logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))).astype(np.float32)
    labels = rng.integers(1, 9, (3, 6), dtype=np.int32)
    labels[1, 2] = labels[1, 3]  # a repetition needs a blank between
    loss = intent.compile(ctc_loss, target=target).run(log_probability, labels)
    want = [loss_of(p.astype(np.float64), l) for p, l in zip(log_probability, labels)]
    np.testing.assert_allclose(loss, want, rtol=1e-5)
