"""Every example agrees with NumPy, by the interpreter, its checked mode and on the CPU, through a daemon of this
file's own."""

import ast
import importlib
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
sys.path[:0] = [str(ROOT / "tests" / "service"), str(EXAMPLES)]

import harness
from harness import BUILD, Daemon

sys.path.insert(0, str(BUILD / "python"))

import intent

NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "run")
WAYS = {  # target, where it executes
    "interp": (intent.InterpreterTarget(), "remote"),
    "checked": (intent.InterpreterTarget(check=True, laws=True), "remote"),
    "cpu-local": (intent.CpuTarget(), "local"),
    "cpu-remote": (intent.CpuTarget(), "remote"),
}


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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_example(name, way, monkeypatch):
    target, execute = WAYS[way]
    monkeypatch.setenv("INTENT_EXECUTE", execute)
    importlib.import_module(name).check(target)


def test_the_index_names_every_example_and_nothing_else():
    text = (EXAMPLES / "README.md").read_text()
    assert sorted(set(re.findall(r"\]\((\w+)\.py\)", text)) - {"run"}) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_example_says_what_it_shows(name):
    text = (EXAMPLES / f"{name}.py").read_text()
    lines = ast.get_docstring(ast.parse(text)).splitlines()
    assert 4 <= len(lines) <= 9 and lines[0].endswith((".", ":")) and not lines[1]
    assert "@intent.kernel" in text and "def check(target=None):" in text
