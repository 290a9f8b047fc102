"""Errors of a run in the author's terms: file, line and names from the client's own trace."""

from __future__ import annotations

import re

from .errors import Note, RunError


def run_error(
    trace, kernel, *, status, code, ordinal, parameter, axis, value, limit, message, other=None
) -> RunError:
    """A RunError. `ordinal`, `parameter`, `axis` and `other` (an ordinal) are None where they are not known."""
    runtime = [p for p in trace.parameters if p.kind != "constexpr"]
    about = runtime[parameter] if parameter is not None and parameter < len(runtime) else None
    file, line, *_ = trace.place(ordinal)
    if not line and about and code:  # a promise about the parameter itself
        file, line = kernel.file, about.line
    message = re.sub(r"\bparameter (\d+)\b", lambda m: _name(runtime, m), message)
    text = _text(status, about.name if about else None, axis, value, limit, message)
    notes: tuple[Note, ...] = ()
    if other is not None:
        note_file, note_line, note_column, *_ = trace.place(other)
        notes = (Note("the other access", note_file, note_line, note_column),)
    where = f"{file}:{line}: " if line else ""
    lines = [where + (f"{code}: " if code else "") + text]
    lines += str(trace.diagnostic(code, text, ordinal)).splitlines()[1:] if ordinal is not None else []
    lines += [f"  note: {n.file}:{n.line}: {n.message}" for n in notes if n.line]
    return RunError(
        "\n".join(lines),
        status=status,
        code=code,
        parameter=about.name if about else None,
        axis=axis,
        file=file or None,
        line=line or None,
        notes=notes,
    )


def _name(runtime, match) -> str:
    position = int(match[1])
    return runtime[position].name if position < len(runtime) else match[0]


def _text(kind, parameter, axis, value, limit, message) -> str:
    what = parameter or "a tensor, buffer or histogram"
    if axis is not None:
        what += f", axis {axis}"
    if message and value == limit and axis is None:  # no numbers to speak of
        return message
    return {
        "out_of_bounds": f"index {value} is out of bounds of {what}, which has {limit} elements",
        "bad_shape": f"shapes do not agree: {what} has {value}, but {limit} is needed",
        "negative_extent": f"a negative extent: {value}",
        "no_memory": "the kernel needs more scratch memory than the service allows",
        "cancelled": "the call was cancelled",
        "bad_step": f"a domain or subregion is not valid: {value} against {limit}",
    }.get(kind, message or kind.replace("_", " "))
