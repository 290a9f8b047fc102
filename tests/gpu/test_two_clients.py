"""A few seconds of two_clients.py; a minute of it is one command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_one_clients_faults_leave_the_other_alone():
    if not os.environ.get("INTENT_COMPILER"):
        pytest.skip("no daemon: INTENT_COMPILER is not set")
    script = Path(__file__).with_name("two_clients.py")
    seconds = os.environ.get("INTENT_TWO_CLIENTS_SECONDS", "10")
    done = subprocess.run([sys.executable, script, "--seconds", seconds], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
