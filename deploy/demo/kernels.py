"""A k-nearest-neighbour classifier as three Intent kernels."""

import intent
import intent.language as I


@intent.kernel
def squared_distances(
    queries: I.In[I.f32, ("Q", "F")],
    samples: I.In[I.f32, ("S", "F")],
    distances: I.Out[I.f32, ("Q", "S")],
):
    """|q - s|^2 = |q|^2 + |s|^2 - 2 q.s for every query and every sample."""
    q = queries[:, :]
    s = samples[:, :]
    query_norms = I.reduce.sum(q * q, axis=1)
    sample_norms = I.reduce.sum(s * s, axis=1)
    products = I.matmul(q, s, acc_dtype=I.f32, transpose_rhs=True)
    distances[:, :] = query_norms[:, None] + sample_norms[None, :] - 2.0 * products


@intent.kernel
def nearest(
    distances: I.In[I.f32, ("Q", "S")],
    places: I.Out[I.i64, ("Q", "K")],
):
    """The K nearest samples of each query, nearest first; of equal ones the lower position."""
    Q, K = places.shape
    samples = I.domain(0, distances.shape[1])
    for query in I.parallel(I.domain(0, Q)):
        closeness = -distances[query, :]
        for k in range(K):
            best, place = I.arg_reduce.max(closeness, axis=0)
            places[query, k] = I.cast(place, I.i64)
            closeness = I.select(I.indices(samples) == place, -I.inf, closeness)


@intent.kernel
def vote(
    places: I.In[I.i64, ("Q", "K")],
    labels: I.In[I.i64, ("S",)],
    winners: I.Out[I.i64, ("Q",)],
    classes: I.Constexpr[int],
):
    """The label that most of a query's neighbours have; of equally frequent ones the lowest."""
    neighbour_labels = labels[places[:, :]]
    label = I.cast(I.indices(I.domain(0, classes)), I.i64)
    ballots = I.cast(neighbour_labels[:, :, None] == label[None, None, :], I.i32)
    count, winner = I.arg_reduce.max(I.reduce.sum(ballots, axis=1), axis=1)
    winners[:] = I.cast(winner, I.i64)
