"""Every shared case and every example is compiled for CUDA, without a GPU: by the quick tier for sm_80 and
sm_90a, and some of each theme with all optimisations.

Without NVRTC nothing is compiled, and that is said out loud.
"""

import importlib
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from test_shared_cases import CASES, ITEMS, RUN, qemu

import intent

EXAMPLES = qemu.ROOT / "docs" / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "run")
ARCHITECTURES = ("sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

# What the CUDA back end refuses by name (E1001), with its words. This list only ever shrinks.
REFUSED: dict[str, str] = {}


class Compiled(Exception):
    """Ends a case once its kernel is compiled: there is nothing to run it on."""


def compile_case(compiler, arch, level, item):
    """The codes and messages of what was refused; empty if the case compiles."""

    class Runner(RUN.Runner):
        def compile(_, kernel, constexprs, options):
            artifact = intent.compile(
                kernel,
                compiler=compiler,
                target=intent.CudaTarget(arch),
                constexprs=dict(constexprs),
                options=intent.CompileOptions(**{"opt_level": level, **options}),
            )
            assert artifact.target == arch and artifact.cubin.startswith(b"\x7fELF")
            raise Compiled

    try:
        Runner("cpu", None)(item, item.case())
    except Compiled:
        return ""
    except intent.CompileError as error:
        return "; ".join(f"{d.code}: {d.message}" for d in error.diagnostics)
    raise AssertionError("the case compiled nothing")


class Work:
    """Compiles that run several at once, begun before the first test asks for one."""

    def __init__(self, daemon):
        self.compiler = intent.Compiler(f"unix:{daemon.socket}")
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._outcomes = {}
        cuda = self.compiler.capabilities().cuda
        self.missing = "" if cuda.nvrtc_version else f"SKIPPED: no case for CUDA: {cuda.missing}"

    def begin(self, arch, level, item):
        if not self.missing:
            self._outcomes[arch, level, item.name] = self._pool.submit(
                compile_case, self.compiler, arch, level, item
            )

    def result(self, arch, level, item):
        if self.missing:
            pytest.skip(self.missing)
        return self._outcomes[arch, level, item.name].result()

    def close(self):
        self._pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def work(request, daemon):
    running = Work(daemon)
    for test in request.session.items:
        if {"work", "item"} <= set(test.fixturenames):
            running.begin(*(test.callspec.params[name] for name in ("arch", "level", "item")))
    yield running
    running.close()


def one_of_each_theme():
    """The first case of each file of cases."""
    return list({item.name.split(".")[0]: item for item in reversed(ITEMS)}.values())


CHOICES = [(arch, 1, item) for arch in ARCHITECTURES for item in ITEMS]
CHOICES += [("sm_90a", level, item) for level in (0, 2) for item in one_of_each_theme()]


@pytest.mark.parametrize("arch, level, item", CHOICES, ids=lambda p: getattr(p, "name", str(p)))
def test_case(work, arch, level, item):
    assert work.result(arch, level, item) == REFUSED.get(item.name, "")


@pytest.mark.parametrize("name", NAMES)
def test_example(work, monkeypatch, name):
    """The kernels that an example compiles for the CPU compile for CUDA, too."""
    if work.missing:
        pytest.skip(work.missing)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    module = importlib.import_module(name)
    compile_for_cpu, made = intent.compile, []

    def compile_both(kernel, *, target=None, options=None, **keywords):
        quick = options or intent.CompileOptions(opt_level=1)
        keywords["compiler"] = work.compiler
        cuda = intent.CudaTarget("sm_90a")
        made.append(compile_for_cpu(kernel, target=cuda, options=quick, **keywords))
        return compile_for_cpu(kernel, target=target, options=options, **keywords)

    monkeypatch.setattr(intent, "compile", compile_both)
    module.check(intent.CpuTarget())
    assert made and all(artifact.cubin for artifact in made)


def test_the_cases_are_here():
    """Says out loud why no case was compiled."""
    if not CASES.is_dir():
        pytest.skip("SKIPPED: the shared cases for CUDA, because ../shared/cases is not there")
    assert len(ITEMS) > 100
    assert set(REFUSED) <= {item.name for item in ITEMS}
