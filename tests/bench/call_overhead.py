"""What a call of a kernel costs beside the kernel, in this process and through the service.

    python tests/bench/call_overhead.py [--daemon unix:/path]

Prints microseconds, the best of several rounds, and their ratios to NumPy's own addition of the same
arrays. frontend.py has what comes before a call. Without --daemon it uses the daemon of one's own that the
package finds or starts.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "build" / "python"), str(ROOT / "build" / "python_proto")]

import numpy as np  # noqa: E402

import intent  # noqa: E402
import intent.language as I  # noqa: E402


@intent.kernel
def emptyish(x: I.InOut[I.f32, (1,)]):
    x[0] = 1.0


@intent.kernel
def added(x: I.In[I.f32, ("N",)], y: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):
    out[:] = x[:] + y[:]


class Lent:
    """An array of another library, lent by DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def best(function, count: int, rounds: int = 7) -> float:
    """Microseconds of one call."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            function()
        times.append((time.perf_counter() - start) / count * 1e6)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--daemon", metavar="ADDRESS", help="unix:/path; otherwise the embedded one")
    compiler = parser.parse_args().daemon
    x, y = np.ones(16, np.float32), np.ones(16, np.float32)
    one = np.zeros(1, np.float32)
    empty, add = intent.compile(emptyish, compiler=compiler), intent.compile(added, compiler=compiler)
    print(f"kernels run: {empty.executes}; target {empty.target}")

    numpy = best(lambda: np.add(x, y), 20_000)
    rows = [("np.add(x, y), 16 elements", numpy, "")]
    here = empty.prepare(one)
    rows.append(("prepared launch, empty-ish kernel", best(here.launch, 20_000), "<= 5"))
    rows.append(("artifact(x, y, out), 16 elements", best(lambda: add(x, y, x), 20_000), ""))
    rows.append(("artifact.run(x, y), 16 elements", best(lambda: add.run(x, y), 20_000), "<= 30"))
    lent = Lent(x)
    rows.append(("the same, lent by DLPack", best(lambda: add.run(lent, lent), 5_000), "<= 30"))
    there = empty.prepare(one, execute="remote")
    rows.append(("prepared launch by the service", best(there.launch, 200), ""))
    rows.append(("artifact.run(x, y) by the service", best(lambda: add.run(x, y, execute="remote"), 200), ""))

    for name, microseconds, aim in rows:
        print(f"{name:50} {microseconds:10.2f} us {microseconds / numpy:9.1f} x np.add  {aim}")


if __name__ == "__main__":
    main()
