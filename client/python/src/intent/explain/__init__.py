"""What each error means, with a wrong and a right example: the pages `<code>.md` of this folder.

A page is a heading `# CODE: summary`, an explanation, and at most two examples under **Wrong** and
**Right**. The same pages are docs/errors.md, `python -m intent explain` and what intent-manual reads;
tests/docs/test_error_pages.py runs their examples. A line that ends in `# <-` is the one the error names.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from importlib import resources

HEADER = "import numpy as np\n\nimport intent\nimport intent.language as I\n\n\n"
"""What stands above every example in Python."""

_EXAMPLE = re.compile(r"^\*\*(Wrong|Right)\*\*\n\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    language: str  # "python" or "kir"
    text: str


@dataclass(frozen=True)
class Page:
    """The explanation of a code of a CompileError (`E0201`) or of a RunError's code or status (`E1101`, `out_of_bounds`)."""

    code: str
    summary: str
    text: str  # the whole page, Markdown
    wrong: Example | None
    right: Example | None

    @property
    def at_run_time(self) -> bool:
        """Whether the error arises while a kernel runs, instead of when it is compiled."""
        return self.is_status or self.code.startswith("E11")

    @property
    def is_status(self) -> bool:
        """Whether this is a name of RunError.status instead of a code."""
        return not re.fullmatch(r"E\d{4}", self.code)

    @property
    def explanation(self) -> str:
        """The page without its heading and examples."""
        return self.text.partition("\n")[2].partition("\n**Wrong**")[0].strip()


def codes() -> list[str]:
    """The codes and statuses that have a page: codes first, each kind in order."""
    names = [
        p.name.removesuffix(".md") for p in resources.files(__name__).iterdir() if p.name.endswith(".md")
    ]
    return sorted(names, key=lambda name: (not name.startswith("E"), name))


def page(code: str) -> Page:
    """The page of a code or status; case does not matter. LookupError names the nearest."""
    known = {name.lower(): name for name in codes()}
    name = known.get(code.strip().lower())
    if name is None:
        near = difflib.get_close_matches(code.strip().lower(), known, 1, cutoff=0.5)
        hint = f"; the nearest is {known[near[0]]}" if near else ""
        raise LookupError(f"no error is called {code!r}{hint}")
    text = resources.files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    examples = {kind: Example(language, body) for kind, language, body in _EXAMPLE.findall(text)}
    summary = text.partition("\n")[0].partition(": ")[2]
    return Page(name, summary, text, examples.get("Wrong"), examples.get("Right"))


def pages() -> list[Page]:
    """Every page, in the order of `codes`."""
    return [page(code) for code in codes()]
