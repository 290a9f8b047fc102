"""The package's own quality: types and style are clean, an import is light, a wheel can be built."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import intent

PROJECT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("INTENT_BUILD", PROJECT.parents[1] / "build")).resolve()


def tool(*command, **keywords):
    result = subprocess.run(
        [sys.executable, "-m", *command], cwd=PROJECT, capture_output=True, text=True, timeout=500, **keywords
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def type_cache(tmp_path_factory):
    pytest.importorskip("mypy")
    return str(tmp_path_factory.mktemp("mypy"))


def test_types_are_clean(type_cache):
    tool("mypy", "--cache-dir", type_cache)


TYPED = """
import intent

@intent.kernel
def kernel(x): ...

@intent.kernel(source="")
def other(x): ...

a: intent.Artifact = intent.compile(kernel.specialize(k=1), compiler=intent.Compiler("unix:/x"))
many: list[intent.Artifact] = intent.compile_many([kernel, (other, {"k": 1})], progress=True)
b: intent.Artifact = intent.load("file", exact=False)
size: int = len(a.object_code) + int(a.timings["emit"])

async def wait() -> intent.Artifact:
    return await intent.compile_async(other)

wrong: int = intent.compile(kernel)  # 1
intent.compile(kernel, targets=None)  # 2
intent.compiled  # 3
"""


def test_the_public_functions_are_typed_for_their_users(type_cache, tmp_path):
    (tmp_path / "user.py").write_text(TYPED)
    settings = ("--config-file", os.devnull, "--cache-dir", type_cache, "--ignore-missing-imports")
    result = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, "--follow-imports=silent", tmp_path / "user.py"],
        env={**os.environ, "MYPYPATH": str(PROJECT / "src")},
        capture_output=True,
        text=True,
        timeout=500,
    )
    lines = TYPED.splitlines()
    found = [int(n) for n in re.findall(r"user\.py:(\d+): error", result.stdout)]
    assert [lines[n - 1][-3:] for n in found] == ["# 1", "# 2", "# 3"], result.stdout + result.stderr


def test_style_is_clean():
    pytest.importorskip("ruff")
    tool("ruff", "check", "--no-cache", "src", "tests")


IMPORT = """
import sys

made = []
harmful = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "pty.spawn")
harmful += ("_thread.start_new_thread", "_thread.start_joinable_thread")
sys.addaudithook(lambda event, _: made.append(event) if event.startswith("socket.") or event in harmful else None)
before = set(sys.modules)
import intent
import intent.language as I

@intent.kernel(source="def k(x: I.In[I.f32, ('N',)], y: I.Out[I.f32, ('N',)]):\\n    y[:] = x[:]")
def k(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:]

k.specialize(), intent.CpuTarget(), intent.CompileOptions(), repr(k), dir(intent), dir(I)
import threading
assert threading.active_count() == 1 and not made, made
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
print(*sorted(name for name in sys.modules if name.startswith("intent.")))
"""


def test_an_import_is_light_and_starts_nothing():
    run = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    packages, modules = (set(line.split()) for line in run.stdout.splitlines())
    heavy = {
        "asyncio",
        "google",
        "grpc",
        "intent_proto",
        "ml_dtypes",
        "numpy",
        "socket",
        "subprocess",
        "ctypes",
    }
    assert not packages & heavy
    others = {p for p in packages if p not in sys.stdlib_module_names and not p.startswith("_")}
    assert others <= {"intent"}, f"beside the standard library: {others}"
    late = {"artifact", "asynchronous", "client", "compiling", "container", "embedded", "frontend", "_core"}
    assert not {f"intent.{name}" for name in late} & modules


def test_every_public_name_is_there_and_documented():
    for name in intent.__all__:
        assert getattr(intent, name).__doc__, name


def test_a_wheel_is_built_of_what_was_built(tmp_path):
    """No network, no compiler: pip wheel takes the binaries of the build folder."""
    setuptools = pytest.importorskip("setuptools")
    if int(setuptools.__version__.partition(".")[0]) < 71:
        pytest.skip("this setuptools makes no wheels by itself")
    # The programs need not be the real ones, and those are large.
    build = tmp_path / "build"
    (build / "bin").mkdir(parents=True)
    for name in ("intent-compiled", "intent-worker", "intentc"):
        (build / "bin" / name).write_text("#!/bin/sh\n")
        (build / "bin" / name).chmod(0o755)
    for folder in ("python", "python_proto"):
        (build / folder).symlink_to(BUILD / folder)
    if not list((build / "python" / "intent").glob("_core*")):
        pytest.skip(f"{BUILD} has no extension module")
    before = {p: p.stat().st_mtime_ns for p in PROJECT.rglob("*") if "__pycache__" not in p.parts}
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    tool(
        "pip",
        "wheel",
        *options,
        "-w",
        str(tmp_path),
        str(PROJECT),
        env={**os.environ, "INTENT_BUILD_DIR": str(build)},
    )
    (wheel,) = tmp_path.glob("intent-*.whl")
    assert re.fullmatch(r"intent-[\d.]+-cp\d+-cp\d+-linux_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        programs = {i.filename for i in archive.infolist() if i.filename.startswith("intent/bin/")}
        modes = {i.external_attr >> 16 & 0o111 for i in archive.infolist() if i.filename in programs}
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
    assert len(programs) == 3 and 0 not in modes
    sources = {str(p.relative_to(PROJECT / "src")) for p in (PROJECT / "src").rglob("*")}
    sources = {s for s in sources if "__pycache__" not in s and "egg-info" not in s and "." in Path(s).name}
    assert sources <= set(names), sorted(sources - set(names))
    assert any(n.startswith("intent/_core.") for n in names)
    assert "intent_proto/compile/v1/compile_pb2.py" in names
    assert "Requires-Dist: numpy" in metadata and "Requires-Python: >=3.10" in metadata
    after = {p: p.stat().st_mtime_ns for p in PROJECT.rglob("*") if "__pycache__" not in p.parts}
    assert {p for p in after if "egg-info" not in str(p)} == {p for p in before if "egg-info" not in str(p)}
