"""What an author may change without a compile: the same artifact answers."""

import intent
import numpy as np
import pytest

BASE = """
@intent.fn
def scaled(value, factor):
    return value * factor


@intent.fn
def shifted(value):
    return value + 1.0


@intent.kernel
def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    product = scaled(x[:], 2.0)
    y[:] = shifted(product)
"""

RENAMED_VARIABLES = BASE.replace("product", "p").replace("value", "v").replace("factor", "f")
RENAMED_PARAMETERS = BASE.replace("x: I", "source: I").replace("x[:]", "source[:]").replace("y", "target")
RENAMED_FUNCTIONS = BASE.replace("scaled", "times").replace("shifted", "plus_one")
RENAMED_SYMBOL = BASE.replace('"N"', '"LENGTH"')
REFORMATTED = BASE.replace("scaled(x[:], 2.0)", "(\n        scaled(\n            x[:],\n            2.0,\n        )\n    )")
COMMENTED = BASE.replace("    product", '    """What it does."""\n    # why\n    product')
REORDERED_HELPERS = BASE.replace(
    BASE[BASE.index("@intent.fn\ndef scaled") : BASE.index("@intent.fn\ndef shifted")], ""
).replace("@intent.kernel", "@intent.fn\ndef scaled(value, factor):\n    return value * factor\n\n\n@intent.kernel")
INLINED_HELPERS = BASE.replace("scaled(x[:], 2.0)", "x[:] * 2.0")
UNUSED_HELPER = BASE.replace("@intent.kernel", "@intent.fn\ndef unused(v):\n    return I.exp(v)\n\n\n@intent.kernel")
SPLIT_EXPRESSIONS = BASE.replace("    y[:] =", "    same = product\n    product = same\n    y[:] =")
DEAD_CODE = BASE.replace("    y[:] =", "    dead = I.exp(product) - product\n    y[:] =")
DEAD_BRANCH = BASE.replace("    y[:] =", "    if x[0] > 1.0:\n        dead = x[0]\n    y[:] =")


@pytest.fixture
def compile_once(shared_daemon, author):
    """The base kernel is compiled; the function compiles another text and says how it was answered."""
    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")
    first = intent.compile(author(BASE).kernel, compiler=compiler)
    before = compiler.stats()["compiles"]

    def check(text, name=None, **keywords):
        artifact = intent.compile(author(text, name).kernel, compiler=compiler, **keywords)
        assert compiler.stats()["compiles"] == before, "nothing was compiled again"
        assert artifact.cache["hit"]
        assert artifact.id == first.id
        np.testing.assert_array_equal(artifact.run(np.arange(3, dtype=np.float32)), [1, 3, 5])
        return artifact

    return check


@pytest.mark.parametrize(
    "text",
    [
        RENAMED_VARIABLES,
        RENAMED_PARAMETERS,
        RENAMED_FUNCTIONS,
        RENAMED_SYMBOL,
        REFORMATTED,
        COMMENTED,
        REORDERED_HELPERS,
        INLINED_HELPERS,
        UNUSED_HELPER,
        SPLIT_EXPRESSIONS,
    ],
    ids=[
        "variables renamed",
        "parameters renamed",
        "functions renamed",
        "shape symbol renamed",
        "reformatted",
        "commented",
        "helpers reordered",
        "helpers inlined by hand",
        "an unused helper",
        "names for intermediate values",
    ],
)
def test_text_that_says_the_same_is_the_same_request(compile_once, text):
    assert text != BASE
    # Names, places and comments are not in the module: the bytes are equal, so the request's own key hits.
    assert not compile_once(text).cache["canonical"]


def test_a_moved_file_is_the_same_request(compile_once):
    assert not compile_once("\n\n\n# moved\n\n" + BASE, "elsewhere.py").cache["canonical"]


@pytest.mark.parametrize("text", [DEAD_CODE, DEAD_BRANCH], ids=["dead operations", "a branch without effect"])
def test_dead_code_is_a_canonical_hit(compile_once, text):
    assert compile_once(text).cache["canonical"]
    assert not compile_once(text).cache["canonical"], "its own key answers the second time"


def helper(number, kind):
    return f"""fn f{number} (%a: tensor<f32, [s0]>) -> tensor<f32, [s0]> {{
  %r = unary {kind} %a : tensor<f32, [s0]>
  return %r
}}
"""


def kernel_calling(first, second):
    return f"""kernel (%x: view<in, f32, [s0]>, %y: view<out, f32, [s0]>) {{
  %a = view_load %x [:] : tensor<f32, [s0]>
  %b = call f{first} %a : tensor<f32, [s0]>
  %c = call f{second} %b : tensor<f32, [s0]>
  view_store %y [:] = %c
  return
}}
"""


def test_helpers_of_a_module_may_stand_in_any_order(shared_daemon, encode):
    ahead = encode(helper(0, "cos") + helper(1, "sin") + kernel_calling(1, 0))
    behind = encode(kernel_calling(1, 2) + helper(1, "sin") + helper(2, "cos"))
    unused = encode(helper(0, "exp") + kernel_calling(2, 3) + helper(2, "sin") + helper(3, "cos"))
    first = shared_daemon.compile(ahead).artifact
    before = shared_daemon.statistics().compiles
    for module in (behind, unused):
        assert shared_daemon.compile(module).artifact.id == first.id
    assert shared_daemon.statistics().compiles == before
    swapped = encode(kernel_calling(1, 2) + helper(1, "cos") + helper(2, "sin"))
    assert shared_daemon.compile(swapped).artifact.id != first.id


BOUND = """
@intent.kernel
def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)], factor: I.Constexpr[int] = 2, unused: I.Constexpr[int] = 0):
    y[:] = x[:] * factor + 1.0
"""


def test_a_default_and_the_same_value_given_are_one_artifact(shared_daemon, author):
    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")
    kernel = author(BOUND).kernel
    artifacts = [
        intent.compile(kernel, compiler=compiler, constexprs=constexprs)
        for constexprs in ({}, {"factor": 2}, {"unused": 5}, {"factor": 3})
    ]
    ids = [artifact.id for artifact in artifacts]
    assert ids[0] == ids[1] == ids[2] != ids[3]
    assert artifacts[1].cache["canonical"] and artifacts[2].cache["canonical"]


def test_a_hit_shows_this_authors_lines(shared_daemon, author):
    """Names and places of the first author do not reach the second one."""
    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")
    text = """
    @intent.kernel
    def kernel(first: I.In[I.f32, ("N",)], at: I.In[I.i64, ("N",)], y: I.Out[I.f32, ("N",)]):
        where = at[:]
        y[:] = I.gather(first[:], where)
    """
    moved = text.replace("first", "other").replace("where = at[:]", "\n\n        where = at[:]")
    arrays = (np.ones(3, np.float32), np.full(3, 9))
    lines = []
    for source, name in ((text, "first"), (moved, "other")):
        module = author(source)
        artifact = intent.compile(module.kernel, compiler=compiler)
        with pytest.raises(intent.RunError) as caught:
            artifact.run(*arrays)
        assert caught.value.file == module.__file__
        lines.append(caught.value.line)
    assert lines[1] == lines[0] + 2
    assert artifact.cache["hit"]
