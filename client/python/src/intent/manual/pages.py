"""What can be read: documents and their sections, errors, names of `I` and of the package, examples.

A page has an id by which `read` finds it: "kir.md", "tutorials/softmax.md" and their sections
"kir.md#atomics-and-random-bits", "E0201" and "out_of_bounds", "I.exp", "intent.compile", "examples/attention.py".
"""

from __future__ import annotations

import functools
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

from .. import explain
from ..dtypes import DType
from . import reference

_HEADING = re.compile(r"^(#{1,4}) (.+)$", re.MULTILINE)
_NUMBERS = {
    "inf": "Infinity, a literal: it takes the dtype of the float that it meets. -I.inf is the other one.",
    "LOG2E": "log2(e), a literal: I.exp2(x * I.LOG2E) is e to the power x.",
}
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Page:
    id: str
    kind: str  # "document", "section", "error", "name", "constant" (a dtype or number of `I`) or "example"
    title: str
    text: str


@functools.cache
def all_pages() -> dict[str, Page]:
    """Every page by its id."""
    found = [*_documents(), *_errors(), *_names(), *_package(), *_examples()]
    return {page.id: page for page in found}


def documents_folder() -> Path | None:
    """Where the documents lie: shipped beside this module, or in the repository that it belongs to."""
    here = Path(__file__).resolve().parent
    for folder in (here / "docs", *(parent / "docs" for parent in here.parents[:6])):
        if (folder / "kir.md").is_file():
            return folder
    return None


def _documents():
    folder = documents_folder()
    if folder is None:
        return
    for path in [*sorted(folder.glob("*.md")), *sorted((folder / "tutorials").glob("*.md"))]:
        name = path.relative_to(folder).as_posix()
        if name == "errors.md":  # its sections are pages of their own
            continue
        text = path.read_text(encoding="utf-8")
        title = text.partition("\n")[0].lstrip("# ")
        yield Page(name, "document", title, text)
        yield from _sections(name, title, text)


def _sections(name, title, text):
    fences = [match.span() for match in _FENCED.finditer(text)]
    headings = [
        m for m in _HEADING.finditer(text) if not any(start <= m.start() < stop for start, stop in fences)
    ]
    for place, heading in enumerate(headings):
        if heading[1] == "#":
            continue
        deeper = (h.start() for h in headings[place + 1 :] if len(h[1]) <= len(heading[1]))
        body = text[heading.start() : next(deeper, len(text))]
        yield Page(f"{name}#{anchor(heading[2])}", "section", f"{title}: {heading[2]}", body.strip())


def anchor(heading: str) -> str:
    """The anchor that Markdown viewers give to a heading."""
    kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def _errors():
    for page in explain.pages():
        yield Page(page.code, "error", f"{page.code}: {page.summary}", page.text.strip())


def _names():
    for name in reference.names():
        kind = "constant" if isinstance(reference.value(name), (DType, float)) else "name"
        yield Page(f"I.{name}", kind, reference.signature(name), declaration(name))


def declaration(name: str) -> str:
    """A name of `I` as text: its declaration, documentation, members, and an example that is a whole module."""
    value = reference.value(name)
    if isinstance(value, float):
        return f"{reference.signature(name)}\n\n{_NUMBERS[name]}"
    parts = [reference.signature(name), reference.documentation(name)]
    members = [member for member in reference.names() if member.startswith(f"{name}.")]
    if members:
        parts.append("Members:\n" + "\n".join(f"    {reference.signature(member)}" for member in members))
    parts.append(f"A whole module:\n\n```python\n{reference.example(name)}```")
    return "\n\n".join(parts)


def _package():
    import intent

    for name in intent.__all__:
        value = getattr(intent, name)
        yield Page(f"intent.{name}", "name", f"intent.{name}{_signature(value)}", _described(name, value))


def _described(name, value) -> str:
    parts = [f"intent.{name}{_signature(value)}", inspect.getdoc(value) or ""]
    if inspect.isclass(value):
        for member, found in inspect.getmembers(value):
            text = inspect.getdoc(found)
            if not member.startswith("_") and text and hasattr(found, "__doc__"):
                text = text.replace("\n", "\n    ")
                parts.append(f".{member}{_signature(found)}\n    {text}")
    return "\n\n".join(part for part in parts if part)


def _signature(value) -> str:
    try:
        return str(inspect.signature(value)) if callable(value) else ""
    except (TypeError, ValueError):
        return ""


def _examples():
    folder = documents_folder()
    for path in sorted((folder / "examples").glob("*.py")) if folder else ():
        text = path.read_text(encoding="utf-8")
        first = text.lstrip('"').partition("\n")[0].rstrip('"')
        yield Page(f"examples/{path.name}", "example", first, text)
