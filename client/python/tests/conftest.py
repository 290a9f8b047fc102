"""Helpers of the tests. Kernels are written to files of their own, as an author's are."""

import importlib.util
import itertools
import textwrap

import pytest

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
