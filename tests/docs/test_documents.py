"""What README.md and docs/ show is true: their commands run, their files and links exist.

A document's ```sh blocks run in order, in one shell, in a folder that has the repository's folders
in it. A block of another language whose first line is a comment with a file name becomes that file
first. Commands that are suites or stages of tests/run.sh themselves are not run again.
"""

import os
import re
import signal
import subprocess
import textwrap
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOCKET = "/tmp/i.sock"  # stands in documents; each run has its own

# Documents whose commands run in another folder.
BUNDLE = ROOT / "docs" / "bundle.md"  # by tests/deploy

# Command, and where it is run instead.
RUN_ELSEWHERE = {
    "./deploy/demo.sh": "suite demo",
    "./deploy/install-deps.sh": "first stage of tests/run.sh",
    "./deploy/install-deps.sh --bundle": "first stage of tests/run.sh",
    "./deploy/bundle.sh": "tests/deploy",
    "./tests/run.sh": "this run",
    "./tests/gpu/pack.sh": "by hand, for a machine with a GPU",
    "./tests/gpu/pack_device_numerics.sh": "by hand, for a machine with a GPU",
    "./tests/gpu/run.sh": "there",
    "./tests/gpu/run.sh --only bench": "there",
    "./tests/gpu/run.sh --only cases,torch --match 'reductions|nn'": "there",
    "cmake --preset release": "second stage of tests/run.sh",
    "cmake --build --preset release": "second stage of tests/run.sh",
    "ctest --test-dir build --output-on-failure -R 'wire|kir'": "suite unit",
    "build/venv/bin/python -m pytest -q client/python/tests/test_language.py": "suite python",
    "build/tests/ulp_table 1048576": "by hand: a quarter of an hour",
    "INTENT_ULP_POINTS=1048576 build/tests/ulp_test": "suite unit, on fewer arguments",
}

PRELUDE = f"""set -eu
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
listening() {{ for _ in $(seq 600); do [ -S {SOCKET} ] && return; sleep 0.1; done; return 1; }}
"""


def blocks(document):
    """(language, text) of each fenced block."""
    pattern = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [(m[1], textwrap.dedent(m[2])) for m in pattern.finditer(document.read_text())]


def commands(document):
    """The commands of a document, without their comments."""
    lines = [line for language, text in blocks(document) if language == "sh" for line in text.splitlines()]
    stripped = (re.sub(r"\s+#.*", "", line).strip() for line in lines)
    return [line for line in stripped if line and not line.startswith("#")]


def named_files(document):
    """{name: text} of the blocks that are files."""
    files = {}
    for language, text in blocks(document):
        match = re.match(r"(?:#|//) (\w+\.\w+)\b", text)
        if language != "sh" and match:
            files[match[1]] = text
    return files


def own_processes(folder):
    """Process ids of what was started with `folder` on its command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(folder) in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


@pytest.fixture
def workplace(tmp_path):
    """A folder with the repository's folders in it, and a home of its own."""
    for entry in ROOT.iterdir():
        if not entry.name.startswith("."):
            (tmp_path / entry.name).symlink_to(entry)
    run = Path("/tmp") / f"intent-docs-{os.getpid()}"  # short: a socket's path must fit into 107 bytes
    run.mkdir(mode=0o700)
    (tmp_path / ".run").symlink_to(run)
    yield tmp_path, run
    for pid in own_processes(run):
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
    deadline = time.monotonic() + 20
    while own_processes(run) and time.monotonic() < deadline:
        time.sleep(0.05)
    subprocess.run(["rm", "-rf", run], check=True)


RUNNABLE = [d for d in DOCUMENTS if d != BUNDLE and any(c not in RUN_ELSEWHERE for c in commands(d))]


@pytest.mark.parametrize("document", RUNNABLE, ids=lambda d: d.name)
def test_commands_run(document, workplace):
    folder, run = workplace
    for name, text in named_files(document).items():
        (folder / name).write_text(text)
    script = PRELUDE
    for command in commands(document):
        if command in RUN_ELSEWHERE:
            continue
        script += f"echo '$ '{command!r} >&2\n{command}\n"
        if command.endswith("&"):
            script += "listening\n"
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(run), XDG_CACHE_HOME=str(run), HOME=str(run))
    environment.pop("INTENT_COMPILER", None)
    # Not through pipes: a daemon that outlives the script would hold them open.
    with open(folder / ".output", "w+") as output:
        result = subprocess.run(
            ["bash", "-c", script.replace(SOCKET, str(run / "i.sock"))],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=300,
        )
        output.seek(0)
        assert result.returncode == 0, output.read()


def test_the_two_commands_of_the_readme_are_there():
    assert {"./deploy/demo.sh", "./tests/run.sh"} <= set(commands(ROOT / "README.md"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_links_and_paths_exist(document):
    text = document.read_text()
    missing = []
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not re.match(r"\w+:", target) and not (document.parent / target).exists():
            missing.append(target)
    # Paths in backticks that begin with a folder of the repository.
    tops = "|".join(("proto", "compiler", "cache", "server", "client", "deploy", "tests", "docs"))
    for path in re.findall(rf"`((?:{tops})/[\w./*{{}},-]*)`", text):
        options = [path]
        if match := re.search(r"\{([^}]*)\}", path):
            options = [path.replace(match[0], part) for part in match[1].split(",")]
        missing += [option for option in options if not any(ROOT.glob(option.rstrip("/")))]
    assert not missing


def test_kir_blocks_verify(tmp_path):
    for document in DOCUMENTS:
        for language, text in blocks(document):
            if language == "kir" and "// <-" not in text:  # marked mistakes are test_error_pages.py's
                module = tmp_path / "block.kir"
                module.write_text(text)
                intentc = ROOT / "build" / "bin" / "intentc"
                result = subprocess.run([intentc, "verify", module], capture_output=True, text=True)
                assert result.returncode == 0, f"{document}: {result.stderr}"


def test_python_blocks_are_python():
    for document in DOCUMENTS:
        for language, text in blocks(document):
            if language == "python":
                compile(text, str(document), "exec")
