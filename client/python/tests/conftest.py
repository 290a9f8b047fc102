"""Helpers of the tests. Kernels are written to files of their own, as an author's are."""

import importlib.util
import itertools
import subprocess
import sys
import textwrap

import fake_service
import pytest
from fake_service import TEXT, serve

import intent

HEADER = "import intent\nimport intent.language as I\n\n\n"

_numbers = itertools.count()


@pytest.fixture
def author(tmp_path):
    """author(text) gives the module that an author's file with that text would be."""

    def load(text, header=HEADER):
        number = next(_numbers)
        path = tmp_path / f"author_{number}.py"
        path.write_text(header + textwrap.dedent(text).lstrip("\n"))
        spec = importlib.util.spec_from_file_location(f"author_{number}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def refused(author):
    """refused(text) compiles the file's `kernel`, which must fail.

    Gives (diagnostics, line of each `# <-`): what was found, and where it should have been.
    """

    def check(text, **constexprs):
        source = HEADER + textwrap.dedent(text).lstrip("\n")
        marked = [n for n, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]
        with pytest.raises(intent.CompileError) as caught:
            intent.lower(author(text).kernel, constexprs=constexprs)
        return caught.value.diagnostics, marked

    return check


@pytest.fixture
def error_of(refused):
    """error_of(text) gives the one diagnostic of a file's `kernel`, which must sit on the marked line."""

    def check(text, **constexprs):
        found, marked = refused(text, **constexprs)
        assert len(found) == 1, [str(d) for d in found]
        assert found[0].line in marked, f"line {found[0].line}, want {marked}: {found[0]}"
        return found[0]

    return check


@pytest.fixture
def service(tmp_path):
    server, servicer = serve(f"unix:{tmp_path}/s.sock")
    yield servicer
    server.stop(None)


@pytest.fixture
def daemon_process(tmp_path):
    """The address of such a service in a process of its own: no fork of this one has its threads."""
    address = f"unix:{tmp_path}/d.sock"
    command = [sys.executable, fake_service.__file__, address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        yield address
        process.stdin.close()


@pytest.fixture
def build(author, service):
    module = author(TEXT)

    def make(**options):
        return intent.compile(module.kernel, compiler=intent.Compiler(service.address), **options)

    make.module = module
    return make
