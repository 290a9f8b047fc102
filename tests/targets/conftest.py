"""Tests of objects for every CPU target: what users run, not the binaries that can be made to fail."""

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "service"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import harness
import pytest

if (harness.BUILD / "python").is_dir():
    sys.path.insert(0, str(harness.BUILD / "python"))


@pytest.fixture(scope="module")
def folder():
    path = tempfile.mkdtemp(prefix="intent-")
    yield Path(path)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def daemon(folder):
    patch = pytest.MonkeyPatch()
    patch.setattr(harness, "DAEMON", harness.BUILD / "bin" / "intent-compiled")
    running = harness.Daemon(folder)
    yield running
    running.close()
    patch.undo()
