"""Tests here need a GPU: without one they are skipped, out loud."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from gpu_here import missing


def pytest_collection_modifyitems(items):
    reason = missing()
    if reason:
        for item in items:
            if "/tests/gpu/" in str(item.path):
                item.add_marker(pytest.mark.skip(reason=f"no GPU: {reason}"))
