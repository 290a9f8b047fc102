"""The selective state space scan of Mamba, without ever holding all states.

`I.region_scan` carries a state of [channels, state size] through time in stretches: `summarize` says
what a stretch does to the state, `apply` does it, and `emit` gives the outputs of a stretch from the
state before it. Inside `emit` an ordinary scan runs over the stretch. No helper learns how long a
stretch is: new axes and reductions are all that it needs.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def then(first, second):
    """Two maps h -> decay h + added, one after the other."""
    return I.record(decay=first.decay * second.decay, added=first.added * second.decay + second.added)


@intent.fn
def steps(x, delta, b, rate):
    """The map of every time step: [time, channel, state]."""
    return I.record(
        decay=I.exp(delta[:, :, None] * rate),
        added=(delta * x)[:, :, None] * b[:, None, :],
    )


@intent.fn
def unchanged():
    return I.record(decay=I.cast(1.0, I.f32), added=I.cast(0.0, I.f32))


@intent.fn
def summarize(x, delta, b, c, rate):
    every = steps(x, delta, b, rate)
    until = I.cumsum(delta, axis=0, reverse=True, inclusive=False)  # time that follows each step
    remains = I.exp(until[:, :, None] * rate)
    return I.record(
        decay=I.exp(I.reduce.sum(delta, axis=0)[:, None] * rate),
        added=I.reduce.sum(remains * every.added, axis=0),
    )


@intent.fn
def apply(prefix, state):
    return prefix.decay * state + prefix.added


@intent.fn
def emit(x, delta, b, c, state, rate):
    every = steps(x, delta, b, rate)
    so_far = I.scan(every, axis=0, identity=unchanged(), combine=then, inclusive=True)
    states = so_far.decay * state + so_far.added
    return I.reduce.sum(states * c[:, None, :], axis=2)


@intent.kernel
def selective_scan(
    x: I.In[I.f32, ("B", "T", "D")],
    delta: I.In[I.f32, ("B", "T", "D")],
    b: I.In[I.f32, ("B", "T", "N")],
    c: I.In[I.f32, ("B", "T", "N")],
    rate: I.In[I.f32, ("D", "N")],
    skip: I.In[I.f32, ("D",)],
    y: I.Out[I.f32, ("B", "T", "D")],
    state: I.InOut[I.f32, ("B", "D", "N")],
):
    B, _, D = x.shape
    N = rate.shape[1]
    for i in I.parallel(I.domain(0, B)):
        outputs, final = I.region_scan(
            source=(x[i, :, :], delta[i, :, :], b[i, :, :], c[i, :, :]),
            axis=0,
            summarize=summarize,
            combine=then,
            identity=I.record(decay=I.full((D, N), 1.0, dtype=I.f32), added=I.zeros((D, N), I.f32)),
            initial_state=state[i, :, :],
            apply=apply,
            emit=emit,
            operands=(rate[:, :],),
        )
        y[i, :, :] = outputs + skip[:] * x[i, :, :]
        state[i, :, :] = final


def check(target=None):
    rng = np.random.default_rng(24)
    B, T, D, N = 2, 53, 6, 4
    x = rng.standard_normal((B, T, D)).astype(np.float32)
    delta = rng.uniform(0.01, 0.3, (B, T, D)).astype(np.float32)
    b, c = rng.standard_normal((2, B, T, N)).astype(np.float32)
    rate = -rng.uniform(0.5, 2, (D, N)).astype(np.float32)
    skip = rng.standard_normal(D).astype(np.float32)
    state = rng.standard_normal((B, D, N)).astype(np.float32)
    h, want = state.astype(np.float64), np.empty((B, T, D))
    for t in range(T):
        h = np.exp(delta[:, t, :, None] * rate) * h + (delta * x)[:, t, :, None] * b[:, t, None, :]
        want[:, t] = (h * c[:, t, None, :]).sum(axis=2) + skip * x[:, t]
    y = intent.compile(selective_scan, target=target).run(x, delta, b, c, rate, skip, state)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(state, h, rtol=1e-4, atol=1e-5)
