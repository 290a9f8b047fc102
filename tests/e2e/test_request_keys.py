"""Whatever an author asks for differently is another artifact; the same request is a hit in memory."""

import intent
import pytest

TEXT = """
class Mode(I.Enum):
    SUM = 1
    DIFFERENCE = 2


@intent.kernel
def kernel(
    x: I.In[I.f32, ("N",)],
    y: I.Out[I.f32, ("N",)],
    whole: I.Constexpr[int] = 2,
    real: I.Constexpr[float] = 0.5,
    flag: I.Constexpr[bool] = False,
    mode: I.Constexpr[Mode] = Mode.SUM,
):
    v = x[:] * whole * real
    if flag:
        v = I.exp(v)
    if mode == Mode.SUM:
        v = v + 1.0
    else:
        v = v - 1.0
    y[:] = v
"""

Options = intent.CompileOptions
Budget = intent.ResourceBudget

FLIPS = {
    "an integer constexpr": dict(constexprs={"whole": 3}),
    "a float constexpr": dict(constexprs={"real": 0.25}),
    "a boolean constexpr": dict(constexprs={"flag": True}),
    "an enum constexpr": dict(constexprs={"mode": "DIFFERENCE"}),
    "the target's kind": dict(target=intent.InterpreterTarget()),
    "the target's level": dict(target=intent.CpuTarget("x86-64-v2")),
    "numerics": dict(options=Options(numerics="relaxed_normalization")),
    "online_reduction": dict(options=Options(online_reduction=False)),
    "bounds": dict(options=Options(bounds="trust")),
    "opt_level": dict(options=Options(opt_level=1)),
    "disabled_passes": dict(options=Options(disabled_passes=("fuse",))),
    "another disabled pass": dict(options=Options(disabled_passes=("vectorize",))),
    "keep_source": dict(options=Options(keep_source=True)),
    "keep_ptx": dict(options=Options(keep_ptx=True)),
    "a bound of registers": dict(options=Options(resource_budget=Budget(registers=0))),
    "another bound of registers": dict(options=Options(resource_budget=Budget(registers=1))),
    "a bound of local memory": dict(options=Options(resource_budget=Budget(local_bytes=0))),
    "a bound of shared memory": dict(options=Options(resource_budget=Budget(shared_bytes=0))),
}


@pytest.fixture
def build(shared_daemon, author):
    module = author(TEXT)
    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")

    def run(constexprs=None, **keywords):
        values = {
            name: getattr(module.Mode, value) if name == "mode" else value
            for name, value in (constexprs or {}).items()
        }
        return intent.compile(module.kernel, compiler=compiler, constexprs=values, **keywords)

    run.compiles = lambda: compiler.stats()["compiles"]
    return run


def test_the_same_request_is_a_hit_in_memory(build):
    first = build()
    before = build.compiles()
    again = build()
    assert again.cache == {"hit": True, "where": "memory", "canonical": False}
    assert again.id == first.id and again.manifest == first.manifest
    assert build.compiles() == before


@pytest.mark.parametrize("flip", FLIPS)
def test_each_field_is_part_of_the_key(build, flip):
    base = build()
    before = build.compiles()
    other = build(**FLIPS[flip])
    assert other.id != base.id
    assert other.cache == {"hit": False, "where": "compiled", "canonical": False}
    assert build.compiles() == before + 1
    again = build(**FLIPS[flip])
    assert again.id == other.id and again.cache["where"] == "memory"


def test_the_order_of_disabled_passes_does_not_count(build):
    one = build(options=Options(disabled_passes=("fuse", "parallel")))
    other = build(options=Options(disabled_passes=("parallel", "fuse", "fuse")))
    assert one.id == other.id and other.cache["hit"]


def test_native_is_the_target_it_stands_for(build, shared_daemon):
    native = build()
    named = build(target=intent.CpuTarget(shared_daemon.capabilities().host_target))
    assert named.id == native.id and named.cache["hit"]
