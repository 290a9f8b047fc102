"""Two clients of one daemon and one GPU: while A loops a kernel that faults, every kernel of B's succeeds.

    python tests/gpu/two_clients.py [--seconds 60] [--target sm_90a] [--compiler ADDRESS]

A reads far outside its array with CompileOptions(bounds="trust"), which ends the context of whatever process runs
it; both clients run on NumPy arrays, so that is a process of the daemon's. B runs a kernel of its own and, with
good indices, A's kernel too. Prints counts, and ends with status 1 when a call of B's failed or none of A's did.
"""

import argparse
import multiprocessing
import os
import sys
import time

import intent
import numpy as np
from intent import language as I


@intent.kernel
def pick(x: I.In[I.f32, ("N",)], at: I.In[I.index, ("M",)], y: I.Out[I.f32, ("M",)]):
    y[:] = x[at[:]]


@intent.kernel
def line(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = 2.0 * x[:] + 1.0


def compiled(kernel, options, **how):
    target = intent.CudaTarget(options.target)
    return intent.compile(
        kernel,
        compiler=options.compiler,
        target=target,
        options=intent.CompileOptions(**how),
    )


def loop_faults(options, ready, end, counts):
    """Client A."""
    artifact = compiled(pick, options, bounds="trust")
    x = np.ones(1000, np.float32)
    beyond = np.full(1000, 1 << 44, np.int64)
    ready.set()
    while not end.is_set():
        try:
            artifact.run(x, beyond)
            outcome = "succeeded"
        except intent.ServiceError as error:
            outcome = error.status
        counts[outcome] = counts.get(outcome, 0) + 1


def loop_good(options):
    """Client B: (number of calls, what failed, the longest call in seconds)."""
    artifact, shared = compiled(line, options), compiled(pick, options, bounds="trust")
    x = np.arange(100_000, dtype=np.float32)
    at = np.arange(100_000, dtype=np.int64)[::-1].copy()
    calls, failures, longest = 0, [], 0.0
    until = time.monotonic() + options.seconds
    while time.monotonic() < until:
        began = time.monotonic()
        try:
            if calls % 10 == 9:
                good = np.array_equal(shared.run(x, at), x[::-1])
            else:
                good = np.array_equal(artifact.run(x), 2 * x + 1)
            if not good:
                failures.append("a wrong result")
        except intent.IntentError as error:
            failures.append(str(error))
        calls += 1
        longest = max(longest, time.monotonic() - began)
    return calls, failures, longest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument(
        "--compiler",
        default=os.environ.get("INTENT_COMPILER"),
        help="by default INTENT_COMPILER",
    )
    options = parser.parse_args()
    if not options.compiler:
        parser.error("give --compiler, or set INTENT_COMPILER")
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        ready, end, counts = context.Event(), context.Event(), manager.dict()
        client = context.Process(target=loop_faults, args=(options, ready, end, counts))
        client.start()
        if not ready.wait(120):
            client.kill()
            print("client A did not start\n0 passed, 1 failed")
            return 1
        try:
            calls, failures, longest = loop_good(options)
        finally:
            end.set()
            client.join(60)
        faults = dict(counts)
    print(f"A: {faults}")
    print(f"B: {calls} calls, {len(failures)} failed; the longest took {longest * 1e3:.0f} ms")
    stats = intent.Compiler(options.compiler).stats()
    for name in ("cuda_executor_starts", "cuda_executor_crashes", "cuda_reruns"):
        print(f"{name}: {stats[name]}")
    for failure in failures[:5]:
        print(f"   {failure}")
    bad = bool(failures) or not calls or not faults.get("ABORTED") or bool(faults.get("succeeded"))
    print("0 passed, 1 failed" if bad else "1 passed, 0 failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
