"""Linear attention whose memory fades, with a matrix as its state.

S[t] = exp(g[t]) S[t-1] + k[t]^T v[t], and the output is q[t] S[t]. A stretch of time sees the state
before it through one product and its own past through another: the chunked form of the literature, of
which the author writes only the equations and the compiler chooses the chunks. Gates are summed as
logarithms, and a difference that must not count is masked before `exp`, not after.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def summarize(q, k, v, g, at):
    following = I.cumsum(g, axis=0, reverse=True, inclusive=False)
    faded = k * I.exp(following)[:, None]
    return I.record(
        gate=I.reduce.sum(g, axis=0), memory=I.matmul(faded, v, acc_dtype=I.f32, transpose_lhs=True)
    )


@intent.fn
def fade(a, b):
    return I.record(gate=a.gate + b.gate, memory=I.exp(b.gate) * a.memory + b.memory)


@intent.fn
def enter(prefix, state):
    return I.exp(prefix.gate) * state + prefix.memory


@intent.fn
def emit(q, k, v, g, at, state):
    reached = I.cumsum(g, axis=0)
    earlier = I.matmul(q * I.exp(reached)[:, None], state, acc_dtype=I.f32)
    past = at[None, :] <= at[:, None]
    between = I.exp(I.select(past, reached[:, None] - reached[None, :], 0.0))
    scores = I.matmul(q, k, acc_dtype=I.f32, transpose_rhs=True)
    return earlier + I.matmul(I.select(past, scores * between, 0.0), v, acc_dtype=I.f32)


@intent.kernel
def gated_linear_attention(
    q: I.In[I.f32, ("H", "T", "D")],
    k: I.In[I.f32, ("H", "T", "D")],
    v: I.In[I.f32, ("H", "T", "E")],
    g: I.In[I.f32, ("H", "T")],
    out: I.Out[I.f32, ("H", "T", "E")],
    memory: I.Out[I.f32, ("H", "D", "E")],
):
    H, T, D = q.shape
    E = v.shape[2]
    for h in I.parallel(I.domain(0, H)):
        rows, final = I.region_scan(
            source=(q[h, :, :], k[h, :, :], v[h, :, :], g[h, :], I.indices(I.domain(0, T))),
            axis=0,
            summarize=summarize,
            combine=fade,
            identity=I.record(gate=I.cast(0.0, I.f32), memory=I.zeros((D, E), I.f32)),
            initial_state=I.zeros((D, E), I.f32),
            apply=enter,
            emit=emit,
        )
        out[h, :, :] = rows
        memory[h, :, :] = final


def check(target=None):
    rng = np.random.default_rng(25)
    q, k = rng.standard_normal((2, 2, 61, 5)).astype(np.float32)
    v = rng.standard_normal((2, 61, 3)).astype(np.float32)
    g = -rng.exponential(0.3, (2, 61)).astype(np.float32)
    state, want = np.zeros((2, 5, 3)), np.empty((2, 61, 3))
    for t in range(61):
        state = np.exp(g[:, t, None, None]) * state + k[:, t, :, None] * v[:, t, None, :]
        want[:, t] = np.einsum("hd,hde->he", q[:, t], state)
    out, memory = intent.compile(gated_linear_attention, target=target).run(q, k, v, g)
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(memory, state, rtol=1e-4, atol=1e-4)
