"""Runs the Python of pages in Markdown, and compares what it prints with what the page shows.

    build/venv/bin/python docs/tutorials/run.py softmax matmul    # names of tutorials; all without any
    build/venv/bin/python docs/tutorials/run.py docs/authoring.md

The ```python blocks of a page are one program, run from above to below. A ```text block right behind one shows
what it prints, or the error that it ends with: each of its lines must be found there, in order, in any spacing;
`...` stands for anything. A block without one must neither print nor fail.
"""

import contextlib
import io
import linecache
import re
import sys
import types
import warnings
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

_BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    line: int  # of its first statement in the page
    text: str
    shown: str | None  # what the page shows behind it


class Mismatch(Exception):
    """A block does something else than its page shows."""


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(text.count("\n", 0, m.start(1)) + 1, m[1], m[2]) for m in _BLOCK.finditer(text)]


def run(page: Path) -> int:
    """Runs a page; gives the number of its blocks. Raises Mismatch."""
    found = blocks(page)
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
    code = {block.line - 1 + n for block in found for n in range(block.text.count("\n"))}
    # Kernels read their own source: here it stands at the page's lines, with nothing around it.
    kept = [line if n in code else "\n" for n, line in enumerate(lines)]
    linecache.cache[str(page)] = (len(kept), None, kept, str(page))
    module = types.ModuleType(page.stem)
    module.__file__ = str(page)
    for block in found:
        _check(page, block, _output(page, block, module))
    return len(found)


def _output(page, block, module) -> str:
    """What a block prints, warns of and fails with."""
    program = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
    printed = io.StringIO()
    error = None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)  # IntentWarning is one
        try:
            exec(program, vars(module))
        except Exception as raised:
            if block.shown is None:
                raise
            error = raised
    told = [f"{w.category.__name__}: {w.message}" for w in caught]
    told += [f"{type(error).__name__}: {error}"] if error else []
    return printed.getvalue() + "\n".join(told)


def _check(page, block, output):
    place = f"{page}:{block.line}"
    if block.shown is None:
        if output.strip():
            raise Mismatch(f"{place}: the page shows nothing of what this prints:\n{output}")
        return
    rest = iter(_plain(line) for line in output.splitlines())
    for shown in block.shown.splitlines():
        pattern = ".*".join(map(re.escape, _plain(shown).split("...")))
        if not any(re.search(pattern, line) for line in rest):
            raise Mismatch(f"{place}: the page shows\n  {shown}\nwhich is not there, or not in this order:\n{output}")


def _plain(line) -> str:
    return " ".join(line.split())


def main(names):
    pages = [Path(name) if name.endswith(".md") else HERE / f"{name}.md" for name in names]
    for page in pages or sorted(p for p in HERE.glob("*.md") if p.stem != "README"):
        print(f"{page.name}: {run(page.resolve())} blocks, as the page shows")


if __name__ == "__main__":
    main(sys.argv[1:])
