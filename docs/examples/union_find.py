"""Connected components of graphs, by union-find with path halving.

A helper may get storage and change it: `find` shortens the paths of a buffer while it walks them.
Helpers are typed by their uses, have no annotations and become part of the kernel. The graphs are
independent, the edges of one graph are not: hence a parallel loop around an ordered one.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def find(parent, node):
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@intent.kernel
def components(
    edges: I.In[I.i32, ("G", "E", 2)],
    label: I.Out[I.i32, ("G", "V")],
    count: I.Out[I.i32, ("G",)],
):
    G, V = label.shape
    E = edges.shape[1]
    for g in I.parallel(I.domain(0, G)):
        parent = I.buffer((V,), I.index, init=I.indices(I.domain(0, V)))
        left = I.cast(V, I.i32)
        for e in range(E):
            a = find(parent, I.cast(edges[g, e, 0], I.index))
            b = find(parent, I.cast(edges[g, e, 1], I.index))
            if a != b:
                parent[I.maximum(a, b)] = I.minimum(a, b)
                left = left - 1
        for v in range(V):
            label[g, v] = I.cast(find(parent, v), I.i32)
        count[g] = left


def flood(edges, vertices):
    """The least vertex of each vertex's component."""
    label = np.arange(vertices)
    while True:
        lower = label.copy()
        np.minimum.at(lower, edges[:, 0], label[edges[:, 1]])
        np.minimum.at(lower, edges[:, 1], label[edges[:, 0]])
        if (lower == label).all():
            return label
        label = lower


def check(target=None):
    rng = np.random.default_rng(11)
    edges = rng.integers(0, 41, (4, 30, 2), dtype=np.int32)
    label, count = np.empty((4, 41), np.int32), np.empty(4, np.int32)
    intent.compile(components, target=target)(edges, label, count)
    want = np.stack([flood(graph, 41) for graph in edges])
    np.testing.assert_array_equal(label, want)
    np.testing.assert_array_equal(count, [len(set(row)) for row in want.tolist()])
