"""The kernels of the GPU's benchmark type and lower everywhere; what they compute is checked where they run."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "service"), str(ROOT / "tests" / "bench" / "gpu")]

from harness import BUILD

sys.path.insert(0, str(BUILD / "python"))

import intent
import kernels
from intent.kernel import Kernel

KERNELS = {name: value for name, value in vars(kernels).items() if isinstance(value, Kernel)}


def test_there_are_kernels():
    assert len(KERNELS) > 15


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_valid(name):
    causal = {"causal": True} if name == "attention" else None
    assert "store" in intent.lower(KERNELS[name], constexprs=causal).program.text
