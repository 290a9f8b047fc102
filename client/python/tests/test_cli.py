"""`python -m intent`: what its commands print and how they end."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import intent
from intent import ServiceError, commands, embedded, explain

SOURCE = '''
"""Two kernels of an author."""

import intent
import intent.language as I


class Mode(I.Enum):
    PLAIN = 0
    SQUARE = 1


@intent.kernel
def power(
    x: I.In[I.f32, ("N",), I.constraints(alias="a")],
    scale: I.f32,
    out: I.Out[I.f32, ("N",), I.constraints(noalias=True)],
    n: I.Constexpr[int],
    mode: I.Constexpr[Mode] = Mode.PLAIN,
    fast: I.Constexpr[bool] = False,
    offset: I.Constexpr[float] = 0.5,
):
    """scale * x ** n."""
    value = x[:] * scale
    if mode == Mode.SQUARE:
        value = value * value
    for i in range(n):
        value = value * x[:]
    out[:] = value + I.cast(offset, I.f32)


@intent.kernel
def wrong(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):
    out[:] = I.foo(x[:])
'''


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "author.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def call(capsys):
    """call(arguments) gives (exit status, standard output, standard error)."""

    def run(*arguments):
        try:
            status = commands.main([str(a) for a in arguments])
        except SystemExit as end:
            status = end.code
        return (status, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def own_daemon():
    """The daemon of a user whose home is empty; ended with the tests."""
    try:
        embedded.find_binary()
    except ServiceError:
        pytest.skip("the daemon is not built")
    home = tempfile.mkdtemp(prefix="intent-")  # short: a socket's path must fit into 107 bytes
    patch = pytest.MonkeyPatch()
    for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME"):
        patch.setenv(name, home)
    patch.delenv("INTENT_COMPILER", raising=False)
    yield home
    address = embedded.running()
    if address:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(address.removeprefix("unix:"))
            pid = int.from_bytes(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], "little")
        os.kill(pid, signal.SIGTERM)
    patch.undo()
    shutil.rmtree(home, ignore_errors=True)


def test_describe_shows_the_signature(call, source):
    status, out, _ = call("describe", f"{source}:power", "--constexpr", "n=3")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert status == 0
    assert f"kernel power ({source}:14)" in lines and "scale * x ** n." in lines
    for line in (
        "x In f32 (N,) alias 'a'",
        "scale scalar f32",
        "out Out f32 (N,) noalias",
        "n constexpr int must be bound",
        "mode constexpr Mode (PLAIN, SQUARE) default PLAIN",
        "offset constexpr float default 0.5",
        "N = x.shape[0] = out.shape[0]",
    ):
        assert line in lines
    assert lines[-1].startswith("KIR: ") and lines[-1].endswith(" bytes")


def test_describe_gives_json(call, source):
    facts = json.loads(call("describe", f"{source}:power", "--json")[1])
    assert [p["name"] for p in facts["parameters"]] == "x scale out n mode fast offset".split()
    assert facts["operations"] > 5 and facts["bytes"] > 0 and facts["line"] == 14


def test_operations_are_counted_without_braces():
    text = "kernel (%x: f32) {\n  %1 = constant 1.0 : f32\n  if %c {\n    yield\n  } else {\n    yield\n  }\n  return\n}\n"
    assert commands.describe.operations(text) == 5


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["describe", "nowhere.py:power"], "there is no file nowhere.py"),
        (["describe", "no_such_module:power"], "No module named"),
        (["describe", "{source}:powers"], "has no kernel 'powers'; it has: power, wrong"),
        (["describe", "{source}"], "has 2 kernels; name one"),
        (["describe", "{source}:power", "--constexpr", "n"], "takes NAME=VALUE, not 'n'"),
        (["describe", "{source}:power", "--constexpr", "k=1"], "there are: n, mode, fast, offset"),
        (["describe", "{source}:power", "--constexpr", "n=1.5"], "n is of type int, not '1.5'"),
        (["describe", "{source}:power", "--constexpr", "fast=1"], "fast is one of true, false, not '1'"),
        (["describe", "{source}:power", "--constexpr", "mode=CUBE"], "one of PLAIN, SQUARE, not 'CUBE'"),
        (["compile", "{source}:power", "-o", "x"], "-o needs --emit"),
        (["compile", "{source}:power", "--json", "--emit", "kir"], "take one"),
        (["explain", "E0210"], "the nearest is E02"),
        (["explain", "nonsense"], "no error is called 'nonsense'"),
        ([], "required: COMMAND"),
    ],
)
def test_command_lines_that_mean_nothing(call, source, arguments, words):
    status, out, error = call(*(a.format(source=source) for a in arguments))
    assert (status, out) == (2, "") and words in error


def test_a_mistake_in_the_kernel_is_shown_with_its_line(call, source):
    status, _, error = call("describe", f"{source}:wrong")
    assert status == 1 and f"{source}:34:" in error and "unknown intrinsic I.foo" in error and "^" in error
    assert error.endswith("\npython -m intent explain E0801\n") and "\x1b" not in error


def test_only_a_terminal_gets_colours(call, source, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(commands.paint, "wanted", lambda stream: stream is sys.stderr)
    _, _, error = call("describe", f"{source}:wrong")
    assert "\x1b[1;31merror E0801:\x1b[0m unknown" in error and "| " + " " * 13 + "\x1b[1;32m^~~~" in error
    monkeypatch.undo()

    class Terminal:
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert commands.paint.wanted(Terminal()) and not commands.paint.wanted(sys.stderr)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not commands.paint.wanted(Terminal())


def test_a_module_is_found_from_the_current_folder(source):
    command = [sys.executable, "-m", "intent", "describe", "author:power"]
    result = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=False)
    assert result.returncode == 0 and "kernel power" in result.stdout, result.stderr


def test_explain_prints_the_page(call):
    for code in ("E0201", "e0201", "out_of_bounds"):
        assert call("explain", code) == (0, explain.page(code).text, "")
    both = call("explain", "E0201", "E0301")[1]
    assert both == explain.page("E0201").text + "\n" + explain.page("E0301").text


def test_the_version_is_the_packages(call):
    assert call("--version") == (0, f"intent {intent.__version__}\n", "")


def test_explain_lists_every_code(call):
    lines = call("explain")[1].splitlines()
    assert [line.split()[0] for line in lines] == explain.codes()


@pytest.mark.parametrize("emit", commands.compile.PARTS)
def test_compile_writes_its_parts(call, source, own_daemon, emit):
    path = Path(own_daemon) / emit
    status, out, error = call(
        "compile", f"{source}:power", "--constexpr=n=3", "--constexpr=mode=SQUARE", "--emit", emit, "-o", path
    )
    assert (status, out, error) == (0, "", "")
    starts = {
        "kir": b"kernel (",
        "object": b"\x7fELF",
        "so": b"\x7fELF",
        "header": b"/* power, an Intent kernel for ",
    }
    assert path.read_bytes().startswith(starts.get(emit, b"")) and path.read_bytes().strip()


def test_compile_tells_what_it_did(call, source, own_daemon):
    status, out, _ = call("compile", f"{source}:power", "--constexpr=n=2", "--target", "x86-64-v2")
    assert status == 0 and out.startswith("power for x86-64-v2: ") and " ms" in out and "object" in out
    facts = json.loads(
        call("compile", f"{source}:power", "--constexpr=n=2", "--target", "x86-64-v2", "--json")[1]
    )
    assert facts["target"] == "x86-64-v2" and facts["cache"]["hit"] and facts["payloads"]["object"] > 0
    for target in ("interp+check", "interp+check+laws"):
        _, out, _ = call("compile", f"{source}:power", "--constexpr=n=2", "--target", target)
        assert out.startswith(f"power for {target}: ")
    status, _, error = call(
        "compile", f"{source}:power", "--constexpr=n=2", "--target", "interp", "--emit=object"
    )
    assert status == 2 and "holds no machine code" in error
    status, _, error = call("compile", f"{source}:power", "--constexpr=n=2", "--target", "pdp11")
    assert status == 1 and "pdp11" in error
    status, _, error = call("compile", f"{source}:power")
    assert status == 1 and "E0702" in error


def test_the_doctor_finds_nothing_wrong(call, own_daemon):
    status, out, _ = call("doctor")
    assert status == 0 and "!" not in out, out
    for word in ("numpy", "protobuf", "compiles for", "interp, x86-64-v2", "native is", "cache", "ran ("):
        assert word in out
    assert out.splitlines()[-1] == "kernels compile and run here" and "\x1b" not in out
    status, out, _ = call("doctor", "--json")
    facts = json.loads(out)
    assert status == 0 and facts["ran"] and not facts["missing"]
    assert "x86-64-v2" in facts["daemon"]["compiles for"] and facts["trial"]["interp"].startswith("ran (")


def test_the_doctor_says_what_is_missing(call, monkeypatch, tmp_path):
    status, out, _ = call("doctor", "--compiler", f"unix:{tmp_path}/none.sock")
    assert status == 1 and "! reachable" in out and "UNAVAILABLE" in out
    status, out, _ = call("doctor", "--compiler", f"unix:{tmp_path}/none.sock", "--json")
    assert status == 1 and [problem["name"] for problem in json.loads(out)["missing"]] == ["reachable"]
    monkeypatch.delenv("INTENT_COMPILER", raising=False)
    monkeypatch.setattr(embedded, "find_binary", _no_binary)
    status, out, _ = call("doctor")
    assert status == 1 and "! program" in out and "intent-compiled is not found" in out
    monkeypatch.setattr(commands.doctor, "NEEDED", ("numpy", "no-such-package"))
    status, out, _ = call("doctor")
    assert status == 1 and "pip install no-such-package" in out and "daemon" not in out.splitlines()


def test_the_doctor_starts_nothing_unasked(call, monkeypatch, own_daemon):
    monkeypatch.setattr(embedded, "running", lambda: None)
    monkeypatch.setattr(embedded, "address", lambda: pytest.fail("a daemon was started"))
    status, out, _ = call("doctor", "--no-start")
    assert status == 0 and "none is running" in out and out.endswith("no kernel was tried\n")


def _no_binary():
    raise ServiceError("the daemon intent-compiled is not found", status="UNAVAILABLE")


def test_an_artifact_is_shown_in_notebooks(source, own_daemon):
    kernel = commands.kernels.load(f"{source}:power")
    html = intent.compile(kernel, constexprs={"n": 1})._repr_html_()
    assert "<b>Artifact power</b> for " in html and "<td>lower</td>" in html and "report" in html
