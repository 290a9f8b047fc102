"""Names: what a name in a function means, and which outside values kernels may use."""

from __future__ import annotations

import builtins
import enum
import types

from .. import dtypes, intrinsics
from ..annotations import Enum
from ..kernel import Helper, Kernel
from . import hints, signature
from .values import Unbound

_BUILTINS = {name: getattr(builtins, name) for name in ("range", "enumerate", "slice", "len")}

_INSTEAD = {
    "abs": "I.abs",
    "min": "I.minimum",
    "max": "I.maximum",
    "sum": "I.reduce.sum",
    "any": "I.reduce.any",
    "all": "I.reduce.all",
    "pow": "the operator **",
    "int": "I.i64 as a dtype, and I.cast(x, I.i64) to convert",
    "float": "I.f64 as a dtype, and I.cast(x, I.f32) to convert",
    "bool": "I.bool as a dtype, and I.cast(x, I.bool) to convert",
    "round": "I.floor(x + 0.5)",
    "zip": "one loop over a domain, with x[i] and y[i]",
    "print": "an Out view, or the interpreter's checked mode, which names the line of a mistake",
    "sorted": "a sort of your own, with a buffer and loops",
    "reversed": "forward coordinates, and arithmetic on them",
    "list": "a tuple, or an I.buffer",
    "divmod": "the operators // and %",
}

_STATIC = (
    dtypes.DType,
    intrinsics.Intrinsic,
    intrinsics.Namespace,
    intrinsics.Format,
    Helper,
    Kernel,
    types.ModuleType,
    str,
    type(None),
)


def lookup(state, name: str, node):
    """The value of a name that is read."""
    env = state.frame.env
    if name in env:
        value = env[name]
        if isinstance(value, Unbound):
            state.fail("E0405", f"{name!r} is not defined here: {value.reason}", node)
        return value
    if name in state.frame.local_names:
        hint = (
            "; what one round of a loop leaves to the next is defined before the loop"
            if state.frame.loop
            else ""
        )
        state.fail("E0405", f"{name!r} is not defined before this use{hint}", node)
    definition = state.frame.definition
    found, value = definition.variable(name)
    if found:
        state.read.append((definition, name, value))
        return outside(state, value, name, node)
    if name in _BUILTINS:
        return _BUILTINS[name]
    if name in _INSTEAD:
        state.fail("E0801", f"{name!r} is Python's and not part of the language; use {_INSTEAD[name]}", node)
    extent = _extent(state.kernel, name) if state.frame.is_kernel else None
    if extent:
        hint = f"; a symbol of the annotations is no variable: its extent is {extent}"
    else:
        hint = hints.nearest(name, _known(state))
    state.fail("E0801", f"unknown name {name!r}{hint}", node)


def _extent(kernel, name: str) -> str | None:
    """An expression for the extent that a shape symbol of the kernel names."""
    for parameter in signature.read(kernel):
        if name in parameter.shape:
            return f"{parameter.name}.shape[{parameter.shape.index(name)}]"
    return None


def _known(state) -> list:
    """The names that can be read where the trace stands."""
    function = state.frame.definition.function
    own = [
        n for n, value in state.frame.env.items() if not n.startswith("$") and not isinstance(value, Unbound)
    ]
    return [*own, *function.__code__.co_freevars, *function.__globals__]


def outside(state, value, name: str, node):
    """A value from outside the kernel: only immutable constants may come in."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and not isinstance(value, enum.Enum):
        return check_integer(state, int(value), node)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, tuple):
        return tuple(outside(state, item, name, node) for item in value)
    if isinstance(value, _STATIC) or isinstance(value, Enum):
        return value
    if isinstance(value, type) and issubclass(value, Enum):
        return value
    if any(value is known for known in _BUILTINS.values()):
        return value
    if callable(value) and not isinstance(value, type):
        other = hints.function(value) or "the intrinsics of intent.language, or make it an @intent.fn"
        state.fail("E0802", f"{name!r} is a Python function, which a kernel cannot call; use {other}", node)
    if isinstance(value, type) and (instead := hints.dtype(value)):
        state.fail("E0802", f"{name!r} is no dtype of the language; use {instead}", node)
    instead = "; make it a tuple" if isinstance(value, list) else ""
    if hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"):
        scalar = getattr(value, "shape", None) == () and hasattr(value, "item")
        array = '; an array is a parameter, such as I.In[I.f32, ("N",)]'
        instead = "; .item() makes a number of it" if scalar else array
    state.fail(
        "E0802",
        f"{name!r} is {_article(type(value).__name__)}, which a kernel cannot use{instead}; from outside come numbers, "
        "dtypes, enums, helpers and tuples of them",
        node,
    )


def check_integer(state, value: int, node) -> int:
    if not -(2**127) <= value < 2**127:
        state.fail("E0203", "an integer literal of more than 128 bits", node)
    return value


def _article(word: str) -> str:
    return ("an " if word[:1].lower() in "aeiou" or word == "ndarray" else "a ") + word
