"""What traced kernels compute, by the reference interpreter: scopes, literals, exits and carries."""

import numpy as np
import pytest

import intent

VECTOR = 'def kernel(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]'


@pytest.fixture
def run(author):
    """run(body, x) gives what a kernel of that body makes of x; helpers and parameters as needed."""

    def compute(*lines, x=(1.0, -2.0, 3.0, 0.5), helpers="", parameters="", scalars=(), **constexprs):
        body = "\n".join("    " + line for line in lines)
        module = author(f"{helpers}\n\n@intent.kernel\n{VECTOR}{parameters}):\n{body}\n")
        array = np.array(x, np.float32)
        return intent.interpret(module.kernel, array, *scalars, constexprs=constexprs).tolist()

    return compute


def test_break_leaves_the_innermost_loop(run):
    lines = [
        "total = I.cast(0.0, I.f32)",
        "for i in range(4):",
        "    for j in range(4):",
        "        if j > i:",
        "            break",
        "        total += x[j]",
        "    if i == 2:",
        "        break",
        "out[:] = total",
    ]
    assert run(*lines)[0] == 1.0 + (1.0 - 2.0) + (1.0 - 2.0 + 3.0)


def test_break_out_of_a_product_of_domains(run):
    lines = [
        "count = I.cast(0.0, I.f32)",
        "for i, j in (I.domain(1, 4), I.domain(0, 10, 4)):",
        "    if (i == 3) & (j == 4):",
        "        break",
        "    count += I.cast(i * 100 + j, I.f32)",
        "out[:] = count",
    ]
    assert run(*lines)[0] == sum(i * 100 + j for i in (1, 2) for j in (0, 4, 8)) + 300


def test_return_from_nested_loops(run):
    helpers = """
@intent.fn
def find(x, limit):
    for i in range(x.shape[0]):
        for j in range(2):
            if x[i] + I.cast(j, I.f32) > limit:
                return I.cast(i * 10 + j, I.f32), True
    return 0.0, False
"""
    lines = [
        "a, found = find(x[:], 3.5)",
        "b, lost = find(x[:], 99.0)",
        "out[:] = a if found and not lost else -1.0",
    ]
    assert run(*lines, helpers=helpers)[0] == 21.0


def test_a_returned_tensor_is_carried_out_of_a_loop(run):
    helpers = """
@intent.fn
def scale(x):
    for i in range(3):
        if x[i] < 0.0:
            return x * x[i]
    return x
"""
    assert run("out[:] = scale(x[:])", helpers=helpers) == [-2.0, 4.0, -6.0, -1.0]


def test_continue_skips_the_rest_of_an_iteration(run):
    lines = [
        "t = I.cast(0.0, I.f32)",
        "for v in range(4):",
        "    if x[v] < 0.0:",
        "        continue",
        "    t = t + x[v]",
        "out[:] = t",
    ]
    assert run(*lines)[0] == 4.5


def test_a_kernel_may_return_early(run):
    lines = [
        "out[:] = x[:]",
        "for i in range(4):",
        "    if x[i] < 0.0:",
        "        return",
        "    out[i] = 9.0",
    ]
    assert run(*lines) == [9.0, -2.0, 3.0, 0.5]


def test_while_true_with_break(run):
    lines = [
        "n = I.cast(1.0, I.f32)",
        "while True:",
        "    n = n * 2.0",
        "    if n > 100.0:",
        "        break",
        "out[:] = n",
    ]
    assert run(*lines)[0] == 128.0


def test_a_loop_that_only_a_return_leaves(run):
    helpers = """
@intent.fn
def climb(a):
    while True:
        if a > 10.0:
            return a
        for i in range(3):
            a = a + 1.0
            if a == 12.0:
                return -a
"""
    assert run("out[0] = climb(x[0])", "out[1] = climb(x[3])", helpers=helpers)[:2] == [-12.0, 12.5]


def test_a_condition_with_and_guards_its_right_side(run):
    lines = [
        "i = I.cast(0, I.index)",
        "while i < x.shape[0] and x[i] != 3.0:",
        "    i = i + 1",
        "out[:] = I.cast(i, I.f32)",
    ]
    assert run(*lines)[0] == 2.0
    assert run(*lines, x=(1.0, 2.0))[0] == 2.0


def test_a_name_bound_to_a_literal_has_its_own_dtype_and_is_still_an_extent(run):
    lines = ["n = 2", "k = 0", "pair = I.full((n,), 1.5, dtype=I.f32)", "out[:] = I.reduce.sum(pair, axis=k)"]
    assert run(*lines)[0] == 3.0


def test_a_literal_argument_takes_the_dtype_it_meets(run):
    helpers = "@intent.fn\ndef f(a, by=0.1, *, times=2):\n    return a * by * times\n"
    assert (
        run("out[:] = f(x[:]) + f(x[:], times=3.0)", helpers=helpers)[0]
        == np.float32(0.1) * 2 + np.float32(0.1) * 3
    )


def test_a_literal_argument_may_be_rebound_in_a_branch(run):
    helpers = """
@intent.fn
def f(a, extra=1.0):
    if a > 0.0:
        extra = a
    return extra
"""
    assert run("out[:] = f(x[2]) + f(x[1])", helpers=helpers)[0] == 4.0


def test_a_literal_condition_is_decided_by_the_front_end(run):
    helpers = "@intent.fn\ndef f(a, twice=False):\n    if twice:\n        return a * 2.0, a\n    return a\n"
    assert run("y = f(x[:])", "z, _ = f(x[:], twice=True)", "out[:] = y + z", helpers=helpers)[0] == 3.0


@pytest.mark.parametrize("flag, want", [(True, 3.0), (False, -4.0)])
def test_arms_of_a_constexpr_branch_may_differ_in_type(run, flag, want):
    lines = [
        "if flag:",
        "    y = (x[0], x[1])",
        "else:",
        "    y = x[:]",
        "if flag:",
        "    out[:] = y[0] - y[1]",
        "else:",
        "    out[:] = y[1] * 2.0",
    ]
    assert run(*lines, parameters=", flag: I.Constexpr[bool] = True", flag=flag)[0] == want


def test_a_constexpr_selects_values_without_branches(author):
    module = author(
        f"@intent.kernel\n{VECTOR}, flag: I.Constexpr[bool]):\n    k = 2 if flag else 3\n    out[:] = x[:] * I.cast(k, I.f32)\n"
    )
    assert " if " not in intent.lower(module.kernel).program.text
    assert intent.interpret(module.kernel, np.ones(1, np.float32), constexprs={"flag": False})[0] == 3.0


def test_a_constexpr_axis_is_bound_early(author):
    text = """
    @intent.kernel
    def kernel(x: I.In[I.f32, (2, 2)], out: I.Out[I.f32, (2,)], axis: I.Constexpr[int] = 0):
        out[:] = I.reduce.sum(x[:, :], axis=axis)
    """
    kernel = author(text).kernel
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    assert intent.interpret(kernel, x).tolist() == [2.0, 4.0]
    assert intent.interpret(kernel, x, constexprs={"axis": 1}).tolist() == [1.0, 5.0]


def test_closures_and_globals_are_constants(author):
    text = """
    SCALE = 2.0
    SHIFTS = (1.0, 10.0)

    def make(factor):
        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):
            out[:] = x[:] * factor * SCALE + SHIFTS[1]

        return kernel
    """
    module = author(text)
    one = np.ones(1, np.float32)
    assert intent.interpret(module.make(3.0), one)[0] == 16.0
    assert intent.interpret(module.make(4.0), one)[0] == 18.0
    kernel = module.make(5.0)
    assert intent.interpret(kernel, one)[0] == 20.0
    module.SCALE = 3.0
    assert intent.interpret(kernel, one)[0] == 25.0


def test_postponed_annotations(author):
    text = """
    import intent
    import intent.language as I

    def make(width):
        Row = I.In[I.f32, (width,)]

        @intent.kernel
        def kernel(x: Row, out: I.Out[I.f32, (width,)]):
            out[:] = x[:]

        return kernel
    """
    with pytest.raises(intent.CompileError, match="Row"):
        # As in Python itself, a local name that the function's body does not use cannot be found again.
        intent.lower(author(text, header="from __future__ import annotations\n").make(4))
    text = "@intent.kernel\ndef kernel(x: I.In[I.f32, (4,)], out: I.Out[I.f32, (4,)]):\n    out[:] = x[:]\n"
    header = "from __future__ import annotations\nimport intent\nimport intent.language as I\n\n\n"
    assert intent.lower(author(text, header=header).kernel).parameters[0].shape == (4,)


def test_what_compiles_is_what_was_defined(author):
    module = author(f"@intent.kernel\n{VECTOR}):\n    out[:] = x[:] + 1.0\n")
    open(module.__file__, "w").write("nothing of it is left\n")
    assert intent.interpret(module.kernel, np.zeros(1, np.float32))[0] == 1.0


def test_source_may_be_given():
    text = 'def kernel(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):\n    out[:] = x[:] * 2.0\n'
    scope = {"intent": intent}
    exec("import intent.language as I\n" + text, scope)
    for source in (
        text,
        "\n    \n" + text,
        text.replace("def", "    def").replace("\n    out", "\n        out"),
    ):
        kernel = intent.kernel(scope["kernel"], source=source)
        assert intent.interpret(kernel, np.ones(1, np.float32))[0] == 2.0


def test_parameters_may_have_any_name(author):
    module = author(
        """
        @intent.kernel
        def kernel(
            template: I.In[I.f32, ("double",)],
            int: I.f32,
            größe: I.index,
            this: I.Out[I.f32, ("double",)],
            register: I.Constexpr[float] = 2.0,
        ):
            this[:] = template[:] * int * register + I.cast(größe, I.f32)
        """
    )
    out = intent.interpret(module.kernel, np.array([1, -2], np.float32), 3.0, 5)
    assert out.tolist() == [11.0, -7.0]


def test_enumerate_counts_and_coordinates_are_absolute(run):
    lines = [
        "out[:] = x[:]",
        "axis = I.domain(0, 4)",
        "for n, i in enumerate(axis[1:3]):",
        "    out[i] = I.cast(n, I.f32)",
    ]
    assert run(*lines) == [1.0, 0.0, 1.0, 0.5]


def test_chained_comparisons_and_shapes_are_tuples(run):
    lines = [
        "(n,) = x.shape",
        "inside = 0 < n <= 4",
        "out[:] = x[2] if inside and len(x.shape) == 1 else 0.0",
    ]
    assert run(*lines)[0] == 3.0


def test_an_underscore_that_nobody_reads_may_be_any_type_anywhere(run):
    lines = [
        "_, n = (x.shape[0], 0.0)",
        "out[:] = x[:]",
        "for i in I.parallel(I.domain(0, 4)):",
        "    _, place = I.arg_reduce.max(x[:], axis=0)",
        "    out[i] = I.cast(place, I.f32)",
        "for _ in range(2):",
        "    (_, _, y) = (x[:], 1, x[0])",
        "    out[0] = y",
    ]
    assert run(*lines) == [1.0, 2.0, 2.0, 2.0]


def test_an_arg_reduction_of_a_part_counts_from_its_beginning(run):
    lines = [
        "axis = I.domain(0, x.shape[0])",
        "out[:] = x[:]",
        "for k in range(3):",
        "    value, place = I.arg_reduce.max(x[axis[k:]], axis=0)",
        "    out[k] = value + I.cast(10 * place, I.f32)",
    ]
    assert run(*lines) == [23.0, 13.0, 3.0, 0.5]


def test_spread_arguments_and_negative_tuple_indices(run):
    helpers = "@intent.fn\ndef f(a, b):\n    return a - b\n"
    assert run("pair = (x[2], x[0])", "out[:] = f(*pair) + pair[-1]", helpers=helpers)[0] == 3.0


def test_an_out_of_bounds_access_names_parameter_axis_and_line(author):
    text = """
    @intent.kernel
    def kernel(x: I.In[I.f32, ("N",)], k: I.i64, out: I.Out[I.f32, ()]):
        out[()] = x[I.cast(k, I.index)]
    """
    with pytest.raises(intent.RunError) as caught:
        intent.interpret(author(text).kernel, np.zeros(3, np.float32), 7)
    assert (caught.value.parameter, caught.value.axis, caught.value.line) == ("x", 0, 7)


def test_an_error_of_a_run_shows_its_line_and_a_caret(author):
    module = author(
        """
        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], at: I.index, out: I.Out[I.f32, ()]):
            out[()] = 2.0 * x[at]
        """
    )
    with pytest.raises(intent.RunError) as caught:
        intent.interpret(module.kernel, np.zeros(3, np.float32), 3)
    first, line, caret = str(caught.value).splitlines()
    assert first.endswith(": E1101: index 3 is outside axis 0 of x, whose extent is 3")
    assert line.endswith("out[()] = 2.0 * x[at]") and line.index("x[at]") == caret.index("^~~~~")


def test_names_of_a_branch_that_nobody_reads_behind_it_may_differ_in_type(run):
    lines = [
        "if x[0] > 0.0:",
        "    t = x[1]",
        "    y = t + 1.0",
        "else:",
        "    t = x[:]",
        "    y = t[0]",
        "out[:] = y",
    ]
    assert run(*lines)[0] == -1.0


def test_hundreds_of_branches_and_thousands_of_terms(run):
    chain = [
        "k = I.cast(x[0], I.i32)",
        "if k == 1000:",
        "    y = 0",
        *(line for i in range(200) for line in (f"elif k == {i}:", f"    y = {i}")),
        "else:",
        "    y = -1",
    ]
    total = ["s = x[0]"] + ["s = s" + " + 1.0" * 600] * 5
    assert run(*chain, *total, "out[:] = s + I.cast(y, I.f32)", x=(7.0,))[0] == 3014.0


def test_first_traces_from_many_threads(author):
    from concurrent.futures import ThreadPoolExecutor

    kernel = author(f"@intent.kernel\n{VECTOR}):\n    out[:] = x[:] + 1.0\n").kernel
    with ThreadPoolExecutor(8) as pool:
        programs = list(pool.map(lambda _: intent.lower(kernel).module, range(16)))
    assert len(set(programs)) == 1 and len(kernel.traces) == 1
