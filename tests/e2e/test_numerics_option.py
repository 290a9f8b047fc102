"""CompileOptions.numerics: what relaxed_normalization may change, and what it may not (seed 000, 5.6)."""

import intent
import numpy as np
import pytest

OPTIONS = {
    "source": intent.CompileOptions(),
    "relaxed": intent.CompileOptions(numerics="relaxed_normalization"),
    "relaxed without the rewrite": intent.CompileOptions(
        numerics="relaxed_normalization", online_reduction=False
    ),
}

ATTENTION = """
@intent.kernel
def kernel(
    q: I.In[I.f32, ("M", "D")],
    k: I.In[I.f32, ("N", "D")],
    v: I.In[I.f32, ("N", "E")],
    out: I.Out[I.f32, ("M", "E")],
    mass: I.Out[I.f32, ("M",)],
):
    M = q.shape[0]
    scores = I.matmul(q[:, :], k[:, :], acc_dtype=I.f32, transpose_rhs=True)
    peak = I.reduce.max(scores, axis=1)
    weights = I.exp(scores - I.reshape(peak, (M, 1)))
    total = I.reduce.sum(weights, axis=1)
    out[:, :] = I.matmul(weights, v[:, :], acc_dtype=I.f32) / I.reshape(I.maximum(total, 1.0), (M, 1))
    mass[:] = total
"""

OTHERS = """
@intent.kernel
def kernel(
    x: I.In[I.f32, ("M", "N")],
    sums: I.Out[I.f32, ("M",)],
    running: I.Out[I.f32, ("M", "N")],
    products: I.Out[I.f32, ("M", "M")],
    far: I.Out[I.f32, ("M", "N")],
):
    value = x[:, :]
    sums[:] = I.reduce.sum(value, axis=1)
    running[:, :] = I.cumsum(value, axis=1)
    products[:, :] = I.matmul(value, value, acc_dtype=I.f32, transpose_rhs=True)
    far[:, :] = I.exp(value) * 3.0 - value
"""


@pytest.fixture(params=[intent.CpuTarget(), intent.InterpreterTarget()], ids=["cpu", "interp"])
def build(request, shared_daemon, author):
    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")

    def compiled(text, options):
        kernel = author(text).kernel
        return intent.compile(kernel, compiler=compiler, target=request.param, options=options)

    return compiled


def test_the_default_is_source():
    assert intent.CompileOptions().numerics == "source"
    with pytest.raises(ValueError, match="fast"):
        intent.CompileOptions(numerics="fast")


@pytest.mark.parametrize("mode", OPTIONS)
def test_a_normalised_summary_stays_near(build, mode):
    rng = np.random.default_rng(5)
    q, k = (rng.standard_normal((n, 8)).astype(np.float32) for n in (5, 67))
    v = rng.standard_normal((67, 3)).astype(np.float32)
    out, mass = build(ATTENTION, OPTIONS[mode]).run(q, k, v)
    scores = q.astype(np.float64) @ k.T.astype(np.float64)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(mass, weights.sum(axis=1), rtol=1e-5)
    want = weights @ v / np.maximum(weights.sum(axis=1, keepdims=True), 1)
    np.testing.assert_allclose(out, want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("mode", OPTIONS)
def test_of_no_members_the_identity_stays(build, mode):
    none = np.zeros((0, 8), np.float32)
    out, mass = build(ATTENTION, OPTIONS[mode]).run(np.ones((2, 8), np.float32), none, none[:, :3])
    assert not out.any() and not mass.any()


def test_other_kernels_keep_their_bits(build):
    x = np.random.default_rng(6).standard_normal((7, 301)).astype(np.float32)
    results = [build(OTHERS, options).run(x) for options in OPTIONS.values()]
    for other in results[1:]:
        for mine, theirs in zip(results[0], other):
            assert mine.tobytes() == theirs.tobytes()
