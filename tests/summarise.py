"""Adds up the results that tests/run.sh left in a folder.

    python tests/summarise.py build/results

NAME.status holds the exit status of a suite, NAME.xml its JUnit report. A suite of CTest has
NAME.ctest.xml instead, which knows of every binary, and NAME/BINARY.xml, GoogleTest's report of
one; a binary that died left none. A suite that failed without reporting a failure counts as one failure. The last
line is 'N passed, N failed'; the exit status is 1 after any failure.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree


@dataclass
class Count:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def add(self, other: Count):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def count_report(path: Path) -> Count:
    """The test cases of a JUnit report."""
    count = Count()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            count.failed.append(name)
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            reason = skipped.get("message") or skipped.text if skipped is not None else ""
            count.skipped.append(f"{name}: {' '.join((reason or '').split())}".rstrip(": "))
        else:
            count.passed += 1
    return count


def count_binaries(ctest: Path, reports: Path) -> Count:
    """GoogleTest's reports, and the binaries that CTest saw fail without one."""
    count = Count()
    for case in ElementTree.parse(ctest).getroot().iter("testcase"):
        name = case.get("name")
        report = reports / f"{name}.xml"
        found = count_report(report) if report.exists() else Count()
        skipped = case.find("skipped")
        if skipped is not None and skipped.get("message", "").startswith("SKIP_RETURN_CODE"):
            # The binary itself says that it has nothing to run on; a missing one has another message.
            found.skipped.append(f"{name}: the whole binary")
        elif case.get("status") != "run" and not found.failed:
            found.failed.append(f"{name} (the whole binary: {case.get('status')})")
        elif not report.exists():
            found.passed += 1
        count.add(found)
    return count


def count_suite(folder: Path, name: str, status: int) -> Count:
    report, ctest = folder / f"{name}.xml", folder / f"{name}.ctest.xml"
    try:
        if ctest.exists():
            count = count_binaries(ctest, folder / name)
        elif report.exists():
            count = count_report(report)
        else:
            count = Count(passed=1 if status == 0 else 0)
    except ElementTree.ParseError as error:
        count = Count(failed=[f"no readable report: {error}"])
    if status != 0 and not count.failed:
        count.failed.append(f"the suite ended with status {status}")
    return count


def main(folder: Path) -> int:
    total = Count()
    rows = []
    for path in sorted(folder.glob("*.status"), key=lambda p: p.stat().st_mtime_ns):
        count = count_suite(folder, path.stem, int(path.read_text()))
        total.add(count)
        rows.append((path.stem, count))
    for name, count in rows:
        for test in count.skipped:
            print(f"skipped  {name}: {test}")
    for name, count in rows:
        for test in count.failed:
            print(f"FAILED   {name}: {test}")
    for name, count in rows:
        print(f"{name:20}{count.passed:6} passed {len(count.failed):4} failed {len(count.skipped):4} skipped")
    if not rows:
        total.failed.append("no suite ran")
    print(f"{total.passed} passed, {len(total.failed)} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
