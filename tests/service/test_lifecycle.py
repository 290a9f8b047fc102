"""Start, drain, kill, restart, configuration and addresses."""

import os
import shutil
import signal
import stat
import subprocess
import time

import grpc
import numpy as np
import pytest

from harness import BUILD, Where, chain_result, compile_request, execute, status_of, wait_gone

DAEMON = BUILD / "bin" / "intent-compiled"


def run(*arguments):
    return subprocess.run([DAEMON, *arguments], capture_output=True, text=True, timeout=60)


def test_a_new_daemon_on_the_same_folder_compiles_nothing(start, chain, folder):
    first = start()
    ids = [first.compile(chain(i)).artifact.id for i in range(60, 64)]
    assert first.statistics().compiles == 4
    assert first.terminate() == 0
    second = start()
    for i in range(60, 64):
        artifact = second.compile(chain(i)).artifact
        assert artifact.cache.where == Where.WHERE_DISK
        assert artifact.id == ids[i - 60]
    x, y = np.ones(10, np.float32), np.zeros(10, np.float32)
    assert execute(second, ids[0], [x], [y]).HasField("completed")
    np.testing.assert_allclose(y, chain_result(60, x), rtol=1e-5)
    assert second.statistics().compiles == 0
    assert second.terminate() == 0
    shutil.rmtree(f"{folder}/cache")
    third = start()
    third.compile(chain(60))
    assert third.statistics().compiles == 1


def test_a_daemon_that_was_killed_leaves_a_good_cache_and_no_process(start, chain):
    first = start()
    first.compile(chain(65))
    children = first.children()
    assert children
    first.process.kill()
    first.process.wait()
    wait_gone(children)
    second = start()
    assert second.compile(chain(65)).artifact.cache.where == Where.WHERE_DISK


def test_damaged_entries_are_misses(start, chain, folder):
    first = start()
    first.compile(chain(66))
    first.terminate()
    for root, _, names in os.walk(f"{folder}/cache"):
        for name in names:
            path = os.path.join(root, name)
            data = bytearray(open(path, "rb").read())
            if len(data) > 100:
                data[len(data) // 2] ^= 1
                os.chmod(path, 0o600)
                open(path, "wb").write(data)
    second = start()
    assert second.compile(chain(66)).artifact.cache.where == Where.WHERE_COMPILED
    assert second.statistics().cache_corrupt > 0


def test_a_cache_folder_that_cannot_be_had_is_no_error(start, chain, folder):
    daemon = start(cache="/proc/nowhere")
    assert daemon.compile(chain(67)).artifact.cache.where == Where.WHERE_COMPILED
    assert daemon.compile(chain(67)).artifact.cache.where == Where.WHERE_MEMORY
    assert "no disk cache" in daemon.log()


def test_sigterm_lets_calls_finish_and_refuses_new_ones(failing, chain):
    failing.failpoint("compile:slow:1500")
    call = failing.compile_service.Compile.future(compile_request(chain(68)))
    time.sleep(0.5)
    children = failing.children()
    failing.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    code, _, _ = status_of(failing.compile, chain(69), timeout=5)
    assert code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    assert call.result().artifact.id
    assert failing.process.wait(20) == 0
    wait_gone(children)
    assert not failing.socket.exists()


def test_draining_has_a_bound(start, chain):
    daemon = start("--drain-ms", "500")
    if not daemon.has_failpoints():
        pytest.skip("the daemon has no failpoints")
    daemon.failpoint("compile:hang")
    call = daemon.compile_service.Compile.future(compile_request(chain(70)))
    time.sleep(0.5)
    begin = time.monotonic()
    assert daemon.terminate() == 0
    assert time.monotonic() - begin < 5
    assert call.exception().code() in (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE)


def test_an_idle_daemon_ends(start):
    daemon = start("--idle-exit", "3")
    daemon.channel.close()
    assert daemon.process.wait(20) == 0


@pytest.mark.parametrize("address", ["localhost:50051", "0.0.0.0:1", "tcp://[::1]:50051", "dns:///host:1", "unix:relative", "unix:"])
def test_every_address_but_a_unix_socket_is_refused(address):
    result = run("--listen", address)
    assert result.returncode == 2
    assert "unix:/path" in result.stderr or "absolute path" in result.stderr


def test_a_socket_path_that_is_too_long_is_refused():
    result = run("--listen", "unix:/tmp/" + "x" * 120)
    assert result.returncode == 2 and "107 bytes" in result.stderr


def test_an_address_is_needed():
    assert "--listen" in run().stderr


def test_a_live_daemons_socket_is_not_taken_and_a_stale_one_is(start, chain):
    first = start()
    other = run("--listen", f"unix:{first.socket}")
    assert other.returncode == 1 and "another daemon" in other.stderr
    assert first.compile(chain(71)).artifact.id
    first.process.kill()
    first.process.wait()
    assert first.socket.exists()
    assert start().compile(chain(71)).artifact.id


def test_a_file_in_the_sockets_place_is_kept(folder):
    path = f"{folder}/precious"
    open(path, "w").write("data")
    result = run("--listen", f"unix:{path}")
    assert result.returncode == 1 and "no socket" in result.stderr
    assert open(path).read() == "data"


def test_the_socket_is_its_owners_alone(daemon):
    assert stat.S_IMODE(os.stat(daemon.socket).st_mode) & 0o077 == 0


def test_flags_and_file_say_the_same(folder):
    config = f"{folder}/config.toml"
    printed = run("--listen", "unix:/tmp/a", "--listen", "unix:/tmp/b", "--workers", "7", "--cache-size", "1MB", "--print-config")
    assert printed.returncode == 0
    open(config, "w").write(printed.stdout)
    again = run("--config", config, "--print-config")
    assert again.stdout == printed.stdout
    assert 'workers = "7"' in again.stdout and 'cache-size = "1048576"' in again.stdout
    flag_wins = run("--config", config, "--workers", "3", "--print-config").stdout
    assert 'workers = "3"' in flag_wins
    assert run("--config", config, "--check-config").returncode == 0
    open(config, "a").write("no-such-key = 1\n")
    assert run("--config", config, "--check-config").returncode == 2


def test_the_configuration_in_force_can_be_asked_for(start):
    from harness import admin_pb2

    daemon = start("--queue-jobs", "17")
    settings = {s.key: list(s.values) for s in daemon.admin_service.GetConfig(admin_pb2.GetConfigRequest()).settings}
    assert settings["queue-jobs"] == ["17"]
    assert settings["listen"] == [f"unix:{daemon.socket}"]
    assert settings["workers"] == ["2"]


def test_memory_stays_level(daemon, chain):
    for i in range(20):
        daemon.compile(chain(100 + i))
    before = daemon.statistics().resident_bytes
    for i in range(3000):
        daemon.compile(chain(100 + i % 20))
        if i % 10 == 0:
            status_of(daemon.compile, b"")
    assert daemon.statistics().resident_bytes < 1.05 * before + (1 << 20)
