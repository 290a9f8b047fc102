"""The daemon that the package starts on demand: the real one, found by the next process."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from harness import BUILD, Daemon

PROGRAM = """
import sys
import intent, numpy as np
import intent.language as I

SOURCE = '''
@intent.kernel
def double(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] * 2.0
'''

@intent.kernel(source=SOURCE)
def double(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] * 2.0

artifact = intent.compile(double)
assert artifact.run(np.arange(4, dtype=np.float32)).tolist() == [0, 2, 4, 6]
print(artifact.cache["where"], artifact._compiler.address, artifact._compiler.stats()["compiles"])
"""


@pytest.fixture
def home(monkeypatch):
    """A runtime folder and a home of one's own; what was started there is ended."""
    folder = Path(tempfile.mkdtemp(prefix="intent-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("INTENT_BIN", str(BUILD / "bin"))
    monkeypatch.delenv("INTENT_COMPILER", raising=False)
    yield folder
    for pid in daemons(folder):
        os.kill(pid, signal.SIGTERM)
    shutil.rmtree(folder, ignore_errors=True)


def daemons(folder):
    """Process ids of daemons that serve a socket in the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if command[0].endswith(b"/intent-compiled") and any(str(folder).encode() in part for part in command):
            found.append(int(entry.name))
    return found


def test_the_second_process_finds_the_firsts_daemon(home, script):
    where, address, compiles = script(PROGRAM).split()
    assert (where, compiles) == ("compiled", "1")
    assert address.startswith(f"unix:{home}/intent/")
    (pid,) = daemons(home)
    assert script(PROGRAM).split() == ["memory", address, "1"]
    assert daemons(home) == [pid]


def test_it_outlives_its_starter_and_is_detached(home, script):
    script(PROGRAM)
    (pid,) = daemons(home)
    assert os.getsid(pid) == pid and os.getpgid(pid) == pid
    socket = Path(script(PROGRAM).split()[1].removeprefix("unix:"))
    assert socket.parent.stat().st_mode & 0o777 == 0o700


def test_a_daemon_that_was_killed_is_replaced(home, script):
    first = script(PROGRAM).split()[1]
    (pid,) = daemons(home)
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while daemons(home) and time.monotonic() < deadline:
        time.sleep(0.02)
    where, address, compiles = script(PROGRAM).split()
    assert address == first
    assert (where, compiles) == ("disk", "0"), "the cache is the user's, not the daemon's"


AGAIN = """
import os, signal, socket, time
from intent import embedded
path = artifact._compiler.address.removeprefix("unix:")
with socket.socket(socket.AF_UNIX) as probe:
    probe.connect(path)
    pid = int.from_bytes(probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], "little")
os.kill(pid, signal.SIGKILL)
while embedded.running():
    time.sleep(0.01)
assert artifact.run(np.arange(4, dtype=np.float32), execute="remote").tolist() == [0, 2, 4, 6]
assert intent.compile(double).cache["hit"]
"""


def test_artifacts_outlive_the_daemon_that_made_them(home, script):
    script(PROGRAM + AGAIN)
    assert len(daemons(home)) == 1


def test_it_ends_when_idle(home, script):
    shorter = "from intent import embedded; embedded.IDLE_SECONDS = 3\n" + PROGRAM
    script(shorter)
    assert daemons(home)
    deadline = time.monotonic() + 30
    while daemons(home):
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.1)
    assert script(shorter).split()[0] == "disk"


def test_processes_that_start_together_share_one(home):
    path = os.pathsep.join([str(BUILD / "python"), str(BUILD / "python_proto")])
    environment = {**os.environ, "PYTHONPATH": path}
    racers = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    lines = [racer.communicate(timeout=120)[0].split() for racer in racers]
    assert all(racer.returncode == 0 for racer in racers)
    assert len({line[1] for line in lines}) == 1
    assert len(daemons(home)) == 1
    assert max(int(line[2]) for line in lines) == 1, "and one compile"


def test_the_environment_names_another(home, folder, script):
    daemon = Daemon(folder)
    try:
        assert script(PROGRAM, INTENT_COMPILER=f"unix:{daemon.socket}").split()[:2] == [
            "compiled",
            f"unix:{daemon.socket}",
        ]
        assert not daemons(home)
    finally:
        daemon.close()


def test_the_environment_names_one_that_is_not_there(home, script):
    program = PROGRAM.replace(
        "artifact = intent.compile(double)",
        "try:\n    intent.compile(double)\nexcept intent.ServiceError as error:\n    print(error); sys.exit(0)\n",
    )
    text = script(program, INTENT_COMPILER=f"unix:{home}/none")
    assert "UNAVAILABLE" in text and f"{home}/none" in text and "is the daemon running" in text
    assert not daemons(home), "nothing is started in its place"
