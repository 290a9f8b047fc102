"""The interpreter's checked mode through the daemon: for every error a kernel that makes it, reported on
the line marked `# <-`, and a clean twin, which is the same kernel on other data or a kernel beside it."""

import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import intent

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "service"))
import harness

F32, I32, I64 = np.float32, np.int32, np.int64
CHECK = intent.InterpreterTarget(check=True)
LAWS = intent.InterpreterTarget(laws=True)


@pytest.fixture(scope="module")
def compiler():
    folder = tempfile.mkdtemp(prefix="intent-")  # short: a socket's path must fit into 107 bytes
    harness.DAEMON = harness.BUILD / "bin" / "intent-compiled"
    daemon = harness.Daemon(folder)
    yield intent.Compiler(f"unix:{daemon.socket}")
    daemon.close()
    shutil.rmtree(folder, ignore_errors=True)


def line_of(module, mark):
    lines = Path(module.__file__).read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if line.endswith(mark)]
    return number


def run(compiler, kernel, args, target=CHECK, options=None):
    intent.compile(kernel, compiler=compiler, target=target, options=options).run(*args)


def report(compiler, module, args, target=CHECK, options=None):
    """The error of the module's `kernel`, which must sit on the marked line."""
    with pytest.raises(intent.RunError) as caught:
        run(compiler, module.kernel, args, target, options)
    error = caught.value
    assert (error.file, error.line) == (module.__file__, line_of(module, "# <-")), str(error)
    assert str(error).startswith(f"{module.__file__}:{error.line}: {error.code}: ")
    return error


def f32(*values):
    return np.array(values, F32)


def i32(*values):
    return np.array(values, I32)


# code, words of the message, kernel, arguments that are wrong, arguments that are fine.
ON_OTHER_DATA = {
    "out_of_bounds": (
        "E1101",
        "index 5 is out of bounds of table, axis 0, which has 4 elements",
        """
        def kernel(table: I.In[I.f32, ("N",)], at: I.In[I.i32, ("K",)], y: I.Out[I.f32, ("K",)]):
            y[:] = table[at[:]]  # <-
        """,
        [f32(1, 2, 3, 4), i32(0, 5)],
        [f32(1, 2, 3, 4), i32(0, 3)],
    ),
    "subregion": (
        "E1102",
        "[5, 3)",
        """
        def kernel(x: I.In[I.f32, ("N",)], b: I.index, e: I.index, y: I.Out[I.f32, ()]):
            part = I.domain(0, x.shape[0])[b:e]  # <-
            y[()] = I.reduce.sum(x[part], axis=0)
        """,
        [np.ones(9, F32), 5, 3],
        [np.ones(9, F32), 5, 5],
    ),
    "reshape": (
        "E1103",
        "changes the number of elements",
        """
        def kernel(x: I.In[I.i64, ("N",)], y: I.Out[I.i64, ("N",)]):
            n = I.cast(x[0], I.index)
            y[0] = I.reduce.sum(I.reshape(x[:], (n, 2)), axis=(0, 1))  # <-
        """,
        [np.array([2, 0, 0, 0, 0, 0], I64)],
        [np.array([3, 0, 0, 0, 0, 0], I64)],
    ),
    "negative_extent": (
        "E1104",
        "-3",
        """
        def kernel(n: I.index, y: I.Out[I.f32, ()]):
            y[()] = I.reduce.sum(I.full((n,), 1.0, dtype=I.f32), axis=0)  # <-
        """,
        [-3],
        [0],
    ),
    "histogram_value": (
        "E1105",
        "value 7 is outside [0, 4)",
        """
        def kernel(x: I.In[I.i32, ("N",)], ok: I.In[I.bool, ("N",)], y: I.Out[I.i32, (4,)]):
            y[:] = I.histogram(x[:], 4, ok[:], I.i32)  # <-
        """,
        [i32(0, 7, 2), np.array([True, True, True])],
        [i32(0, 7, 2), np.array([True, False, True])],
    ),
    "histogram_bins": (
        "E1106",
        "0 bins",
        """
        def kernel(x: I.In[I.i32, ("N",)], bins: I.index, y: I.Out[I.i32, ()]):
            y[()] = I.reduce.sum(I.histogram(x[:], bins, True, I.i32), axis=0)  # <-
        """,
        [i32(), 0],
        [i32(), 1],
    ),
    "sparse_metadata": (
        "E1107",
        "position 2 after -1 in a group of 2",
        """
        def kernel(x: I.In[I.f32, (1, 2)], m: I.In[I.index, (1, 2)], w: I.In[I.f32, (4, 1)], y: I.Out[I.f32, (1, 1)]):
            y[:, :] = I.sparse_matmul(  # <-
                x[:, :], m[:, :], w[:, :],
                format=I.sparse.one_of_two(compression_axis=1, logical_extent=4), acc_dtype=I.f32)
        """,
        [np.ones((1, 2), F32), np.array([[0, 2]]), np.ones((4, 1), F32)],
        [np.ones((1, 2), F32), np.array([[0, 1]]), np.ones((4, 1), F32)],
    ),
    "assumption": (
        "E1111",
        "the index 4 is assumed to be in bounds of axis 0 of x, whose extent is 4",
        """
        def kernel(x: I.In[I.f32, ("N",)], at: I.In[I.i32, ("K",)], y: I.Out[I.f32, ("K",)]):
            i = at[:]
            I.assume_in_bounds(i, x, axis=0)  # <-
            y[:] = x[i]
        """,
        [f32(1, 2, 3, 4), i32(0, 4)],
        [f32(1, 2, 3, 4), i32(0, 3)],
    ),
    "unwritten_element_of_a_buffer": (
        "E1112",
        "element [3] of a buffer is read, but was never written",
        """
        def kernel(x: I.In[I.f32, ("N",)], n: I.index, y: I.Out[I.f32, ("N",)]):
            state = I.buffer(x.shape, I.f32)
            for i in range(n):
                state[i] = x[i]
            y[:] = state[:]  # <-
        """,
        [f32(1, 2, 3, 4, 5), 3],
        [f32(1, 2, 3, 4, 5), 5],
    ),
    "unwritten_in_one_branch": (
        "E1112",
        "element [0] of y",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)], z: I.Out[I.f32, ("N",)]):
            for i in I.parallel(I.domain(0, x.shape[0])):
                if x[i] > 0.0:
                    y[i] = x[i]
                else:
                    z[i] = 0.0
                z[i] = y[i]  # <-
        """,
        [f32(-1, 2)],
        [f32(1, 2)],
    ),
    "repeated_destination": (
        "E1113",
        "positions [0] and [2] of one store both write element [1] of y",
        """
        def kernel(at: I.In[I.i32, ("K",)], y: I.InOut[I.i32, (4,)]):
            I.scatter_unique(y, at[:], at[:])  # <-
        """,
        [i32(1, 3, 1), i32(0, 0, 0, 0)],
        [i32(1, 3, 2), i32(0, 0, 0, 0)],
    ),
    "repeated_destination_of_an_assignment": (
        "E1113",
        "and not the same value",
        """
        def kernel(at: I.In[I.i32, ("K",)], v: I.In[I.f32, ("K",)], y: I.InOut[I.f32, (4,)]):
            y[at[:]] = v[:]  # <-
        """,
        [i32(1, 3, 1), f32(1, 2, 3), f32(0, 0, 0, 0)],
        [i32(1, 3, 1), f32(1, 2, 1), f32(0, 0, 0, 0)],
    ),
    "colliding_strides": (
        "E1114",
        "of one store both write element",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
            y[:] = x[:]  # <-
        """,
        [f32(1, 2, 3), np.lib.stride_tricks.as_strided(np.zeros(1, F32), (3,), (0,))],
        [f32(1, 1, 1), np.lib.stride_tricks.as_strided(np.zeros(1, F32), (3,), (0,))],
    ),
    "race": (
        "E1115",
        "iteration [2] of a parallel loop writes element [1] of y, which iteration [0] writes",
        """
        def kernel(at: I.In[I.index, ("N",)], y: I.InOut[I.i32, ("N",)]):
            for i in I.parallel(I.domain(0, at.shape[0])):
                y[at[i]] = I.cast(i, I.i32)  # <-
        """,
        [np.array([1, 0, 1]), i32(0, 0, 0)],
        [np.array([1, 0, 2]), i32(0, 0, 0)],
    ),
    "division_by_zero": (
        "E1121",
        "7 // 0 at [1]",
        """
        def kernel(x: I.In[I.i32, ("N",)], z: I.In[I.i32, ("N",)], y: I.Out[I.i32, ("N",)]):
            y[:] = x[:] // z[:]  # <-
        """,
        [i32(1, 7), i32(1, 0)],
        [i32(1, 7), i32(1, 2)],
    ),
    "remainder_by_zero": (
        "E1121",
        "7 % 0",
        """
        def kernel(x: I.i64, z: I.i64, y: I.Out[I.i64, ()]):
            y[()] = x % z  # <-
        """,
        [7, 0],
        [-(2**63), -1],
    ),
    "division_overflow": (
        "E1122",
        "-2147483648 // -1",
        """
        def kernel(x: I.In[I.i32, ("N",)], z: I.In[I.i32, ("N",)], y: I.Out[I.i32, ("N",)]):
            y[:] = x[:] // z[:]  # <-
        """,
        [i32(-(2**31)), i32(-1)],
        [i32(-(2**31) + 1), i32(-1)],
    ),
    "shift_amount": (
        "E1123",
        "by 32: the amount lies in [0, 32) at [1]",
        """
        def kernel(x: I.In[I.u32, ("N",)], y: I.Out[I.u32, ("N",)]):
            y[:] = I.cast(1, I.u32) << x[:]  # <-
        """,
        [np.array([3, 32], np.uint32)],
        [np.array([3, 31], np.uint32)],
    ),
    "negative_exponent": (
        "E1124",
        "2 ** -1 in i32",
        """
        def kernel(x: I.In[I.i32, ("N",)], y: I.Out[I.i32, ("N",)]):
            y[:] = I.cast(2, I.i32) ** x[:]  # <-
        """,
        [i32(-1)],
        [i32(0)],
    ),
    "cast_of_nan": (
        "E1125",
        "a cast of nan to i32",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.i32, ("N",)]):
            y[:] = I.cast(x[:], I.i32)  # <-
        """,
        [f32(1, np.nan)],
        [f32(1, -(2.0**31))],
    ),
    "cast_of_infinity": (
        "E1125",
        "a cast of -inf to u8",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.u8, ("N",)]):
            y[:] = I.cast(x[:], I.u8)  # <-
        """,
        [f32(-np.inf)],
        [f32(-0.5)],
    ),
    "cast_out_of_range": (
        "E1125",
        "a cast of 2.14748365e+09 to i32",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.i32, ("N",)]):
            y[:] = I.cast(x[:], I.i32)  # <-
        """,
        [f32(2.0**31)],
        [f32(2.0**31 - 128)],
    ),
    "e4m3fn_overflow": (
        "E1126",
        "a cast of 449 to f8e4m3fn, which holds [-448, 448]",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f8e4m3fn, ("N",)]):
            y[:] = I.cast(x[:], I.f8e4m3fn)  # <-
        """,
        [f32(1, 449)],
        [f32(1, 448)],
    ),
    "negative_counter": (
        "E1127",
        "the random counter -2 at [1]",
        """
        def kernel(at: I.In[I.index, ("N",)], y: I.Out[I.u32, ("N",)]):
            y[:] = I.random.bits(I.cast(1, I.u64), at[:])  # <-
        """,
        [np.array([0, -2])],
        [np.array([0, 2])],
    ),
    "q8_k_input": (
        "E1128",
        "the input inf at 3 of record 0",
        """
        def kernel(x: I.In[I.f32, ("G", 256)], y: I.Out[I.u8, ("G", 292)]):
            y[:, :] = I.quantize(x[:, :], format=I.quant.q8_k)  # <-
        """,
        [np.where(np.arange(256) == 3, np.inf, 1.0).astype(F32)[None]],
        [np.ones((1, 256), F32)],
    ),
    "q8_k_scale": (
        "E1128",
        "not finite",
        """
        def kernel(x: I.In[I.f32, ("G", 256)], y: I.Out[I.u8, ("G", 292)]):
            y[:, :] = I.quantize(x[:, :], format=I.quant.q8_k)  # <-
        """,
        [np.full((1, 256), 1e-40, F32)],
        [np.full((1, 256), 1e-30, F32)],
    ),
    "q8_k_sums": (
        "E1128",
        "record 0 says that run 0 sums to 0, but it sums to 5",
        """
        def kernel(w: I.In[I.u8, (1, 144)], q: I.In[I.u8, (1, 292)], y: I.Out[I.f32, ()]):
            y[()] = I.quantized_dot(  # <-
                w[:, :], q[:, :], lhs_format=I.quant.q4_k, rhs_format=I.quant.q8_k, acc_dtype=I.f32)
        """,
        [np.zeros((1, 144), np.uint8), np.where(np.arange(292) == 7, 5, 0).astype(np.uint8)[None]],
        [np.zeros((1, 144), np.uint8), np.zeros((1, 292), np.uint8)],
    ),
}


@pytest.mark.parametrize("name", ON_OTHER_DATA)
def test_bad_data_is_reported_on_its_line_and_good_data_is_not(compiler, author, name):
    code, words, text, bad, good = ON_OTHER_DATA[name]
    module = author("\n@intent.kernel" + re.sub(r"\n {8}", "\n", text))
    error = report(compiler, module, bad)
    assert error.code == code, str(error)
    assert words in str(error)
    run(compiler, module.kernel, good)


# code, words, kernel, and what to replace for its clean twin.
ON_OTHER_CODE = {
    "two_iterations_write_one_element": (
        "E1115",
        "nothing orders the two",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
            for i in I.parallel(I.domain(0, x.shape[0])):
                y[i // 2] = x[i]  # <-
        """,
        ("i // 2", "i"),
    ),
    "an_iteration_reads_what_another_writes": (
        "E1115",
        "iteration [1] of a parallel loop reads element [0] of y, which iteration [0] writes",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
            for i in I.parallel(I.domain(0, x.shape[0])):
                if i > 0:
                    y[i] = y[i - 1] + x[i]  # <-
                else:
                    y[i] = x[i]  # other
        """,
        ("I.parallel(I.domain(0, x.shape[0]))", "I.domain(0, x.shape[0])"),
    ),
    "inside_nested_parallels": (
        "E1115",
        "iteration [1] of a parallel loop",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
            half = x.shape[0] // 2
            for i in I.parallel(I.domain(0, 2)):
                for j in I.parallel(I.domain(0, half)):
                    y[j] = x[i * half + j]  # <-
        """,
        ("y[j]", "y[i * half + j]"),
    ),
    "through_a_shared_buffer": (
        "E1115",
        "element [0] of a buffer",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
            shared = I.buffer((1,), I.f32, init=0.0)
            for i in I.parallel(I.domain(0, x.shape[0])):
                own = I.buffer((1,), I.f32, init=0.0)
                shared[0] = x[i]  # <-
                y[i] = own[0]
        """,
        ("shared[0] = x[i]", "own[0] = x[i]"),
    ),
    "a_plain_write_beside_atomics": (
        "E1116",
        "updates",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
            for i in I.parallel(I.domain(0, x.shape[0])):
                old = I.atomic.add(y, 0, x[i])  # other
                if i == 2:
                    y[0] = 0.0  # <-
        """,
        ("y[0] = 0.0", "I.atomic.store(y, 0, 0.0)"),
    ),
    "an_unordered_update_beside_a_read": (
        "E1116",
        "iteration [1] of a parallel loop updates element [0] of y, which iteration [0] reads",
        """
        def kernel(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
            for i in I.parallel(I.domain(0, x.shape[0])):
                I.scatter_reduce(y, (0,), x[i], I.add)  # <-
                if y[0] < -100.0:  # other
                    y[i] = 0.0
        """,
        ("y[0] < -100.0", "x[0] < -100.0"),
    ),
}


@pytest.mark.parametrize("name", ON_OTHER_CODE)
def test_races_are_reported_with_both_lines_and_their_clean_twins_are_not(compiler, author, name):
    code, words, text, (old, new) = ON_OTHER_CODE[name]
    text = "\n@intent.kernel" + re.sub(r"\n {8}", "\n", text)
    module = author(text)
    args = [f32(1, 2, 3, 4), np.zeros(4, F32)]
    error = report(compiler, module, args)
    assert error.code == code, str(error)
    assert words in str(error)
    (note,) = error.notes
    assert (note.file, note.line) == (module.__file__, line_of(module, "# other" if "# other" in text else "# <-"))
    assert f"note: {note.file}:{note.line}: the other access" in str(error)
    assert old in text
    run(compiler, author(text.replace(old, new)).kernel, args)


def test_noalias_is_reported_at_the_parameter(compiler, author):
    module = author("""
        @intent.kernel
        def kernel(
            x: I.In[I.f32, ("N",)],
            y: I.InOut[I.f32, ("N",), I.constraints(noalias=True)],  # <-
        ):
            y[:] = x[:]
        """)
    memory = np.zeros(6, F32)
    error = report(compiler, module, [memory[0:4], memory[2:6]])
    assert (error.code, error.parameter) == ("E1117", "y")
    run(compiler, module.kernel, [memory[0:3], memory[3:6]])


SOFTMAX = """
@intent.kernel
def kernel(
    s: I.In[I.f32, ("N",)], ok: I.In[I.bool, ("N",)], v: I.In[I.f32, ("N", "D")], y: I.Out[I.f32, ("D",)]
):
    scores = I.select(ok[:], s[:], -I.inf)  # score
    p = I.exp(scores - I.reduce.max(scores, axis=0))
    y[:] = I.vecmat(p, v[:, :], acc_dtype=I.f32) / I.reduce.sum(p, axis=0)  # value
"""


@pytest.mark.parametrize("where", ["score", "value"])
def test_relaxed_normalization_needs_finite_scores_and_values(compiler, author, where):
    module = author(SOFTMAX.replace(f"# {where}", "# <-"))
    relaxed = intent.CompileOptions(numerics="relaxed_normalization")
    values = np.ones((3, 2), F32)
    infinite = values * 1
    infinite[1] = np.inf  # of a member that is not valid: its weight is zero
    score = [f32(1, np.inf, 2), np.array([True, True, True]), values]
    masked = [f32(1, np.inf, 2), np.array([True, False, True]), values]
    value = [f32(1, 2, 3), np.array([True, False, True]), infinite]
    bad = score if where == "score" else value
    assert report(compiler, module, bad, options=relaxed).code == "E1129"
    run(compiler, module.kernel, masked, options=relaxed)
    run(compiler, module.kernel, bad)  # source numerics have no such precondition


# code, words, helpers and kernel, what to replace for the twin that keeps the law.
LAWS_OF = {
    "identity": (
        "E1131",
        "combine(identity, a) is ",
        """
        @intent.fn
        def combine(a, b):
            return a + b

        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ()]):
            y[()] = I.reduce(x[:], 0, 1.0, combine)  # <-
        """,
        ("1.0", "0.0"),
    ),
    "associativity": (
        "E1132",
        "combine(combine(a, b), c) is ",
        """
        @intent.fn
        def combine(a, b):
            return I.select(a == -100.0, b, I.select(b == -100.0, a, (a + b) * 0.5))

        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
            y[:] = I.scan(x[:], 0, -100.0, combine, True)  # <-
        """,
        ("(a + b) * 0.5", "I.maximum(a, b)"),
    ),
    "commutativity": (
        "E1133",
        "combine(b, a) is ",
        """
        @intent.fn
        def combine(a, b):
            return I.select(a == -100.0, b, a)

        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ()]):
            y[()] = I.reduce(x[:], 0, -100.0, combine)  # <-
        """,
        ("I.select(a == -100.0, b, a)", "I.maximum(a, b)"),
    ),
    "updates": (
        "E1133",
        "combine(combine(e, b), a)",
        """
        @intent.fn
        def combine(a, b):
            return a * 0.5 + b

        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
            y[:] = 0.0
            I.scatter_reduce(y, I.indices(I.domain(0, x.shape[0])), x[:], combine)  # <-
        """,
        ("a * 0.5 + b", "a + b"),
    ),
    "summary": (
        "E1134",
        "the summary of a region is ",
        """
        @intent.fn
        def summarize(x):
            return I.reduce.sum(x, axis=0) * I.reduce.sum(x, axis=0)

        @intent.fn
        def combine(a, b):
            return a + b

        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ()]):
            y[()] = I.region_fold(x[:], 0, summarize, combine, I.cast(0.0, I.f32))  # <-
        """,
        ("I.reduce.sum(x, axis=0) * I.reduce.sum(x, axis=0)", "I.reduce.sum(x * x, axis=0)"),
    ),
    "action": (
        "E1135",
        "apply(identity, s) is ",
        """
        @intent.fn
        def summarize(x):
            return I.reduce.sum(x, axis=0)

        @intent.fn
        def combine(a, b):
            return a + b

        @intent.fn
        def apply(p, s):
            return p + s + 1.0

        @intent.fn
        def emit(x, s):
            return I.cumsum(x, axis=0) + s

        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
            zero = I.cast(0.0, I.f32)
            sums, last = I.region_scan(x[:], 0, summarize, combine, zero, zero, apply, emit)  # <-
            y[:] = sums
        """,
        ("p + s + 1.0", "p + s"),
    ),
    "emit": (
        "E1136",
        "emit of the second slice is ",
        """
        @intent.fn
        def summarize(x):
            return I.reduce.sum(x, axis=0)

        @intent.fn
        def combine(a, b):
            return a + b

        @intent.fn
        def apply(p, s):
            return p + s

        @intent.fn
        def emit(x, s):
            return I.cumsum(x, axis=0) - s

        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
            zero = I.cast(0.0, I.f32)
            sums, last = I.region_scan(x[:], 0, summarize, combine, zero, zero, apply, emit)  # <-
            y[:] = sums
        """,
        ("I.cumsum(x, axis=0) - s", "I.cumsum(x, axis=0) + s"),
    ),
}


@pytest.mark.parametrize("name", LAWS_OF)
def test_a_broken_law_is_reported_with_a_counterexample(compiler, author, name):
    code, words, text, (old, new) = LAWS_OF[name]
    module = author(text)
    args = [np.array([0.25, 1, -1.5, 2, 0.75, 3, -2, 0.5], F32)]
    error = report(compiler, module, args, LAWS)
    assert error.code == code, str(error)
    assert words in str(error)
    run(compiler, module.kernel, args)  # laws are sampled on request
    assert old in text
    run(compiler, author(text.replace(old, new)).kernel, args, LAWS)


def test_the_first_error_ends_the_run(compiler, author):
    module = author("""
        @intent.kernel
        def kernel(x: I.In[I.i32, ("N",)], y: I.Out[I.i32, ("N",)]):
            a = x[:] // (x[:] - x[:])  # <-
            y[:] = a + (I.cast(1, I.i32) << (x[:] + 40))
        """)
    assert report(compiler, module, [i32(1, 2)]).code == "E1121"


def test_an_error_in_a_helper_sits_in_the_helper(compiler, author):
    module = author("""
        @intent.fn
        def mean(total, n):
            return total // n  # <-

        @intent.kernel
        def kernel(x: I.In[I.i32, ("N",)], n: I.i32, y: I.Out[I.i32, ()]):
            y[()] = mean(I.reduce.sum(x[:], axis=0), n)
        """)
    assert report(compiler, module, [i32(1, 2), 0]).code == "E1121"
    run(compiler, module.kernel, [i32(1, 2), 2])


@pytest.mark.parametrize("target", [CHECK, intent.InterpreterTarget(), intent.CpuTarget()], ids=lambda t: t.name)
def test_lines_are_right_after_dead_code_and_constexpr_branches_are_gone(compiler, author, target):
    module = author("""
        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], at: I.In[I.i32, ("N",)], y: I.Out[I.f32, ("N",)], fast: I.Constexpr[bool] = False):
            unused = x[:] * 2.0 + I.exp(x[:])
            if fast:
                y[:] = x[:] + 1.0
            else:
                z = I.exp(x[:]) * 3.0
                y[:] = x[at[:]]  # <-
        """)
    with pytest.raises(intent.RunError) as caught:
        run(compiler, module.kernel, [f32(1, 2), i32(0, 2)], target)
    assert caught.value.line == line_of(module, "# <-")


def test_without_checks_the_interpreter_is_as_before(compiler, author):
    _, _, text, bad, _ = ON_OTHER_DATA["division_by_zero"]
    module = author("\n@intent.kernel" + re.sub(r"\n {8}", "\n", text))
    run(compiler, module.kernel, bad, intent.InterpreterTarget())
    artifact = intent.compile(module.kernel, compiler=compiler, target=CHECK)
    assert artifact.target == "interp+check"


def test_checks_in_this_process(author):
    _, _, text, bad, good = ON_OTHER_DATA["division_by_zero"]
    module = author("\n@intent.kernel" + re.sub(r"\n {8}", "\n", text))
    with pytest.raises(intent.RunError) as caught:
        intent.interpret(module.kernel, *bad, check=True)
    assert (caught.value.code, caught.value.line) == ("E1121", line_of(module, "# <-"))
    intent.interpret(module.kernel, *good, check=True)
    intent.interpret(module.kernel, *bad)


def test_targets_have_names():
    assert intent.InterpreterTarget().name == "interp"
    assert CHECK.name == "interp+check"
    assert LAWS.name == "interp+check+laws"
