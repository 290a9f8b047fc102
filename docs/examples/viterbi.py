"""The most likely path through a hidden Markov model.

The loop over time carries a whole tensor, one score for each state. Inside a step the states are
tensor axes: `best[:, None] + transition` holds all pairs of states, and `I.arg_reduce.max` gives the
best origin of each together with its score. A buffer remembers the origins for the walk back.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def viterbi(
    start: I.In[I.f32, ("S",)],
    transition: I.In[I.f32, ("S", "S")],
    emission: I.In[I.f32, ("S", "V")],
    observed: I.In[I.i32, ("B", "T")],
    path: I.Out[I.i32, ("B", "T")],
    score: I.Out[I.f32, ("B",)],
):
    S = start.shape[0]
    B, T = observed.shape
    for b in I.parallel(I.domain(0, B)):
        origin = I.buffer((T, S), I.index)
        best = start[:] + emission[:, observed[b, 0]]
        for t in range(1, T):
            reached, came_from = I.arg_reduce.max(best[:, None] + transition[:, :], axis=0)
            best = reached + emission[:, observed[b, t]]
            origin[t, :] = came_from
        highest, state = I.arg_reduce.max(best, axis=0)
        score[b] = highest
        path[b, T - 1] = I.cast(state, I.i32)
        for step in range(1, T):
            t = T - step
            state = origin[t, state]
            path[b, t - 1] = I.cast(state, I.i32)


def most_likely(start, transition, emission, observed):
    best, origins = start + emission[:, observed[0]], []
    for symbol in observed[1:]:
        reached = best[:, None] + transition
        origins.append(reached.argmax(axis=0))
        best = reached.max(axis=0) + emission[:, symbol]
    path = [int(best.argmax())]
    for origin in reversed(origins):
        path.append(int(origin[path[-1]]))
    return path[::-1], best.max()


def check(target=None):
    rng = np.random.default_rng(3)

    def log_distribution(*shape):
        weights = rng.random(shape)
        return np.log(weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)

    start, transition, emission = log_distribution(7), log_distribution(7, 7), log_distribution(7, 11)
    observed = rng.integers(0, 11, (4, 29), dtype=np.int32)
    path, score = intent.compile(viterbi, target=target).run(start, transition, emission, observed)
    for row, total, symbols in zip(path, score, observed):
        want, best = most_likely(start, transition, emission, symbols)
        np.testing.assert_array_equal(row, want)
        np.testing.assert_allclose(total, best, rtol=1e-5)
