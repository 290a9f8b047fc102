"""CUDA artifacts as a client gets them: what is made, what is refused, and what depends on NVRTC.

No GPU is needed. Without NVRTC the tests of what it makes are skipped, loudly.
"""

import re
import time

import pytest

import intent

TEXT = """
@intent.kernel
def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    doubled = x[:] * 2.0
    y[:] = I.exp(doubled)
"""

RENAMED = TEXT.replace("doubled", "twice")

Options = intent.CompileOptions


def compiler_of(daemon):
    return intent.Compiler(f"unix:{daemon.socket}")


@pytest.fixture(scope="module")
def compiler(shared_daemon):
    found = compiler_of(shared_daemon)
    cuda = found.capabilities().cuda
    if not cuda.nvrtc_version:
        pytest.skip(f"SKIPPED: nothing is compiled for CUDA: {cuda.missing}")
    return found


@pytest.fixture
def build(compiler, author):
    kernel = author(TEXT).kernel

    def run(arch="sm_90a", **options):
        target = intent.CudaTarget(arch)
        return intent.compile(kernel, compiler=compiler, target=target, options=Options(**options))

    return run


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"])
def test_a_cubin_for_each_architecture_that_nvrtc_knows(compiler, build, arch):
    if arch not in compiler.capabilities().targets:
        pytest.skip(f"this NVRTC does not know {arch}")
    artifact = build(arch)
    assert artifact.target == arch
    assert artifact.cubin.startswith(b"\x7fELF") and artifact.object_code == artifact.cubin
    assert artifact.manifest.minimum_cuda >= 12000
    assert artifact.manifest.variants[-1].resources.registers > 0
    assert not artifact.manifest.variants[-1].HasField("guard")
    assert "nvrtc" in artifact.timings


def test_source_shows_the_authors_lines_and_names(build):
    source = build(keep_source=True).source
    assert re.search(r"// author_\d+\.py:7: doubled = x\[:\] \* 2\.0", source)
    assert re.search(r"view0;  // x$", source, re.MULTILINE)
    assert re.search(r"view1;  // y$", source, re.MULTILINE)
    assert "// op " not in source


def test_an_equivalent_kernel_shares_the_code_but_not_the_names(compiler, author):
    options = Options(keep_source=True)
    target = intent.CudaTarget("sm_90a")
    one, two = (
        intent.compile(author(text).kernel, compiler=compiler, target=target, options=options)
        for text in (TEXT, RENAMED)
    )
    assert one.id == two.id
    assert "twice" in two.source and "doubled" not in two.source
    assert b"doubled" not in one.payload("cuda") and b"doubled" not in one.cubin


def test_ptx_is_kept_on_request(build):
    assert ".target sm_90a" in build(keep_ptx=True).ptx
    with pytest.raises(KeyError, match="ptx"):
        _ = build().ptx


def test_every_tier_is_reachable_and_another_artifact(build):
    assert len({build(opt_level=level).id for level in (0, 1, 2)}) == 3


def test_the_report_says_what_the_kernel_takes(build):
    report = str(build().report)
    assert re.search(r"\d+ registers and \d+ bytes of local memory a thread", report)
    assert "made by NVRTC" in report


def test_a_kernel_over_its_budget_does_not_compile(build):
    with pytest.raises(intent.CompileError) as failed:
        build(resource_budget=intent.ResourceBudget(registers=1))
    assert [d.code for d in failed.value.diagnostics] == ["E1003"]
    generous = build(resource_budget=intent.ResourceBudget(registers=255, local_bytes=1 << 20))
    assert generous.cubin and generous.id != build().id


def test_a_second_request_is_a_hit(build):
    build()
    assert build().cache == {"hit": True, "where": "memory", "canonical": False}


def test_without_nvrtc_cuda_is_an_unknown_target_and_the_cpu_keeps_its_keys(start, author, compiler):
    kernel = author(TEXT).kernel
    without = compiler_of(start("--nvrtc", "/nowhere"))
    capabilities = without.capabilities()
    assert not capabilities.cuda.nvrtc_version and "/nowhere" in capabilities.cuda.missing
    assert not any(name.startswith("sm_") for name in capabilities.targets)
    with pytest.raises(intent.CompileError) as failed:
        intent.compile(kernel, compiler=without, target=intent.CudaTarget("sm_90a"))
    diagnostic = failed.value.diagnostics[0]
    assert diagnostic.code == "E1002" and "/nowhere" in diagnostic.message
    assert "--nvrtc PATH" in str(failed.value)
    for target in (intent.CpuTarget(), intent.InterpreterTarget()):
        ids = {intent.compile(kernel, compiler=c, target=target).id for c in (compiler, without)}
        assert len(ids) == 1
    assert compiler.capabilities().cuda.fingerprint != capabilities.fingerprint


def test_workers_can_be_ready_before_the_first_request(start, author, compiler):
    ready = compiler_of(start("--cuda-ready", "sm_90a", "--cuda-workers", "1"))
    artifact = intent.compile(author(TEXT).kernel, compiler=ready, target=intent.CudaTarget("sm_90a"))
    assert artifact.cubin


def test_workers_for_cuda_start_with_the_first_request(start, author, compiler):
    idle = compiler_of(start("--cuda-workers", "1"))  # and two others, see harness.py
    for _ in range(600):
        if idle.stats()["worker_starts"] == 2:
            break
        time.sleep(0.05)
    assert idle.stats()["worker_starts"] == 2
    intent.compile(author(TEXT).kernel, compiler=idle, target=intent.CudaTarget("sm_80"))
    assert idle.stats()["worker_starts"] == 3


def test_a_daemon_is_not_started_for_a_target_that_is_none(start, folder):
    with pytest.raises(AssertionError):
        start("--cuda-ready", "sm_1")
