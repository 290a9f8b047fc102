"""The command line: what works without a daemon and what asks one."""

import json

import numpy as np
import pytest

from harness import BAD_TEXT, chain_result, chain_text, intentc


@pytest.fixture
def kernel(folder):
    path = f"{folder}/kernel.kir"
    open(path, "w").write(chain_text(5))
    return path


def test_verify_says_yes(kernel):
    assert "verifies" in intentc("verify", kernel).stdout


def test_verify_shows_the_line_and_a_caret(folder):
    path = f"{folder}/bad.kir"
    open(path, "w").write(BAD_TEXT)
    result = intentc("verify", path, check=False)
    assert result.returncode == 1
    assert f"{path}:3:" in result.stderr and "E0305" in result.stderr
    assert "%z = reshape %x" in result.stderr and "^" in result.stderr


def test_syntax_errors_have_a_place(folder):
    path = f"{folder}/bad.kir"
    open(path, "w").write("kernel (%x: view<in, f32, [s0]>) {\n  %y = frobnicate %x\n}\n")
    result = intentc("verify", path, check=False)
    assert result.returncode == 1 and f"{path}:2:" in result.stderr and "E0105" in result.stderr


def test_print_and_encode_are_inverse(kernel, folder):
    text = intentc("print", kernel).stdout
    assert text.startswith("kernel (")
    intentc("encode", kernel, "-o", f"{folder}/module.bin")
    assert intentc("print", f"{folder}/module.bin").stdout == text


def test_run_without_a_daemon_is_the_interpreters(kernel, folder):
    x = np.linspace(0.5, 1.5, 33, dtype=np.float32)
    np.save(f"{folder}/x.npy", x)
    environment = {"INTENT_COMPILER": ""}
    intentc("run", kernel, "--arg", f"0={folder}/x.npy", "--out", f"1={folder}/y.npy", environment=environment)
    names = intentc("run", kernel, "--size", "s0=3", environment=environment).stdout
    assert "[ 3 ]" in names


def test_run_and_compile_by_a_daemon(daemon, kernel, folder):
    server = f"unix:{daemon.socket}"
    x = np.linspace(0.5, 1.5, 400_000, dtype=np.float32)
    np.save(f"{folder}/x.npy", x)
    output = intentc("run", kernel, "--server", server, "--arg", f"x={folder}/x.npy", "--out", f"y={folder}/y.npy")
    assert "f32 [ 400000 ]" in output.stdout
    np.testing.assert_allclose(np.load(f"{folder}/y.npy"), chain_result(5, x), rtol=1e-5)
    compiled = intentc("compile", kernel, "--target", "x86-64-v3", "-o", f"{folder}/out", "--server", server)
    assert "target x86-64-v3" in compiled.stdout and "cache COMPILED" in compiled.stdout
    assert open(f"{folder}/out/kernel.o", "rb").read(4) == b"\x7fELF"
    again = intentc("compile", kernel, "--target", "x86-64-v3", environment={"INTENT_COMPILER": server})
    assert "cache MEMORY" in again.stdout


DEAD_CODE = """kernel (%x: view<in, f32, [s0]>, %i: index, %y: view<out, f32, []>) {
  %unused = view_load %x [:] : tensor<f32, [s0]>
  %twice = binary add %unused, %unused : tensor<f32, [s0]>
  %one = view_load %x [%i] : f32
  view_store %y [] = %one
  return
}
"""


@pytest.mark.parametrize("target", ["native", "interp"])
def test_an_error_behind_dead_code_shows_its_line(daemon, folder, target):
    path = f"{folder}/kernel.kir"
    open(path, "w").write(DEAD_CODE)
    arguments = ["run", path, "--arg", "i=7", "--size", "s0=3", "--target", target]
    result = intentc(*arguments, "--server", f"unix:{daemon.socket}", check=False)
    assert result.returncode == 1 and f"{path}:4:" in result.stderr and "index 7" in result.stderr


def test_stats_as_json(daemon, chain):
    daemon.compile(chain(1))
    counters = json.loads(intentc("stats", "--json", "--server", f"unix:{daemon.socket}").stdout)
    names = "requests hits_memory hits_disk hits_remote misses compiles bypasses errors".split()
    assert {name: int(counters[name]) for name in names} == dict.fromkeys(names, 0) | dict(
        requests=1, misses=1, compiles=1
    )


def test_no_daemon_is_an_error_in_words(kernel, folder):
    result = intentc("compile", kernel, "--server", f"unix:{folder}/nobody", check=False)
    assert result.returncode == 1 and result.stderr.startswith("error: ")


def test_a_daemon_of_ones_own_is_started_on_demand(kernel, folder):
    import os
    import signal
    import glob

    environment = {"XDG_RUNTIME_DIR": folder, "INTENT_COMPILER": "", "XDG_CACHE_HOME": folder}
    try:
        assert "cache COMPILED" in intentc("compile", kernel, environment=environment).stdout
        assert "cache MEMORY" in intentc("compile", kernel, environment=environment).stdout
    finally:
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                words = open(path, "rb").read().split(b"\0")
            except OSError:
                continue
            if f"unix:{folder}".encode() in b" ".join(words) and b"intent-compiled" in words[0]:
                os.kill(int(path.split("/")[2]), signal.SIGTERM)
