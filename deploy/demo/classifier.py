"""The classifier on the host's side: three kernels compiled once, called in turn."""

from __future__ import annotations

import numpy as np

import intent
import kernels


class NearestNeighbours:
    """Like scikit-learn's KNeighborsClassifier(k), with labels 0, 1, ... and kernels of a service."""

    def __init__(self, k: int, compiler: intent.Compiler):
        self.k = k
        self._compiler = compiler

    def fit(self, samples, labels) -> NearestNeighbours:
        self.samples = np.asarray(samples, np.float32)
        self.labels = np.asarray(labels, np.int64)
        self.artifacts = {
            "distances": intent.compile(kernels.squared_distances, compiler=self._compiler),
            "nearest": intent.compile(kernels.nearest, compiler=self._compiler),
            "vote": intent.compile(
                kernels.vote,
                compiler=self._compiler,
                constexprs={"classes": int(self.labels.max()) + 1},
            ),
        }
        return self

    def distances(self, queries):
        """Squared distances, one row for each query."""
        return self.artifacts["distances"].run(np.asarray(queries, np.float32), self.samples)

    def predict(self, queries):
        places = np.empty((len(queries), self.k), np.int64)
        self.artifacts["nearest"](self.distances(queries), places)
        return self.artifacts["vote"].run(places, self.labels)
