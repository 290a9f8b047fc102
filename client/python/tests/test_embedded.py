"""The daemon of the user's own, played by a script: found, started once, kept private."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from intent import ServiceError, embedded

DAEMON = f"""#!{sys.executable}
import os, socket, sys, time
log = open({{log!r}}, "a")
print(os.getpid(), *sys.argv[1:], file=log, flush=True)
if {{dies}}:
    sys.exit("no port in the storm")
time.sleep(0.2)
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[sys.argv.index("--listen") + 1].removeprefix("unix:"))
server.listen(64)
while True:
    server.accept()[0].close()
"""


@pytest.fixture
def daemon(tmp_path, monkeypatch):
    """daemon() installs a daemon; its attribute `starts` lists the command lines of those started."""
    log = tmp_path / "starts"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("INTENT_BIN", str(tmp_path))

    def install(dies=False):
        path = tmp_path / "intent-compiled"
        path.write_text(textwrap.dedent(DAEMON).format(log=str(log), dies=dies))
        path.chmod(0o755)

    install.starts = lambda: [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    yield install
    for pid, *_ in install.starts():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass


def test_it_is_started_on_demand_and_then_found(daemon, tmp_path):
    daemon()
    address = embedded.address()
    assert address == embedded.address() and address.startswith(f"unix:{tmp_path}/intent/")
    starts = daemon.starts()
    assert len(starts) == 1 and "--idle-exit" in starts[0]
    assert os.getpgid(int(starts[0][0])) != os.getpgid(0)  # Ctrl-C in a terminal does not reach it


def test_processes_that_race_start_one(daemon):
    daemon()
    command = [sys.executable, "-c", "from intent import embedded; print(embedded.address())"]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    addresses = {racer.communicate(timeout=60)[0] for racer in racers}
    assert len(addresses) == 1 and len(daemon.starts()) == 1


def test_another_build_gets_a_daemon_of_its_own(daemon, tmp_path):
    daemon()
    first = embedded.address()
    path = tmp_path / "intent-compiled"
    path.write_text(path.read_text() + "# another build\n")
    assert embedded.address() != first and len(daemon.starts()) == 2


def test_a_socket_that_nobody_serves_is_replaced(daemon):
    daemon()
    embedded.address()
    pid = int(daemon.starts()[0][0])
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    embedded.address()
    assert len(daemon.starts()) == 2


def test_a_daemon_that_does_not_start_shows_its_log(daemon):
    daemon(dies=True)
    with pytest.raises(ServiceError, match="no port in the storm"):
        embedded.address()


def test_the_folder_must_be_the_users_alone(daemon, tmp_path):
    daemon()
    (tmp_path / "intent").mkdir(mode=0o755)
    with pytest.raises(ServiceError, match="belongs to you alone"):
        embedded.address()
    (tmp_path / "intent").rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "intent").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ServiceError, match="belongs to you alone"):
        embedded.address()
    assert not daemon.starts()


def test_without_a_daemon_the_error_says_what_to_set(tmp_path, monkeypatch):
    monkeypatch.setenv("INTENT_BIN", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(embedded, "__file__", str(tmp_path / "a" / "b" / "c" / "embedded.py"))
    with pytest.raises(ServiceError, match="INTENT_COMPILER"):
        embedded.find_binary()
