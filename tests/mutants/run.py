#!/usr/bin/env python3
"""Mutants of the compiler, each to be caught by the test that its patch names.

  tests/mutants/run.py --check          every patch applies (what CI does)
  tests/mutants/run.py [NAME ...]       applies each to a scratch copy under build/, builds the
                                        named test there and expects it to fail

The scratch copy is a git worktree of HEAD with a build folder of its own, kept between runs.
"""

import pathlib
import subprocess
import sys

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


def verdict(patch):
    binary, pattern = named_test(patch)
    must("git", "apply", patch, cwd=SCRATCH)
    try:
        built = run("cmake", "--build", "build", "--target", binary, cwd=SCRATCH)
        if built.returncode != 0:
            return "does not build"
        try:
            test = run(f"build/tests/{binary}", f"--gtest_filter={pattern}", cwd=SCRATCH, timeout=60)
        except subprocess.TimeoutExpired:
            return "caught"  # a loop that no longer ends
        if "0 tests from 0 test suites ran" in test.stdout:
            return "names no test"
        return "survived" if test.returncode == 0 else "caught"
    finally:
        must("git", "apply", "--reverse", patch, cwd=SCRATCH)


def main(arguments):
    patches = sorted(PATCHES.glob("*.patch"))
    if arguments == ["--check"]:
        return check(patches)
    if arguments:
        patches = [patch for patch in patches if patch.stem in arguments]
    prepare()
    missed = 0
    for patch in patches:
        binary, pattern = named_test(patch)
        result = verdict(patch)
        missed += result != "caught"
        print(f"| {patch.stem} | {binary} `{pattern}` | {result} |", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
