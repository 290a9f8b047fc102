"""Benchmarks of the CPU target: ratios against the tool a user would pick instead, in one run.

    build/venv/bin/python tests/bench/bench.py [--build DIR] [--only REGEX] [--rounds N]

Starts a daemon of its own from the build folder. Kernels run in this process on the same arrays as their
peers, interleaved round by round; a row gives the median of the ratios and their quartiles. Nothing is asserted.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


class Daemon:
    def __init__(self, build, *flags):
        self.folder = tempfile.TemporaryDirectory()
        self.address = f"unix:{self.folder.name}/bench.sock"
        command = [f"{build}/bin/intent-compiled", "--listen", self.address, "--cache-dir", f"{self.folder.name}/cache", *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.time() + 30
        while not os.path.exists(f"{self.folder.name}/bench.sock"):
            if time.time() > deadline or self.process.poll() is not None:
                raise SystemExit("the daemon did not start")
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def rested(side, rest):
    """BLAS threads spin long after their work; they must not cost the other side a core. Then wake our own."""
    if rest:
        time.sleep(rest)
        side()
    return side()


def ratios(peer, ours, rounds, rest):
    """Medians of both in ms, and the quartiles of peer/ours: above 1 we are faster."""
    peer(), ours()
    pairs = []
    for _ in range(rounds):
        pairs.append((rested(peer, rest), rested(ours, rest)))
    values = sorted(a / b for a, b in pairs)
    middle = [statistics.median(column) * 1e3 for column in zip(*pairs)]
    return (*middle, values[len(values) // 4], statistics.median(values), values[3 * len(values) // 4])


def main():
    options = arguments()
    sys.path[:0] = [f"{options.build}/python", f"{options.build}/python_proto", f"{options.build}/bench"]
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import suites

    print(f"{'row':44} {'peer':26} {'peer ms':>9} {'ours ms':>9} {'ratio':>7}  quartiles")
    with Daemon(options.build) as daemon:
        for row in suites.rows(daemon.address, options.threads):
            if not re.search(options.only, row.name):
                continue
            peer, ours = row.make()
            peer_ms, ours_ms, low, middle, high = ratios(peer, ours, options.rounds, row.rest)
            print(
                f"{row.name:44} {row.peer:26} {peer_ms:9.3f} {ours_ms:9.3f} {middle:7.2f}  {low:.2f}..{high:.2f}",
                flush=True,
            )
        if re.search(options.only, "service"):
            suites.service(daemon.address, options.rounds)
            subprocess.run([f"{options.build}/bench/hit_bench", daemon.address], check=False)


if __name__ == "__main__":
    main()
