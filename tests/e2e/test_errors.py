"""What an author sees when something is wrong, through the real daemon."""

import re
import threading

import intent
import numpy as np
import pytest


@pytest.fixture
def compiler(shared_daemon):
    return intent.Compiler(f"unix:{shared_daemon.socket}")


UNPROVEN = """
@intent.kernel
def kernel(table: I.In[I.f32, ("M", "N")], at: I.In[I.i64, ("K",)], y: I.Out[I.f32, ("K",)]):
    rows = at[:]
    y[:] = table[rows, 0]  # here
"""


def line_of(module, mark="# here"):
    lines = open(module.__file__).read().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if mark in line]
    return number


REFUSED_BY_THE_SERVICE = """
@intent.kernel
def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)], loose: I.Constexpr[bool]):
    y[:] = I.exp2(x[:], approximate=loose, flush_to_zero=True)  # here
"""


def test_what_only_the_daemon_refuses_has_the_authors_line_and_a_caret(compiler, author):
    module = author(REFUSED_BY_THE_SERVICE)
    with pytest.raises(intent.CompileError) as caught:
        intent.compile(module.kernel, compiler=compiler, constexprs={"loose": False})
    (found,) = caught.value.diagnostics
    assert (found.code, found.file, found.line) == ("E0605", module.__file__, line_of(module))
    text = str(caught.value).splitlines()
    assert text[0].startswith(f"{module.__file__}:{found.line}:{found.column}: error E0605")
    assert "flush_to_zero needs approximate=True" in text[0]
    assert "I.exp2(x[:]" in text[1]
    assert text[2].index("^") == text[1].index("I.exp2")


def test_a_mistake_in_a_kernel_has_file_line_and_caret(compiler, author):
    module = author(
        """
        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], y: I.Out[I.i32, ("N",)]):
            y[:] = x[:] + 1.0  # here
        """
    )
    with pytest.raises(intent.CompileError) as caught:
        intent.compile(module.kernel, compiler=compiler)
    found = caught.value.diagnostics[0]
    assert (found.file, found.line) == (module.__file__, line_of(module))
    assert found.code.startswith("E02")
    lines = str(caught.value).splitlines()
    assert lines[1].endswith("# here") and re.fullmatch(r" *\| +\^~*", lines[2])


@pytest.mark.parametrize("target", [intent.CpuTarget(), intent.InterpreterTarget()], ids=["cpu", "interp"])
def test_a_guard_names_parameter_axis_and_line(compiler, author, target):
    module = author(UNPROVEN)
    artifact = intent.compile(module.kernel, compiler=compiler, target=target)
    table = np.ones((5, 2), np.float32)
    np.testing.assert_array_equal(artifact.run(table, np.array([0, 4])), [1, 1])
    with pytest.raises(intent.RunError) as caught:
        artifact.run(table, np.array([0, 5]))
    error = caught.value
    assert (error.status, error.parameter, error.axis) == ("out_of_bounds", "table", 0)
    assert (error.file, error.line) == (module.__file__, line_of(module))
    assert str(error).startswith(f"{module.__file__}:{error.line}: ")
    assert "index 5" in str(error) and "5 elements" in str(error)


# Equal but for what is written before the access and computes nothing that anybody uses.
EQUIVALENT = [
    """
    @intent.kernel
    def kernel(x: I.In[I.f32, ("N",)], at: I.In[I.i64, ("N",)], out: I.Out[I.f32, ("N",)]):
        out[:] = x[at[:]] + 12.5  # here
    """,
    """
    @intent.kernel
    def kernel(
        values: I.In[I.f32, ("K",)], places: I.In[I.i64, ("K",)], picked: I.Out[I.f32, ("K",)],
        doubled: I.Constexpr[bool],
    ):
        unused = values[:] * 2.0 + 4.0
        if doubled:
            unused = unused * 2.0

        picked[:] = values[places[:]] + 12.5  # here
        unused = unused + 1.0
    """,
]


@pytest.mark.parametrize("target", [intent.CpuTarget(), intent.InterpreterTarget()], ids=["cpu", "interp"])
def test_kernels_that_share_an_artifact_have_their_own_lines(compiler, author, target):
    canonical = []
    for text, constexprs in zip(EQUIVALENT, ({}, {"doubled": True})):
        module = author(text)
        artifact = intent.compile(module.kernel, compiler=compiler, target=target, constexprs=constexprs)
        canonical.append(artifact.cache["canonical"])
        with pytest.raises(intent.RunError) as caught:
            artifact.run(np.ones(3, np.float32), np.array([0, 9, 1]))
        assert (caught.value.file, caught.value.line) == (module.__file__, line_of(module))
    assert canonical == [False, True]


INVALID_DATA = """
@intent.kernel
def kernel(
    values: I.In[I.i32, ("N",)],
    kept: I.In[I.f32, ("M", "C")],
    place: I.In[I.u8, ("M", "C")],
    dense: I.In[I.f32, ("K", "L")],
    counts: I.Out[I.i32, (4,)],
    y: I.Out[I.f32, ("M", "L")],
):
    counts[:] = I.histogram(values[:], bins=4, valid=True, count_dtype=I.i32)  # counted
    where = I.cast(place[:, :], I.index)
    form = I.sparse.one_of_two(compression_axis=1, logical_extent=dense.shape[0])
    y[:, :] = I.sparse_matmul(kept[:, :], where, dense[:, :], format=form, acc_dtype=I.f32)  # contracted
"""


@pytest.mark.parametrize("target", [intent.CpuTarget(), intent.InterpreterTarget()], ids=["cpu", "interp"])
def test_data_that_an_operation_does_not_allow_has_the_operations_line(compiler, author, target):
    module = author(INVALID_DATA)
    artifact = intent.compile(module.kernel, compiler=compiler, target=target)
    good = [np.array([0, 3, 3], np.int32), np.ones((1, 2), np.float32)]
    good += [np.array([[1, 0]], np.uint8), np.ones((4, 2), np.float32)]
    counts, y = artifact.run(*good)
    assert (counts.tolist(), y.tolist()) == ([1, 0, 0, 2], [[2, 2]])
    outside = [np.array([0, 4], np.int32), *good[1:]]
    invalid = [*good[:2], np.array([[1, 2]], np.uint8), good[3]]
    for arguments, mark, status in ((outside, "# counted", "out_of_bounds"), (invalid, "# contracted", "invalid_value")):
        with pytest.raises(intent.RunError) as caught:
            artifact.run(*arguments)
        error = caught.value
        assert (error.status, error.parameter, error.axis) == (status, None, None)
        assert error.line == line_of(module, mark)


SHAPES = """
@intent.kernel
def kernel(x: I.In[I.f32, ("N",)], z: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] + z[:]
"""


@pytest.mark.parametrize(
    "x, z, error, words",
    [
        (np.ones(3, np.float32), np.ones(4, np.float32), ValueError, ["x", "z", "3", "4"]),
        (np.ones(3, np.float64), np.ones(3, np.float32), TypeError, ["x", "f32", "float64"]),
        (np.ones((3, 1), np.float32), np.ones(3, np.float32), ValueError, ["x", "1", "2"]),
        (3.0, np.ones(3, np.float32), (TypeError, ValueError), ["x"]),
        ("text", np.ones(3, np.float32), (TypeError, ValueError), ["x"]),
    ],
    ids=["extents differ", "another dtype", "another rank", "a number for an array", "text for an array"],
)
def test_wrong_arguments_name_the_parameter(compiler, author, x, z, error, words):
    artifact = intent.compile(author(SHAPES).kernel, compiler=compiler)
    with pytest.raises(error) as caught:
        artifact.run(x, z)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    ones = np.ones(3, np.float32)
    np.testing.assert_array_equal(artifact.run(ones, ones), [2, 2, 2])


def test_an_unknown_target_is_named(compiler, author):
    with pytest.raises(intent.ServiceError, match="z80") as caught:
        intent.compile(author(SHAPES).kernel, compiler=compiler, target=intent.CpuTarget("z80"))
    assert caught.value.status == "FAILED_PRECONDITION"
    assert caught.value.request_id and caught.value.request_id in str(caught.value)


def test_a_lost_daemon_is_a_service_error(start, author):
    daemon = start()
    compiler = intent.Compiler(f"unix:{daemon.socket}")
    kernel = author(SHAPES).kernel
    artifact = intent.compile(kernel, compiler=compiler)
    daemon.process.kill()
    daemon.process.wait()
    ones = np.ones(3, np.float32)
    for call in (lambda: artifact.run(ones, ones), lambda: intent.compile(kernel, compiler=compiler), compiler.stats):
        with pytest.raises(intent.ServiceError, match="is the daemon running at that address") as caught:
            call()
        assert caught.value.status == "UNAVAILABLE"
        assert str(daemon.socket) in str(caught.value)
    start()
    np.testing.assert_array_equal(artifact.run(ones, ones), [2, 2, 2])


def test_a_daemon_lost_during_a_call_is_a_service_error(start, author):
    daemon = start()
    compiler = intent.Compiler(f"unix:{daemon.socket}")
    module = author(
        """
        @intent.kernel
        def kernel(x: I.In[I.f32, (1,)], y: I.Out[I.f32, (1,)]):
            v = x[0]
            while v > 0.0:
                v = v + 1.0
                if v > 100.0:
                    v = I.cast(1.0, I.f32)
            y[0] = v
        """
    )
    artifact = intent.compile(module.kernel, compiler=compiler)
    killer = threading.Timer(0.5, daemon.process.kill)
    killer.start()
    with pytest.raises(intent.ServiceError) as caught:
        artifact.run(np.ones(1, np.float32), execute="remote")
    killer.join()
    assert caught.value.status == "UNAVAILABLE"
