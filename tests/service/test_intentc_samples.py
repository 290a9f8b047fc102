"""intentc on the samples of client/cpp/testdata, with what users get wrong."""

import json
from pathlib import Path

import numpy as np
import pytest

from harness import ROOT, intentc

SAMPLES = ROOT / "client" / "cpp" / "testdata"
NO_DAEMON = {"INTENT_COMPILER": ""}


def run_here(*arguments, **keywords):
    return intentc("run", *arguments, environment=NO_DAEMON, **keywords)


@pytest.mark.parametrize("name", ["saxpy", "softmax", "scaled"])
def test_good_samples_verify(name):
    assert "verifies" in intentc("verify", SAMPLES / f"{name}.kir").stdout


def test_verify_reports_every_error():
    result = intentc("verify", SAMPLES / "bad.kir", check=False)
    assert result.returncode == 1
    assert "bad.kir:5:" in result.stderr and "E0201" in result.stderr
    assert "bad.kir:6:" in result.stderr and "E0305" in result.stderr


def test_print_encode_writes_the_wire_form(folder):
    path = f"{folder}/saxpy.bin"
    intentc("print", SAMPLES / "saxpy.kir", "--encode", path)
    assert intentc("print", path).stdout == intentc("print", SAMPLES / "saxpy.kir").stdout


@pytest.mark.parametrize("order", "CF")
def test_softmax_of_files_in_either_order(folder, order):
    x = np.asarray(np.random.default_rng(1).standard_normal((3, 5)), np.float32, order=order)
    np.save(f"{folder}/x.npy", x)
    run_here(SAMPLES / "softmax.kir", "--arg", f"x={folder}/x.npy", "-o", f"{folder}/y.npy")
    e = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(np.load(f"{folder}/y.npy"), e / e.sum(axis=1, keepdims=True), rtol=1e-5)


def test_the_interpreter_and_a_daemon_agree(daemon, folder):
    arguments = [SAMPLES / "softmax.kir", "--arg", "x=random:7x33:5"]
    run_here(*arguments, "-o", f"{folder}/interp.npy")
    server = f"unix:{daemon.socket}"
    result = intentc("run", *arguments, "--target", "native", "--daemon", server, "-o", f"{folder}/native.npy")
    assert "ran on x86-64" in result.stdout
    np.testing.assert_allclose(np.load(f"{folder}/interp.npy"), np.load(f"{folder}/native.npy"), rtol=1e-5)


def test_print_shows_every_element():
    result = run_here(SAMPLES / "saxpy.kir", "--arg", "a=2", "--arg", "x=1.5", "--arg", "y=0.5", "--size", "s0=3", "--print")
    assert "out f32 [ 3 ] 3.5 3.5 3.5" in result.stdout
    assert "[3.5, 3.5, 3.5]" in result.stdout


def test_constexprs_are_bound():
    scaled = run_here(SAMPLES / "scaled.kir", "--bind", "0=3", "--bind", "1=true", "--arg", "x=2", "--size", "s0=1")
    assert "out f64 [ 1 ] 6.0" in scaled.stdout
    same = run_here(SAMPLES / "scaled.kir", "--bind", "1=false", "--arg", "x=2", "--size", "s0=1")
    assert "out f64 [ 1 ] 2.0" in same.stdout


def test_compile_writes_every_part(daemon, folder):
    out = Path(folder) / "out"
    intentc("compile", SAMPLES / "saxpy.kir", "--target", "x86-64-v3", "-o", out, "--keep-source", "--daemon", f"unix:{daemon.socket}")
    assert (out / "kernel.o").read_bytes()[:4] == b"\x7fELF"
    assert (out / "manifest.pb").stat().st_size > 0
    assert 'target: "x86-64-v3"' in (out / "manifest.txt").read_text()
    assert (out / "kernel.kir").read_text().startswith("kernel (")
    assert "define" in (out / "kernel.ll").read_text()
    assert " ms\n" in (out / "times.txt").read_text()
    report = (out / "report.txt").read_text()
    assert report.startswith("options: target x86-64-v3, opt_level=2")
    assert "saxpy.kir:8: fusion: view_store: fused into its loops: mul (line 6), add (line 7)" in report


def test_compile_shows_diagnostics_of_the_daemon(daemon):
    result = intentc("compile", SAMPLES / "bad.kir", "--daemon", f"unix:{daemon.socket}", check=False)
    assert result.returncode == 1
    assert "bad.kir:5:3: error E0201" in result.stderr and "^~~" in result.stderr


def test_what_a_daemon_says_of_itself(daemon):
    server = f"unix:{daemon.socket}"
    environment = {"INTENT_COMPILER": server}
    assert f"listen {server}" in intentc("config", environment=environment).stdout
    assert "interp" in intentc("capabilities", environment=environment).stdout
    assert "interp" in json.loads(intentc("capabilities", "--json", environment=environment).stdout)["targets"]
    assert "requests 0\n" in intentc("stats", environment=environment).stdout


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["saxpy.kir", "--arg", "q=1"], "there is no parameter q; there are: a, x, y, out"),
        (["saxpy.kir", "--size", "N=1"], "there is no symbol N; there are: s0"),
        (["saxpy.kir", "--arg", "x=random:3", "--arg", "y=zeros:4"], "y: axis 0 has extent 4, but s0 is 3, as x says"),
        (["saxpy.kir", "--arg", "x=nowhere.npy"], "x: cannot read nowhere.npy"),
        (["saxpy.kir", "--arg", "a=two"], "a: 'two' is no f32"),
        (["saxpy.kir", "--out", "x=x.npy"], "the kernel writes no x; it writes: out"),
        (["saxpy.kir", "--bind", "N=1"], "there is no constexpr N"),
        (["scaled.kir", "--bind", "1=maybe"], "'maybe' is no bool"),
        (["scaled.kir"], "E0702"),
        (["bad.kir"], "E0201"),
        (["nothing.kir"], "cannot read"),
    ],
)
def test_mistakes_are_told_and_end_with_1(arguments, message):
    name, *rest = arguments
    result = run_here(SAMPLES / name, *rest, check=False)
    assert result.returncode == 1 and message in result.stderr, result.stderr


@pytest.mark.parametrize(
    "arguments",
    [[], ["frobnicate"], ["run"], ["run", "x.kir", "--arg", "x"], ["run", "x.kir", "--opt-level", "3"], ["verify", "a", "b"]],
)
def test_a_wrong_command_line_ends_with_2(arguments):
    assert intentc(*arguments, check=False).returncode == 2


def test_help_is_there_for_every_command():
    for command in "verify print encode compile run stats config capabilities".split():
        assert command in intentc("--help").stdout
        assert "Usage" in intentc(command, "--help").stdout
