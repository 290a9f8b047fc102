"""The device library on this GPU, from the folder that tests/gpu/pack_device_numerics.sh filled."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".gpu" / "device_numerics"
NO_GPU = 77


def test_every_function_of_the_device_library():
    """Its table of errors goes to $OUT/device_numerics.txt."""
    program = FOLDER / "run.sh"
    if not program.exists():
        pytest.skip(f"{program} is not there: tests/gpu/pack_device_numerics.sh makes it")
    ran = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "device_numerics.txt").write_text(ran.stdout)
    if ran.returncode == NO_GPU:
        pytest.skip(ran.stdout)
    assert ran.returncode == 0, ran.stdout
