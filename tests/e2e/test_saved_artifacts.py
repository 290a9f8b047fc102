"""Artifacts in files, and many compiles at once, with the real daemon."""

import shutil
import threading

import numpy as np
import pytest
from harness import Daemon

import intent

TEXT = """
@intent.kernel
def kernel(x: I.In[I.f32, ("N",)], k: I.Constexpr[int], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] * I.cast(k, I.f32)
    for i in range(k):
        y[i] = x[i] * I.cast(k, I.f32)
"""
X = np.arange(4, dtype=np.float32)


@pytest.fixture
def compiler(shared_daemon):
    return intent.Compiler(f"unix:{shared_daemon.socket}")


@pytest.mark.parametrize("target", [None, intent.InterpreterTarget()], ids=["cpu", "interp"])
def test_a_saved_artifact_runs_on_a_daemon_that_never_saw_it(compiler, author, tmp_path, folder, target):
    options = intent.CompileOptions(keep_source=True)
    kernel = author(TEXT).kernel.specialize(k=2)
    artifact = intent.compile(kernel, compiler=compiler, target=target, options=options)
    artifact.save(tmp_path / "a.intent")
    other = Daemon(folder)
    try:
        loaded = intent.load(tmp_path / "a.intent", compiler=f"unix:{other.socket}")
        assert (loaded.kir, loaded.source, str(loaded.report)) == (artifact.kir, artifact.source, str(artifact.report))
        assert (loaded.target, loaded.id, loaded.timings) == (artifact.target, artifact.id, artifact.timings)
        assert loaded.run(X).tolist() == [0, 2, 4, 6]
        with pytest.raises(intent.RunError) as caught:
            intent.compile(kernel.specialize(k=9), compiler=compiler, target=target).run(X)
        intent.compile(kernel.specialize(k=9), compiler=compiler, target=target).save(tmp_path / "b.intent")
        with pytest.raises(intent.RunError) as again:
            intent.load(tmp_path / "b.intent", compiler=f"unix:{other.socket}").run(X)
        first, *line = str(caught.value).splitlines()  # a file has no author's text
        assert str(again.value) == first and line and caught.value.parameter == again.value.parameter == "x"
    finally:
        other.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_many_kernels_with_and_without_mistakes(compiler, author):
    module = author(TEXT + "\n\n@intent.kernel\ndef wrong(x: I.In[I.f32, ('N',)]):\n    x[:] = 1.0\n")
    kernels = [module.kernel.specialize(k=k) for k in range(1, 5)]
    artifacts = intent.compile_many(kernels, compiler=compiler)
    assert [a.run(X)[3] for a in artifacts[:3]] == [3, 6, 9]
    assert len({a.id for a in artifacts}) == 4
    with pytest.raises(intent.CompileErrors) as caught:
        intent.compile_many([kernels[0], module.wrong, (module.kernel, {"k": 1})], compiler=compiler)
    assert [position for position, _ in caught.value.errors] == [1]
    assert caught.value.artifacts[2].run(X).tolist() == [0, 1, 2, 3]


def test_threads_compile_and_run_side_by_side(compiler, author):
    kernel = author(TEXT).kernel
    failures = []

    def work(k):
        try:
            for round in range(5):
                x = np.full(4, round, np.float32)
                assert intent.compile(kernel.specialize(k=k), compiler=compiler).run(x)[3] == round * k
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(2 + n % 3,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
