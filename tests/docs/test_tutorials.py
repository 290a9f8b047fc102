"""The tutorials and authoring.md do what they show: their pieces run in order, results agree with NumPy, and outputs
and errors are those of the page."""

import importlib.util
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
sys.path[:0] = [str(ROOT / "tests" / "service")]

import harness
from harness import BUILD, Daemon

sys.path.insert(0, str(BUILD / "python"))


def load():
    spec = importlib.util.spec_from_file_location("tutorials_run", TUTORIALS / "run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


lessons = load()
PAGES = sorted(path for path in TUTORIALS.glob("*.md") if path.stem != "README")
PAGES.append(ROOT / "docs" / "authoring.md")


@pytest.fixture(scope="module", autouse=True)
def compiler():
    """The default compiler of this module is the daemon that users run."""
    patch = pytest.MonkeyPatch()
    patch.setattr(harness, "DAEMON", BUILD / "bin" / "intent-compiled")
    folder = tempfile.mkdtemp(prefix="intent-")
    daemon = Daemon(folder)
    patch.setenv("INTENT_COMPILER", f"unix:{daemon.socket}")
    yield
    daemon.close()
    patch.undo()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_shows(page):
    assert lessons.run(page) > 5


def test_the_index_names_every_tutorial():
    text = (TUTORIALS / "README.md").read_text()
    assert [page.name for page in PAGES[:-1]] == sorted(set(re.findall(r"\]\((\w+\.md)\)", text)))


@pytest.mark.parametrize("page", PAGES[:-1], ids=lambda page: page.stem)
def test_a_tutorial_has_its_parts(page):
    headings = [line for line in page.read_text().splitlines() if line.startswith("## ")]
    for part in ("## The idea", "## What the compiler says", "## Mistakes"):
        assert part in headings


def write(folder, text):
    page = folder / "page.md"
    page.write_text(text)
    return page


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1)\n```\n",  # prints, and the page shows nothing
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\nprint(1, 2)\n```\n\n```text\n2\n1\n```\n",
        "```python\nprint(2)\nprint(1)\n```\n\n```text\n1\n2\n```\n",
        '```python\nraise ValueError("a")\n```\n\n```text\nValueError: b\n```\n',
        "```python\npass\n```\n\n```text\nValueError\n```\n",
    ],
)
def test_a_page_that_shows_something_else_is_noticed(tmp_path, text):
    with pytest.raises(lessons.Mismatch):
        lessons.run(write(tmp_path, text))


def test_an_error_that_the_page_does_not_show_is_raised(tmp_path):
    with pytest.raises(ZeroDivisionError):
        lessons.run(write(tmp_path, "```python\n1 / 0\n```\n"))


def test_what_a_page_shows_may_leave_out(tmp_path):
    text = 'Words\n\n```python\nfor n in range(9):\n    print("line", n, "of 9")\n```\n\n```text\nline 2 ... 9\nline 5\n```\n'
    assert lessons.run(write(tmp_path, text)) == 1
