"""How notebooks show kernels, artifacts and diagnostics: HTML without scripts or styles of its own."""

from __future__ import annotations

from html import escape

from .errors import CompileError


def kernel(definition) -> str:
    """A kernel's parameters as a table, and its source."""
    from .commands.describe import parameter
    from .frontend import signature

    title = f"<b>{definition.decorator} {escape(definition.function.__qualname__)}</b>"
    place = f"{escape(definition.file)}:{definition.first_line}"
    source = f"<details><summary>{place}</summary><pre>{escape(''.join(definition.lines))}</pre></details>"
    if definition.decorator != "kernel":
        return title + source
    try:
        parameters = [parameter(p) for p in signature.read(definition) if not p.problem]
    except CompileError as error:
        return title + "".join(map(diagnostic, error.diagnostics))
    rows = [[p[key] for key in ("name", "kind", "type", "note")] for p in parameters]
    return title + _table(["parameter", "", "", ""], rows) + source


def artifact(made, name: str) -> str:
    """What an artifact was made for, where it came from and how long each stage took."""
    title = f"<b>{type(made).__name__} {escape(name)}</b> for {escape(made.target)}, {made.cache['where']}"
    rows = [[stage, f"{seconds * 1e3:.3f} ms"] for stage, seconds in made.timings.items()]
    report = escape(str(made.report))
    return (
        title
        + f"<details><summary>stages</summary>{_table(['stage', 'time'], rows)}</details>"
        + f"<details><summary>report</summary><pre>{report}</pre></details>"
    )


def diagnostic(found) -> str:
    """A diagnostic as its text, with the code's explanation below."""
    from . import explain

    text = f"<pre>{escape(str(found))}</pre>"
    try:
        page = explain.page(found.code)
    except LookupError:  # of a daemon that is newer than this package
        return text
    summary = f"{page.code}: {escape(page.summary)}"
    return f"{text}<details><summary>{summary}</summary><pre>{escape(page.text)}</pre></details>"


def _table(head: list, rows: list) -> str:
    def row(tag, cells):
        return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f"<table><thead>{row('th', head)}</thead><tbody>{body}</tbody></table>"
