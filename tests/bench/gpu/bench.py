"""What our kernels do on a GPU beside torch, cuBLAS, Triton and CuPy, and beside the limit of the machine.

    python tests/bench/gpu/bench.py [--only REGEX] [--compiler ADDRESS]

Compiles by the service that INTENT_COMPILER names and runs in this process. Every row is checked on fresh random
input, with garbage in its output beforehand, before it is timed; a wrong row is not timed. The table goes to $OUT
as well. Nothing is asserted of times; the exit status is 1 after a wrong row.
"""

import argparse
import gc
import math
import os
import re
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import launch_cost
import torch
from measure import L2_BYTES, compare_ms, copy_bandwidth, poison, relative_error
from ours import bind, compile_row, finish
from rows import TFLOPS, rows

HEADER = f"{'row':44} {'peer':14} {'ours ms':>9} {'theirs ms':>9} {'ours':>9} {'theirs':>9} {'limit':>8} {'/theirs':>7} {'/limit':>7}  floor"


def sets_of(row):
    """(inputs, output) several times, together well beyond L2 where that takes few; no more than fit."""
    inputs = row.inputs()
    output = row.output(inputs)
    size = sum(t.nbytes for t in (*inputs, output) if isinstance(t, torch.Tensor))
    count = max(1, min(8, math.ceil(4 * L2_BYTES / size)))
    sets = [(inputs, output)]
    for _ in range(count - 1):
        inputs = row.inputs()
        sets.append((inputs, row.output(inputs)))
    return sets


def check(row, artifact, run, inputs, output):
    """Empty, or what is wrong with the result."""
    poison(output)
    run()
    finish(artifact)
    want = row.want(inputs)
    if row.tolerance == 0:
        wrong = int((output != want).sum())
        return f"{wrong} of {output.numel()} elements are wrong" if wrong else ""
    error = relative_error(output, want)
    return "" if error <= row.tolerance else f"the error is {error:.2g}, not at most {row.tolerance:g}"


def measure(row, artifact, copy):
    sets = sets_of(row)
    runs = [bind(artifact, inputs, output) for inputs, output in sets]
    wrong = check(row, artifact, runs[0], *sets[0]) or check(row, artifact, runs[-1], *sets[-1])
    if wrong:
        return f"{row.name:44} {row.peer:14} WRONG: {wrong}"
    numbered = [(index, *pair) for index, pair in enumerate(sets)]
    ours, theirs = compare_ms(lambda s: runs[s[0]](), lambda s: row.theirs(s[1], s[2]), numbered)
    work, scale, limit = (row.flops, 1e9, TFLOPS.get(row.unit)) if row.flops else (row.bytes, 1e6, copy / 1e9)
    speed, other = work / ours / scale, work / theirs / scale
    text = f"{row.name:44} {row.peer:14} {ours:9.4f} {theirs:9.4f} {speed:9.1f} {other:9.1f} {limit:8.0f}"
    return text + f" {speed / other:7.2f} {speed / limit:7.2f}  {row.floor}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--compiler", help="address of a compile service; without it INTENT_COMPILER")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(time.time_ns() % (1 << 31))  # fresh input in every run
    out = Path(os.environ.get("OUT", "."))
    lines, failed, passed = [], 0, 0

    def say(line):
        lines.append(line)
        print(line, flush=True)
        (out / "bench.txt").write_text("\n".join(lines) + "\n")

    made = [row for row in (maker() for maker in rows()) if re.search(options.only, row.name)]
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        artifacts = list(pool.map(lambda row: compile_row(row, options.compiler), made))
    copy = copy_bandwidth()
    say(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; copy {copy / 1e12:.2f} TB/s; compiled in "
        f"{time.monotonic() - began:.1f} s")  # fmt: skip
    say("GB/s for rows that move memory, whose limit is that copy; TFLOP/s for products and attention, whose limit "
        "is the datasheet's")  # fmt: skip
    say(HEADER)
    for row, artifact in zip(made, artifacts):
        try:
            if isinstance(artifact, Exception):
                raise artifact
            line = measure(row, artifact, copy)
        except Exception as error:  # one row's trouble is not the others'
            traceback.print_exc(file=sys.stderr)
            line = f"{row.name:44} {row.peer:14} FAILED: {type(error).__name__}: {' '.join(str(error).split())[:160]}"
        failed += "WRONG" in line or "FAILED" in line
        passed += not ("WRONG" in line or "FAILED" in line)
        say(line)
        gc.collect()
        torch.cuda.empty_cache()
    if re.search(options.only, "launch"):
        try:
            for line in launch_cost.lines(options.compiler):
                say(line)
            passed += 1
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            say(f"launch cost FAILED: {type(error).__name__}: {error}")
            failed += 1
    say(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
