"""What a kernel's parameters are annotated with.

Annotations only hold what was written; they are checked when the kernel is compiled, where an
error can name its line.
"""

from __future__ import annotations

import enum
import inspect
from dataclasses import dataclass
from typing import Any


class Enum(enum.Enum):
    """Base of closed enumerations for constexpr parameters: nonempty, unique integer values.

    Members are compared by == and != with members of the same enum (E0204); they are no runtime values.

    Example:

        class Activation(I.Enum):
            NONE = 0
            RELU = 1


        @intent.kernel
        def kernel(
            x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)], activation: I.Constexpr[Activation] = Activation.RELU
        ):
            value = x[:]
            if activation == Activation.RELU:
                value = I.maximum(value, 0.0)
            out[:] = value
    """


@dataclass(frozen=True)
class Constraints:
    """Facts about a view that the caller promises; see `constraints`."""

    alias: Any = None
    noalias: Any = False


def constraints(*, alias: str | None = None, noalias: bool = False) -> Constraints:
    """The optional third part of a view's annotation.

    `alias="group"`: the views of one group share an allocation. `noalias=True`: the view overlaps
    no other view. They exclude each other (E0506); without either, views may overlap.

    Example:

        @intent.kernel
        def kernel(
            x: I.In[I.f32, ("N",), I.constraints(alias="state")],
            state: I.InOut[I.f32, ("N",), I.constraints(alias="state")],
            out: I.Out[I.f32, ("N",), I.constraints(noalias=True)],
        ):
            out[:] = x[:] + state[:]
    """
    return Constraints(alias, noalias)


@dataclass(frozen=True)
class View:
    """The annotation of a view: `items` is what stood in the brackets."""

    access: str
    items: tuple


class _ViewAnnotation:
    def __init__(self, access: str, doc: str):
        self._access = access
        self.__doc__ = inspect.cleandoc(doc)

    def __getitem__(self, items) -> View:
        return View(self._access, items if isinstance(items, tuple) else (items,))

    def __repr__(self) -> str:
        return f"I.{self._access}"


In = _ViewAnnotation(
    "In",
    """A view that is only read: `I.In[dtype, shape]`, or with `I.constraints` behind the shape.

    The shape is a tuple of nonnegative integers and symbols, `()` at rank 0 (E0804). Equal symbols are equal extents, which
    each call checks; different symbols promise nothing. A symbol is no variable: the body reads `x.shape`. Reading with an
    index gives a tensor, `x[:]`, or a scalar, `x[i]` and `x[()]`; a write is E0501.

    Example:

        @intent.kernel
        def kernel(a: I.In[I.f32, ("N",)], b: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):
            out[:] = a[:] + b[:]
    """,
)
Out = _ViewAnnotation(
    "Out",
    """A view that is undefined until written: `I.Out[dtype, shape]`; see `I.In`. A read before any write is E0502.

    `artifact.run` makes these arrays and returns them; what is stored has exactly the dtype (E0201).

    Example:

        @intent.kernel
        def kernel(x: I.In[I.f32, ("M", "N")], total: I.Out[I.f32, ()]):
            total[()] = I.reduce.sum(x[:, :], axis=(0, 1))
    """,
)
InOut = _ViewAnnotation(
    "InOut",
    """A view that is read and written, its contents kept: `I.InOut[dtype, shape]`; see `I.In`.

    Example:

        @intent.kernel
        def kernel(gradient: I.In[I.f32, ("N",)], rate: I.f32, weight: I.InOut[I.f32, ("N",)]):
            weight[:] = weight[:] - rate * gradient[:]
    """,
)


@dataclass(frozen=True)
class ConstexprAnnotation:
    """The annotation of a compile-time parameter of a Python type or an `I.Enum`."""

    type: Any


class _Constexpr:
    """A parameter bound when the kernel is compiled: `I.Constexpr[int | float | bool | an I.Enum]`.

    `intent.compile(kernel, constexprs={"n": 3})` binds it; calls of the artifact do not have it. One without a default must
    be bound (E0702), by a value of its type (E0703). Branches on constexprs are decided at compile time.

    Example:

        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)], n: I.Constexpr[int], clip: I.Constexpr[bool] = False):
            value = x[:]
            for i in range(n):
                value = value * x[:]
            if clip:
                value = I.minimum(value, 1.0)
            out[:] = value
    """

    def __getitem__(self, item) -> ConstexprAnnotation:
        return ConstexprAnnotation(item)

    def __repr__(self) -> str:
        return "I.Constexpr"


Constexpr = _Constexpr()
