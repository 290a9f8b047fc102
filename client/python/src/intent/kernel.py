"""The decorators. They keep a function's source text as it is at its definition and read nothing in
it: what compiles later is what was defined, even if the file has changed by then."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import overload

from .errors import CompileError, Diagnostic


class Definition:
    """A function and its source text; base of `Kernel` and `Helper`.

    Thread-safe: nothing changes after the first `tree()`, which may run twice at most.
    """

    decorator: str
    __wrapped__: types.FunctionType

    def __init__(self, function, source: str | None):
        if not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
            raise TypeError(
                f"@intent.{self.decorator} needs the function itself: write it nearest to the function, "
                "below other decorators"
            )
        functools.update_wrapper(self, function)  # type: ignore[arg-type]
        del self.__wrapped__  # inspect shall see this object, not the function
        self.function = function
        self.file = function.__code__.co_filename
        self._problem = ""
        self._tree: ast.FunctionDef | None = None
        if source is not None:
            self.first_line, self.lines = 1, textwrap.dedent(source).splitlines(keepends=True)
            self.file = f"<source of {function.__qualname__}>"
            return
        try:
            self.lines, self.first_line = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            self.lines, self.first_line = [], function.__code__.co_firstlineno
            self._problem = str(error)

    @property
    def name(self) -> str:
        return self.function.__qualname__

    def tree(self) -> ast.FunctionDef:
        """The function's syntax tree; its lines and columns are those of the file."""
        if self._tree is None:
            self._tree = self._parse()
        return self._tree

    def _parse(self) -> ast.FunctionDef:
        if not self._problem:
            above = self.first_line - 1
            first = next((line for line in self.lines if line.strip()), "")
            outer = ""
            if first[:1].isspace():  # a nested function: an outer block keeps its columns as they are
                above, outer = above - 1, "if 1:\n"
            try:
                tree = ast.parse("\n" * above + outer + "".join(self.lines))
            except (SyntaxError, RecursionError, MemoryError) as error:
                self._problem = f"its text cannot be parsed: {error}"
            else:
                body = tree.body[0].body if isinstance(tree.body[0], ast.If) else tree.body
                if isinstance(body[0], ast.FunctionDef):
                    return body[0]
                self._problem = "it is not a plain `def`: a kernel is neither async nor a lambda"
        name = self.function.__qualname__
        raise CompileError(
            [
                Diagnostic(
                    "E0805",
                    f"the source text of {name!r} cannot be had ({self._problem}); define it in a file, or give "
                    f"its text: @intent.{self.decorator}(source=...)",
                    self.file,
                    self.first_line,
                    1,
                )
            ]
        )

    def source_line(self, line: int) -> str:
        """A line of the captured text by its number in the file; empty if it is not part of it."""
        place = line - self.first_line
        return self.lines[place] if 0 <= place < len(self.lines) else ""

    def variable(self, name: str):
        """(found, value) of a name that the function does not define: closure, then globals."""
        code, closure = self.function.__code__, self.function.__closure__ or ()
        for free, cell in zip(code.co_freevars, closure):
            if free == name:
                try:
                    return True, cell.cell_contents
                except ValueError:  # not assigned yet
                    return False, None
        if name in self.function.__globals__:
            return True, self.function.__globals__[name]
        return False, None

    def __repr__(self) -> str:
        return f"<intent.{self.decorator} {self.function.__qualname__}>"

    def _repr_html_(self) -> str:
        from . import display

        return display.kernel(self)


class Helper(Definition):
    """A typed helper of kernels, made by `@intent.fn`; it is traced where a kernel calls it."""

    decorator = "fn"

    def __call__(self, *args, **kwargs):
        raise TypeError(
            f"{self.function.__qualname__} is an @intent.fn: only kernels and other helpers can call it"
        )


class Kernel(Definition):
    """One logical computation, made by `@intent.kernel`; `intent.compile` makes it callable."""

    decorator = "kernel"

    def __init__(self, function, source):
        super().__init__(function, source)
        self.traces: list = []  # what frontend.trace made of it, with what that depends on

    def specialize(self, /, **constexprs) -> Specialized:
        """The kernel with constexpr parameters bound, to be compiled in its place."""
        return Specialized(self, constexprs)

    def __call__(self, *args, **kwargs):
        raise TypeError(
            f"{self.function.__qualname__} is an @intent.kernel: compile it with intent.compile and call the artifact"
        )


class Specialized:
    """A kernel with bound constexpr parameters, made by `Kernel.specialize`.

    Names and values are checked when it is compiled, where an error can name the kernel's line.
    """

    def __init__(self, kernel: Kernel, constexprs: dict):
        self.kernel = kernel
        self.constexprs = types.MappingProxyType(dict(constexprs))

    def specialize(self, /, **constexprs) -> Specialized:
        """The same with more parameters bound; a value given here replaces an earlier one."""
        return Specialized(self.kernel, {**self.constexprs, **constexprs})

    @property
    def name(self) -> str:
        bound = ", ".join(f"{name}={value}" for name, value in self.constexprs.items())
        return f"{self.kernel.name}({bound})"

    def __call__(self, *args, **kwargs):
        return self.kernel(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<intent.kernel {self.name}>"


def bound(kernel, constexprs) -> tuple[Kernel, dict]:
    """The kernel that is meant, and all its bindings; those of `constexprs` come last. Raises TypeError."""
    bindings = dict(constexprs or {})
    if isinstance(kernel, Specialized):
        kernel, bindings = kernel.kernel, {**kernel.constexprs, **bindings}
    if not isinstance(kernel, Kernel):
        hint = "; decorate it with @intent.kernel" if isinstance(kernel, types.FunctionType) else ""
        raise TypeError(f"an @intent.kernel is needed, not {type(kernel).__name__}{hint}")
    return kernel, bindings


def _decorate(kind, function, source):
    if function is None:
        return lambda f: kind(f, source)
    return kind(function, source)


@overload
def kernel(function: Callable, *, source: str | None = None) -> Kernel: ...
@overload
def kernel(*, source: str | None = None) -> Callable[[Callable], Kernel]: ...
def kernel(function=None, *, source=None):
    """Make a function a kernel. `source` gives its text where Python cannot find it."""
    return _decorate(Kernel, function, source)


@overload
def fn(function: Callable, *, source: str | None = None) -> Helper: ...
@overload
def fn(*, source: str | None = None) -> Callable[[Callable], Helper]: ...
def fn(function=None, *, source=None):
    """Make a function a helper of kernels. `source` gives its text where Python cannot find it."""
    return _decorate(Helper, function, source)
