"""Targets by name: what an artifact is for, and where it runs."""

import numpy as np
import pytest

import intent
import intent.language as I

EM_X86_64, EM_AARCH64 = 62, 183
ET_REL, ET_DYN = 1, 3
MACHINES = {
    "x86-64-v2": EM_X86_64,
    "x86-64-v3": EM_X86_64,
    "x86-64-v4": EM_X86_64,
    "x86-64-v4+avx512vnni": EM_X86_64,
    "aarch64": EM_AARCH64,
    "aarch64+lse": EM_AARCH64,
}


@intent.kernel
def doubled(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] + x[:]


@pytest.fixture
def compile_for(daemon):
    compiler = intent.Compiler(f"unix:{daemon.socket}")
    return lambda target: intent.compile(doubled, compiler=compiler, target=intent.CpuTarget(target))


@pytest.mark.parametrize("target", MACHINES)
def test_objects_of_the_target_that_was_named(compile_for, target):
    artifact = compile_for(target)
    assert artifact.target == target
    for code, kind in ((artifact.object_code, ET_REL), (artifact.payload("shared_object"), ET_DYN)):
        assert code[:4] == b"\x7fELF"
        assert int.from_bytes(code[16:18], "little") == kind
        assert int.from_bytes(code[18:20], "little") == MACHINES[target]


def test_native_is_what_the_daemons_host_has(compile_for, daemon):
    artifact = compile_for("native")
    assert artifact.target == daemon.capabilities().host_target
    x = np.arange(100, dtype=np.float32)
    np.testing.assert_array_equal(artifact.run(x), x + x)


@pytest.mark.parametrize("target", MACHINES)
def test_an_artifact_runs_where_it_may_and_is_refused_elsewhere(compile_for, daemon, target):
    artifact = compile_for(target)
    x = np.arange(100, dtype=np.float32)
    host = daemon.capabilities().host_target
    base, *features = target.split("+")
    if base in daemon.capabilities().execute_targets and set(features) <= set(host.split("+")):
        np.testing.assert_array_equal(artifact.run(x), x + x)
        return
    with pytest.raises(intent.ServiceError) as refused:
        artifact.run(x)
    assert refused.value.status == "FAILED_PRECONDITION"
    assert f"the artifact is for {target}, this host is {host}" in str(refused.value)


@pytest.mark.parametrize("target", ["skylake", "arm64", "x86-64-v4+lse", "aarch64+avxvnni", "-mcpu=native"])
def test_only_names_of_the_table_are_targets(compile_for, target):
    with pytest.raises(intent.ServiceError) as refused:
        compile_for(target)
    assert refused.value.status in ("INVALID_ARGUMENT", "FAILED_PRECONDITION")
