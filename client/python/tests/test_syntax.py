"""Syntax of Python 3.10 to 3.13 in kernels: what is read as it is meant, and what is refused with E0802."""

import ast
import re
import sys

import numpy as np
import pytest

import intent

since_311 = pytest.mark.skipif(sys.version_info < (3, 11), reason="syntax of Python 3.11")
since_312 = pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")


def kernel_with(statements):
    lines = [line for line in statements.strip("\n").splitlines()]
    body = "\n".join("    " + line for line in lines)
    return f'@intent.kernel\ndef kernel(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):\n{body}\n'


@pytest.mark.parametrize(
    "statements, words",
    [
        (
            "match x[0]:  # <-\n    case 0.0:\n        out[:] = x[:]\n    case y:\n        out[:] = -x[:]",
            "match; use if and elif",
        ),
        ("out[:] = (y := x[:]) + y  # <-", "an assignment inside an expression"),
        ("if (y := x[0]) > 0.0:  # <-\n    out[:] = x[:] + y", "an assignment inside an expression"),
        ("first, *rest = (x[0], x[1], x[2])  # <-\nout[:] = x[:] + first", r"unpacking with \*"),
        ("y = (*(x[0], x[1]), x[2])  # <-\nout[:] = x[:] + y[0]", r"unpacking with \*"),
        ("try:  # <-\n    out[:] = x[:]\nfinally:\n    pass", "try"),
        ("with (x as a, x as b):  # <-\n    out[:] = x[:]", "with"),
        ("y = [v for v in (1, 2)]  # <-\nout[:] = x[:]", "a comprehension"),
        ("y = lambda v, /: v  # <-\nout[:] = x[:]", "a lambda"),
        ('y = f"{x}"  # <-\nout[:] = x[:]', "a formatted string"),
        ("async def f():  # <-\n    pass", "async functions"),
        pytest.param("out[:] = x[*(0,)]  # <-", r"unpacking with \*", marks=since_311),
        pytest.param(
            "try:  # <-\n    out[:] = x[:]\nexcept* ValueError:\n    pass", "language: try", marks=since_311
        ),
        pytest.param("type T = int  # <-\nout[:] = x[:]", "type; define aliases", marks=since_312),
    ],
)
def test_what_is_not_part_of_the_language(error_of, statements, words):
    error = error_of(kernel_with(statements))
    assert error.code == "E0802"
    assert re.search(words, error.message), error.message


@since_312
def test_type_parameters_of_a_kernel(error_of):
    error = error_of(
        kernel_with("out[:] = x[:]").replace("kernel(x", "kernel[T](x").replace("]):", "]):  # <-", 1)
    )
    assert error.code == "E0802" and "type parameters" in error.message


@pytest.mark.parametrize("which", ["kernel", "helper"])
def test_type_parameters_are_refused_where_python_has_them(author, which):
    module = author(
        """
        @intent.fn
        def helper(a, /, *, b=1.0):
            return a + b

        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], /, out: I.Out[I.f32, ("N",)]):
            out[:] = helper(x[:])
        """
    )
    tree = getattr(module, which).tree()
    tree.type_params = [ast.copy_location(ast.Name("T", ast.Load()), tree.body[0])]
    with pytest.raises(intent.CompileError, match="E0802.*type parameters"):
        intent.lower(module.kernel)


def test_positional_only_and_keyword_only_parameters_spread_tuples_and_parentheses(author):
    module = author(
        """
        @intent.fn
        def mix(a, /, b, *, c=1.0):
            return a * b + c

        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], /, k: I.f32, *, out: I.Out[I.f32, ("N",)]):
            pair = x[:], k
            (left, right), third = pair, k
            out[:] = (
                mix(*pair, c=third - third + 2.0)
                + mix(left, b=right)
            )
        """
    )
    assert intent.interpret(module.kernel, np.array([1, 2], np.float32), 3.0).tolist() == [9, 15]
    with pytest.raises(intent.CompileError, match="'mix' has no parameter 'a'"):
        intent.lower(
            author(
                """
                @intent.fn
                def mix(a, /):
                    return a

                @intent.kernel
                def kernel(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):
                    out[:] = mix(a=x[:])
                """
            ).kernel
        )


def test_annotations_may_be_strings(author):
    module = author(
        """
        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], k: I.Constexpr[int] = 2, *, out: I.Out[I.f32, ("N",)]) -> None:
            y: object = x[:] * I.cast(k, I.f32)
            out[:] = y
        """,
        header="from __future__ import annotations\nimport intent\nimport intent.language as I\n\n\n",
    )
    assert intent.interpret(module.kernel, np.ones(2, np.float32)).tolist() == [2, 2]
