"""Generated source for its author: numbers of operations and parameters become the author's own words."""

from __future__ import annotations

import os
import re

_OPERATION = re.compile(r"^(\s*)// op (\d+)\s*$")
_PARAMETER = re.compile(r"^.*\b(view|scalar)(\d+)(\[2\])?;$")


def annotated(text: str, trace, own) -> str:
    """CUDA C++ in which each comment `// op 12` is file, line and text of that operation's source, and
    the parameters of the kernel are named.

    `own` gives the traced module's ordinal of an artifact's. A comment that would repeat the one
    before it is left out.
    """
    names = {kind: [p.name for p in trace.parameters if p.kind == kind] for kind in ("view", "scalar")}
    lines: list[str] = []
    last = ""
    for line in text.split("\n"):
        if match := _OPERATION.match(line):
            comment = _place(trace, own(int(match[2])))
            if comment and comment == last:
                continue
            last = comment or last
            line = f"{match[1]}// {comment}" if comment else line
        elif match := _PARAMETER.match(line):
            known = names[match[1]]
            if int(match[2]) < len(known):
                line = f"{line}  // {known[int(match[2])]}"
        lines.append(line)
    return "\n".join(lines)


def _place(trace, ordinal: int) -> str:
    """An operation's file, line and text; empty where they are not known."""
    file, line, *_ = trace.place(ordinal)
    if not line:
        return ""
    text = trace.source_line(file, line).strip()
    return f"{os.path.basename(file)}:{line}" + (f": {text}" if text else "")
