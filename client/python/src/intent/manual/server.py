"""The server: three tools over the pages."""

from __future__ import annotations

import difflib

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from .. import __version__
from .pages import Page, all_pages
from .search import search as find

LONGEST = 20_000  # characters of one answer of read

INSTRUCTIONS = """Reference of Intent, a language of numerical kernels in Python. `search` finds concepts, names and
diagnostics; `api` gives the declaration, rules of dtypes and shapes, errors and an example of a name such as
I.reduce.sum or intent.compile; `read` gives a document, a section, the explanation of an error code such as E0201 or
an example. What the reference does not name does not exist: search instead of guessing."""


def make() -> MCPServer:
    """The server, not yet running."""
    server = MCPServer("intent-manual", version=__version__, instructions=INSTRUCTIONS)
    for tool in (search, api, read):
        hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
        server.tool(annotations=hints, structured_output=False)(tool)
    return server


def search(query: str, limit: int = 8) -> str:
    """Find concepts, names of the language and the package, diagnostics and examples by words.

    Each answer begins with the id that `read` takes; ids that begin with I. or intent. can be given to `api`.
    """
    if not 1 <= limit <= 50:
        raise ToolError("limit is a number from 1 to 50")
    hits = find(query, limit)
    if not hits:
        raise ToolError(f"nothing was found for {query!r}; use other words, such as the name of an operation")
    return "\n\n".join(
        f"{hit.page.id} ({hit.page.kind}): {hit.page.title}\n    {hit.excerpt}" for hit in hits
    )


def api(name: str) -> str:
    """The declaration of a name, its rules of dtypes and shapes, what it returns, its errors and an example.

    Names are those of the language (I.exp, reduce.sum) and of the package (intent.compile, Compiler).
    """
    known = {id: page for id, page in all_pages().items() if page.kind in ("name", "constant")}
    wanted = name.strip().removesuffix("()").replace("intent.language.", "I.").replace("il.", "I.")
    for candidate in (wanted, f"I.{wanted}", f"intent.{wanted}"):
        if candidate in known:
            return known[candidate].text
    raise ToolError(f"there is no {name!r}" + _nearest(wanted, known, instead=_instead(wanted)))


def _instead(name: str) -> str:
    from ..frontend import hints

    last = name.rpartition(".")[2]
    other = hints.intrinsic(name.removeprefix("I.")) or hints.intrinsic(last) or hints.attribute(last)
    return f"; use {other}" if other else ""


def read(id: str, offset: int = 0) -> str:
    """A page by its id: a document (kir.md), a section (kir.md#atomics-and-random-bits), an error (E0201, out_of_bounds), a name
    (I.exp) or an example (examples/attention.py). Long pages come in parts: give the offset that the answer names.

    The id "index" lists all documents, sections and examples.
    """
    pages = all_pages()
    if id == "index":
        return "\n".join(
            f"{p.id}: {p.title}" for p in pages.values() if p.kind in ("document", "section", "example")
        )
    wanted = id.strip().removeprefix("docs/")
    page = pages.get(wanted) or pages.get(wanted.upper())
    if page is None:
        raise ToolError(f"there is no page {id!r}" + _nearest(wanted, pages))
    return _part(page, offset)


def _part(page: Page, offset: int) -> str:
    if not 0 <= offset <= len(page.text):
        raise ToolError(f"offset is from 0 to {len(page.text)}")
    text = page.text[offset : offset + LONGEST]
    left = len(page.text) - offset - len(text)
    return text + (f"\n\n[{left} more characters: offset {offset + len(text)}]" if left else "")


def _nearest(wanted: str, known, instead: str = "") -> str:
    near = difflib.get_close_matches(wanted, known, 3) or difflib.get_close_matches(f"I.{wanted}", known, 3)
    return instead + (f"; the nearest are {', '.join(near)}" if near else "; search finds names by words")
