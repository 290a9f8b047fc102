"""Runs the GPU's tests on a machine that has one, from a folder that tests/gpu/pack.sh filled.

    tests/gpu/run.sh [--from FOLDER] [--only SECTION,...] [--match REGEX] [--seeds A:B] [--jobs N]
                     [--nvrtc PATH]

Sections, each with a time limit of its own; without --only, all but the last two:

    cases         the shared cases, compiled and run by the daemon
    torch         the same, run in this process on torch tensors
    examples      the programs of docs/examples, run by the daemon
    differential  random kernels against the interpreter
    conformance   the rules of the language, section by section
    pytest        tests/gpu/test_*.py
    memcheck      torch's cases and random kernels under compute-sanitizer
    racecheck     likewise, cases of torch's only where they use shared memory
    clients       one client's faults and another's kernels, for a minute; only when named
    bench         the table of tests/bench/gpu; only when named

Prints a line for each section and the first of what failed. $OUT (by default build/gpu) gets log.txt, which
has everything, and what benchmarks write. The last line is 'N passed, N failed'.
"""

import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from gpu_here import missing

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "gpu"
ORDINARY = ["cases", "torch", "examples", "differential", "conformance", "memcheck", "racecheck"]
if list(HERE.glob("test_*.py")):
    ORDINARY.insert(5, "pytest")

FAULT = re.compile(
    r"^(FAIL|ERROR|FAILED)\b|^seed \d+ failed|^\[  FAILED  \]|\w*Error\b.*:"
    r"|^SKIPPED: |^========= (Invalid|Error:|Program hit|Uninit)|hazard|\b(WRONG|FAILED): ",
    re.IGNORECASE,
)
SANITIZER_FOUND = re.compile(r"^========= \w+ SUMMARY: [1-9]", re.MULTILINE)
NOT_COMPILED = "SKIPPED: nothing is compiled for CUDA"  # what tests say without NVRTC
# The row that differential_test --long ends with.
CAMPAIGN = re.compile(r"^\| \d+:\d+ \| COMMIT \| DATE \| (\d+) \| (\d+) \|$", re.MULTILINE)


@dataclass
class Task:
    """One command of a section. With `cases` it prints a line that begins with a word and the name of each;
    otherwise a line such as '3 passed, 1 failed', and where there is none its status counts."""

    name: str
    command: list
    cases: list = field(default_factory=list)


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    faults: list = field(default_factory=list)


def judge(task, status, text):
    """A Count of what a command printed."""
    faults = [line for line in text.splitlines() if FAULT.search(line)]
    if task.cases:
        lines = re.findall(r"^(pass|skip|FAIL|ERROR)\s+(\S+)", text, re.MULTILINE)
        seen = {name: word for word, name in lines}
        good = sum(seen.get(name) == "pass" for name in task.cases)
        skipped = sum(seen.get(name) == "skip" for name in task.cases)
        unseen = [name for name in task.cases if name not in seen]
        if unseen:
            faults.append(f"did not end: {unseen[0]} and {len(unseen) - 1} after it")
        count = Count(good, len(task.cases) - good - skipped, faults)
    elif gtest := re.findall(r"^\[  (PASSED|FAILED)  \] (\d+) tests?[.,]", text, re.MULTILINE):
        numbers = {word: int(number) for word, number in gtest}
        count = Count(numbers.get("PASSED", 0), numbers.get("FAILED", 0), faults)
    elif campaign := CAMPAIGN.search(text):
        kernels, bad = map(int, campaign.groups())
        count = Count(kernels - bad, bad, faults)
    else:
        good, bad = (
            sum(map(int, re.findall(rf"\b(\d+) {word}\b", text))) for word in ("passed", "(?:failed|error)")
        )
        count = Count(good, bad, faults) if good + bad else Count(int(status == 0), int(status != 0), faults)
    if (SANITIZER_FOUND.search(text) or NOT_COMPILED in text) and count.failed == 0:
        count.failed = 1
    if status != 0 and count.failed == 0:
        count.failed = 1
        count.faults.append(f"{task.name} ended with status {status}")
    return count


class Run:
    def __init__(self, options, scratch):
        self.options = options
        self.scratch = Path(scratch)
        self.source = Path(options.source).resolve()
        self.cases = self.source / "cases"
        self.out = Path(os.environ.get("OUT") or ROOT / "build" / "gpu")
        self.out.mkdir(parents=True, exist_ok=True)
        self.log = open(self.out / "log.txt", "w", errors="replace")
        self.total = Count()
        self.bundle = self._unpack()
        self.nvrtc = options.nvrtc or (find_nvrtc() if options.target.startswith("cuda") else "")
        self.address = f"unix:{scratch}/daemon.sock"
        self.environment = {
            **os.environ,
            "OUT": str(self.out),
            "PYTHONPATH": os.pathsep.join([str(self.bundle / "python"), str(self.cases)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "INTENT_COMPILER": self.address,
            **({"INTENT_NVRTC": self.nvrtc} if self.nvrtc else {}),
        }
        self.daemon = None
        self.daemon_log = self.scratch / "daemon.log"

    def _unpack(self):
        archive = self.source / "intent.tar.xz"
        with tarfile.open(archive) as tar:
            tar.extractall(self.scratch / "bundle", filter="tar")
        (folder,) = (self.scratch / "bundle").iterdir()
        return folder

    def start_daemon(self):
        binary = self.bundle / "bin" / "intent-compiled"
        command = [binary, "--listen", self.address, "--cache-dir", self.scratch / "cache"]
        command += ["--workers", str(max(2, min(12, os.cpu_count() - 2)))]
        if self.nvrtc:
            command += ["--nvrtc", self.nvrtc]
        with open(self.daemon_log, "ab") as log:
            self.daemon = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while not (self.scratch / "daemon.sock").exists():
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the daemon did not start: {self.daemon_log.read_text(errors='replace')}")
            time.sleep(0.02)
        said = subprocess.run(
            [self.bundle / "bin" / "intentc", "stats", "--server", self.address],
            capture_output=True,
            text=True,
        )
        self.log.write(f"## daemon\n{' '.join(map(str, command))}\n{said.stdout}{said.stderr}\n")

    def close(self):
        if self.daemon is not None:
            self.daemon.terminate()
            self.daemon.wait(30)
            self.log.write(f"## the daemon's log\n{self.daemon_log.read_text(errors='replace')}")
        self.log.close()

    # Sections.

    def names(self):
        """Cases to run, in the order of their files."""
        command = [sys.executable, self.cases / "run.py", "--cases", self.cases, "--list"]
        listed = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return [name for name in listed.stdout.split() if re.search(self.options.match, name)]

    def over_cases(self, parts, command, names=None):
        """Tasks that together run the cases; neighbours, which take alike long, go to different ones."""
        names = self.names() if names is None else names
        tasks = []
        for part in range(min(parts, len(names))):
            own = names[part::parts]
            scope = self.scratch / f"scope-{len(list(self.scratch.glob('scope-*')))}"
            scope.write_text("\n".join(own))
            tasks.append(Task(f"part {part}", [*command, "--scope", scope], own))
        return tasks

    def section_cases(self):
        command = [sys.executable, self.cases / "run.py", "--cases", self.cases]
        command += ["--target", self.options.target, "--compiler", self.address]
        return 240, self.over_cases(self.options.jobs, command)

    def torch_command(self, *flags):
        return [
            sys.executable,
            HERE / "torch_cases.py",
            "--cases",
            self.cases,
            "--target",
            self.options.target,
            *flags,
        ]

    def section_torch(self):
        return 240, self.over_cases(min(4, self.options.jobs), self.torch_command())

    def section_examples(self):
        folder = ROOT / "docs" / "examples"
        names = sorted(path.stem for path in folder.glob("*.py") if path.stem != "run")
        run = [sys.executable, folder / "run.py", "--target", self.options.target.partition(":")[0]]
        return 200, [Task(name, [*run, name]) for name in names if re.search(self.options.match, name)]

    def random_kernels(self, seeds, jobs):
        """Made and compiled there, against the interpreter; failures are written out, not made smaller."""
        folder = self.scratch / f"random-{len(list(self.scratch.glob('random-*')))}"
        folder.mkdir()
        program = self.bundle / "tests" / "differential_test"
        flags = [
            "--long",
            "--no-shrink",
            "--way=CUDA",
            f"--seeds={seeds}",
            f"--jobs={jobs}",
            f"--folder={folder}",
        ]
        return [program, *flags, "--failures=40"]

    def section_differential(self):
        return 150, [Task("random kernels", self.random_kernels(self.options.seeds, os.cpu_count()))]

    def section_conformance(self):
        """As CUDA alone, in parts: each compiles in its own process, and CI runs the other ways."""
        tasks = []
        for part in range(self.options.jobs):
            own = ["env", "INTENT_WAYS=CUDA", f"GTEST_TOTAL_SHARDS={self.options.jobs}"]
            own += [f"GTEST_SHARD_INDEX={part}", self.bundle / "tests" / "conformance_test", "--gtest_brief=1"]
            tasks.append(Task(f"part {part}", own))
        return 200, tasks

    def section_pytest(self):
        return 200, [
            Task("pytest", [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", HERE])
        ]

    def sanitized(self, tool, command):
        program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        options = ["--target-processes", "all", "--error-exitcode", "86", "--print-limit", "5"]
        return [program, "--tool", tool, *options, *command]

    def under(self, tool, *flags):
        tasks = [Task("random kernels", self.sanitized(tool, self.random_kernels("1:121", 4)))]
        return 240, tasks + self.over_cases(
            self.options.jobs, self.sanitized(tool, self.torch_command(*flags))
        )

    def section_memcheck(self):
        return self.under("memcheck")

    def section_racecheck(self):
        return self.under("racecheck", "--shared")

    def section_clients(self):
        return 120, [Task("two clients", [sys.executable, HERE / "two_clients.py", "--seconds", "60"])]

    def section_bench(self):
        return 420, [Task("bench", [sys.executable, ROOT / "tests" / "bench" / "gpu" / "bench.py"])]

    def section(self, name):
        began = time.monotonic()
        try:
            limit, tasks = getattr(self, f"section_{name}")()
        except (OSError, subprocess.CalledProcessError) as error:
            limit, tasks = 1, [Task(name, ["sh", "-c", f"echo ERROR {type(error).__name__}; exit 1"])]
        limit *= self.options.patience
        with ThreadPoolExecutor(self.options.jobs) as pool:
            counts = list(pool.map(lambda task: self._run(name, task, began + limit), tasks))
        passed, failed = sum(c.passed for c in counts), sum(c.failed for c in counts)
        if not passed + failed:
            failed, counts = 1, [Count(0, 1, ["nothing ran"])]
        self.total.passed += passed
        self.total.failed += failed
        seconds = time.monotonic() - began
        print(f"== {name:12} {passed:5} passed {failed:4} failed {seconds:6.0f} s", flush=True)
        faults = [fault for count in counts for fault in count.faults] if failed else []
        for fault in faults[: self.options.show]:
            print("   " + " ".join(fault.split())[:230])
        if len(faults) > self.options.show:
            print(f"   and {len(faults) - self.options.show} lines like these in log.txt")
        if name == "bench" and (self.out / "bench.txt").exists():
            print((self.out / "bench.txt").read_text(), end="")
        if self.daemon is not None and self.daemon.poll() is not None:
            print(f"   the daemon ended with status {self.daemon.returncode}; it is started again")
            self.total.failed += 1
            self.start_daemon()

    def _run(self, section, task, deadline):
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return Count(0, max(1, len(task.cases)), [f"{task.name}: not begun within the limit"])
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                [str(word) for word in task.command],
                env=self.environment,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(remaining)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                status = "none: it was stopped at the limit"
            output.seek(0)
            text = output.read().decode(errors="replace")
        self.log.write(f"## {section}: {task.name}, status {status}\n{text}\n")
        self.log.flush()
        return judge(task, status, text)


def find_nvrtc():
    """The library in the usual places, or nothing: the daemon then looks itself."""
    places = ["/usr/local/cuda/lib64"]
    places += glob.glob(f"{sys.prefix}/lib/python3.*/site-packages/nvidia/*/lib")
    for place in places:
        for name in ("libnvrtc.so.13", "libnvrtc.so.12"):
            if Path(place, name).exists():
                return str(Path(place, name))
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="source", default=str(ROOT / ".gpu" / "bundle"))
    parser.add_argument("--only", default=",".join(ORDINARY), help="sections, with commas between")
    parser.add_argument("--target", default="cuda:sm_90a", help="cpu tries the harness itself without a GPU")
    parser.add_argument("--seeds", default="1:2001", help="of random kernels")
    parser.add_argument("--match", default="", help="only cases and examples in whose name this is found")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count()))
    parser.add_argument("--nvrtc", default="")
    parser.add_argument("--show", type=int, default=12, help="lines printed of what failed, for each section")
    parser.add_argument("--patience", type=float, default=1.0, help="factor on the sections' limits")
    options = parser.parse_args()
    sections = [name for name in options.only.split(",") if name]
    unknown = [name for name in sections if not hasattr(Run, f"section_{name}")]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}")
    if options.target.startswith("cuda") and missing():
        parser.error(f"there is no GPU here: {missing()}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="intent-gpu-") as scratch:
        run = Run(options, scratch)
        try:
            run.start_daemon()
            print(
                f"== set up in {time.monotonic() - began:.0f} s; nvrtc {run.nvrtc or 'where the daemon finds it'}"
            )
            for name in sections:
                run.section(name)
        finally:
            run.close()
    print(f"{run.total.passed} passed, {run.total.failed} failed")
    return 1 if run.total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
