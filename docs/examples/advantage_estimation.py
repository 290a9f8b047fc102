"""Generalised advantage estimation: a recurrence that runs backwards in time.

A[t] = delta[t] + gamma lambda (1 - done[t]) A[t+1]. `reverse=True` scans from the end; what was
accumulated, from later steps, is the left operand of the combine. Looking one step ahead is a gather
whose invalid member, behind the end, takes the bootstrap value as its fill.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def before(later, earlier):
    return I.record(
        keep=later.keep * earlier.keep,
        value=earlier.value + earlier.keep * later.value,
    )


@intent.kernel
def advantages(
    reward: I.In[I.f32, ("B", "T")],
    value: I.In[I.f32, ("B", "T")],
    done: I.In[I.bool, ("B", "T")],
    bootstrap: I.In[I.f32, ("B",)],
    gamma: I.f32,
    decay: I.f32,
    advantage: I.Out[I.f32, ("B", "T")],
):
    B, T = reward.shape
    t = I.indices(I.domain(0, T))
    for b in I.parallel(I.domain(0, B)):
        alive = I.select(done[b, :], 0.0, I.full((T,), 1.0, dtype=I.f32))
        following = I.gather(value, (b, t + 1), valid=t + 1 < T, fill=bootstrap[b])
        surprise = reward[b, :] + gamma * following * alive - value[b, :]
        estimate = I.scan(
            I.record(keep=gamma * decay * alive, value=surprise),
            axis=0,
            identity=I.record(keep=I.cast(1.0, I.f32), value=I.cast(0.0, I.f32)),
            combine=before,
            inclusive=True,
            reverse=True,
        )
        advantage[b, :] = estimate.value


def check(target=None):
    rng = np.random.default_rng(28)
    reward, value = rng.standard_normal((2, 4, 71)).astype(np.float32)
    done, bootstrap = rng.random((4, 71)) < 0.08, rng.standard_normal(4).astype(np.float32)
    got = intent.compile(advantages, target=target).run(reward, value, done, bootstrap, 0.99, 0.95)
    want, following, ahead = np.empty((4, 71)), bootstrap.astype(np.float64), np.zeros(4)
    for t in reversed(range(71)):
        alive = 1.0 - done[:, t]
        surprise = reward[:, t] + 0.99 * following * alive - value[:, t]
        ahead = surprise + 0.99 * 0.95 * alive * ahead
        want[:, t], following = ahead, value[:, t]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
