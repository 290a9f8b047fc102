"""Runs the shared acceptance cases through a daemon of their own.

    python tests/shared_cases.py --cases ../shared/cases --target cpu [--execute local] [--only REGEX] [--junit FILE]

Every case compiles by the daemon and runs where --execute says: by the daemon ("remote"), or, what only
CPU targets can, in the process of the cases ("local"). The daemon's counters must agree. Once it is gone, a
case must fail: that shows that the daemon did the work. INTENT_BUILD names the build whose daemon is
used (by default build).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent / "service"))

import harness  # noqa: E402

harness.DAEMON = harness.BUILD / "bin" / "intent-compiled"  # what ships

ONE_CASE = "^shapes.permuted$"


def run_cases(cases: Path, target: str, execute: str, address: str, *arguments: str, **keywords) -> int:
    """The exit status of the cases' own runner; the folder is left as it is."""
    command = [sys.executable, "-B", cases / "run.py", "--target", target, "--compiler", address, *arguments]
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", INTENT_EXECUTE=execute)
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, **keywords).returncode


def add_result(report: Path, name: str, failure: str):
    """Adds a test to a JUnit report; it failed if `failure` is not empty."""
    tree = ElementTree.parse(report)
    case = ElementTree.SubElement(tree.getroot(), "testcase", classname="shared_cases", name=name)
    if failure:
        ElementTree.SubElement(case, "failure", message=failure)
    tree.write(report, encoding="unicode", xml_declaration=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=Path, required=True, metavar="DIR")
    parser.add_argument("--target", required=True, metavar="cpu|interp|cuda:sm_XX")
    parser.add_argument("--execute", choices=("local", "remote"), default="remote")
    parser.add_argument("--only", metavar="REGEX", default="", help="cases whose name it is found in")
    parser.add_argument("--junit", type=Path, metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="intent-cases-") as folder:
        report = options.junit or Path(folder) / "report.xml"
        daemon = harness.Daemon(folder)
        address = f"unix:{daemon.socket}"
        try:
            choice = ("--only", options.only, "--junit", str(report))
            status = run_cases(options.cases, options.target, options.execute, address, *choice)
            failure = "" if daemon.process.poll() is None else "the daemon died"
            runs = 0 if failure else daemon.statistics().executions
        finally:
            daemon.close()
        add_result(report, "the_daemon_survives", failure)
        elsewhere = "" if (runs == 0) == (options.execute == "local") else f"the daemon ran {runs} kernels"
        add_result(report, "kernels_ran_where_they_should", elsewhere)
        without = run_cases(
            options.cases, options.target, options.execute, address, "--only", ONE_CASE, stdout=subprocess.DEVNULL
        )
        failure_without = "" if without else "a case passed although the daemon was down"
        add_result(report, "cases_fail_without_the_daemon", failure_without)
        problems = [problem for problem in (failure, elsewhere, failure_without) if problem]
        for problem in problems:
            print(problem)
    return status or bool(problems)


if __name__ == "__main__":
    sys.exit(main())
