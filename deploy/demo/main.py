"""Handwritten digits, classified by kernels that a daemon compiles.

1. A daemon with an empty cache compiles the kernels; predictions are compared with scikit-learn's.
2. A new daemon on the same cache folder answers the same compiles without compiling.
3. Once the folder has been emptied, another new daemon compiles again.

Ends with status 1 when one of these does not hold.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from classifier import NearestNeighbours
from daemon import Daemon

K = 5
BOLD, DIM, RED, GREEN, PLAIN = (
    ("\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[0m") if sys.stdout.isatty() else ("",) * 5
)
SHOWN_COUNTERS = ("requests", "hits_memory", "hits_disk", "misses", "compiles", "errors", "executions")

failures = []


def title(text):
    print(f"\n{BOLD}== {text}{PLAIN}", flush=True)


def check(holds, text):
    print(f"  {GREEN + 'ok  ' if holds else RED + 'FAIL'}{PLAIN} {text}", flush=True)
    if not holds:
        failures.append(text)


def milliseconds(seconds):
    return f"{seconds * 1e3:.1f} ms"


def table(rows):
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        first, *rest = (str(cell) for cell in row)
        cells = [first.ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(rest, widths[1:])]
        line = "  ".join(cells)
        print(f"  {DIM}{line}{PLAIN}" if number == 0 else f"  {line}", flush=True)


def classify(daemon, data):
    """Fit and predict with a daemon; gives the model, its predictions and the seconds of both."""
    train, test, train_labels = data
    start = time.perf_counter()
    model = NearestNeighbours(K, daemon.compiler).fit(train, train_labels)
    compiled = time.perf_counter()
    predicted = model.predict(test)
    return model, predicted, compiled - start, time.perf_counter() - compiled


def show_artifacts(model):
    """Compile times by stage, a column for each kernel. Stages of LLVM are parts of `emit`."""
    artifacts = model.artifacts
    stages = dict.fromkeys(stage for a in artifacts.values() for stage in a.timings)
    rows = [["stage", *artifacts]]
    for stage in stages:
        name = f"  {stage}" if stage.startswith("llvm_") else stage
        rows.append([name, *(milliseconds(a.timings.get(stage, 0.0)) for a in artifacts.values())])
    totals = (
        sum(time for stage, time in a.timings.items() if not stage.startswith("llvm_"))
        for a in artifacts.values()
    )
    rows.append(["total", *map(milliseconds, totals)])
    table(rows)


def show_counters(daemon):
    counters = daemon.compiler.stats()
    table([SHOWN_COUNTERS, [counters[name] for name in SHOWN_COUNTERS]])
    return counters


def is_tie(distances, labels):
    """Whether the K nearest, or the winner of their vote, is not determined by the distances."""
    order = np.sort(distances)
    if order[K - 1] == order[K]:
        return True
    votes = np.bincount(labels[distances <= order[K - 1]])
    return np.count_nonzero(votes == votes.max()) > 1


def compare(model, test, test_labels, predicted, peer):
    theirs = peer.predict(test)
    accuracy, peer_accuracy = np.mean(predicted == test_labels), np.mean(theirs == test_labels)
    print(f"  accuracy of the kernels        {accuracy:.4f}")
    print(f"  accuracy of scikit-learn       {peer_accuracy:.4f}")
    differing = np.flatnonzero(predicted != theirs)
    ties = sum(is_tie(row, model.labels) for row in model.distances(test[differing]))
    print(f"  predictions that differ        {len(differing)} of {len(test)}, by an exact tie {ties}")
    check(ties == len(differing), "the predictions are scikit-learn's, up to exact ties")
    check(accuracy > 0.95, "more than 95 % of the digits are read correctly")


def show_digits(images, predicted, count=5):
    """The first images with what was read."""
    shades = " .:-=+*#%@"
    for line in range(8):
        row = ("".join(shades[int(v * 9 / 16)] * 2 for v in image[line]) for image in images[:count])
        print("  " + " ".join(row))
    print("  " + " ".join(f"{f'-> {label}':^16}" for label in predicted[:count]), flush=True)


def main():
    digits = load_digits()
    train, test, train_labels, test_labels, _, test_images = train_test_split(
        digits.data, digits.target, digits.images, test_size=0.3, random_state=0, stratify=digits.target
    )
    data = (train, test, train_labels)
    peer = KNeighborsClassifier(n_neighbors=K).fit(train, train_labels)

    title("The data")
    print(f"  {len(digits.data)} handwritten digits of 8x8 pixels from scikit-learn")
    print(f"  {len(train)} to learn from, {len(test)} to classify by their {K} nearest neighbours")

    folder = Path(tempfile.mkdtemp(prefix="intent-demo-"))
    cache = folder / "cache"
    try:
        title("A daemon with an empty cache")
        with Daemon(folder, cache) as daemon:
            print(f"  intent-compiled, process {daemon.pid}, at {daemon.address}")
            model, first, compiling, running = classify(daemon, data)
            print(f"  three kernels compiled for {model.artifacts['nearest'].target} in {milliseconds(compiling)}")
            show_artifacts(model)
            print(f"  {len(test)} digits classified in {milliseconds(running)}")
            show_digits(test_images, first)
            compare(model, test, test_labels, first, peer)
            counters = show_counters(daemon)
            check(counters["compiles"] == 3, "the daemon compiled three kernels")

        title("A new daemon on the same cache folder")
        with Daemon(folder, cache) as daemon:
            _, again, compiling, _ = classify(daemon, data)
            print(f"  three kernels ready in {milliseconds(compiling)}")
            counters = show_counters(daemon)
            check(counters["compiles"] == 0, "0 compiles: everything came from the disk")
            check(np.array_equal(first, again), "the predictions are the same")

        title("A new daemon after the cache folder was emptied")
        for entry in cache.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        with Daemon(folder, cache) as daemon:
            _, again, compiling, _ = classify(daemon, data)
            print(f"  three kernels compiled in {milliseconds(compiling)}")
            counters = show_counters(daemon)
            check(counters["compiles"] > 0, f"{counters['compiles']} compiles: nothing was left to find")
            check(np.array_equal(first, again), "the predictions are the same")
    except Exception:
        log = folder / "daemon.log"
        if log.exists():
            print(f"\n{RED}The daemon's log ends with:{PLAIN}")
            print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-20:]))
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)

    title("Everything held" if not failures else f"Did not hold: {'; '.join(failures)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
