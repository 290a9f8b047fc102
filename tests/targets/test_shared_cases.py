"""Every shared case, compiled for every CPU target, within the case's own tolerance.

What this host cannot run for want of its architecture runs under qemu-aarch64.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import qemu

import intent
from intent import arguments
from intent import marshal
from intent.numbers import numpy_dtype

CASES = qemu.ROOT.parent / "shared" / "cases"
# "native", x86-64-v4 on a host that has it, has suites of its own (tests/run.sh).
TARGETS = ("x86-64-v2", "x86-64-v3", "aarch64")


def collect():
    """(the cases' runner, its items but for those that must not compile)."""
    if not CASES.is_dir():
        return None, []
    sys.path.insert(0, str(CASES))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        import run

        return run, [item for item in run.collect([CASES]) if not item.name.startswith("rejects.")]
    finally:
        sys.dont_write_bytecode = before


RUN, ITEMS = collect()


class EmulatedKernel:
    """An artifact for AArch64 that runs under qemu."""

    def __init__(self, artifact, runner, folder, name):
        self.object_code = artifact.object_code
        self._parameters = artifact.parameters
        self._runner = runner
        self._library = folder / f"{name}.so"
        self._library.write_bytes(artifact.payload("shared_object"))

    def run(self, *args):
        full = arguments.complete(self._parameters, args)
        call = marshal.lay_out(self._parameters, full)
        sizes = [numpy_dtype(p.dtype).itemsize for p in self._parameters if p.kind == "view"]
        marshal.copy_back(call, qemu.run(self._runner, self._library, call, sizes))
        return arguments.results(self._parameters, full)


class Cases:
    """Runs cases, several at once."""

    def __init__(self, folder, daemon):
        self._folder = folder
        self._compiler = intent.Compiler(f"unix:{daemon.socket}")
        self.runs_here = set(daemon.capabilities().execute_targets)
        self._runner = None if qemu.missing() else qemu.build_runner(folder)
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._outcomes = {}

    def missing(self, target):
        """Why a target cannot run; empty if it can."""
        if target in self.runs_here:
            return ""
        if target != "aarch64":
            return f"this host is no {target}"
        return ", ".join(f"{name} not found (deploy/install-deps.sh)" for name in qemu.missing())

    def begin(self, target, item):
        if not self.missing(target):
            self._outcomes[target, item.name] = self._pool.submit(self._outcome, target, item)

    def result(self, target, item):
        return self._outcomes[target, item.name].result()

    def _outcome(self, target, item):
        class Runner(RUN.Runner):
            def compile(_, kernel, constexprs, options):
                return self._compile(target, item.name, kernel, constexprs, options)

        return Runner("cpu", None)(item, item.case())

    def _compile(self, target, name, kernel, constexprs, options):
        artifact = intent.compile(
            kernel,
            compiler=self._compiler,
            target=intent.CpuTarget(target),
            constexprs=dict(constexprs),
            options=intent.CompileOptions(**options),
        )
        assert artifact.target == target
        if target in self.runs_here:
            return artifact
        return EmulatedKernel(artifact, self._runner, self._folder, name)

    def close(self):
        self._pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def cases(request, folder, daemon):
    running = Cases(folder, daemon)
    for test in request.session.items:
        if "cases" in test.fixturenames:
            running.begin(*(test.callspec.params[name] for name in ("target", "item")))
    yield running
    running.close()


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
@pytest.mark.parametrize("target", TARGETS)
def test_case(cases, target, item):
    if cases.missing(target):
        pytest.skip(cases.missing(target))
    outcome = cases.result(target, item)
    assert outcome.word == "pass", outcome.note


def test_the_cases_are_here():
    """Says out loud why no case has run."""
    if not CASES.is_dir():
        pytest.skip("SKIPPED: the shared cases for every target, because ../shared/cases is not there")
    assert len(ITEMS) > 100
