"""A kernel's parameters: from annotations to declarations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import dtypes
from ..annotations import ConstexprAnnotation, Constraints, Enum, View
from . import hints
from .values import EnumConstexpr

_CONSTEXPR_TYPES = {int: "int", float: "float", bool: "bool"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel as its author wrote it."""

    name: str
    kind: str  # "view", "scalar" or "constexpr"
    line: int
    column: int
    node: Any
    dtype: str = ""
    access: str = ""  # of a view: "In", "Out" or "InOut"
    shape: tuple = ()  # of a view: integers and symbols
    alias: str | None = None
    noalias: bool = False
    type: Any = None  # of a constexpr: int, float, bool or an I.Enum
    default: Any = None
    enum_position: int = -1  # of a constexpr: its enum among the module's
    position: int = -1  # of a constexpr: among the constexpr parameters
    problem: tuple | None = None  # (code, message) of an annotation that is not valid


def read(kernel) -> list[Parameter]:
    """The parameters, with their problems; nothing is reported."""
    tree, function = kernel.tree(), kernel.function
    arguments = tree.args.posonlyargs + tree.args.args + tree.args.kwonlyargs
    positional = [a.arg for a in tree.args.posonlyargs + tree.args.args]
    given = function.__defaults__ or ()
    defaults = dict(zip(positional[len(positional) - len(given) :], given))
    defaults.update(function.__kwdefaults__ or {})
    enums: dict = {}
    parameters: list[Parameter] = []
    for argument in arguments:
        parameter = _parameter(kernel, argument, defaults, enums)
        if parameter.kind == "constexpr":
            position = sum(p.kind == "constexpr" for p in parameters)
            parameter = Parameter(**{**parameter.__dict__, "position": position})
        parameters.append(parameter)
    return parameters


def _parameter(kernel, argument, defaults, enums) -> Parameter:
    name = argument.arg
    place = {"line": argument.lineno, "column": argument.col_offset + 1, "node": argument}

    def bad(message, code="E0804"):
        return Parameter(name, "bad", **place, problem=(code, message))

    if argument.annotation is None and name == "self":
        return bad("a kernel is no method: define it outside of the class")
    if argument.annotation is None:
        return bad(f'the parameter {name!r} needs an annotation, such as I.In[I.f32, ("N",)] or I.f32')
    try:
        annotation = _evaluate(kernel, name)
    except Exception as error:  # whatever the annotation's own code raises
        return bad(f"the annotation of {name!r} cannot be evaluated: {type(error).__name__}: {error}")
    if isinstance(annotation, View):
        return _view(name, annotation, place, bad, name in defaults)
    if isinstance(annotation, dtypes.DType):
        if name in defaults:
            return bad(f"{name!r} is a runtime scalar, which has no default; only constexprs have")
        return Parameter(name, "scalar", **place, dtype=annotation.name)
    if isinstance(annotation, ConstexprAnnotation):
        return _constexpr(name, annotation.type, place, bad, defaults, enums)
    return bad(
        f"the annotation of {name!r} is neither a view, a dtype nor a constexpr: {annotation!r}"
        + _instead(name, annotation)
    )


def _instead(name, annotation) -> str:
    """What to write for an annotation of Python or NumPy."""
    if annotation in (int, float, bool):
        scalar = {int: "I.i64 or I.index", float: "I.f32 or I.f64", bool: "I.bool"}[annotation]
        return f"; a runtime scalar is {scalar}, a compile-time value I.Constexpr[{annotation.__name__}]"
    if dtype := hints.dtype(annotation):
        return f'; a runtime scalar is {dtype}, an array I.In[{dtype}, ("N",)]'
    return '; an array is a view such as I.In[I.f32, ("N",)]' if hasattr(annotation, "__array__") else ""


def _evaluate(kernel, name):
    annotation = kernel.function.__annotations__[name]
    if not isinstance(annotation, str):
        return annotation
    scope = {}
    for free in kernel.function.__code__.co_freevars:
        found, value = kernel.variable(free)
        if found:
            scope[free] = value
    return eval(annotation, kernel.function.__globals__, scope)


def _view(name, annotation, place, bad, has_default) -> Parameter:
    items = annotation.items
    if not 2 <= len(items) <= 3:
        return bad(f'the view {name!r} needs a dtype and a shape: I.{annotation.access}[I.f32, ("N",)]')
    if has_default:
        return bad(f"{name!r} is a view, which has no default")
    dtype, shape = items[0], items[1]
    constraints = items[2] if len(items) == 3 else Constraints()
    if not isinstance(dtype, dtypes.DType):
        wanted = hints.dtype(dtype) or "a dtype such as I.f32"
        return bad(f"the first part of the annotation of {name!r} is {wanted}, not {dtype!r}")
    if not isinstance(shape, tuple):
        instead = f"; one axis is written ({shape!r},)" if isinstance(shape, (str, int)) else ""
        return bad(f"the shape of {name!r} is a tuple of integers and symbols, not {shape!r}{instead}")
    for extent in shape:
        whole = isinstance(extent, int) and not isinstance(extent, bool)
        if not (whole and 0 <= extent < 2**63) and not (isinstance(extent, str) and extent.isidentifier()):
            return bad(f"{extent!r} in the shape of {name!r} is neither a nonnegative integer nor a symbol")
    if not isinstance(constraints, Constraints):
        return bad(
            f"the third part of the annotation of {name!r} is made by I.constraints, not {constraints!r}"
        )
    if constraints.alias is not None and not isinstance(constraints.alias, str):
        return bad(f"alias of {name!r} is the name of a group, not {constraints.alias!r}")
    if not isinstance(constraints.noalias, bool):
        return bad(f"noalias of {name!r} is True or False, not {constraints.noalias!r}")
    return Parameter(
        name,
        "view",
        **place,
        dtype=dtype.name,
        access=annotation.access,
        shape=shape,
        alias=constraints.alias,
        noalias=constraints.noalias,
    )


def _constexpr(name, kind, place, bad, defaults, enums) -> Parameter:
    default = defaults.get(name)
    is_enum = isinstance(kind, type) and issubclass(kind, Enum)
    if is_enum:
        values = [member.value for member in kind]
        names = list(kind.__members__)
        if not values or len(names) != len(values):
            return bad(f"the enum {kind.__name__} needs members, each with a value of its own")
        if not all(isinstance(v, int) and not isinstance(v, bool) and -(2**63) <= v < 2**63 for v in values):
            return bad(f"the values of the enum {kind.__name__} are integers of 64 bits")
        enums.setdefault(kind, len(enums))
    elif kind not in _CONSTEXPR_TYPES:
        return bad(f"{name!r} is a constexpr of int, float, bool or an I.Enum, not of {kind!r}")
    if name in defaults:
        problem = check_binding(name, kind, default)
        if problem:
            return bad(problem, "E0703")
        default = kind(default) if kind is float else default
    return Parameter(
        name, "constexpr", **place, type=kind, default=default, enum_position=enums[kind] if is_enum else -1
    )


def check_binding(name, kind, value) -> str:
    """Why a value does not fit a constexpr parameter; empty if it does."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "" if isinstance(value, kind) else f"{name!r} takes a member of {kind.__name__}, not {value!r}"
    fits = {
        int: isinstance(value, int) and not isinstance(value, bool),
        float: isinstance(value, (int, float)) and not isinstance(value, bool),
        bool: isinstance(value, bool),
    }[kind]
    if not fits:
        return f"{name!r} takes {kind.__name__}, not {value!r}"
    if kind is int and not -(2**63) <= value < 2**63:
        return f"{name!r} takes an integer of 64 bits, not {value}"
    return ""


def declare(state, tree) -> list[Parameter]:
    """Declares a kernel's parameters to the builder and binds their names."""
    builder = state.builder
    builder.set_kernel_name(tree.name)
    refuse_type_parameters(state, tree)
    if tree.args.vararg or tree.args.kwarg:
        state.fail("E0804", "a kernel has no * or ** parameters", tree.args.vararg or tree.args.kwarg)
    parameters = read(state.kernel)
    for parameter in parameters:
        state.at(parameter.node)
        if parameter.problem:
            state.frame.env[parameter.name] = state.error(*parameter.problem, parameter.node)
        else:
            state.frame.env[parameter.name] = _declare(state, parameter)
    return parameters


def _declare(state, parameter):
    builder, name = state.builder, parameter.name
    if parameter.kind == "view":
        view = builder.add_view(
            name, parameter.dtype, list(parameter.shape), parameter.access, parameter.alias, parameter.noalias
        )
        state.views.append(view)
        return view
    if parameter.kind == "scalar":
        return builder.add_scalar(name, parameter.dtype)
    fixed = name in state.fixed
    value = state.fixed.get(name, parameter.default)
    if parameter.enum_position >= 0:
        if parameter.type not in state.enums:
            members = [(member.name, member.value) for member in parameter.type]
            state.enums[parameter.type] = builder.add_enum(parameter.type.__name__, members)
        default = None if value is None else value.value
        operand = builder.add_constexpr(name, "enum", state.enums[parameter.type], default, fixed)
        return value if fixed else EnumConstexpr(operand, parameter.type)
    if parameter.type is float and value is not None:
        value = float(value)
    operand = builder.add_constexpr(name, _CONSTEXPR_TYPES[parameter.type], 0, value, fixed)
    return value if fixed else operand


def refuse_type_parameters(state, tree):
    """`def kernel[T](...)`, which Python has since 3.12."""
    found = getattr(tree, "type_params", ())
    if found:
        state.fail(
            "E0802",
            "not part of the language: type parameters; write the dtype, or make one kernel for each",
            found[0],
        )
