"""The bundle: unpacked anywhere, it runs with nothing from this machine but the C and C++ libraries."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 45_000_000

# What every distribution has, and a process may have only once.
HOST = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1"}
# Debian 12's; Ubuntu 24.04 has later ones.
NEWEST = {"GLIBC": "2.36", "GLIBCXX": "3.4.30", "CXXABI": "1.3.13", "GCC": "7.0.0", "ZLIB": "1.2.13"}

PROGRAM = """
import intent, intent.language as I, numpy as np
from intent import _core, embedded

embedded.IDLE_SECONDS = 5  # nothing is left behind

@intent.kernel
def double(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] * 2.0

for target in (intent.CpuTarget(), intent.InterpreterTarget()):
    assert intent.compile(double, target=target).run(np.arange(4, dtype=np.float32)).tolist() == [0, 2, 4, 6]
print(_core.__file__, embedded.find_binary(), sep="\\n")
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "bundle.tar.zst"
    # Quick compression: small enough even so.
    subprocess.run([ROOT / "deploy" / "bundle.sh", "--level", "3", "--output", path], check=True)
    return path


@pytest.fixture(scope="module")
def bundle(archive, tmp_path_factory):
    """The unpacked folder, moved and renamed."""
    folder = tmp_path_factory.mktemp("somewhere else")
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", folder], check=True)
    (unpacked,) = folder.iterdir()
    return unpacked.rename(folder / "another name")


@pytest.fixture
def run_folder():
    """A short path for sockets and caches."""
    path = tempfile.mkdtemp(prefix="intent-")
    yield Path(path)
    shutil.rmtree(path, ignore_errors=True)


def programs_and_libraries(bundle):
    files = [p for p in bundle.rglob("*") if p.is_file() and p.open("rb").read(4) == b"\x7fELF"]
    assert len(files) > 10
    return files


def test_it_is_small(archive):
    assert archive.stat().st_size < LIMIT


def test_a_kernel_compiles_and_runs_in_an_empty_environment(bundle, run_folder):
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(bundle / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_RUNTIME_DIR": str(run_folder),
        "XDG_CACHE_HOME": str(run_folder),
    }
    (run_folder / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, run_folder / "program.py"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    extension, daemon = done.stdout.splitlines()
    assert Path(extension).parent == bundle / "python" / "intent"
    assert Path(daemon) == bundle / "bin" / "intent-compiled"


def test_libraries_come_from_the_bundle_or_from_every_host(bundle):
    foreign = {}
    for file in programs_and_libraries(bundle):
        listed = subprocess.run(["ldd", file], env={}, capture_output=True, text=True, check=True).stdout
        for name, path in re.findall(r"^\s*(\S+) => (.*?)(?: \(0x[0-9a-f]+\))?$", listed, re.MULTILINE):
            if name not in HOST and not path.startswith(str(bundle)) and "lib" not in file.parent.name:
                foreign.setdefault(file.name, []).append((name, path))
    assert not foreign


def test_the_libraries_of_the_host_may_be_as_old_as_debian_12s(bundle):
    def number(text):
        return tuple(int(part) for part in text.split("."))

    symbols = subprocess.run(
        ["objdump", "-T", *programs_and_libraries(bundle)], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for library, version in re.findall(r"\((GLIBC|GLIBCXX|CXXABI|GCC|ZLIB)_([0-9.]+)\)", symbols):
        found[library] = max(found.get(library, "0"), version, key=number)
    print("newest symbol versions:", found)
    needs = (bundle / "share" / "doc" / "intent" / "needs").read_text().split()
    assert dict(need.split("_") for need in needs) == found
    assert {
        name: number(version) <= number(NEWEST[name]) for name, version in found.items()
    } == dict.fromkeys(found, True)


def test_every_python_since_3_11_finds_an_extension_module(bundle):
    package = bundle / "python" / "intent"
    assert (package / "_core.abi3.so").exists()  # 3.12 and later
    assert list(package.glob("_core.cpython-311-*.so"))


def test_the_commands_of_its_page_run(bundle, run_folder):
    """The second block of docs/bundle.md, in the unpacked folder."""
    blocks = re.findall(
        r"^```sh\n(.*?)^```$", (ROOT / "docs" / "bundle.md").read_text(), re.MULTILINE | re.DOTALL
    )
    commands = blocks[1].replace("/tmp/i.sock", f"{run_folder}/i.sock").splitlines()
    wait = f"for _ in $(seq 600); do [ -S {run_folder}/i.sock ] && break; sleep 0.1; done"
    script = ["set -eu", "trap 'kill $(jobs -p); wait' EXIT", f"cd {run_folder}/bundle"]
    for command in commands:
        script += [command, wait] if command.endswith("&") else [command]
    (run_folder / "bundle").symlink_to(
        bundle
    )  # a path without spaces: pkg-config does not quote all that it prints
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "XDG_CACHE_HOME": str(run_folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    output = run_folder / "output"  # not a pipe: a daemon that outlived the script would hold it open
    with open(output, "wb") as stream:
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)], env=environment, stdout=stream, stderr=stream, timeout=300
        )
    assert done.returncode == 0, output.read_text()
    assert "rms_norm: agrees with NumPy" in output.read_text()
