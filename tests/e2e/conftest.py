"""Fixtures: a daemon of one's own, and kernels in files, as an author has them."""

import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "service"))

import harness
import pytest
from harness import BUILD, Daemon, intentc

if (BUILD / "python").is_dir():
    sys.path.insert(0, str(BUILD / "python"))

HEADER = "import intent\nimport intent.language as I\n\n\n"

_numbers = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def users_binaries():
    """These tests run what users run, not the binaries that can be made to fail."""
    patch = pytest.MonkeyPatch()
    patch.setattr(harness, "DAEMON", BUILD / "bin" / "intent-compiled", raising=False)
    yield
    patch.undo()


@pytest.fixture
def folder():
    """A short path: a socket's must fit into 107 bytes."""
    path = tempfile.mkdtemp(prefix="intent-")
    yield Path(path)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def start(folder):
    """Starts daemons and ends them with the test."""
    daemons = []

    def run(*flags, **keywords):
        daemons.append(Daemon(folder, *flags, **keywords))
        return daemons[-1]

    yield run
    for daemon in daemons:
        daemon.close()


@pytest.fixture
def daemon(start):
    return start()


@pytest.fixture(scope="module")
def shared_daemon():
    """One daemon for the tests of a file."""
    path = tempfile.mkdtemp(prefix="intent-")
    daemon = Daemon(path)
    yield daemon
    daemon.close()
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def author(tmp_path):
    """author(text, name) gives the module that an author's file with that text would be."""

    def load(text, name=None, header=HEADER):
        path = tmp_path / (name or f"author_{next(_numbers)}.py")
        path.write_text(header + textwrap.dedent(text).lstrip("\n"))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def encode(tmp_path_factory):
    """encode(text) gives the bytes of a textual module."""
    path = tmp_path_factory.mktemp("modules")
    if not (BUILD / "bin" / "intentc").exists():
        pytest.skip(f"{BUILD} has no intentc")
    made = {}

    def encoded(text):
        if text not in made:
            source, output = path / f"{len(made)}.kir", path / f"{len(made)}.bin"
            source.write_text(text)
            intentc("encode", source, "-o", output)
            made[text] = output.read_bytes()
        return made[text]

    return encoded


@pytest.fixture
def script():
    """script(text, **environment) runs a Python program that can import the package; gives its output."""

    def run(text, **environment):
        path = os.pathsep.join([str(BUILD / "python"), str(BUILD / "python_proto")])
        full = {**os.environ, "PYTHONPATH": path, **environment}
        for name in [n for n, value in full.items() if value is None]:
            del full[name]
        result = subprocess.run(
            [sys.executable, "-c", text], env=full, capture_output=True, text=True, timeout=120
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run
