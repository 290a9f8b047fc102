"""How tests/gpu/run.py counts: what did not run counts as failed."""

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "tests" / "gpu"))
spec = importlib.util.spec_from_file_location("gpu_run", ROOT / "tests" / "gpu" / "run.py")
gpu_run = importlib.util.module_from_spec(spec)
sys.modules["gpu_run"] = gpu_run
spec.loader.exec_module(gpu_run)

THREE = gpu_run.Task("part", [], ["a.one", "a.two", "b.three"])
PLAIN = gpu_run.Task("program", [])


def counts(task, status, text):
    count = gpu_run.judge(task, status, text)
    return count.passed, count.failed


def test_cases_are_counted_by_their_lines():
    text = (
        "pass  a.one  compile 3 ms\nskip  a.two\nFAIL  b.three  4 of 9 wrong\n1 passed, 1 failed, 1 skipped\n"
    )
    assert counts(THREE, 1, text) == (1, 1)


def test_cases_after_a_crash_have_failed():
    count = gpu_run.judge(THREE, -11, "pass  a.one  compile 3 ms\n")
    assert (count.passed, count.failed) == (1, 2)
    assert "did not end: a.two" in count.faults[-1]


def test_a_program_that_prints_counts_is_counted_by_them():
    assert counts(PLAIN, 1, "2 failed, 7 passed, 1 error in 3.2s\n") == (7, 3)


def test_a_program_without_counts_is_judged_by_its_status():
    assert counts(PLAIN, 0, "agrees with NumPy\n") == (1, 0)
    assert counts(PLAIN, 3, "") == (0, 1)


def test_a_sanitizer_that_finds_something_has_failed_though_all_cases_passed():
    text = "pass  a.one\npass  a.two\npass  b.three\n========= Invalid __global__ read of size 4 bytes\n"
    count = gpu_run.judge(THREE, 86, text)
    assert (count.passed, count.failed) == (3, 1)
    assert count.faults[0].startswith("========= Invalid")


def test_a_googletest_program_is_counted_by_its_last_lines():
    text = "[  FAILED  ] Run.Sums (3 ms)\n[  PASSED  ] 299 tests.\n[  FAILED  ] 1 test, listed below:\n"
    assert counts(PLAIN, 1, text) == (299, 1)


def test_random_kernels_are_counted_by_their_row():
    text = "seed 7 failed: /x/7.kir\n| 1:101 | COMMIT | DATE | 100 | 1 |\n"
    count = gpu_run.judge(PLAIN, 1, text)
    assert (count.passed, count.failed, count.faults) == (99, 1, ["seed 7 failed: /x/7.kir"])


def test_what_a_sanitizer_found_in_a_child_counts_though_the_status_is_0():
    text = "| 1:3 | COMMIT | DATE | 2 | 0 |\n========= RACECHECK SUMMARY: 2 hazards displayed\n"
    assert counts(PLAIN, 0, text) == (2, 1)
    assert counts(PLAIN, 0, "========= ERROR SUMMARY: 0 errors\n") == (1, 0)


def test_a_test_that_found_no_nvrtc_has_failed():
    text = "SKIPPED: nothing is compiled for CUDA: no libnvrtc\n| 1:3 | COMMIT | DATE | 2 | 0 |\n"
    assert counts(PLAIN, 0, text) == (2, 1)


def test_only_sections_that_exist_run(tmp_path):
    command = [sys.executable, ROOT / "tests" / "gpu" / "run.py", "--from", tmp_path, "--only", "nosuch"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "no section nosuch" in done.stderr
