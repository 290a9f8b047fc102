"""Writes docs/errors.md from the pages of intent.explain: `python tests/docs/errors_page.py`."""

from pathlib import Path

from intent import explain

ROOT = Path(__file__).resolve().parents[2]

HEAD = """# Errors

Made by `tests/docs/errors_page.py` from `client/python/src/intent/explain`; `python -m intent explain CODE` shows the
same. Every example is run by a test: the wrong one raises its error on the line marked `# <-`, the right one compiles.
Examples in Python begin with

```python
{header}
```

A mistake in a kernel raises `intent.CompileError` when it is compiled, with every mistake that was found in its
`diagnostics`: `code`, `message`, `file`, `line` and `column`. What only a call can tell raises `intent.RunError`. Its
`code` (E11..) is what the interpreter found, most of it in [checked mode](checked-mode.md) only; its `status` is one of
the names at the end, which compiled code gives too.

| code | what |
|---|---|
{index}

## While compiling

{codes}

## While running

{statuses}
"""


def text() -> str:
    pages = explain.pages()

    def section(at_run_time):
        return "\n\n".join("##" + p.text.strip() for p in pages if p.at_run_time == at_run_time)

    index = "\n".join(f"| [{p.code}](#{_anchor(p)}) | {p.summary} |" for p in pages)
    return HEAD.format(
        header=explain.HEADER.strip(), index=index, codes=section(False), statuses=section(True)
    )


def _anchor(page) -> str:
    """The anchor that Markdown viewers give to a page's heading."""
    kept = "".join(c for c in f"{page.code}: {page.summary}".lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


if __name__ == "__main__":
    (ROOT / "docs" / "errors.md").write_text(text())
