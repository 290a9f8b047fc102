"""Generated control flow: what a traced helper computes is what Python computes from the same text."""

import random
import types

import numpy as np
import pytest

import intent

VARIABLES = ("a", "b", "c", "d")


class Author:
    """Writes a function of two integers with loops, branches and exits of every kind."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.counters = 0
        self.statements = 0

    def value(self):
        return self.random.choice([*VARIABLES, *VARIABLES, str(self.random.randint(-5, 9))])

    def expression(self):
        kind = self.random.randrange(6)
        if kind < 3:
            return (
                f"({self.value()} {self.random.choice('+-*')} {self.value()}) % {self.random.randint(3, 50)}"
            )
        if kind == 3:
            return f"{self.value()} if {self.condition()} else {self.random.choice(VARIABLES)}"
        return f"({self.value()} + {self.random.choice(VARIABLES)}) // {self.random.randint(1, 5)} % 40"

    def condition(self):
        comparison = f"{self.random.choice(VARIABLES)} {self.random.choice(['<', '>', '==', '!=', '<='])} {self.value()}"
        kind = self.random.randrange(5)
        if kind == 0:
            return f"{comparison} and {self.random.choice(VARIABLES)} % 2 == 0"
        if kind == 1:
            return f"(not {comparison} or {self.random.choice(VARIABLES)} > 3)"
        return comparison

    def block(self, depth, in_loop):
        lines = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(depth, in_loop)
        return lines

    def statement(self, depth, in_loop):
        self.statements += 1
        kind = self.random.randrange(12)
        if depth and kind < 3:
            lines = [f"if {self.condition()}:", *indent(self.block(depth - 1, in_loop))]
            if self.random.random() < 0.5:
                lines += [f"elif {self.condition()}:", *indent(self.block(depth - 1, in_loop))]
            if self.random.random() < 0.6:
                lines += ["else:", *indent(self.block(depth - 1, in_loop))]
            return lines
        if depth and kind == 3:
            name = f"i{self.counters}"
            self.counters += 1
            bound = f"I.cast({self.random.choice(VARIABLES)} % 5, I.index)"
            body = [f"{self.random.choice(VARIABLES)} = I.cast({name}, I.i64) + {self.value()}"]
            return [f"for {name} in range({bound}):", *indent(body + self.block(depth - 1, True))]
        if depth and kind == 4:
            name = f"w{self.counters}"
            self.counters += 1
            body = [f"{name} = {name} + 1", *self.block(depth - 1, True)]
            return [f"{name} = 0", f"while {name} < 6 and {self.condition()}:", *indent(body)]
        if kind == 5 and in_loop:
            return [self.random.choice(["break", "continue"])]
        if kind == 6 and self.random.random() < 0.4:
            return [f"return {self.expression()}"]
        if kind == 7:
            x, y = self.random.sample(VARIABLES, 2)
            return [f"{x}, {y} = {y}, {self.expression()}"]
        if kind == 8:
            return [f"{self.random.choice(VARIABLES)} += {self.value()}"]
        return [f"{self.random.choice(VARIABLES)} = {self.expression()}"]

    def function(self):
        body = ["c = a - b", "d = 7 + a", *self.block(3, False), *self.block(2, False)]
        body.append("return (a + 10 * b + 100 * c + 1000 * d) % 1000003")
        return "\n".join(["def f(a, b):", *indent(body)]) + "\n"


def indent(lines):
    return ["    " + line for line in lines]


def by_python(text, a, b):
    scope = {"I": types.SimpleNamespace(cast=lambda x, _: x, i64=None, index=None)}
    exec(text, scope)
    return scope["f"](a, b)


KERNEL = """
@intent.kernel
def kernel(a: I.i64, b: I.i64, out: I.Out[I.i64, ()]):
    out[()] = f(a, b)
"""


@pytest.mark.parametrize("seed", range(60))
def test_control_flow(author, seed):
    text = Author(seed).function()
    kernel = author("@intent.fn\n" + text + "\n" + KERNEL).kernel
    try:
        intent.lower(kernel)
    except intent.CompileError as error:
        assert {d.code for d in error.diagnostics} == {"E0901"}, text + str(error)
        pytest.skip("more branches that leave early than are copied")
    rng = np.random.default_rng(seed)
    for a, b in rng.integers(-20, 20, (8, 2)).tolist():
        assert int(intent.interpret(kernel, a, b)) == by_python(text, a, b), f"a={a} b={b}\n{text}"
