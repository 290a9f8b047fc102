"""What a kernel's parameters are annotated with.

Annotations only hold what was written; they are checked when the kernel is compiled, where an
error can name its line.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class Enum(enum.Enum):
    """Base of closed enumerations for constexpr parameters: nonempty, unique integer values.

    class Activation(I.Enum):
        NONE = 0
        RELU = 1
    """


@dataclass(frozen=True)
class Constraints:
    """Facts about a view that the caller promises; see `constraints`."""

    alias: Any = None
    noalias: Any = False


def constraints(*, alias: str | None = None, noalias: bool = False) -> Constraints:
    """The optional third part of a view's annotation.

    `alias="group"`: the views of one group share an allocation. `noalias=True`: the view overlaps
    no other view. They exclude each other; without either, views may overlap.
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
        self.__doc__ = doc

    def __getitem__(self, items) -> View:
        return View(self._access, items if isinstance(items, tuple) else (items,))

    def __repr__(self) -> str:
        return f"I.{self._access}"


In = _ViewAnnotation("In", "A view that is only read: `I.In[dtype, shape]`, shape of integers and symbols.")
Out = _ViewAnnotation("Out", "A view that is undefined until written: `I.Out[dtype, shape]`.")
InOut = _ViewAnnotation(
    "InOut", "A view that is read and written, its contents kept: `I.InOut[dtype, shape]`."
)


@dataclass(frozen=True)
class ConstexprAnnotation:
    """The annotation of a compile-time parameter of a Python type or an `I.Enum`."""

    type: Any


class _Constexpr:
    """A parameter bound when the kernel is compiled: `I.Constexpr[int | float | bool | an I.Enum]`."""

    def __getitem__(self, item) -> ConstexprAnnotation:
        return ConstexprAnnotation(item)

    def __repr__(self) -> str:
        return "I.Constexpr"


Constexpr = _Constexpr()
