"""What a call of a kernel costs beside the kernel, in this process and through the service.

    python tests/bench/call_overhead.py [--daemon unix:/path]

Prints microseconds, the best of several rounds, and their ratios to NumPy's own addition of the same
arrays. Without --daemon it uses the daemon of one's own that the package finds or starts.
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


def forty_lines(number: int) -> str:
    """The text of a kernel of 40 lines; `number` makes it another kernel."""
    lines = [
        "@intent.kernel",
        "def kernel(x: I.In[I.f32, ('M', 'N')], s: I.In[I.f32, ('N',)], out: I.Out[I.f32, ('M', 'N')]):",
        f"    a = x[:, :] + {number}.0",
    ]
    for step in range(35):
        lines.append(
            [
                "    a = a * s[:] + x[:, :]",
                "    a = I.maximum(a, x[:, :])",
                "    a = I.select(a > 0.5, a, -a)",
                "    m = I.reduce.max(a, axis=1)",
                "    a = I.exp2(a - I.reshape(m, (x.shape[0], 1)))",
            ][step % 5]
        )
    lines += ["    r = I.reduce.sum(a, axis=1)", "    out[:, :] = a / I.reshape(r, (x.shape[0], 1))"]
    assert len(lines) == 40
    return "\n".join(lines)


def best(function, count: int, rounds: int = 7) -> float:
    """Microseconds of one call."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            function()
        times.append((time.perf_counter() - start) / count * 1e6)
    return min(times)


def define(text: str):
    names: dict = {"intent": intent, "I": I}
    exec(text.replace("@intent.kernel\n", "", 1), names)
    return intent.kernel(names["kernel"], source=text)


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
    there = empty.prepare(one, execute="remote")
    rows.append(("prepared launch by the service", best(there.launch, 200), ""))
    rows.append(("artifact.run(x, y) by the service", best(lambda: add.run(x, y, execute="remote"), 200), ""))

    # The service has them; this process has not seen the functions.
    for number in range(20):
        intent.compile(define(forty_lines(number)), compiler=compiler)
    fresh = iter([define(forty_lines(number)) for number in range(20)] * 1)
    rows.append(
        (
            "front end and request, cached kernel of 40 lines",
            best(lambda: intent.compile(next(fresh), compiler=compiler), 1, rounds=20),
            "<= 3000",
        )
    )
    known = define(forty_lines(0))
    intent.compile(known, compiler=compiler)
    rows.append(("the same, traced before", best(lambda: intent.compile(known, compiler=compiler), 50), ""))

    for name, microseconds, aim in rows:
        print(f"{name:50} {microseconds:10.2f} us {microseconds / numpy:9.1f} x np.add  {aim}")


if __name__ == "__main__":
    main()
