"""The compile report: what the compiler decided, at the author's lines."""

from __future__ import annotations

import os
import re
from html import escape
from typing import NamedTuple

_OPERATIONS = re.compile(r"op \d+(?:, op \d+)*")


class ReportLine(NamedTuple):
    """One decision. `line` and `file` are None where it concerns the kernel as a whole."""

    stage: str  # options, fusion, memory, loops, numerics, bounds or code
    text: str
    line: int | None
    file: str | None


class Report(tuple):
    """The lines of a report, in reading order; as text, a table of them."""

    def __new__(cls, entries, place):
        """entries: an intent.compile.v1.Manifest's; place(ordinal) gives (file, line, ...)."""
        lines = []
        for entry in entries:
            file, line, *_ = place(entry.ordinal if entry.HasField("ordinal") else None)
            text = _OPERATIONS.sub(lambda match: _places(match[0], file, place), entry.text)
            lines.append(ReportLine(entry.stage, text, line or None, file or None))
        return super().__new__(cls, lines)

    def about(self, stage: str) -> tuple[ReportLine, ...]:
        """The lines of one stage."""
        return tuple(line for line in self if line.stage == stage)

    def __str__(self) -> str:
        several = len({line.file for line in self if line.file}) > 1
        places = [_place(line, several) for line in self]
        width = max(map(len, places), default=0)
        return "\n".join(
            f"{place:<{width}}  {line.stage:<8}  {line.text}" for place, line in zip(places, self)
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _place(line: ReportLine, with_file: bool) -> str:
    if line.line is None:
        return ""
    return f"{os.path.basename(line.file or '')}:{line.line}" if with_file else f"line {line.line}"


def _places(operations: str, file: str, place) -> str:
    """ "op 3, op 5" as "lines 7, 9"; operations whose place is not known keep their number."""
    here: list[int] = []
    others: list[str] = []
    for ordinal in re.findall(r"\d+", operations):
        other, line, *_ = place(int(ordinal))
        if line and other == file:
            here.append(line)
        else:
            others.append(f"{os.path.basename(other)}:{line}" if line else f"op {ordinal}")
    lines = sorted(set(here))
    found = [f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"] if lines else []
    return ", ".join([*found, *dict.fromkeys(others)])
