"""What the front end refuses: the code, the line and the words of each mistake."""

import pytest

import intent

SIGNATURE = 'def kernel(x: I.In[I.f32, ("N",)], flag: I.bool, out: I.Out[I.f32, ("N",)]):'


def kernel(*lines, helpers=""):
    body = "\n".join("    " + line for line in lines)
    return f"import numpy as np\n\n{helpers}\n\n@intent.kernel\n{SIGNATURE}\n{body}\n"


@pytest.mark.parametrize(
    "code, words, lines",
    [
        ("E0801", "unknown intrinsic I.foo", ["out[:] = I.foo(x[:])  # <-"]),
        ("E0801", "nearest is I.exp", ["out[:] = I.expp(x[:])  # <-"]),
        ("E0801", "nearest is I.reduce.sum", ["out[:] = x[:] + I.reduce.summ(x[:], axis=0)  # <-"]),
        ("E0801", "unknown name 'y'", ["out[:] = y  # <-"]),
        ("E0801", "use I.abs", ["out[:] = abs(x[:])  # <-"]),
        ("E0801", "use I.select", ["out[:] = I.where(x[:] > 0.0, x[:], 0.0)  # <-"]),
        ("E0801", "use I.maximum of two values, or I.reduce.max", ["out[:] = I.max(x[:], 0.0)  # <-"]),
        ("E0801", "use I.reduce(value, axis", ["out[0] = I.reduce.min(x[:], axis=0)  # <-"]),
        ("E0801", "use I.reduce.sum", ["out[0] = x[:].sum()  # <-"]),
        ("E0801", "its extent is x.shape[0]", ["for i in range(N):  # <-", "    out[i] = x[i]"]),
        ("E0802", "use I.exp", ["out[:] = np.exp(x[:])  # <-"]),
        ("E0802", "use I.f32", ["out[:] = I.cast(x[:], np.float32)  # <-"]),
        ("E0803", "I.f32 is needed here, not 'float32'", ["out[:] = I.cast(x[:], 'float32')  # <-"]),
        (
            "E0201",
            "bound to I.cast(0.0, I.f32)",
            ["a = 0.0", "for i in range(4):", "    a = a + x[i]  # <-", "out[0] = a"],
        ),
        (
            "E0301",
            "[:, None] behind the one of shape [N] puts it along axis 0",
            ["w = I.full((x.shape[0], 3), 1.0, I.f32) * x[:]  # <-", "out[:] = w[:, 0]"],
        ),
        ("E0803", "no parameter 'keepdim'", ["out[:] = I.reduce.sum(x[:], axis=0, keepdim=True)  # <-"]),
        ("E0803", "acc_dtype", ["out[:] = I.dot(x[:], x[:])  # <-"]),
        (
            "E0303",
            "a domain is not an axis",
            ["d = I.domain(0, 4)", "out[:] = I.reduce.sum(x[:], axis=d)  # <-"],
        ),
        ("E0701", "compile time", ["out[:] = I.exp2(x[:], approximate=flag)  # <-"]),
        ("E0701", "compile-time integer", ["out[:] = I.reduce.sum(x[:], axis=x.shape[0])  # <-"]),
        ("E0401", "I.select", ["out[:] = x[:]", "if x[:] > 0.0:  # <-", "    out[:] = -x[:]"]),
        ("E0401", "scalar bool", ["while x[0]:  # <-", "    pass", "out[:] = x[:]"]),
        (
            "E0403",
            "'a' is defined before the parallel loop",
            [
                "a = x[0]",
                "for i in I.parallel(I.domain(0, 4)):",
                "    a = a + 1.0  # <-",
                "out[:] = a",
            ],
        ),
        ("E0404", "break", ["for i in I.parallel(I.domain(0, 4)):", "    break  # <-", "out[:] = x[:]"]),
        ("E0404", "return", ["for i in I.parallel(I.domain(0, 4)):", "    return  # <-", "out[:] = x[:]"]),
        ("E0405", "not every branch", ["if flag:", "    y = x[:]", "out[:] = y  # <-"]),
        ("E0405", "one iteration", ["for i in range(4):", "    y = x[:]", "out[:] = y  # <-"]),
        ("E0405", "variable of the loop", ["for i in range(4):", "    out[:] = x[:]", "out[i] = 1.0  # <-"]),
        ("E0405", "before this use", ["out[:] = y  # <-", "y = x[:]"]),
        (
            "E0402",
            "'a' is carried through the loop",
            [
                "a = I.cast(0.0, I.f32)",
                "for i in range(4):  # <-",
                "    a = a + x[:]",
                "out[:] = a",
            ],
        ),
        (
            "E0407",
            "'a' is f32 in one branch and i32 in the other",
            [
                "if flag:  # <-",
                "    a = I.cast(1, I.f32)",
                "else:",
                "    a = I.cast(1, I.i32)",
                "out[:] = a",
            ],
        ),
        ("E0806", "a kernel returns nothing", ["out[:] = x[:]", "return x[:]  # <-"]),
        ("E0505", "escape", ["w = I.buffer((4,), I.f32)", "out[:] = x[:]", "return w  # <-"]),
        ("E0802", "a comprehension", ["out[:] = [v for v in x]  # <-"]),
        ("E0802", "with", ["with x:  # <-", "    pass"]),
        (
            "E0802",
            "else behind a loop",
            ["for i in range(4):", "    pass", "else:", "    out[:] = x[:]  # <-"],
        ),
        ("E0802", "I.matmul", ["out[:] = x[:] @ x[:]  # <-"]),
        ("E0307", "a slice has no step", ["out[:] = x[0:4:2]  # <-"]),
        ("E0204", "only a tuple can be unpacked", ["a, b = x[:]  # <-", "out[:] = a"]),
        ("E0204", "2 names for a tuple of 3", ["a, b = (1, 2, 3)  # <-", "out[:] = a"]),
        ("E0203", "128 bits", [f"out[:] = x[:] + {2**200}  # <-"]),
    ],
)
def test_refusals(error_of, code, words, lines):
    found = error_of(kernel(*lines))
    assert found.code == code
    assert words in found.message


def test_a_helper_may_not_call_itself(error_of):
    helpers = "@intent.fn\ndef f(a):\n    if a > 0.0:\n        return a\n    return f(a + 1.0)  # <-\n"
    found = error_of(kernel("out[:] = f(x[0])", helpers=helpers))
    assert found.code == "E0406" and "recurse" in found.message


def test_paths_of_a_helper_return_one_type(error_of):
    helpers = "@intent.fn\ndef f(a):\n    if a > 0.0:  # <-\n        return a\n    return I.cast(1, I.i64)\n"
    found = error_of(kernel("out[:] = I.cast(f(x[0]), I.f32)", helpers=helpers))
    assert found.code == "E0806" and "f32" in found.message and "i64" in found.message


@pytest.mark.parametrize(
    "call, words",
    [
        (
            "I.region_fold(x[:], 0, weighted, add, I.cast(0.0, I.f32))",
            "summarize gets 1 argument (1 slice), but 'weighted' takes 2",
        ),
        (
            "I.region_fold(x[:], 0, weighted, total, I.cast(0.0, I.f32), operands=(x[0],))",
            "combine gets 2 arguments (two summaries), but 'total' takes 1",
        ),
        ("I.region_fold(x[:], 0, weighted, add, I.cast(0.0, I.f32), operands=x[0])", "operands is a tuple"),
        ("I.reduce(x[:], 0, 0.0, add, combine_operands=x[0])", "combine_operands is a tuple"),
        ("I.reduce((x, x[:]), 0, (0.0, 0.0), add)", "component 0 of the tuple is view<in, f32, [N]>"),
    ],
)
def test_callbacks_and_operands(error_of, call, words):
    helpers = (
        "@intent.fn\ndef total(a):\n    return I.reduce.sum(a, axis=0)\n\n\n"
        "@intent.fn\ndef weighted(a, w):\n    return I.reduce.sum(a, axis=0) * w\n\n\n"
        "@intent.fn\ndef add(a, b):\n    return a + b\n"
    )
    assert words in error_of(kernel(f"t = {call}  # <-", "out[:] = x[:]", helpers=helpers)).message


@pytest.mark.parametrize(
    "value",
    [
        "I.reduce.sum(a, axis=0) + I.cast(a.shape[0], I.f32)",
        "I.reduce.sum(I.cast(I.indices(I.domain(0, a.shape[0])), I.f32), axis=0)",
    ],
)
def test_a_summary_does_not_use_the_extent_of_its_slice(error_of, value):
    helpers = (
        f"@intent.fn\ndef summary(a):\n    return {value}  # <-\n\n\n"
        "@intent.fn\ndef add(a, b):\n    return a + b\n"
    )
    line = "out[:] = x[:] + I.region_fold(x[:], 0, summary, add, I.cast(0.0, I.f32))"
    found = error_of(kernel(line, helpers=helpers))
    assert found.code == "E0604" and "slice" in found.message


def test_a_summary_may_shape_values_by_the_extent_of_its_slice(author):
    helpers = (
        "@intent.fn\ndef summary(a):\n"
        "    return I.reduce.sum(I.reshape(a, (a.shape[0], 1)) * I.full((a.shape[0], 1), 2.0, dtype=I.f32), axis=(0, 1))\n\n\n"
        "@intent.fn\ndef add(a, b):\n    return a + b\n"
    )
    line = "out[:] = x[:] + I.region_fold(x[:], 0, summary, add, I.cast(0.0, I.f32))"
    intent.lower(author(kernel(line, helpers=helpers)).kernel)


def test_a_mistake_in_a_helper_is_reported_once_and_in_the_helper(error_of):
    helpers = "@intent.fn\ndef f(a):\n    return I.foo(a)  # <-\n"
    assert error_of(kernel("out[:] = f(x[:]) + f(x[:])", "out[:] = f(x[:])", helpers=helpers)).code == "E0801"


def test_several_mistakes_are_reported_at_once(refused):
    found, marked = refused(
        kernel("a = I.foo(x[:])  # <-", "b = x[:] % 2.0  # <-", "out[:] = a + b", "out[:] = c  # <-")
    )
    assert [d.line for d in found] == marked


def test_mistakes_of_the_signature_hide_none_of_the_body(refused):
    found, marked = refused(
        """
        @intent.kernel
        def kernel(
            x: I.In[I.f32, "N"],  # <-
            n: int,  # <-
            y: I.In[I.f32, ("N",), I.constraints(alias="a", noalias=True)],  # <-
            out: I.Out[I.f32, ("N",)],
        ):
            z = x[:] * 2.0 + y[:]
            for i in range(n):
                out[i] = x[i] * z[i] + I.foo(n)  # <-
            out[:] = x.shape[0]
        """
    )
    assert [d.line for d in found] == marked


def test_an_error_shows_its_line_and_a_caret(error_of):
    lines = str(error_of(kernel("out[:] = I.foo(x[:])  # <-"))).splitlines()
    assert (
        lines[0].endswith("error E0801: unknown intrinsic I.foo; the nearest is I.floor")
        or "I.foo" in lines[0]
    )
    assert lines[1].endswith("out[:] = I.foo(x[:])  # <-")
    assert lines[1].index("I.foo") == lines[2].index("^")


def test_columns_count_bytes_and_carets_characters(error_of):
    found = error_of(kernel("größe = I.foo(x[:])  # <-", "out[:] = x[:]"))
    lines = str(found).splitlines()
    assert lines[1].index("I.foo") == lines[2].index("^")


@pytest.mark.parametrize(
    "parameters, code, words",
    [
        ('x: I.In[I.f32, ("N",), I.constraints(alias="a", noalias=True)]', "E0506", "alias"),
        ("x", "E0804", "needs an annotation"),
        ("x: float", "E0804", "neither a view"),
        ("x: I.In[I.f32]", "E0804", "dtype and a shape"),
        ("x: I.In[I.f32, 4]", "E0804", "tuple"),
        ("x: I.In[I.f32, (-1,)]", "E0804", "-1"),
        ('x: I.In[I.f32, ("2N",)]', "E0804", "2N"),
        ("x: I.f32 = 1.0", "E0804", "no default"),
        ("x: I.Constexpr[str]", "E0804", "constexpr"),
        ("x: I.Constexpr[int] = 1.5", "E0703", "takes int"),
        ("*x: I.f32", "E0804", "* or **"),
    ],
)
def test_signatures(error_of, parameters, code, words):
    found = error_of(f"@intent.kernel\ndef kernel(\n    {parameters},  # <-\n):\n    pass\n")
    assert found.code == code and words in found.message


def test_expansion_is_bounded(refused):
    helpers = "".join(
        f"@intent.fn\ndef f{i}(a):\n    return f{i - 1}(f{i - 1}(f{i - 1}(f{i - 1}(a))))\n\n\n"
        for i in range(1, 12)
    )
    found, _ = refused(
        kernel("out[:] = f11(x[:])", helpers="@intent.fn\ndef f0(a):\n    return a + 1.0\n\n\n" + helpers)
    )
    assert found[-1].code == "E0901"


def test_early_exits_copy_what_follows_only_so_often(refused):
    branches = [
        line
        for i in range(8)
        for line in (f"if x[{i}] > 0.0:", f"    if x[{i}] > 1.0:", "        return", f"    out[{i}] = 1.0")
    ]
    found, _ = refused(kernel(*branches, "out[:] = x[:]"))
    assert found[0].code == "E0901" and "compiled more than" in found[0].message


def test_a_kernel_without_source_says_how_to_give_it():
    scope = {"intent": intent}
    exec("import intent.language as I\n@intent.kernel\ndef kernel(x: I.f32):\n    pass\n", scope)
    with pytest.raises(intent.CompileError) as caught:
        intent.lower(scope["kernel"])
    assert caught.value.diagnostics[0].code == "E0805" and "source=" in str(caught.value)


def test_a_kernel_is_not_called():
    with pytest.raises(TypeError, match="compile it"):
        intent.kernel(lambda: None, source="def f():\n    pass\n")()


def test_an_intrinsic_is_not_called_outside_a_kernel():
    import intent.language as I

    with pytest.raises(TypeError, match="I.exp"):
        I.exp(1.0)


def test_a_decorator_between_is_refused():
    import functools

    def plain(x):
        pass

    @functools.wraps(plain)
    def wrapped(x):
        return plain(x)

    with pytest.raises(TypeError, match="below other decorators"):
        intent.kernel(wrapped)


def test_an_ordinary_function_is_not_called_from_a_kernel(error_of):
    found = error_of(kernel("out[:] = f(x[:])  # <-", helpers="def f(a):\n    return a\n"))
    assert found.code == "E0802" and "make it an @intent.fn" in found.message


def test_a_mistake_does_not_bring_others(error_of):
    error_of(
        kernel(
            "k = I.cast(x[0], I.i64)",
            "for i in range(k):  # <-",
            "    out[i] = x[i]",
            "    if i > 3:",
            "        break",
        )
    )


def notes_of(diagnostic):
    return [(note.message, note.line) for note in diagnostic.notes]


def test_extents_that_disagree_say_where_they_come_from(error_of):
    found = error_of(
        """
        @intent.kernel
        def kernel(
            x: I.In[I.f32, ("M", "N")],
            y: I.In[I.f32, ("N", "K")],
            out: I.Out[I.f32, ("M", "K")],
        ):
            out[:, :] = x[:, :] * y[:, :]  # <-
        """
    )
    assert notes_of(found) == [
        ("M is the extent of axis 0 of x", 7),
        ("N is the extent of axis 1 of x", 7),
        ("K is the extent of axis 1 of y", 8),
    ]


def test_an_extent_that_is_a_variable_has_its_name(error_of):
    found = error_of(
        kernel("k = I.cast(x[0], I.index)", "out[:] = I.full((k + 1,), 1.0, I.f32) * x[:]  # <-")
    )
    assert "shapes [k + 1] and [N]" in found.message
    assert [text for text, _ in notes_of(found)] == ["N is the extent of axis 0 of x"]


def test_a_domain_beside_an_index_tensor_is_explained(error_of):
    found = error_of(
        """
        @intent.kernel
        def kernel(x: I.In[I.f32, ("M", "N")], at: I.In[I.index, ("M",)], out: I.Out[I.f32, ("M",)]):
            rows = I.domain(0, x.shape[0])
            out[rows] = x[rows, at[:]]  # <-
        """
    )
    assert found.code == "E0302"
    assert any("I.indices(domain)" in text for text, _ in notes_of(found))


def test_a_buffer_does_not_leave_its_helper(error_of):
    helpers = "@intent.fn\ndef f(a):\n    w = I.buffer((4,), I.f32)\n    return w, a  # <-\n"
    found = error_of(kernel("w, a = f(x[0])", "out[:] = x[:]", helpers=helpers))
    assert found.code == "E0505" and "return what it holds" in found.message


@pytest.mark.parametrize(
    "line, place, words",
    [
        (
            "out = x[:]  # <-",
            2,
            "`out = ...` gives the name to something else; a write has an index, out[:] = ...",
        ),
        ("y = x[:]", 1, "nothing writes the Out view 'out'; a write has an index, out[:] = ..."),
    ],
)
def test_a_kernel_that_does_not_write_its_result_is_legal_and_warned_of(author, line, place, words):
    module = author(kernel(line))
    first = module.kernel.tree().lineno
    with pytest.warns(intent.IntentWarning) as caught:
        intent.lower(module.kernel)
        intent.lower(module.kernel)
    (warning,) = caught
    assert words in str(warning.message)
    assert (warning.filename, warning.lineno) == (module.__file__, first + place - 1)


MISTAKES = """
import math

import numpy as np

FIXED = [1.0]
HALF = np.float32(0.5)


class A(I.Enum):
    X = 0


class B(I.Enum):
    X = 0


@intent.fn
def pair(a, b):
    return a, b


@intent.fn
def wide(a, b):
    return I.cast(a + b, I.f64)


@intent.fn
def effect(view):
    view[:] = 0.0


@intent.fn
def sometimes(a):
    if a > 0.0:  # <-
        return a


@intent.kernel
def kernel(
    x: I.In[I.f32, ("M", "N")],
    v: I.In[I.f32, ("N",)],
    k: I.In[I.i64, ("N",)],
    m: I.In[I.bool, ("N",)],
    s: I.f32,
    n: I.i64,
    bytes: I.InOut[I.u8, (8,)],
    total: I.Out[I.f32, ()],
    out: I.Out[I.f32, ("N",)],
):
    {}  # <-
"""


@pytest.mark.parametrize(
    "line, code, both_sides, instead",
    [
        ("out[:] = v[:] + I.indices(I.domain(0, 4))", "E0201", "f32 and index", "cast one"),
        ("out[:] = v[:] * v.shape[0]", "E0201", "f32 and index", "cast one"),
        ("out[:] = I.select(m[:], 1.0, 0.0)", "E0201", "f64 is stored to f32", "cast it to f32"),
        ("out[:] = I.random.uniform(n, 1)", "E0201", "i64 and u64", "cast"),
        ("out[:] = k[:] / 2", "E0202", "floats, not i64", "`//` divides integers"),
        ("out[:] = v[:] // 2.0", "E0202", "integers, not f32", "floor(a / b)"),
        ("out[:] = v[:] % 2.0", "E0202", "integers, not f32", "a - b * floor(a / b)"),
        ("out[:] = I.cast(-m[:], I.f32)", "E0202", "integers and floats, not bool", "`~` inverts"),
        ("out[:] = I.exp(m[:])", "E0202", "floats, not bool", "cast to a float dtype"),
        ("out[:] = I.exp(n)", "E0202", "floats, not i64", "cast to a float dtype"),
        ("out[:] = I.reduce.sum(m[:], axis=0)", "E0202", "not defined for bool", "cast to an integer"),
        ("out[:] = not m[:]", "E0202", "scalar bools, not tensor<bool, [N]>", "~"),
        ("out[:] = v[:] * 1e300", "E0203", "1e+300 is not representable in f32", "cast the other side"),
        ("out[:] = k[:] * 1.5", "E0203", "1.5 is not representable in i64", "cast the other side to a float"),
        ("out[:] = v[:] + I.domain(0, 4)", "E0204", "not a domain", "I.indices"),
        ("out[:] = I.arg_reduce.max(v[:], axis=0)", "E0204", "not a tuple of 2", "unpack it"),
        ("out[:] = I.record(a=s, b=n)", "E0204", "not a record", "read one of its fields"),
        ("out[:] = I.exp(v)", "E0204", "not view<in, f32, [N]>", "read the view with an index"),
        ("out[:] = x.shape", "E0204", "not a shape", "take one of its extents"),
        ("out = out[:]", "E0502", "an Out view is read before", "InOut"),
        ("for i in v: out[i] = 1.0", "E0204", "not view<in, f32, [N]>", "I.domain(0, x.shape[0])"),
        ("out[:] = s if A.X == B.X else s", "E0204", "A and B", "members of one enum"),
        ("out[:] = v[:] * n.item()", "E0801", "a scalar has no attribute 'item'", "a subscript"),
        ("out[:] = effect(out)", "E0204", "not None", "nothing without one"),
        ("out[:] = sometimes(s)", "E0806", "f32 and None", "return something on every path"),
        ("out[:] = outt[:]", "E0801", "unknown name 'outt'", "the nearest is out"),
        ("v[:][0] = 1.0", "E0204", "not tensor<f32, [N]>", "I.buffer"),
        ("out[:] = v[:] * FIXED[0]", "E0802", "'FIXED' is a list", "make it a tuple"),
        ("out[:] = v[:] * HALF", "E0802", "'HALF' is a float32", ".item() makes a number"),
        ("out[:] = v[:] * math", "E0204", "the right operand", "must be a scalar or tensor"),
        ("out[:] = v[:] if 'a' == 'b' else v[:]", "E0204", "not 'a'", "a constexpr, of bool or of an I.Enum"),
        ("out[:] = v[:] if v is None else v[:]", "E0802", "the comparison `is`", "== != <"),
        ("for i in range(len(v)): out[i] = v[i]", "E0803", "len is of a tuple", "x.shape[0]"),
        ("for i in I.parallel(n): out[i] = v[i]", "E0204", "not i64", "I.domain(0, n)"),
        ("I.scatter_reduce(out, k[:], v[:], I.add, mask=m[:])", "E0803", "no parameter 'mask'", "I.select"),
        (
            "I.atomic.add(bytes, 0, 1)",
            "E0202",
            "atomic add is not defined for u8",
            "integers of 32 and 64 bits",
        ),
        ("s[()] = v[0]", "E0204", "not f32", "writes a view or buffer"),
        ("total[:] = s", "E0302", "1 index for the 0 axes", "[()]"),
        ("out[:] = v[:, :]", "E0302", "2 indices for the 1 axis", "None makes a new one"),
        ("out[:] = I.matmul(x[:, :], v[:], acc_dtype=I.f32)", "E0302", "not tensor<f32, [N]>", "rank 2"),
        ("out[:] = I.full((n,), 0.0, I.f32)", "E0306", "an index, not i64", "cast it to index"),
        ("out[:] = v[::-1]", "E0307", "a slice has no step", "I.domain"),
        ("out[:] = v[v[:]]", "E0307", "not tensor<f32, [N]>", "integer"),
        ("out[:] = I.record(a=1.0)[0]", "E0307", "a record", "by name: a"),
        ("if n: out[:] = v[:]", "E0401", "scalar bool, not i64", "compare it"),
        ("v[:] += 1.0", "E0501", "view<in, f32, [N]>", "declare it InOut"),
        ("out[:] += v[:]", "E0502", "an Out view is read before", "InOut"),
        ("I.scatter_reduce(out, k[:], v[:], I.add)", "E0502", "an Out view is read before", "InOut"),
        ("out[:] = I.reduce(v[:], 0, 0.0, pair)", "E0601", "tuple<f32, f32> where f32", "one type"),
        ("out[:] = I.reduce(v[:], 0, 0.0, wide)", "E0601", "f64 where f32", "one type"),
        ("out[:] = I.f32(n)", "E0801", "I.f32 cannot be called", "I.cast(x, I.f32)"),
        ("out[:] = I.float32(n)", "E0801", "I.float32", "nearest is I.f32"),
        ("I.store(out, v[:])", "E0801", "I.store", "out[i] = value"),
        ("out[:] = s.shape[0]", "E0801", "a scalar has no attribute", "only views, buffers and tensors"),
        ("out[:] = math.sqrt(s)", "E0802", "'sqrt' is a Python function", "I.sqrt"),
        ("out[:] = I.reduce.sum(v[:], 0)", "E0803", "too many positional", "I.reduce.sum(value, *, axis"),
        ("out[:] = I.reshape(x[:, :], -1)", "E0803", "not literal -1", "a tuple, such as (N,)"),
    ],
)
def test_what_authors_often_get_wrong(error_of, line, code, both_sides, instead):
    found = error_of(MISTAKES.format(line))
    assert found.code == code and found.column and "^" in str(found)
    assert both_sides in found.message and instead in found.message


@pytest.mark.parametrize(
    "parameter, instead",
    [
        ("a: float", "a runtime scalar is I.f32 or I.f64, a compile-time value I.Constexpr[float]"),
        ("a: np.float32", 'a runtime scalar is I.f32, an array I.In[I.f32, ("N",)]'),
        ("a: np.ndarray", 'an array is a view such as I.In[I.f32, ("N",)]'),
        ("a: I.In[np.int8, ('N',)]", "is I.i8, not <class 'numpy.int8'>"),
        ("a: I.In[I.f32, 'N']", "one axis is written ('N',)"),
        ("self", "a kernel is no method"),
    ],
)
def test_annotations_of_other_libraries(error_of, parameter, instead):
    found = error_of(f"import numpy as np\n\n\n@intent.kernel\ndef kernel({parameter}):  # <-\n    pass\n")
    assert found.code == "E0804" and instead in found.message


def test_a_name_that_a_round_leaves_to_the_next_is_defined_before_the_loop(error_of):
    lines = ["for i in range(4):", "    if i > 0:", "        out[i] = best  # <-", "    best = x[i]"]
    assert "defined before the loop" in error_of(kernel(*lines)).message


def test_a_literal_that_got_a_name_explains_types_that_disagree(error_of):
    lines = ["at = 0", "for i in range(4):", "    if x[i] > 0.0:  # <-", "        at = i", "out[0] = x[at]"]
    found = error_of(kernel(*lines))
    assert found.code == "E0407" and "one bound to I.cast(0, I.index) is not" in found.message


def test_the_same_domain_twice_is_explained(error_of):
    found = error_of(
        """
        @intent.kernel
        def kernel(x: I.In[I.f32, ("N", "N")], out: I.Out[I.f32, ("N",)]):
            d = I.domain(0, x.shape[0])
            out[d] = x[d, d]  # <-
        """
    )
    assert found.code == "E0302" and any("pairs its coordinates" in text for text, _ in notes_of(found))
