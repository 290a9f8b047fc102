"""`pip install ./client/python` into a fresh environment. It takes minutes: only with INTENT_TEST_PIP=1."""

import os
import subprocess
import sys

import pytest
from harness import BUILD, ROOT

pytestmark = pytest.mark.skipif(not os.environ.get("INTENT_TEST_PIP"), reason="takes minutes: INTENT_TEST_PIP=1")

PROGRAM = """
import intent, numpy as np
import intent.language as I
from intent import embedded

embedded.IDLE_SECONDS = 5  # nothing is left behind

@intent.kernel
def double(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] * 2.0

assert intent.compile(double).run(np.arange(4, dtype=np.float32)).tolist() == [0, 2, 4, 6]
print(embedded.find_binary())
"""


def test_the_installed_package_starts_its_own_daemon_and_runs_a_kernel(tmp_path, folder):
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    environment = {**os.environ, "INTENT_BUILD_DIR": str(BUILD)}
    environment.pop("PYTHONPATH", None)
    subprocess.run([python, "-m", "pip", "install", "-q", ROOT / "client" / "python"], check=True, env=environment)
    assert not list((ROOT / "client" / "python").glob("build")), "nothing is left in the sources"
    for name in ("INTENT_BUILD_DIR", "INTENT_BIN", "INTENT_COMPILER"):
        environment.pop(name, None)
    environment |= {"XDG_RUNTIME_DIR": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin:/bin"}
    (tmp_path / "program.py").write_text(PROGRAM)
    result = subprocess.run(
        [python, tmp_path / "program.py"], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip().startswith(str(tmp_path / "venv"))
