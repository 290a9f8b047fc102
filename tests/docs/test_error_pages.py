"""docs/errors.md is true: what is wrong in an example raises its error where the example says, and
what is right compiles and runs. Every code of the compiler has a page."""

import importlib.util
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "service"))

import harness
from harness import BUILD, Daemon

if (BUILD / "python").is_dir():
    sys.path.insert(0, str(BUILD / "python"))

import errors_page
import intent
from intent import explain

# What no example can show: bytes that no client makes, a gap that no target has now, what depends on
# the machine's NVRTC (tests/e2e/test_cuda_targets.py), and errors of calls that the Python package
# does not make.
WITHOUT_EXAMPLE = {
    "E0101",
    "E0102",
    "E1001",
    "E1002",
    "E1003",
    "bad_argument",
    "cancelled",
}

_numbers = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def daemon():
    """The examples compile by a daemon of these tests."""
    patch = pytest.MonkeyPatch()
    patch.setattr(harness, "DAEMON", BUILD / "bin" / "intent-compiled")
    folder = tempfile.mkdtemp(prefix="intent-")  # short: a socket's path must fit into 107 bytes
    running = Daemon(folder, "--workers", "1")
    patch.setenv("INTENT_COMPILER", f"unix:{running.socket}")
    yield
    patch.undo()
    running.close()
    shutil.rmtree(folder, ignore_errors=True)


def run(text, folder):
    """Runs an example as the file of an author; its kernel is compiled if it does not do that itself."""
    name = f"example_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if "intent.compile(" not in text and "intent.interpret(" not in text:
        intent.compile(module.kernel, target=intent.InterpreterTarget())


def marked(text):
    return [n for n, line in enumerate(text.splitlines(), 1) if line.endswith("<-")]


def intentc(text, folder):
    path = folder / "module.kir"
    path.write_text(text)
    return subprocess.run(
        [BUILD / "bin" / "intentc", "verify", path], capture_output=True, text=True, check=False
    )


PAGES = [page for page in explain.pages() if page.wrong]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_the_wrong_example_raises_its_error_on_the_marked_line(page, tmp_path):
    if page.wrong.language == "kir":
        result = intentc(page.wrong.text, tmp_path)
        found = re.findall(r"module\.kir:(\d+):\d+: error (E\d+): ", result.stderr)
        assert found == [(str(n), page.code) for n in marked(page.wrong.text)], result.stderr
        return
    text = explain.HEADER + page.wrong.text
    if page.at_run_time:
        with pytest.raises(intent.RunError) as caught:
            run(text, tmp_path)
        assert (caught.value.status if page.is_status else caught.value.code) == page.code, caught.value
        assert [caught.value.line] == (marked(text) or [None]), caught.value
        return
    with pytest.raises(intent.CompileError) as caught:
        run(text, tmp_path)
    found = caught.value.diagnostics
    assert {d.code for d in found} == {page.code}, caught.value
    if marked(text):
        assert [d.line for d in found] == marked(text), caught.value
        assert all(d.column and d.source_line for d in found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_the_right_example_compiles(page, tmp_path):
    if page.right.language == "kir":
        result = intentc(page.right.text, tmp_path)
        assert result.returncode == 0, result.stderr
    else:
        run(explain.HEADER + page.right.text, tmp_path)


def test_every_code_of_the_compiler_has_a_page_with_its_summary():
    text = (ROOT / "compiler" / "diag" / "codes.def").read_text()
    codes = dict(re.findall(r'INTENT_DIAGNOSTIC\(\w+, "(\w+)", "(.*)"\)', text))
    text = (ROOT / "compiler" / "interp" / "errors.def").read_text()
    codes.update(re.findall(r'INTENT_RUN_ERROR\(\w+, "(E11\w+)", "[^"]*", "(.*)"\)', text))
    assert codes == {page.code: page.summary for page in explain.pages() if not page.is_status}


def test_every_status_of_a_run_error_has_a_page():
    from intent_proto.execute.v1 import execute_pb2

    names = [name.removeprefix("KIND_").lower() for name in execute_pb2.RunError.Kind.keys()]
    assert sorted(names) == sorted(["unspecified", *(p.code for p in explain.pages() if p.is_status)])


def test_only_these_have_no_example():
    assert {page.code for page in explain.pages() if not page.wrong} == WITHOUT_EXAMPLE
    assert all((page.wrong is None) == (page.right is None) for page in explain.pages())


def test_the_document_is_what_the_pages_say():
    committed = (ROOT / "docs" / "errors.md").read_text()
    assert committed == errors_page.text(), "make it anew: python tests/docs/errors_page.py"
