"""Runs examples: compile, run, compare with NumPy.

python docs/examples/run.py                     all of them on the CPU
python docs/examples/run.py attention moe       some
python docs/examples/run.py fft --target interp by the interpreter, slow and exact; or cuda
"""

import argparse
import importlib
import time
from pathlib import Path

import intent

TARGETS = {"cpu": intent.CpuTarget, "interp": intent.InterpreterTarget, "cuda": intent.CudaTarget}
NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "run")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="EXAMPLE", help=", ".join(NAMES))
    parser.add_argument("--target", choices=TARGETS, default="cpu")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no example {', '.join(sorted(unknown))}")
    for name in options.names or NAMES:
        began = time.perf_counter()
        importlib.import_module(name).check(TARGETS[options.target]())
        print(f"{name}: agrees with NumPy, {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
