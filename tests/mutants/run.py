#!/usr/bin/env python3
"""Mutants of the compiler, each to be caught by the test that its patch names.

  tests/mutants/run.py --check          every patch applies (what CI does)
  tests/mutants/run.py [NAME ...]       applies each to a scratch copy under build/, builds the
                                        named test there and expects it to fail
  tests/mutants/run.py --generator [--minutes=N] [NAME ...]
                                        the same with random kernels instead of the named test:
                                        how long they take (10 minutes at most by default), and
                                        the seed that notices
  tests/mutants/run.py --both ...       one after the other

The scratch copy is a git worktree of HEAD with a build folder of its own, kept between runs.
"""

import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATCHES = ROOT / "tests/mutants/patches"
SCRATCH = ROOT / "build/mutants"


def run(*command, cwd=ROOT, timeout=None):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout)


def must(*command, cwd=ROOT):
    result = run(*command, cwd=cwd)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{result.stdout}{result.stderr}")


def named_test(patch):
    first = patch.read_text().splitlines()[0]
    word, binary, pattern = first.split(" ", 2)
    assert word == "Test:", patch
    return binary, pattern


def check(patches):
    bad = 0
    for patch in patches:
        result = run("git", "apply", "--check", patch)
        if result.returncode != 0:
            bad += 1
            print(f"{patch.stem} does not apply:\n{result.stderr}")
    print(f"{len(patches) - bad} of {len(patches)} mutants apply")
    return bad


def prepare():
    head = run("git", "rev-parse", "HEAD").stdout.strip()
    if not SCRATCH.exists():
        must("git", "worktree", "add", "--detach", SCRATCH, head)
    must("git", "checkout", "--force", "--detach", head, cwd=SCRATCH)
    must("cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-Wno-dev",
         cwd=SCRATCH)


def named(patch):
    """Whether the named test fails; the mutant is in place."""
    binary, pattern = named_test(patch)
    what = f"{binary} `{pattern}`"
    if run("cmake", "--build", "build", "--target", f"tests/{binary}", cwd=SCRATCH).returncode != 0:
        return what, "does not build"
    try:
        test = run(f"build/tests/{binary}", f"--gtest_filter={pattern}", cwd=SCRATCH, timeout=60)
    except subprocess.TimeoutExpired:
        return what, "caught"  # a loop that no longer ends
    if "0 tests from 0 test suites ran" in test.stdout:
        return what, "names no test"
    return what, "survived" if test.returncode == 0 else "caught"


def random_kernels(minutes):
    """Whether random kernels disagree; the mutant is in place."""
    what, binary = "random kernels", "differential_test"
    if run("cmake", "--build", "build", "--target", f"tests/{binary}", cwd=SCRATCH).returncode != 0:
        return what, "does not build"
    begin = time.monotonic()
    # Optimising is what takes time, and most of what lowering breaks shows without it.
    test = run(f"build/tests/{binary}", "--long", "--no-shrink", "--seeds=1:1000000",
               "--optimise-every=8", f"--minutes={minutes}", "--failures=1", cwd=SCRATCH)
    seconds = round(time.monotonic() - begin)
    found = re.search(r"seed (\d+) failed", test.stdout)
    return what, f"caught in {seconds} s by seed {found[1]}" if found else "survived"


def main(arguments):
    patches = sorted(PATCHES.glob("*.patch"))
    if arguments == ["--check"]:
        return check(patches)
    generator = "--generator" in arguments or "--both" in arguments
    by_name = "--generator" not in arguments
    minutes = next((a.split("=")[1] for a in arguments if a.startswith("--minutes=")), "10")
    names = [a for a in arguments if not a.startswith("--")]
    if names:
        patches = [patch for patch in patches if patch.stem in names]
    prepare()
    missed = 0
    for patch in patches:
        must("git", "apply", patch, cwd=SCRATCH)
        judged = ([named(patch)] if by_name else []) + ([random_kernels(minutes)] if generator else [])
        must("git", "apply", "--reverse", patch, cwd=SCRATCH)
        for what, result in judged:
            missed += not result.startswith("caught")
            print(f"| {patch.stem} | {what} | {result} |", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
